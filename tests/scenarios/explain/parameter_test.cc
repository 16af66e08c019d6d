#include "scenarios/explain/parameter.h"

#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "scenarios/explain/work_parts.h"
#include "tests/scenarios/explain/explaining.h"

namespace scenarios {
namespace {

TEST(Parameter, OfTheDeviceChangesWhatItSays) {
  const hardware::Device device = FourLayers().device;
  const auto bf16 = static_cast<std::size_t>(sim::NumberFormat::kBf16);
  EXPECT_DOUBLE_EQ(WithParameter(device, Parameter::kTensorRate, 2).gemm[bf16].peak_flops_per_s,
                   2 * device.gemm[bf16].peak_flops_per_s);
  EXPECT_EQ(WithParameter(device, Parameter::kMemoryRate, 2).memory_rate.milli(),
            2 * device.memory_rate.milli());
  EXPECT_DOUBLE_EQ(WithParameter(device, Parameter::kKernelStart, 2).minimum_kernel_s,
                   2 * device.minimum_kernel_s);
  EXPECT_DOUBLE_EQ(WithParameter(device, Parameter::kLaunch, 2).host.eager_operation_s,
                   2 * device.host.eager_operation_s);
}

// Each link's capacity changes with its own rate and no other's; nothing else does.
TEST(Parameter, OfLinksChangesLinksOfItsKind) {
  const Scenario s = FourLayers();
  const StepProgram steps = BuildSteps(s, PlanStages(s, hardware::DeviceCostModel(s.device))).value();
  for (int p = 0; p < kParameters; ++p) {
    const auto parameter = static_cast<Parameter>(p);
    if (!IsOfLinks(parameter)) continue;
    const NetworkTables tables = WithParameter(steps.program, s.fabric, parameter, 2);
    for (std::size_t l = 0; l < tables.link_capacity.size(); ++l) {
      const int times = RateOf(s.fabric.links[l].tier) == parameter ? 2 : 1;
      ASSERT_EQ(tables.link_capacity[l].milli(), times * steps.program.link_capacity[l].milli());
    }
    for (std::size_t t = 0; t < tables.traffics.size(); ++t) {
      ASSERT_EQ(tables.traffics[t].latency, steps.program.traffics[t].latency);
    }
  }
  const NetworkTables later = WithParameter(steps.program, s.fabric, Parameter::kLatency, 3);
  for (std::size_t t = 0; t < later.traffics.size(); ++t) {
    ASSERT_EQ(later.traffics[t].latency, 3 * steps.program.traffics[t].latency);
  }
}

// Every piece of a step's work is of classes of kernels, and shorter with faster units.
TEST(WorkParts, AddUpToTheWorkTheyAreOf) {
  const Scenario s = FourLayers({{"training.recompute", "SELECTIVE"}, {"layout.sequence", "true"}});
  const StepProgram steps = BuildSteps(s, PlanStages(s, hardware::DeviceCostModel(s.device))).value();
  const std::vector<WorkParts> parts = WorkPartsOf(s, steps).value();
  int works = 0;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const sim::TaskRow& row = steps.program.rows[r];
    if (row.kind != sim::TaskKind::kWork) continue;
    ASSERT_TRUE(parts[r].kernels);
    sim::Duration sum;
    for (const sim::Duration time : parts[r].by_class) sum += time;
    ASSERT_EQ(sum, steps.program.works[row.amount].alone);
    ASSERT_LE(parts[r].slope_s[0], 0);
    ASSERT_LE(parts[r].slope_s[1], 0);
    ASSERT_GE(parts[r].slope_s[2], 0);
    // No more than all of it can go with both rates together.
    ASSERT_LE(-parts[r].slope_s[0] - parts[r].slope_s[1], 1.01 * sum.seconds());
    ++works;
  }
  EXPECT_GT(works, 10);
}

}  // namespace
}  // namespace scenarios
