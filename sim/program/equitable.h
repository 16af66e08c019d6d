// Equitable: which ranks, traffics and links of a job cannot be told apart by what happens to them.
//
// A partition is equitable where all ranks of a class sit in equally many traffics of each class, and all
// links of a class carry equally many flows of each class with equal weights. Ranks that do the same work in
// the same order, and whose communications are of one class each, then do it at the same times: by induction
// over the instants of a simulation, for max-min shares of a link depend on the classes of its flows alone.
// So one rank and one link of each class are enough to play, with the flows of all that cross that link added
// up.
//
// Colour refinement finds the coarsest one: what looks alike is told apart by its neighbours until nothing
// changes. Colours are 64-bit digests, so two different ones are taken for equal once in 10^19 pairs.
// Source: McKay and Piperno, "Practical graph isomorphism, II", J. Symbolic Computation 60 (2014), section 2.

#ifndef SIM_PROGRAM_EQUITABLE_H_
#define SIM_PROGRAM_EQUITABLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/index.h"
#include "sim/program/program_builder.h"

namespace sim {

// What a group of ranks does together, any number of times.
struct JointTraffic {
  struct Member {
    Rank rank;
    std::uint32_t role = 0;  // what the group is to it: ranks of a class have one in each role
  };
  TrafficDescription traffic;
  std::vector<Member> members;
  // It moves when nothing else does, so links do not tell apart what it crosses. Merged, it is on copies of
  // links, which nothing else uses: those of PartitionOf behind them, in order. Whoever says so looks, in
  // the timeline, whether it was so.
  bool apart = false;
};

// The lowest of each class, by rank, traffic and link.
struct EquitablePartition {
  std::vector<Rank> rank;
  std::vector<std::uint32_t> traffic;
  std::vector<LinkId> link;
};

// Ranks of different colours are never of one class; nor are links of different capacities.
EquitablePartition PartitionOf(std::vector<std::uint64_t> colour_of_rank,
                               std::span<const JointTraffic> traffics, std::span<const ByteRate> capacity);

// By traffic that is the lowest of its class: what all of the class put together on links that are the lowest
// of theirs. Others are left empty. None where a weight would be 2^32 or more.
std::optional<std::vector<TrafficDescription>> MergedTraffics(const EquitablePartition& partition,
                                                              std::span<const JointTraffic> traffics);

}  // namespace sim

#endif  // SIM_PROGRAM_EQUITABLE_H_
