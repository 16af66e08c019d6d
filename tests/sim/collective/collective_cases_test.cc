// Answers to questions that users of collectives and of their simulators asked.

#include <gtest/gtest.h>

#include "sim/collective/collective.h"
#include "sim/collective/part_size.h"
#include "tests/sim/collective/groups.h"

namespace sim {
namespace {

using namespace literals;

// steps x alpha + volume / rate, every edge with a link of its own.
Duration TimeOf(const CollectivePlan& plan, Duration alpha, ByteRate rate) {
  Duration longest;
  for (const CoupledFlow& flow : plan.flows) {
    const Wide bytes = static_cast<Wide>(flow.size.count()) * flow.numerator;
    const Bytes volume(static_cast<std::int64_t>((bytes + flow.denominator - 1) / flow.denominator));
    longest = std::max(longest, volume / rate);
  }
  return (std::int64_t{plan.steps_inside} + plan.steps_between) * alpha + longest;
}

double Milliseconds(Duration d) { return d.seconds() * 1e3; }

TEST(BusBandwidth, HasAFactorOfItsOwnForEachOperation) {  // HB-086
  const auto factor = [](CollectiveKind kind) {
    const Fraction f = BusBandwidthFactor(kind, 8);
    return static_cast<double>(f.numerator) / static_cast<double>(f.denominator);
  };
  EXPECT_EQ(factor(CollectiveKind::kAllReduce), 1.75);
  EXPECT_EQ(factor(CollectiveKind::kAllGather), 0.875);
  EXPECT_EQ(factor(CollectiveKind::kReduceScatter), 0.875);
  EXPECT_EQ(factor(CollectiveKind::kAllToAll), 0.875);
  EXPECT_EQ(factor(CollectiveKind::kBroadcast), 1);
  EXPECT_EQ(factor(CollectiveKind::kSendRecv), 1);
}

TEST(BusBandwidth, OfOneRankIsZeroAndNotNaN) {  // HB-106
  EXPECT_EQ(BusBandwidthFactor(CollectiveKind::kAllReduce, 1).numerator, 0);
  EXPECT_EQ(BusBandwidthFactor(CollectiveKind::kAllReduce, 1).denominator, 1);
}

// HB-090: 2(n-1) 5 us + 2(n-1)/n S / 50 GB/s.
TEST(RingAllReduce, TakesLongerWithMoreRanks) {
  const auto ms = [](std::uint32_t n, Bytes size) {
    return Milliseconds(
        TimeOf(PlanCollective({CollectiveKind::kAllReduce, size, PackedGroup(n, 1)}), 5_us, 50_GB_per_s));
  };
  EXPECT_NEAR(ms(8, 1_MiB), 0.1067, 1e-4);
  EXPECT_NEAR(ms(64, 1_MiB), 0.6713, 1e-4);
  EXPECT_NEAR(ms(8, 1_GiB), 37.65, 0.005);
  EXPECT_NEAR(ms(64, 1_GiB), 42.91, 0.005);
}

// HB-095: 16 ranks, 3 us, 25 GB/s.
TEST(RingAllReduce, TakesTwiceAsLongForALargeMessageTwiceTheSize) {
  const auto ms = [](Bytes size) {
    return Milliseconds(
        TimeOf(PlanCollective({CollectiveKind::kAllReduce, size, PackedGroup(16, 1)}), 3_us, 25_GB_per_s));
  };
  EXPECT_NEAR(ms(256_MiB), 20.223, 0.001);
  EXPECT_NEAR(ms(512_MiB), 40.355, 0.001);
}

// HB-093: the size of an all-gather is that of its output.
TEST(AllGather, SendsSevenEighthsOfItsOutputWithEightRanks) {
  const CollectivePlan plan = PlanCollective({CollectiveKind::kAllGather, 1_GiB, PackedGroup(8, 8)});
  ASSERT_EQ(plan.flows.size(), 1u);
  EXPECT_EQ(plan.flows[0].size.count() * plan.flows[0].numerator / plan.flows[0].denominator, 939'524'096);
}

// HB-094: 7e9 parameters over 16 ranks: gathered in 2 bytes, scattered in 4.
TEST(ReduceScatter, OfGradientsInFourBytesMovesTwiceTheGatherOfParametersInTwo) {
  const auto sent = [](CollectiveKind kind, std::int64_t bytes) {
    const CoupledFlow flow = PlanCollective({kind, Bytes(bytes), PackedGroup(16, 16)}).flows.at(0);
    return flow.size.count() * flow.numerator / flow.denominator;
  };
  EXPECT_EQ(sent(CollectiveKind::kAllGather, 14'000'000'000), 13'125'000'000);
  EXPECT_EQ(sent(CollectiveKind::kReduceScatter, 28'000'000'000), 26'250'000'000);
}

// HB-101: ranks r and r+8 on two nodes: one ring over the NICs, 2 GB at 50
// GB/s; the same pair inside a node: at 450 GB/s.
TEST(RingAllReduce, CostsWhatItsPlacementSays) {
  const auto ms = [](const Communicator& group, ByteRate rate) {
    return Milliseconds(
        TimeOf(PlanCollective({CollectiveKind::kAllReduce, 2'000'000'000_B, group}), 0_ps, rate));
  };
  const Communicator across{.domain = {0, 1}, .rail = {3, 3}}, inside{.domain = {0, 0}, .rail = {0, 1}};
  EXPECT_NEAR(ms(across, 50_GB_per_s), 40.0, 1e-6);
  EXPECT_NEAR(ms(inside, 450_GB_per_s), 4.444, 0.001);
}

TEST(PartSize, AddsUpAndDiffersByOneByteAtMost) {  // also sizes around 2^31 and 2^32: HB-221
  for (const Bytes size : ManySizes()) {
    for (const std::uint32_t parts : {1u, 2u, 3u, 7u, 64u}) {
      Bytes sum;
      for (std::uint32_t part = 0; part < parts; ++part) {
        const Bytes bytes = PartSize(size, parts, part);
        sum += bytes;
        EXPECT_LE(PartSize(size, parts, 0) - bytes, 1_B);
        EXPECT_GE(PartSize(size, parts, 0), bytes);
      }
      EXPECT_EQ(sum, size);
    }
  }
}

TEST(CollectiveKindText, IsTheFieldsName) {
  EXPECT_STREQ(ToText(CollectiveKind::kAllReduce), "all-reduce");
  EXPECT_STREQ(ToText(CollectiveKind::kReduceScatter), "reduce-scatter");
  EXPECT_STREQ(ToText(CollectiveKind::kSendRecv), "send/recv");
  EXPECT_STREQ(ToText(CollectiveKind::kRingShift), "ring shift");
}

}  // namespace
}  // namespace sim
