#include "sim/analysis/intervals.h"

#include <gtest/gtest.h>

#include <bitset>

#include "sim/base/random.h"
#include "tests/sim/analysis/hand_made.h"

namespace sim {
namespace {

Intervals Ms(const std::vector<std::pair<int, int>>& list) {
  std::vector<Interval> set;
  for (const auto& [from, to] : list)
    set.push_back({Time::Start() + Duration::Milliseconds(from), Time::Start() + Duration::Milliseconds(to)});
  return SetOf(set);
}

// HB-184: compute [0,10] and [12,20], communication [5,15] in a window of 20 ms.
// Union of both is the whole window; [5,10] and [12,15] overlap: 8; [10,12] is exposed: 2.
// The synchronisation [0,20] is no kernel and is not in either set.
TEST(Overlap, AddsUpToTheWindowAndToTheCommunication) {
  const Overlap o = OverlapOf(Ms({{0, 10}, {12, 20}}), Ms({{5, 15}}), Ms({{0, 20}})[0]);
  EXPECT_EQ(o.compute, Duration::Milliseconds(18));
  EXPECT_EQ(o.communication, Duration::Milliseconds(10));
  EXPECT_EQ(o.overlap, Duration::Milliseconds(8));
  EXPECT_EQ(o.exposed, Duration::Milliseconds(2));
  EXPECT_EQ(o.idle, Duration());
  EXPECT_EQ(o.overlap.ps() * 100 / o.communication.ps(), 80);  // percent
}

TEST(Overlap, CountsOnlyWhatLiesInTheWindow) {
  const Overlap o = OverlapOf(Ms({{0, 10}}), Ms({{8, 30}}), Ms({{5, 20}})[0]);
  EXPECT_EQ(o.compute, Duration::Milliseconds(5));
  EXPECT_EQ(o.communication, Duration::Milliseconds(12));
  EXPECT_EQ(o.exposed, Duration::Milliseconds(10));
  EXPECT_EQ(o.idle, Duration());
}

TEST(SetOf, JoinsWhatTouchesAndDropsWhatIsEmpty) {
  EXPECT_EQ(Ms({{5, 7}, {0, 2}, {2, 3}, {9, 9}, {6, 8}}), Ms({{0, 3}, {5, 8}}));
  EXPECT_TRUE(Ms({}).empty());
}

// The oracle is a bit for each of 64 picoseconds.
using Bits = std::bitset<64>;

Bits BitsOf(const Intervals& set) {
  Bits bits;
  for (const Interval& i : set) {
    for (auto t = i.from.since_start().ps(); t < i.to.since_start().ps(); ++t)
      bits.set(static_cast<std::size_t>(t));
  }
  return bits;
}

Intervals RandomSet(Random& random) {
  std::vector<Interval> list;
  for (std::uint32_t n = random.Below(9); n > 0; --n) {
    const auto from = random.Below(64);
    list.push_back({At(from), At(random.Between(0, 64))});
  }
  return SetOf(list);
}

TEST(Intervals, AgreeWithOneBitAnInstant) {
  Random random(1, "intervals");
  for (int i = 0; i < 5000; ++i) {
    const Intervals a = RandomSet(random), b = RandomSet(random);
    const Bits in_a = BitsOf(a), in_b = BitsOf(b);
    ASSERT_EQ(BitsOf(Union(a, b)), in_a | in_b);
    ASSERT_EQ(BitsOf(Intersection(a, b)), in_a & in_b);
    ASSERT_EQ(BitsOf(Difference(a, b)), in_a & ~in_b);
    ASSERT_EQ(Length(a).ps(), static_cast<std::int64_t>(in_a.count()));
    // One form for one set.
    ASSERT_EQ(Union(Difference(a, b), Intersection(a, b)), a);
  }
}

}  // namespace
}  // namespace sim
