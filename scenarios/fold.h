// Fold: ranks of a job that do the same at the same times, found before anything is played, so that one of
// each kind is enough to play.
//
// Nothing is taken on trust but that ranks of one stage, with the same place in their experts' and context
// groups, write the same tasks. Which of those ranks meet others at the same times depends on the fabric: all
// that all groups move is lowered to links, and sim::PartitionOf tells apart what the links tell apart. A
// digest of a folded run equals that of the whole one; fold_test.cc compares both.
//
// The few bytes that all ranks reduce at the end of a step go over trees, on which hardly two ranks are
// alike. As a rule nothing else moves then, so they are put on copies of the links and tell nobody apart;
// MovedApart looks whether it was so.

#ifndef SCENARIOS_FOLD_H_
#define SCENARIOS_FOLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "scenarios/communicators.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/index.h"
#include "sim/program/program_builder.h"
#include "sim/program/timeline.h"

namespace scenarios {

struct Fold {
  std::vector<sim::Rank> acting;         // by rank: the one that is played for it, the lowest of its kind
  std::vector<std::uint32_t> plays_for;  // by rank; see sim::Program::plays_for
  std::vector<sim::LinkId> carrying;     // by link: the one that carries the same, the lowest of its kind
  // Groups of acting ranks, and sends that they take part in: what is written for them.
  std::map<std::vector<sim::Rank>, std::vector<sim::Rank>> groups;
  std::map<PointToPoint, PointToPoint> send_for;
  // What is written, by what all that it stands for put on links that carry.
  std::map<std::pair<std::vector<sim::Rank>, CollectiveKey>, sim::TrafficDescription> collectives;
  std::map<PointToPoint, sim::TrafficDescription> sends;

  bool apart = false;  // something is put on copies of the links, which stand behind them

  bool Acts(sim::Rank rank) const { return acting[rank.pos()] == rank; }
  std::int64_t acting_ranks() const;
  const std::vector<sim::Rank>& GroupFor(const std::vector<sim::Rank>& ranks) const {
    return groups.at(ranks);
  }
};

// None where fewer than half of the ranks are others' like, and for what is not folded: checkpoints, offload
// to hosts, transfers of chunks, and data parallelism over so many ranks that to list all groups takes
// minutes. With `apart`, what MovedApart is to be asked about may be put on copies. `go_on` is asked now and
// then; when it says no, there is none.
std::optional<Fold> FoldOf(const Scenario& scenario, const std::vector<StagePlan>& stages, bool apart = true,
                           const std::function<bool()>& go_on = {});

// Whether nothing else moved while what is on copies of links did: then the run is that of all ranks.
// REQUIRES: the program is written with the fold
bool MovedApart(const Fold& fold, const sim::Program& program, const sim::Timeline& timeline);

}  // namespace scenarios

#endif  // SCENARIOS_FOLD_H_
