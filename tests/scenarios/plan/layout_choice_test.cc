// Which layouts there are.

#include "scenarios/plan/layout_choice.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/scenarios/plan/small_jobs.h"

namespace scenarios {
namespace {

std::set<std::int64_t> All(const std::vector<LayoutChoice>& layouts, std::int64_t LayoutChoice::*what) {
  std::set<std::int64_t> values;
  for (const LayoutChoice& layout : layouts) values.insert(layout.*what);
  return values;
}

using Numbers = std::set<std::int64_t>;

// An H800's NVLink joins 8 devices, of a GB200's 72; L40S have none. Beyond 8 nothing is tried.
TEST(LayoutChoice, TensorGroupsStayInsideOneNvlinkDomain) {
  const models::Model model = ModelOf("llama2_70b");
  EXPECT_EQ(All(LayoutsFor(model, DeviceOf("h800_sxm"), {}), &LayoutChoice::tensor), (Numbers{1, 2, 4, 8}));
  EXPECT_EQ(All(LayoutsFor(model, DeviceOf("gb200_nvl72"), {}), &LayoutChoice::tensor),
            (Numbers{1, 2, 4, 8}));
  EXPECT_EQ(All(LayoutsFor(model, DeviceOf("l40s"), {}), &LayoutChoice::tensor), (Numbers{1}));
}

// Qwen2.5-7B has 28 query heads: 8 do not divide them.
TEST(LayoutChoice, TensorGroupsDivideTheHeads) {
  EXPECT_EQ(All(LayoutsFor(ModelOf("qwen2_5_7b"), DeviceOf("h800_sxm"), {}), &LayoutChoice::tensor),
            (Numbers{1, 2, 4}));
}

// 32 layers: their divisors up to 32, and 17, where the embedding and the loss take the place of one each.
TEST(LayoutChoice, StagesHaveAsManyLayersEach) {
  const auto layouts = LayoutsFor(ModelOf("llama_7b"), DeviceOf("h800_sxm"), {});
  EXPECT_EQ(All(layouts, &LayoutChoice::pipeline), (Numbers{1, 2, 4, 8, 16, 17, 32}));
  for (const LayoutChoice& l : layouts) {
    const std::int64_t slots = l.pipeline == 17 ? 34 : 32;
    EXPECT_EQ(slots % (l.pipeline * l.virtual_stages), 0) << ToText(l, 1);
    EXPECT_TRUE(l.pipeline > 1 || l.virtual_stages == 1);
  }
}

// Mixtral has 8 experts a layer. Experts that are cut less than the rest of a layer are not tried.
TEST(LayoutChoice, ExpertGroupsHoldWholeExperts) {
  const auto layouts = LayoutsFor(ModelOf("mixtral_8x7b"), DeviceOf("h800_sxm"), {});
  EXPECT_EQ(All(layouts, &LayoutChoice::expert), (Numbers{1, 2, 4, 8}));
  for (const LayoutChoice& l : layouts) {
    EXPECT_TRUE(l.expert == 1 || l.expert >= l.tensor) << ToText(l, 1);
    EXPECT_LE(l.expert_tensor, l.tensor);
  }
  EXPECT_EQ(All(LayoutsFor(ModelOf("llama_7b"), DeviceOf("h800_sxm"), {}), &LayoutChoice::expert),
            (Numbers{1}));
}

// ZeRO-3 is for one stage only: a pipeline would gather for every micro-batch.
TEST(LayoutChoice, PipelinesCutTheOptimizerOnly) {
  for (const LayoutChoice& l : LayoutsFor(ModelOf("llama_7b"), DeviceOf("h800_sxm"), {})) {
    EXPECT_TRUE(l.pipeline == 1 || l.sharding == OptimizerSharding::kZero1);
  }
}

TEST(LayoutChoice, WhatIsGivenIsTaken) {
  const LayoutLimits limits{.tensor = 2,
                            .pipeline = 4,
                            .virtual_stages = 1,
                            .micro = 3,
                            .sharding = OptimizerSharding::kZero1,
                            .recompute = Recompute::kSelective};
  const auto layouts = LayoutsFor(ModelOf("llama_7b"), DeviceOf("h800_sxm"), limits);
  ASSERT_EQ(layouts.size(), 1u);
  EXPECT_EQ(ToText(layouts[0], 5),
            "tensor 2 x pipeline 4 x data 5, ZeRO-1, micro-batch 3, selective recomputation");
  EXPECT_TRUE(LayoutsFor(ModelOf("llama_7b"), DeviceOf("h800_sxm"), {.tensor = 3}).empty());
}

TEST(LayoutChoice, NamesEverythingThatIsNotUsual) {
  const LayoutChoice layout{.tensor = 8,
                            .pipeline = 8,
                            .virtual_stages = 5,
                            .expert = 16,
                            .expert_tensor = 4,
                            .recompute = Recompute::kFull};
  EXPECT_EQ(ToText(layout, 256),
            "tensor 8 x pipeline 8 (5 virtual) x data 256, expert 16 x 4, ZeRO-1, micro-batch 1, full "
            "recomputation");
}

}  // namespace
}  // namespace scenarios
