// Layouts by hand and at least, beside what the simulation says.

#include "scenarios/plan/candidate.h"

#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "models/parameters.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/plan/small_jobs.h"

namespace scenarios {
namespace {

struct Case {
  const char* model;
  std::int64_t layers, devices;
  LayoutChoice layout;
};

// Dense and with experts, in and across nodes, few and many micro-batches.
const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"llama_7b", 4, 8, {}},
      {"llama_7b", 4, 16, {.sharding = OptimizerSharding::kZero3, .recompute = Recompute::kFull}},
      {"llama_7b", 4, 16, {.tensor = 8, .micro = 2}},
      {"llama_7b", 4, 16, {.tensor = 4, .recompute = Recompute::kFull}},
      {"llama_7b", 8, 16, {.tensor = 2, .pipeline = 4}},
      {"llama_7b", 8, 16, {.pipeline = 4, .virtual_stages = 2, .recompute = Recompute::kFull}},
      {"mixtral_8x7b", 4, 16, {.expert = 8}},
      {"mixtral_8x7b", 4, 16, {.tensor = 2, .pipeline = 2, .expert = 4, .expert_tensor = 2}},
      {"deepseek_v2_lite", 4, 16, {.pipeline = 2, .expert = 8, .recompute = Recompute::kFull}},
      {"deepseek_v2_lite", 4, 16, {.expert = 16}},
  };
  return cases;
}

// That nothing that is ruled out by its bound could have been best.
TEST(Candidate, NoPlayIsShorterThanTheBound) {
  for (const Case& c : Cases()) {
    for (const std::int64_t batch : {std::int64_t{32}, std::int64_t{128}}) {
      const PlanJob job = JobOf(c.model, c.layers, batch);
      const auto shape = ShapeFor(job, c.layout, c.devices, c.devices);
      ASSERT_TRUE(shape.has_value()) << ToText(c.layout, 0);
      const auto candidate = Examine(job, c.layout, *shape);
      ASSERT_TRUE(candidate.ok()) << candidate.error().message;
      const auto run = scenarios::Run(ScenarioOf(job, c.layout, *shape).value());
      const double step = run.value().report.step_time.seconds();
      EXPECT_LE(candidate.value().bound_s, step) << c.model << ' ' << ToText(c.layout, shape->data);
      EXPECT_GT(candidate.value().bound_s, 0.5 * step) << c.model << ' ' << ToText(c.layout, shape->data);
    }
  }
}

// Nothing is sent on one device, and its kernels run one after the other: the bound is the step but for what
// comes after it, the norm of the gradients and the clip, which are no part of a pass.
TEST(Candidate, BoundOfOneDeviceIsItsStep) {
  const PlanJob job = JobOf("llama_7b", 2, 8);
  const auto shape = ShapeFor(job, {}, 1, 1);
  const auto run = scenarios::Run(ScenarioOf(job, {}, *shape).value());
  EXPECT_NEAR(Examine(job, {}, *shape).value().bound_s / run.value().report.step_time.seconds(), 1, 1e-3);
}

// A slice is read, and the other data ranks are put in: what is held is that of the whole job.
TEST(Candidate, MemoryIsThatOfTheWholeJob) {
  for (const Case& c : Cases()) {
    const PlanJob job = JobOf(c.model, c.layers, 256);
    const auto shape = ShapeFor(job, c.layout, 64, 64);
    ASSERT_TRUE(shape.has_value()) << ToText(c.layout, 0);
    const auto whole = ScenarioOf(job, c.layout, *shape);
    ASSERT_TRUE(whole.ok()) << whole.error().message;
    const hardware::DeviceCostModel cost(whole.value().device);
    const sim::Bytes held = LargestStageMemory(whole.value(), PlanStages(whole.value(), cost)).total;
    EXPECT_EQ(Examine(job, c.layout, *shape).value().memory, held) << ToText(c.layout, shape->data);
  }
}

// LLaMA-7B, 64 sequences of 2,048 tokens on 8 devices: 6 P D = 6 x 6,738,415,616 x 131,072 = 5.299e15 FLOPs
// at 0.7 of 989.4e12 on 8 devices take 0.9565 s; recomputed, a third more. Two stages of 1F1B with 16
// micro-batches wait 1/16 of that.
TEST(Candidate, HandCountsWorkAtSevenTenthsOfThePeak) {
  const PlanJob job = JobOf("llama_7b", 0, 64);
  const LayoutChoice layout{.pipeline = 2, .recompute = Recompute::kFull};
  const HandTime hand = Examine(job, layout, *ShapeFor(job, layout, 8, 8)).value().hand;
  const double compute = 6.0 * 6'738'415'616 * 131'072 / (0.7 * 8 * 989.4e12);
  EXPECT_NEAR(hand.compute_s, compute, 1e-4 * compute);
  EXPECT_NEAR(hand.recompute_s, compute / 3, 1e-4 * compute);
  EXPECT_NEAR(hand.bubble_s, compute * 4 / 3 / 16, 1e-4 * compute);
  EXPECT_EQ(hand.tensor_s, 0);
  EXPECT_DOUBLE_EQ(hand.step_s(), hand.compute_s + hand.recompute_s + hand.bubble_s);
}

// Erratum A20: where a node's 8 devices are of one data group a ring leaves the node through all 8 NICs, so
// that NVLink may be what limits; where tensor parallelism takes the whole node, each has its own alone.
TEST(Candidate, RingsOfWholeNodesUseAllNics) {
  const PlanJob job = JobOf("llama_7b", 8, 64);
  const sim::NodeShape& node = job.device.node;
  const double parameters = static_cast<double>(models::ParametersOf(job.model).total());
  // FP32 gradients scattered and BF16 weights gathered: 6 bytes, 15 of 16 parts; over 16 ranks in two nodes.
  const HandTime all = Examine(job, {}, *ShapeFor(job, {}, 16, 16)).value().hand;
  const double rate = std::min(8 * node.nic.bytes_per_second(), node.nvlink.bytes_per_second());
  EXPECT_NEAR(all.data_s, parameters * 6 * 15 / 16 / rate, 0.01 * all.data_s);
  const LayoutChoice tensor{.tensor = 8};
  const HandTime one = Examine(job, tensor, *ShapeFor(job, tensor, 16, 16)).value().hand;
  EXPECT_NEAR(one.data_s, parameters / 8 * 6 / 2 / node.nic.bytes_per_second(), 0.01 * one.data_s);
}

// 17.9.4, step 8: traffic over work.
TEST(Candidate, ShareOfCommunicationIsOverWork) {
  const HandTime hand{
      .compute_s = 3, .recompute_s = 1, .bubble_s = 1, .data_s = 9, .tensor_s = 2, .expert_s = 1};
  EXPECT_DOUBLE_EQ(hand.step_s(), 9 + 2 + 1);
  EXPECT_DOUBLE_EQ(hand.communication_share(), 12.0 / 4);
}

}  // namespace
}  // namespace scenarios
