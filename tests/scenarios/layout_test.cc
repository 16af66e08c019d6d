#include "scenarios/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace scenarios {
namespace {

using testing::ElementsAre;

constexpr Dimension kAll[] = {Dimension::kTensor, Dimension::kContext, Dimension::kData,
                              Dimension::kPipeline};

Layout Make(std::int64_t tensor, std::int64_t context, std::int64_t data, std::int64_t pipeline) {
  Layout layout;
  layout.tensor = tensor;
  layout.context = context;
  layout.data = data;
  layout.pipeline = pipeline;
  return layout;
}

std::vector<std::uint32_t> Ranks(const std::vector<sim::Rank>& group) {
  std::vector<std::uint32_t> ranks;
  for (const sim::Rank rank : group) ranks.push_back(rank.value());
  return ranks;
}

// Megatron-LM, core/parallel_state.py: of 16 GPUs with tensor 2 and pipeline 4
// the tensor groups are [g0, g1], ...; the data groups [g0, g2], [g1, g3], ...;
// the pipeline groups [g0, g4, g8, g12], ...
TEST(Layout, GroupsRanksAsMegatronDoes) {
  const Layout layout = Make(2, 1, 2, 4);
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(0), Dimension::kTensor)), ElementsAre(0, 1));
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(15), Dimension::kTensor)), ElementsAre(14, 15));
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(0), Dimension::kData)), ElementsAre(0, 2));
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(7), Dimension::kData)), ElementsAre(5, 7));
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(9), Dimension::kPipeline)), ElementsAre(1, 5, 9, 13));
}

TEST(Layout, CoordinatesNameEveryRankOnce) {
  Layout layout = Make(2, 3, 5, 4);
  for (int order = 0; order < 2; ++order) {
    std::set<std::vector<std::int64_t>> seen;
    for (std::uint32_t rank = 0; rank < layout.ranks(); ++rank) {
      std::vector<std::int64_t> coordinates;
      for (const Dimension d : kAll) {
        const std::int64_t c = layout.Coordinate(sim::Rank(rank), d);
        EXPECT_GE(c, 0);
        EXPECT_LT(c, layout.extent(d));
        coordinates.push_back(c);
      }
      EXPECT_TRUE(seen.insert(coordinates).second);
    }
    std::swap(layout.order[0], layout.order[3]);
  }
}

TEST(Layout, GroupsOfADimensionCutTheRanks) {
  const Layout layout = Make(2, 3, 5, 4);
  for (const Dimension d : kAll) {
    for (std::uint32_t rank = 0; rank < layout.ranks(); ++rank) {
      const std::vector<sim::Rank> group = layout.Group(sim::Rank(rank), d);
      ASSERT_EQ(static_cast<std::int64_t>(group.size()), layout.extent(d));
      EXPECT_EQ(group[static_cast<std::size_t>(layout.Coordinate(sim::Rank(rank), d))], sim::Rank(rank));
      for (const sim::Rank member : group) {
        EXPECT_EQ(layout.Group(member, d), group);
        for (const Dimension other : kAll) {
          if (other == d) continue;
          EXPECT_EQ(layout.Coordinate(member, other), layout.Coordinate(sim::Rank(rank), other));
        }
      }
    }
  }
}

// A rank's copies are those with its tensor and pipeline coordinates, in order of rank.
TEST(Layout, CopiesOfARankDifferAlongDataAndContextOnly) {
  Layout layout = Make(2, 3, 5, 4);
  for (int order = 0; order < 3; ++order) {
    for (std::uint32_t r = 0; r < layout.ranks(); ++r) {
      const std::vector<sim::Rank> copies = layout.Copies(sim::Rank(r));
      std::vector<sim::Rank> want;
      for (const sim::Rank other : layout.AllRanks()) {
        const bool same = layout.Coordinate(other, Dimension::kTensor) ==
                              layout.Coordinate(sim::Rank(r), Dimension::kTensor) &&
                          layout.Coordinate(other, Dimension::kPipeline) ==
                              layout.Coordinate(sim::Rank(r), Dimension::kPipeline);
        if (same) want.push_back(other);
      }
      ASSERT_EQ(copies, want);
      ASSERT_EQ(copies[static_cast<std::size_t>(layout.CopyOf(sim::Rank(r)))], sim::Rank(r));
    }
    std::swap(layout.order[order], layout.order[order + 1]);
  }
}

// Context 8 by exchanges of 2: neighbours exchange, every second one is in one ring.
TEST(Layout, CutsAContextGroupIntoExchangesAndRings) {
  Layout layout = Make(2, 8, 1, 1);
  layout.ulysses = 2;
  EXPECT_THAT(Ranks(layout.UlyssesGroup(sim::Rank(7))), ElementsAre(5, 7));
  EXPECT_THAT(Ranks(layout.RingGroup(sim::Rank(7))), ElementsAre(3, 7, 11, 15));
}

TEST(Layout, TheOrderSaysWhichDimensionIsFastest) {
  Layout layout = Make(2, 1, 2, 4);
  layout.order[0] = Dimension::kPipeline;
  layout.order[3] = Dimension::kTensor;
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(0), Dimension::kPipeline)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Ranks(layout.Group(sim::Rank(0), Dimension::kTensor)), ElementsAre(0, 8));
}

}  // namespace
}  // namespace scenarios
