// A step whose linear layers run in eight bits.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "scenarios/checkpoint_report.h"
#include "scenarios/closed_form.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/schedules.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

sim::Duration StepOf(const Scenario& s, std::string_view name) {
  const StepProgram steps = BuildSteps(s, OneName(name)).value();
  return SteadySteps(s, steps.program, sim::Simulate(steps.program).value()).step_time();
}

// Four linear layers (QKV, output, gate with up, down) in each of 5; an input and a gradient of each
// is cast in each of 3 micro-batches, but gate's and up's gradient and QKV's share their kernel.
void ExpectCasts(const char* schedule) {
  Scenario s = SyntheticScenario(1, 3, 1, schedule, 5);
  s.training.matmul.recipe = models::Recipe::kTensorCurrent;
  EXPECT_EQ(StepOf(s, "cast_weights"), sim::Duration::Microseconds(5 * 4));
  EXPECT_EQ(StepOf(s, "cast_input"), sim::Duration::Microseconds(3 * 5 * 4));
  EXPECT_EQ(StepOf(s, "cast_gradient"), sim::Duration::Microseconds(3 * 5 * 4));
  s.training.matmul.first_layers_bf16 = 1;
  s.training.matmul.last_layers_bf16 = 2;
  EXPECT_EQ(StepOf(s, "cast_weights"), sim::Duration::Microseconds(2 * 4));
  EXPECT_EQ(StepOf(s, "cast_input"), sim::Duration::Microseconds(3 * 2 * 4));
}

TEST(PrecisionStep, CastsWeightsOnceAStepAndInputsOnceAMicroBatch) { ExpectCasts("1f1b"); }

// A split backward casts its gradients in the input half; the weight half reads the same copies.
TEST(PrecisionStep, CastsAsOftenWhereBackwardsAreSplit) { ExpectCasts("zb1p"); }

// Both stages hold both pieces of one layer each, and cast their weights at the first
// micro-batch of each: number 0 from one end, 2 from the other.
TEST(PrecisionStep, CastsEveryCopyOfAPieceUnderDualPipe) {
  Scenario s = ScheduleScenario("dualpipe", 2, 4);
  s.training.matmul.recipe = models::Recipe::kTensorCurrent;
  EXPECT_EQ(StepOf(s, "cast_weights"), sim::Duration::Microseconds(2 * 4));
}

// One all-reduce behind every forward and every backward of each rank's only chunk: 8 micro-batches,
// 3 steps, 4 tensor groups.
TEST(PrecisionStep, DelayedScalingReducesItsScalesOverTheTensorGroup) {
  const auto communications = [](const char* recipe) {
    const Scenario s = Loaded({{"training.matmul.recipe", recipe}});
    return BuildSteps(s, OneName("qkv")).value().program.communications.size();
  };
  EXPECT_EQ(communications("FP8_TENSOR_DELAYED") - communications("FP8_TENSOR_CURRENT"), 2u * 8 * 3 * 4);
}

// LLaMA-7B's stage of 16 layers on tensor 4: 16 x (4 h^2 + 3 h f) / 4 numbers of linear layers.
constexpr std::int64_t kLinear = 16 * (4LL * 4096 * 4096 + 3LL * 4096 * 11008) / 4;

TEST(PrecisionStep, WeightsInEightBitsHalveWhatIsHeldAndGathered) {
  const Scenario wide = Loaded({});
  const Scenario cast = Loaded({{"training.matmul.recipe", "FP8_TENSOR_CURRENT"}});
  const Scenario held = Loaded(
      {{"training.matmul.recipe", "FP8_TENSOR_CURRENT"}, {"training.matmul.fp8_param_gather", "true"}});
  for (const std::uint32_t stage : {0u, 1u}) {
    auto before = PartsOf(wide, OneName("qkv"), stage), beside = PartsOf(cast, OneName("qkv"), stage),
         instead = PartsOf(held, OneName("qkv"), stage);
    EXPECT_EQ(before.count("fp8_weights"), 0u);
    EXPECT_EQ(beside["weights"], before["weights"]);
    EXPECT_EQ(beside["fp8_weights"], sim::Bytes(2 * kLinear));
    EXPECT_EQ(before["weights"] - instead["weights"], sim::Bytes(kLinear));
    EXPECT_EQ(instead["fp8_weights"], sim::Bytes(kLinear));
    EXPECT_LT(beside["activations"], before["activations"]);
  }
  // Of two data ranks each sends half: of 2 bytes a number, or 1.
  const auto gathered = [](const Scenario& s) {
    return ClosedFormOf(s, PlanStages(s, OneName("qkv")), sim::Duration()).parameter_bytes_per_rank;
  };
  EXPECT_EQ(gathered(wide), gathered(cast));
  EXPECT_EQ(gathered(wide) - gathered(held), static_cast<double>(kLinear) / 2);
}

TEST(PrecisionStep, TheReportSaysWhichPeakUtilisationIsOf) {
  const Report wide = scenarios::Run(Loaded({})).value().report;
  const Report eight =
      scenarios::Run(Loaded({{"training.matmul.recipe", "FP8_TENSOR_DELAYED"}})).value().report;
  EXPECT_LT(eight.step_time, wide.step_time);
  for (const Report* r : {&wide, &eight}) {
    EXPECT_EQ(r->peak_format, "BF16");
    EXPECT_EQ(r->peak_tflops, 989.4);
    EXPECT_DOUBLE_EQ(r->mfu, r->tflops_per_device / r->peak_tflops);
  }
  EXPECT_EQ(wide.matmul_recipe, "");
  EXPECT_EQ(eight.matmul_recipe, "FP8_TENSOR_DELAYED");
  EXPECT_DOUBLE_EQ(eight.matmul_peak_tflops, 1978.9);
}

}  // namespace
}  // namespace scenarios
