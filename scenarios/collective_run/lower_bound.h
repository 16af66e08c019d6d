// What no algorithm can beat: the bytes that must leave or enter a member, or
// a node, over all the links that it has for them. No latency, no overhead of
// a protocol, every link busy from beginning to end.
//
// Bytes over a cut that has k of the n members inside, for a size S:
//   all_reduce      S each way; and 2(m-1) S out of all m cuts together
//   all_gather      k/n S out, (n-k)/n S in        reduce_scatter  the other way round
//   alltoall        k(n-k)/n S each way            sendrecv        S for each pair of neighbours it cuts
//   broadcast       S out with the root, S in without it; a message the same, from its sender; reduce the
//   other way gather          (n-k)/n S in with the root, k/n S out without it                scatter  the
//   other way round
// Where no switch adds numbers up: with one that does (NVLS, SHARP) an
// all-reduce may take S / rate only.
// Source: Patarasuk and Yuan, JPDC 69(2), 2009 (the 2(m-1) S).

#ifndef SCENARIOS_COLLECTIVE_RUN_LOWER_BOUND_H_
#define SCENARIOS_COLLECTIVE_RUN_LOWER_BOUND_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenarios/collective_run/lower_job.h"

namespace scenarios {

struct LowerBound {
  sim::Duration time;  // rounded down; zero where nothing has to move
  std::string what;    // "links of node0/gpu3", "links out of node1"; empty where nothing has to move
};

// Whether the switches inside nodes may add up: NVLink switches of Hopper and later, unless NCCL may not use
// them.
bool SwitchesAdd(const Cluster& cluster);

// The cuts of one group, found once for all sizes.
class GroupBound {
 public:
  // `switch_adds`: whether switches inside nodes add numbers up.
  GroupBound(const topologies::Fabric& fabric, std::span<const std::uint32_t> ranks,
             bool switch_adds = false);

  // REQUIRES: the job's ranks are the group's
  LowerBound Of(const CollectiveJob& job) const;

 private:
  struct Cut {
    std::string name;
    std::uint32_t inside = 0;   // members
    sim::Wide out = 0, in = 0;  // 10^-3 B/s, all links together
  };
  // Cuts that have every member in one of them.
  struct Level {
    std::string all;  // "links of all members"
    std::vector<Cut> cuts;
    std::vector<std::uint32_t> cut_of_member;
    bool has_switch = false;  // between its cuts there are switches that may add up
  };
  static void AddLinks(const topologies::Fabric& fabric, std::span<const std::uint32_t> ranks,
                       const std::vector<std::uint32_t>& cut_of_vertex, Level* level);
  void Raise(const Level& level, const CollectiveJob& job, LowerBound* bound) const;

  std::vector<Level> levels_;  // members, nodes
  bool switch_adds_ = false;
};

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_LOWER_BOUND_H_
