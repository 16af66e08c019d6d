#include "sim/collective/ring_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/collective/groups.h"

namespace sim {
namespace {

using Ring = std::vector<std::uint32_t>;

TEST(RingOrder, OfOneDomainIsOneRingByRail) {
  const RingOrder order = OrderRings({.domain = {5, 5, 5, 5}, .rail = {2, 0, 3, 1}});
  EXPECT_EQ(order.domains, 1u);
  EXPECT_EQ(order.rings, std::vector<Ring>({{1, 3, 0, 2}}));
}

// Two nodes of 3: ring c enters at member c and leaves from the one before it.
TEST(RingOrder, EntersEachDomainOncePerRail) {
  const RingOrder order = OrderRings(PackedGroup(6, 3));
  EXPECT_EQ(order.domains, 2u);
  EXPECT_EQ(order.rings, std::vector<Ring>({{0, 1, 2, 3, 4, 5}, {1, 2, 0, 4, 5, 3}, {2, 0, 1, 5, 3, 4}}));
}

TEST(RingOrder, MakesMembersOfADomainNeighboursWhateverTheirOrder) {
  const RingOrder order = OrderRings({.domain = {9, 4, 9, 4}, .rail = {1, 1, 0, 0}});
  EXPECT_EQ(order.rings, std::vector<Ring>({{2, 0, 3, 1}, {0, 2, 1, 3}}));
}

TEST(RingOrder, OfOneMemberADomainIsOneRing) {
  EXPECT_EQ(OrderRings(PackedGroup(4, 1)).rings, std::vector<Ring>({{0, 1, 2, 3}}));
}

// Node 1 lacks rail 1: two rings, on the rails that both have, 0 and 2.
TEST(RingOrder, KeepsToTheRailsThatAllDomainsHave) {
  const RingOrder order = OrderRings({.domain = {0, 0, 0, 1, 1}, .rail = {0, 1, 2, 0, 2}});
  EXPECT_EQ(order.rings, std::vector<Ring>({{0, 1, 2, 3, 4}, {2, 0, 1, 4, 3}}));
}

// No rail in common: still as many rings as the smaller domain has members.
TEST(RingOrder, CountsMembersWhereRailsDoNotMatch) {
  const RingOrder order = OrderRings({.domain = {0, 0, 1, 1}, .rail = {0, 1, 2, 3}});
  EXPECT_EQ(order.rings, std::vector<Ring>({{0, 1, 2, 3}, {1, 0, 3, 2}}));
}

// 7 nodes of 8 and one of 7, which lacks rail 7: seven rings.
TEST(RingOrder, OfSixtyThreeRanksHasSevenRings) {
  const RingOrder order = OrderRings(PackedGroup(63, 8));
  EXPECT_EQ(order.domains, 8u);
  EXPECT_EQ(order.rings.size(), 7u);
}

// In every group: each ring has every member once, crosses from domain to
// domain as often as there are domains, and no two rings enter a domain at the
// same member; they leave from different ones too.
TEST(RingOrder, SharesOutEntriesAndExits) {
  for (const Communicator& group : ManyGroups()) {
    SCOPED_TRACE(testing::Message() << group.size() << " members");
    const RingOrder order = OrderRings(group);
    std::set<std::uint32_t> entries, exits;
    std::size_t crossings = 0;
    for (const Ring& ring : order.rings) {
      Ring sorted = ring;
      std::sort(sorted.begin(), sorted.end());
      for (std::uint32_t i = 0; i < group.size(); ++i) ASSERT_EQ(sorted[i], i);
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const std::uint32_t to = ring[(i + 1) % ring.size()];
        if (group.domain[ring[i]] == group.domain[to]) continue;
        ++crossings;
        EXPECT_TRUE(exits.insert(ring[i]).second);
        EXPECT_TRUE(entries.insert(to).second);
      }
    }
    EXPECT_EQ(crossings, order.domains == 1 ? 0 : order.rings.size() * order.domains);
  }
}

}  // namespace
}  // namespace sim
