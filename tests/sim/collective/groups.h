// Groups for the tests of collectives.

#ifndef TESTS_SIM_COLLECTIVE_GROUPS_H_
#define TESTS_SIM_COLLECTIVE_GROUPS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/collective/collective.h"

namespace sim {

// Ranks 0..members-1 packed into domains of `per_domain`; the last may be smaller.
inline Communicator PackedGroup(std::uint32_t members, std::uint32_t per_domain) {
  Communicator group;
  for (std::uint32_t member = 0; member < members; ++member) {
    group.domain.push_back(member / per_domain);
    group.rail.push_back(member % per_domain);
  }
  return group;
}

// The same members in another order, by a seed.
inline Communicator Shuffled(Communicator group, std::uint64_t seed) {
  Random random(seed, "shuffle");
  for (std::uint32_t left = group.size(); left > 1; --left) {
    const std::uint32_t other = random.Below(left);
    std::swap(group.domain[left - 1], group.domain[other]);
    std::swap(group.rail[left - 1], group.rail[other]);
  }
  return group;
}

// Groups of all sorts: one domain, several equal ones, one member a domain,
// domains that lack a member (63 = 7 * 8 + 7, 24 = 2 * 11 + 2), and shuffled.
inline std::vector<Communicator> ManyGroups() {
  std::vector<Communicator> groups;
  for (const auto& [members, per_domain] : {std::pair{2u, 2u},
                                            {3u, 3u},
                                            {5u, 5u},
                                            {8u, 8u},
                                            {13u, 13u},
                                            {64u, 64u},
                                            {2u, 1u},
                                            {7u, 1u},
                                            {4u, 2u},
                                            {24u, 8u},
                                            {24u, 11u},
                                            {63u, 8u},
                                            {64u, 8u},
                                            {9u, 8u}}) {
    groups.push_back(PackedGroup(members, per_domain));
    groups.push_back(Shuffled(groups.back(), members));
  }
  return groups;
}

// Sizes at the edges: nothing, less than a byte a member, around powers of two
// and of 32 bits (HB-221), and what divides by nothing.
inline std::vector<Bytes> ManySizes() {
  return {Bytes(0),
          Bytes(1),
          Bytes(7),
          Bytes(64),
          Bytes(1'000'003),
          Bytes(1 << 20),
          Bytes(2'147'483'648),
          Bytes(4'294'967'296),
          Bytes(4'294'967'297)};
}

inline constexpr CollectiveKind kGroupKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                                 CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                                 CollectiveKind::kAllToAll};

// Bytes in all, over an exact common denominator: the number of members.
// Denominators of flows divide it.
using EdgeKey = std::pair<std::uint32_t, std::uint32_t>;
inline std::map<EdgeKey, Wide> NumeratorsByEdge(const CollectivePlan& plan, std::uint32_t members) {
  std::map<EdgeKey, Wide> sums;
  for (const CoupledFlow& flow : plan.flows) {
    CHECK(members % flow.denominator == 0);
    const Wide numerators =
        static_cast<Wide>(flow.size.count()) * flow.numerator * (members / flow.denominator);
    for (const EdgeLoad& edge : flow.edges) sums[{edge.from, edge.to}] += numerators * edge.weight;
  }
  return sums;
}

}  // namespace sim

#endif  // TESTS_SIM_COLLECTIVE_GROUPS_H_
