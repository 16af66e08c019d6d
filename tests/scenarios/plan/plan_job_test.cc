// What a layout makes of a job.

#include "scenarios/plan/plan_job.h"

#include <gtest/gtest.h>

#include "tests/scenarios/plan/small_jobs.h"

namespace scenarios {
namespace {

constexpr std::int64_t kAny = 1'000'000;

// 17.5.4: 863 devices in groups of tensor 8 x pipeline 4 = 32 are 864, 27 data ranks. 1,024 sequences become
// 1,026 = 27 x 38.
TEST(PlanJob, DevicesAreWholeGroups) {
  const PlanJob job = JobOf("llama2_70b", 0, 1024);
  const auto shape = ShapeFor(job, {.tensor = 8, .pipeline = 4}, 863, kAny);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->devices, 864);
  EXPECT_EQ(shape->data, 27);
  EXPECT_EQ(shape->global_batch, 1026);
  EXPECT_EQ(shape->micro_batches, 38);
}

// Beyond one node nodes are whole: tensor 4 x pipeline 3 = 12 devices a group, 24 in whole nodes of 8. Inside
// one any number does.
TEST(PlanJob, DevicesFillNodes) {
  const PlanJob job = JobOf("llama2_70b", 0, 1024);
  EXPECT_EQ(ShapeFor(job, {.tensor = 4, .pipeline = 3}, 13, kAny)->devices, 24);
  EXPECT_EQ(ShapeFor(job, {.tensor = 2}, 5, kAny)->devices, 6);
}

// Groups of 96: 16,416 are more than there are, 16,320 are not.
TEST(PlanJob, DevicesThatAreNotThereAreNotUsed) {
  const PlanJob job = JobOf("moe_1_8t", 0, 4096);
  EXPECT_EQ(ShapeFor(job, {.tensor = 8, .pipeline = 12}, 16'384, 16'384)->devices, 16'320);
  EXPECT_FALSE(ShapeFor(job, {.tensor = 8, .pipeline = 12}, 100, 95).has_value());
  EXPECT_FALSE(ShapeFor(job, {.tensor = 8, .pipeline = 8}, 100, 100).has_value());  // 64 leave a third idle
}

// expert 16 x 4 over tensor 8: groups of 64 ranks, 8 data ranks.
TEST(PlanJob, ExpertGroupsAreWhole) {
  const PlanJob job = JobOf("moe_1_8t", 0, 4096);
  const LayoutChoice layout{.tensor = 8, .pipeline = 8, .expert = 16, .expert_tensor = 4};
  const auto shape = ShapeFor(job, layout, 513, kAny);
  EXPECT_EQ(shape->devices, 1024);
  EXPECT_EQ(shape->data, 16);
  EXPECT_TRUE(IsSlice(job, layout, 8));
  EXPECT_FALSE(IsSlice(job, layout, 4));
}

// 64 data ranks cannot share 16 sequences; 12 would be asked for 24 with micro-batches of 2, half as many
// more.
TEST(PlanJob, BatchesGrowByAQuarterAtTheMost) {
  EXPECT_FALSE(ShapeFor(JobOf("llama_7b", 0, 16), {}, 64, kAny).has_value());
  EXPECT_FALSE(ShapeFor(JobOf("llama_7b", 0, 16), {.micro = 3}, 8, kAny).has_value());
  EXPECT_EQ(ShapeFor(JobOf("llama_7b", 0, 20), {.micro = 3}, 8, kAny)->global_batch, 24);
}

// 24 devices of tensor 2 x pipeline 4 are 3 data ranks, which 512 sequences do not suit; 32 are 4.
TEST(PlanJob, DevicesSuitABatchThatMayNotGrow) {
  PlanJob job = JobOf("llama_7b", 0, 512);
  const LayoutChoice layout{.tensor = 2, .pipeline = 4};
  EXPECT_EQ(ShapeFor(job, layout, 24, kAny)->global_batch, 513);
  job.batch_may_grow = false;
  EXPECT_EQ(ShapeFor(job, layout, 24, kAny)->devices, 32);
  EXPECT_EQ(ShapeFor(job, layout, 24, kAny)->global_batch, 512);
  EXPECT_FALSE(ShapeFor(job, layout, 24, 24).has_value());
  EXPECT_EQ(ShapeFor(job, layout, 33, 35)->devices, 32);
}

// Interleaved micro-batches come in as many as there are stages.
TEST(PlanJob, InterleavedMicroBatchesFillTheStages) {
  const auto shape = ShapeFor(JobOf("llama_7b", 0, 60), {.pipeline = 8, .virtual_stages = 2}, 8, kAny);
  EXPECT_EQ(shape->micro_batches, 64);
  EXPECT_EQ(ShapeFor(JobOf("llama_7b", 0, 60), {.pipeline = 8}, 8, kAny)->micro_batches, 60);
}

TEST(PlanJob, SlicesHaveAsManyMicroBatches) {
  const JobShape whole{.devices = 864, .data = 27, .global_batch = 1026, .micro_batches = 38};
  const JobShape slice = SliceOf(whole, 32, 2);
  EXPECT_EQ(slice.devices, 64);
  EXPECT_EQ(slice.global_batch, 76);
  EXPECT_EQ(slice.micro_batches, 38);
}

// Rails reach 2,048 nodes of NDR; nodes without NICs are alone.
TEST(PlanJob, NetworksAreTheNodesRailsWhereThoseReach) {
  EXPECT_EQ(UsualTopology(DeviceOf("h800_sxm"), 16'384), "rail_optimised_ndr");
  EXPECT_EQ(UsualTopology(DeviceOf("h800_sxm"), 16'392), "non_blocking");
  EXPECT_EQ(UsualTopology(DeviceOf("a100_80_sxm"), 6'400), "rail_optimised_hdr");
  EXPECT_EQ(UsualTopology(DeviceOf("gb200_nvl72"), 144), "non_blocking");
  hardware::Device alone = DeviceOf("h800_sxm");
  alone.node.nics = 0;
  EXPECT_EQ(UsualTopology(alone, 8), "single_node");
}

// Of three models all that has a shape is a legal scenario, as chosen. Every seventeenth is read, in slices.
TEST(PlanJob, EveryLayoutMakesALegalScenario) {
  for (const char* model : {"llama_7b", "deepseek_v2_lite", "gemma2_27b"}) {
    const PlanJob job = JobOf(model, 0, 512);
    std::size_t at = 0;
    for (const LayoutChoice& layout : LayoutsFor(job.model, job.device, {})) {
      const auto shape = ShapeFor(job, layout, 64, 96);
      if (!shape || at++ % 17 != 0) continue;
      std::int64_t data = 1;
      while (data < shape->data && !IsSlice(job, layout, data)) ++data;
      const auto scenario = ScenarioOf(job, layout, SliceOf(*shape, layout.group(), data));
      ASSERT_TRUE(scenario.ok()) << model << ' ' << ToText(layout, data) << ": " << scenario.error().message;
      const Layout& read = scenario.value().layout;
      EXPECT_EQ(read.tensor, layout.tensor);
      EXPECT_EQ(read.pipeline, layout.pipeline);
      EXPECT_EQ(read.virtual_stages, layout.virtual_stages);
      EXPECT_EQ(read.data, data);
      EXPECT_EQ(scenario.value().batch.micro_batches, shape->micro_batches);
      EXPECT_EQ(scenario.value().training.recompute, layout.recompute);
      EXPECT_EQ(scenario.value().training.optimizer_sharding, layout.sharding);
    }
  }
}

}  // namespace
}  // namespace scenarios
