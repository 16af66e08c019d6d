#include "scenarios/budget/volumes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/collective/collective.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;

constexpr CollectiveKind kAll[] = {CollectiveKind::kAllReduce,     CollectiveKind::kAllGather,
                                   CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                   CollectiveKind::kSendRecv,      CollectiveKind::kAllToAll};

// Played transfer by transfer, each kind sends what the formula says: by the busiest rank, and in all.
TEST(Volume, IsWhatTheTransfersOfTheAlgorithmAddUpTo) {
  for (const std::uint32_t n : {2u, 3u, 8u}) {
    constexpr std::int64_t kBytes = 3 * 8 * 1000;
    for (const CollectiveKind kind : kAll) {
      if (kind == CollectiveKind::kSendRecv && n > 2) continue;
      std::vector<double> sent(n, 0);
      double total = 0;
      sim::CollectiveRequest request{kind, sim::Bytes(kBytes)};
      request.group = {std::vector<std::uint32_t>(n, 0), {}};
      for (std::uint32_t i = 0; i < n; ++i) request.group.rail.push_back(i);
      for (const sim::Transfer& t : sim::ExpandIntoChunks(request, sim::Bytes(kBytes))) {
        sent[t.from] += static_cast<double>(t.size.count());
        total += static_cast<double>(t.size.count());
      }
      const Volume v = VolumeOf(kind, kBytes, n);
      EXPECT_DOUBLE_EQ(v.total, total) << ToText(kind) << ' ' << n;
      EXPECT_DOUBLE_EQ(v.sent, *std::max_element(sent.begin(), sent.end())) << ToText(kind) << ' ' << n;
    }
  }
}

// A gather's tensor is n times what a rank brings; of the others a rank brings all of it.
TEST(Volume, OfAGatherDiffersByTheNumberOfRanksBetweenTheConventions) {
  for (const CollectiveKind p : kAll) {
    const double factor = p == CollectiveKind::kAllGather ? 8 : 1;
    EXPECT_DOUBLE_EQ(VolumeByRank(p, 1e6, 8).sent, factor * VolumeOf(p, 1e6, 8).sent) << ToText(p);
  }
}

TEST(Volume, OfOneRankIsNothing) {
  for (const CollectiveKind p : kAll) EXPECT_EQ(VolumeOf(p, 1e6, 1).sent, 0) << ToText(p);
}

// E2, A14, HB-092's figures: 3 passes of 7/8 over 2 P; gathers repeat with every micro-batch, and so do
// reductions unless gradients wait.
TEST(DataVolume, OfZeroThreeIsThreePassesAMicroBatch) {
  DataParallelism d{.zero_stage = 3, .ranks = 8, .parameters = 8e9};
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).total(), 3 * 7.0 / 8 * 16e9);
  d.micro_batches = 4;
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).gathers, 4 * 2 * 14e9);
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).reductions, 4 * 14e9);
  d.scatters_each = false;
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).reductions, 14e9);
  d.gathers_again = false;
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).gathers, 4 * 14e9);
}

// Pass by pass, 1F1B of four micro-batches on the first of three stages and on the last: a forward gives its
// weights back, a backward does not; who finds none gathers. Gradients are reduced once.
TEST(DataVolume, OfZeroThreeUnderAPipelineIsOnePassMoreThanMicroBatches) {
  DataParallelism d{.zero_stage = 3, .ranks = 8, .parameters = 8e9, .micro_batches = 4, .pipeline = true};
  for (const std::string_view order : {"FFFBFBBB", "FBFBFBFB"}) {
    bool whole = false;
    int gathers = 0;
    for (const char pass : order) {
      if (!whole) ++gathers;
      whole = pass == 'B';
    }
    EXPECT_DOUBLE_EQ(DataVolumeOf(d).gathers, gathers * 14e9) << order;
  }
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).reductions, 14e9);
  d.gathers_again = false;
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).gathers, 14e9);
  d.zero_stage = 2;
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).gathers, 14e9);
  EXPECT_DOUBLE_EQ(DataVolumeOf(d).reductions, 14e9);
}

TEST(DataVolume, OfZeroOneIsThatOfAnAllReduce) {
  const DataParallelism none{.ranks = 8, .parameters = 8e9};
  DataParallelism one = none;
  one.zero_stage = 1;
  EXPECT_DOUBLE_EQ(DataVolumeOf(none).total(), DataVolumeOf(one).total());
  EXPECT_DOUBLE_EQ(DataVolumeOf(none).total(), VolumeOf(CollectiveKind::kAllReduce, 16e9, 8).sent);
}

// Two of eight experts on eight devices are always two devices; on two devices of four, one with
// 6 of 14 choices, so 2 (1 - C(4,2)/C(8,2)) = 2 (1 - 6/28).
TEST(ExpectedPlaces, CountsADestinationOnce) {
  EXPECT_DOUBLE_EQ(ExpectedPlaces(8, 2, 8), 2);
  EXPECT_DOUBLE_EQ(ExpectedPlaces(8, 2, 2), 2 * (1 - 6.0 / 28));
  EXPECT_DOUBLE_EQ(ExpectedPlaces(8, 8, 4), 4);
  EXPECT_DOUBLE_EQ(ExpectedPlaces(8, 2, 1), 1);
}

// Ulysses: 7/8 of an eighth of queries, keys, values and output.
TEST(ContextVolume, OfExchangedHeadsFallsWithTheRanksAndOfARingDoesNot) {
  EXPECT_DOUBLE_EQ(UlyssesVolume(8192, 8192, 1024, 2, 8), 7.0 / 8 * 1024 * (2 * 8192 + 2 * 1024) * 2);
  EXPECT_GT(UlyssesVolume(8192, 8192, 1024, 2, 8), UlyssesVolume(8192, 8192, 1024, 2, 16));
  EXPECT_LT(RingAttentionVolume(8192, 1024, 2, 8), RingAttentionVolume(8192, 1024, 2, 16));
}

}  // namespace
}  // namespace scenarios
