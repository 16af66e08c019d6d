#include "scenarios/collective_use.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scenarios/communicators.h"
#include "scenarios/lowering.h"

namespace scenarios {
namespace {

// Equal traffic is of one group, kind and size: Communicators shares it so.
using Key = std::pair<sim::TaskClass, sim::TrafficId>;
std::map<Key, std::int64_t> TimesBy(const sim::Program& program, sim::Rank rank) {
  std::map<Key, std::int64_t> times;
  for (std::size_t stream = 0; stream < program.stream_rank.size(); ++stream) {
    if (program.stream_rank[stream] != rank) continue;
    for (sim::TaskId task = program.stream_head[stream]; task.valid();) {
      const sim::Place place = program.PlaceOf(task);
      const sim::TaskRow& row = program.row(place);
      if (row.kind == sim::TaskKind::kSeat) {
        const sim::CommunicationId communication = program.communication_of(place);
        ++times[{row.task_class, program.communications[communication.pos()].traffic}];
      }
      task = program.next_in_stream(place);
    }
  }
  return times;
}

// A collective that NCCL has algorithms for.
std::optional<sim::CollectiveKind> KindOf(const std::string& name) {
  for (const sim::CollectiveKind kind :
       {sim::CollectiveKind::kAllReduce, sim::CollectiveKind::kAllGather, sim::CollectiveKind::kReduceScatter,
        sim::CollectiveKind::kBroadcast, sim::CollectiveKind::kReduce}) {
    if (name == sim::ToText(kind)) return kind;
  }
  return std::nullopt;
}

void AddWays(const std::vector<CollectiveWay>& ways, CollectiveReport* report) {
  const auto taken =
      std::find_if(ways.begin(), ways.end(), [](const CollectiveWay& way) { return way.taken; });
  const auto fastest = std::min_element(ways.begin(), ways.end(),
                                        [](const auto& a, const auto& b) { return a.idle < b.idle; });
  if (taken == ways.end()) return;
  report->algorithm = sim::ToText(taken->algorithm);
  report->protocol = sim::ToText(taken->protocol);
  report->channels = taken->channels;
  report->alone = taken->idle;
  if (fastest->idle >= taken->idle) return;
  report->fastest_algorithm = sim::ToText(fastest->algorithm);
  report->fastest_protocol = sim::ToText(fastest->protocol);
  report->fastest_alone = fastest->idle;
}

}  // namespace

std::vector<CollectiveReport> CollectivesOf(const Scenario& scenario, const StepProgram& steps,
                                            sim::Rank rank) {
  const sim::Program& program = steps.program;
  std::vector<CollectiveReport> reports;
  if (scenario.fidelity == Fidelity::kChunk) return reports;
  for (const auto& [key, times] : TimesBy(program, rank)) {
    const sim::Traffic& traffic = program.traffics[key.second.pos()];
    const auto kind = KindOf(program.names[traffic.name]);
    if (!kind) continue;
    std::vector<std::uint32_t> members;
    for (const sim::Rank member : steps.members[key.second.pos()]) members.push_back(member.value());
    std::sort(members.begin(), members.end());
    std::set<std::uint32_t> nodes;
    for (const std::uint32_t member : members) nodes.insert(scenario.fabric.domain[member]);
    CollectiveReport report{.purpose = sim::ToText(key.first),
                            .kind = sim::ToText(*kind),
                            .ranks = static_cast<std::int64_t>(members.size()),
                            .nodes = static_cast<std::int64_t>(nodes.size()),
                            .bytes = traffic.size,
                            .times = times};
    const sim::CollectiveRequest request{
        .kind = *kind,
        .size = traffic.size,
        .algorithm = OwnAlgorithmOf(scenario, {*kind, traffic.size, key.first}, members.size())};
    AddWays(WaysOf(scenario.fabric, scenario.device, request, members), &report);
    reports.push_back(std::move(report));
  }
  std::stable_sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) {
    return a.alone.ps() * sim::Wide{a.times} > b.alone.ps() * sim::Wide{b.times};
  });
  return reports;
}

}  // namespace scenarios
