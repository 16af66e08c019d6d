// Experts that are spread over more ranks than the tensor group: rows, kernels,
// bytes that travel, parameters.

#include <gtest/gtest.h>

#include <vector>

#include "models/experts_block.h"
#include "models/memory.h"
#include "models/parameters.h"
#include "models/transformer.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;
using sim::CollectiveKind;
using Group = ExpertMove::Group;

Execution Spread(std::int64_t tensor, std::int64_t expert, std::int64_t expert_tensor) {
  Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1;
  e.micro_batch = 2;
  e.sequence_length = 512;
  e.experts.expert = expert;
  e.experts.expert_tensor = expert_tensor;
  return e;
}

std::int64_t Sum(const std::vector<ExpertMove>& moves, Group group, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const ExpertMove& move : moves) {
    if (move.group == group && move.kind == kind) sum += move.size.count();
  }
  return sum;
}

// A rank sends each token of its part of the sequence to per_token experts, so b s / t
// x k rows of h numbers leave it; the ranks that cut an expert gather as many from each
// other; the way back mirrors it.
TEST(SpreadExperts, BytesOfAllToAllAreInClosedFormOverTheGridOfLayouts) {
  const Model m = Mixtral8x7b();  // 8 experts, 2 a token, hidden 4096
  for (const std::int64_t tensor : {1, 2, 4}) {
    for (const std::int64_t expert : {1, 2, 4, 8}) {
      for (const std::int64_t cut : {1, 2, 4}) {
        const Execution e = Spread(tensor, expert, cut);
        if (!e.spreads_experts()) continue;
        SCOPED_TRACE(testing::Message() << "tensor " << tensor << " expert " << expert << " cut " << cut);
        const Block block = MlpBlock(m, e, 0);
        ASSERT_TRUE(block.spread);
        const std::int64_t rows = 2 * 512 / tensor * 2, row = 4096 * 2;
        const auto& [out, home] = std::pair(block.experts.outward, block.experts.homeward);
        EXPECT_EQ(Sum(out, Group::kExpert, CollectiveKind::kAllToAll), expert > 1 ? rows * row : 0);
        EXPECT_EQ(Sum(home, Group::kExpert, CollectiveKind::kAllToAll), expert > 1 ? rows * row : 0);
        EXPECT_EQ(Sum(out, Group::kExpertTensor, CollectiveKind::kAllGather), cut > 1 ? cut * rows * row : 0);
        EXPECT_EQ(Sum(home, Group::kExpertTensor, CollectiveKind::kReduceScatter),
                  cut > 1 ? cut * rows * row : 0);
        // The tensor group moves nothing: Mixtral has no shared experts.
        EXPECT_EQ(block.gather_forward + block.reduce_forward + block.gather_again, Bytes());
        // Every row is worked on by `cut` ranks, each with 1 / cut of the width.
        EXPECT_EQ(block.experts.rows, rows * cut);
      }
    }
  }
}

TEST(SpreadExperts, AllGatherBringsAllTokensOfBothGroupsAndTakesSumsBack) {
  Execution e = Spread(2, 4, 2);
  e.experts.dispatcher = Dispatcher::kAllGather;
  const Block block = MlpBlock(Mixtral8x7b(), e, 0);
  const std::int64_t tokens = 4 * 2 * (2 * 512 / 2);
  EXPECT_EQ(Sum(block.experts.outward, Group::kBoth, CollectiveKind::kAllGather), tokens * 4096 * 2);
  EXPECT_EQ(Sum(block.experts.homeward, Group::kBoth, CollectiveKind::kReduceScatter), tokens * 4096 * 2);
  EXPECT_EQ(block.experts.rows, tokens * 2 / 4);  // a quarter of the experts, two visits a token
}

// DeepSeek-V3: 1 byte a channel and 4 bytes every 128 on the way out, 2 on the way back.
TEST(SpreadExperts, Fp8DispatchHalvesTheWayOutAndAddsScales) {
  Execution e = Spread(1, 8, 1);
  e.experts.fp8_dispatch = true;
  const Block block = MlpBlock(Mixtral8x7b(), e, 0);
  const std::int64_t rows = 2 * 512 * 2;
  EXPECT_EQ(block.experts.outward.at(0).size.count(), rows * (4096 + 4096 / 128 * 4));
  EXPECT_EQ(block.experts.homeward.at(0).size.count(), rows * 4096 * 2);
}

TEST(SpreadExperts, DoTheSameProductsOnOneRankAsExpertsThatAreNot) {
  for (const Model& m : {Mixtral8x7b(), DeepSeekV2Lite()}) {
    const std::int64_t layer = m.layers - 1;
    const Block alone = MlpBlock(m, Spread(1, 1, 1), layer), spread = MlpBlock(m, Spread(1, 4, 1), layer);
    ASSERT_FALSE(alone.spread);
    EXPECT_EQ(TotalFlops(spread.before_gather), TotalFlops(alone.before_gather));
    EXPECT_EQ(TotalFlops(spread.main) + TotalFlops(spread.experts.forward), TotalFlops(alone.main));
    EXPECT_EQ(TotalFlops(spread.backward_main) + TotalFlops(spread.backward_weight) +
                  TotalFlops(spread.experts.backward),
              TotalFlops(alone.backward_main) + TotalFlops(alone.backward_weight));
    EXPECT_EQ(ActivationBytes(spread, Recompute::kNone), ActivationBytes(alone, Recompute::kNone));
  }
}

TEST(SpreadExperts, NoRowIsLostOrMadeWhereLoadsDiffer) {
  Execution e = Spread(1, 4, 1);
  e.experts.loads = {3, 0, 7, 1};
  const std::int64_t sent = 2 * 512 * 2;
  std::int64_t rows = 0;
  for (std::int64_t group = 0; group < 4; ++group) {
    e.experts.group = group;
    const Block block = MlpBlock(Mixtral8x7b(), e, 0);
    rows += block.experts.rows;
    const std::int64_t load = e.experts.loads[static_cast<std::size_t>(group)];
    EXPECT_LE(std::abs(block.experts.rows - 4 * sent * load / 11), 4);
    EXPECT_EQ(block.experts.forward.empty(), load == 0);
    EXPECT_TRUE(block.experts.outward.at(0).uneven);
    EXPECT_EQ(block.experts.outward.at(0).size.count(), sent * 4096 * 2);
  }
  EXPECT_EQ(rows, 4 * sent);
}

// HB-131: 1 us a token, loads 1000, 1000, 1000, 3000: 3.0 ms, not the mean of 1.5.
TEST(SpreadExperts, TheBusiestRankHasTheRowsThatItsExpertsGet) {
  Model m = WithExperts(Llama(1, 64, 0, 4, 4, 100), 4, 1, 64);
  Execution e = Spread(1, 4, 1);
  e.micro_batch = 1;
  e.sequence_length = 1500;
  e.experts.loads = {1000, 1000, 1000, 3000};
  std::vector<std::int64_t> rows;
  for (e.experts.group = 0; e.experts.group < 4; ++e.experts.group) {
    rows.push_back(MlpBlock(m, e, 0).experts.rows);
  }
  EXPECT_EQ(rows, (std::vector<std::int64_t>{1000, 1000, 1000, 3000}));
}

TEST(ExpertCapacity, RoundsUpOnceAndNeverPassesTheNumberOfTokens) {  // HB-125
  EXPECT_EQ(ExpertCapacity(8, 4, 1, 1.0), 2);
  EXPECT_EQ(ExpertCapacity(100, 64, 6, 1.0), 10);  // 9.375
  EXPECT_EQ(ExpertCapacity(16, 4, 2, 4.0), 16);    // 32 are more than there are tokens
  EXPECT_EQ(ExpertCapacity(4096, 8, 2, 1.25), 1280);
}

// HB-126: with a factor of 16,384 every expert takes all 16,384 tokens and no more:
// 64 x 16,384 rows of 1,024 BF16 numbers, 2 GiB, not 1 TiB.
TEST(ExpertCapacity, BoundsTheBufferWhateverTheFactor) {
  EXPECT_EQ(64 * ExpertCapacity(16384, 64, 1, 16384) * 1024 * 2, std::int64_t{2} << 30);
}

TEST(SpreadExperts, CapacityPadsEveryExpertToTheSameRows) {
  Execution e = Spread(1, 4, 1);
  e.experts.capacity_factor = 1.5;
  e.experts.loads = {3, 0, 7, 1};  // dropped down and padded up
  const Block block = MlpBlock(Mixtral8x7b(), e, 0);
  const std::int64_t each = 2 * 512 * 2 / 8 * 3 / 2;  // rows of one expert from one rank
  EXPECT_EQ(block.experts.outward.at(0).size.count(), 8 * each * 4096 * 2);
  EXPECT_FALSE(block.experts.outward.at(0).uneven);
  EXPECT_EQ(block.experts.rows, 4 * 2 * each);
}

// All choices of 3 of 6 experts, counted: of bins {0,1}, {2,3}, {4,5} a choice visits two
// (12 of 20) or three (8 of 20).
TEST(VisitedShares, IsTheMeanOverAllChoices) {
  EXPECT_NEAR(VisitedShares(6, 3, 3, 3, 3), (12 * 2 + 8 * 3) / 20.0, 1e-12);
  EXPECT_NEAR(VisitedShares(6, 3, 6, 3, 3), 3, 1e-12);  // an expert each
  EXPECT_NEAR(VisitedShares(6, 3, 1, 1, 1), 1, 1e-12);
  // On two nodes of {0,1,2}, {3,4,5} with one node allowed, one is visited.
  EXPECT_NEAR(VisitedShares(6, 3, 2, 2, 1), 1, 1e-12);
}

// 8 of 256 experts on 8 nodes, on 4 of them at most.
// Two of four experts, half of the choices dropped. Of six pairs two lie in one of two halves, which
// keeps one or both with 1 - 1/4; four lie in both, each kept with 1/2.
TEST(VisitedShares, DoNotCountSharesWhoseChoicesAreDropped) {
  EXPECT_NEAR(VisitedShares(4, 2, 2, 2, 2, 0.5), (2 * 0.75 + 4 * 1.0) / 6, 1e-12);
  EXPECT_NEAR(VisitedShares(4, 2, 4, 2, 2, 0.5), 1, 1e-12);  // an expert each
  EXPECT_NEAR(VisitedShares(256, 8, 8, 8, 4, 1 - 1e-13), VisitedShares(256, 8, 8, 8, 4), 1e-9);
}

// By node nothing is padded: what a factor above 1 would leave empty does not travel.
TEST(SpreadExperts, ByNodeDropWhatIsBeyondTheirCapacityAndPadNothing) {
  Execution e = Spread(1, 4, 1);
  e.experts.dispatcher = Dispatcher::kDeepEp;
  const auto block = [&](double factor) {
    e.experts.capacity_factor = factor;
    return MlpBlock(Mixtral8x7b(), e, 0);
  };
  const Block dropless = block(0), even = block(1), wide = block(2), half = block(0.5);
  EXPECT_EQ(even.experts.rows, dropless.experts.rows);
  EXPECT_EQ(wide.experts.rows, dropless.experts.rows);
  EXPECT_EQ(2 * half.experts.rows, dropless.experts.rows);
  EXPECT_EQ(wide.experts.outward[0].size, dropless.experts.outward[0].size);
  EXPECT_EQ(2 * TotalFlops(half.experts.forward), TotalFlops(dropless.experts.forward));
  // Two of eight experts, four ranks of two: 28 pairs, 4 on one rank. Kept by halves: 0.75 of those, 1 of
  // others.
  const double visits = (4 * 0.75 + 24 * 1.0) / 28, all = (4 * 1.0 + 24 * 2.0) / 28;
  EXPECT_NEAR(static_cast<double>(half.experts.outward[0].size.count()) /
                  static_cast<double>(dropless.experts.outward[0].size.count()),
              visits / all, 1e-6);
}

TEST(VisitedShares, OfDeepSeekV3AreFewerThanItsNodeLimit) {
  const double nodes = VisitedShares(256, 8, 8, 8, 4);
  EXPECT_LT(nodes, 4);
  EXPECT_GT(nodes, 3.5);  // 4 (1 - (96 choose 8) / (128 choose 8)) = 4 (1 - 0.0925)
  EXPECT_NEAR(nodes, 3.63, 0.01);
  EXPECT_LT(nodes, VisitedShares(256, 8, 8, 8, 8));
}

TEST(ParametersOfRank, OverAllRanksOfAStageMakeTheModelExactlyWhateverTheExpertsLayout) {
  for (const Model& m : {Mixtral8x7b(), DeepSeekV2Lite()}) {
    for (const std::int64_t tensor : {1, 2, 4}) {
      for (const std::int64_t expert : {1, 2, 4, 8}) {
        for (const std::int64_t cut : {1, 2, 4}) {
          SCOPED_TRACE(testing::Message() << m.hidden << ": " << tensor << ' ' << expert << ' ' << cut);
          const StageParameters p = ParametersOfRank(
              m, {m.layers, true, true}, {.tensor = tensor, .expert = expert, .expert_tensor = cut});
          const Held experts = p.experts, all = p.total();
          const std::int64_t others =
              tensor * (all.sharded - experts.sharded) + all.replicated - experts.replicated;
          EXPECT_EQ(others + expert * (cut * experts.sharded + experts.replicated), ParametersOf(m).total());
        }
      }
    }
  }
}

// HB-041: 64 ranks, expert 8: 2e9 dense parameters over 64 data ranks, 5e9 of 40e9 of
// experts over 8: 2e9 (6 + 12/64) + 5e9 (6 + 12/8).
TEST(StaticMemory, OfExpertsIsCutOverTheRanksThatHoldTheSameExperts) {
  const auto of = [](std::int64_t parameters, std::int64_t owners) {
    return Total(StaticMemory(parameters, sim::NumberFormat::kBf16, sim::NumberFormat::kFp32,
                              {.optimizer = owners}))
        .count();
  };
  EXPECT_EQ(of(2'000'000'000, 64), 12'375'000'000);
  EXPECT_EQ(of(40'000'000'000 / 8, 64 / 8), 37'500'000'000);
}

}  // namespace
}  // namespace models
