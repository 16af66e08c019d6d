// Linear layers in eight bits where weights are cut over data ranks: what is cast when, what
// is gathered, what is held.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "models/parameters.h"
#include "scenarios/closed_form.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

// Two ranks, 5 layers, 3 micro-batches; communication is free.
Scenario TwoRanks(models::Recipe recipe) {
  Scenario s = SyntheticScenario(1, 3, 1, "1f1b", 5);
  s.devices = s.layout.data = 2;
  s.batch.global = 6;
  s.fabric.domain = {0, 0};
  s.fabric.rail = {0, 1};
  s.device.capability = 90;
  s.training.optimizer_sharding = OptimizerSharding::kZero3;
  s.training.sharding.no_sync = false;
  s.training.matmul.recipe = recipe;
  return s;
}

std::int64_t KernelsOfAStep(const Scenario& s, std::string_view name) {
  const StepProgram steps = BuildSteps(s, OneName(name)).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  return sim::FindSteps(steps.program, timeline).step_time().ps() / sim::Duration::Microseconds(1).ps();
}

// Four linear layers (QKV, output, gate with up, down) in each of 5, 3 micro-batches.
constexpr std::int64_t kPass = 3 * 5 * 4;

TEST(ShardedPrecision, CastsWhatArrivesInSixteenBitsBehindEachGather) {
  Scenario s = TwoRanks(models::Recipe::kTensorCurrent);
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), 2 * kPass);  // forward and backward
  s.training.recompute = Recompute::kFull;  // the backward's forward has its copy of the same cast
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), 2 * kPass);
  s.training.sharding.reshard_after_forward = false;  // all copies at once
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), kPass);
}

// A backward reads one copy; products that run again before it read the forward's beside it.
TEST(ShardedPrecision, HoldsBothCopiesWhereProductsRunAgain) {
  const auto copies = [](Recompute recompute, bool feed_forward) {
    Scenario s = TwoRanks(models::Recipe::kTensorCurrent);
    s.training.recompute = recompute;
    s.training.selective.feed_forward = feed_forward;
    for (const BytePart& part : LargestStageMemory(s, PlanStages(s, OneName(""))).parts) {
      if (part.name == std::string_view("fp8_weights")) return part.bytes.count();
    }
    return std::int64_t{-1};
  };
  const std::int64_t one = copies(Recompute::kNone, false);
  EXPECT_GT(one, 0);
  EXPECT_EQ(copies(Recompute::kFull, false), 2 * one);
  EXPECT_EQ(copies(Recompute::kSelective, false), one);  // the core multiplies no weights
  EXPECT_EQ(copies(Recompute::kSelective, true), 2 * one);
}

TEST(ShardedPrecision, CastsSharesOnceAStepAndTurnsRoundWhatArrivesInEight) {
  Scenario s = TwoRanks(models::Recipe::kTensorCurrent);
  s.training.matmul.parameter_gather = true;
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), 1);
  EXPECT_EQ(KernelsOfAStep(s, "find largest"), 1);
  EXPECT_EQ(KernelsOfAStep(s, "second_copy_fp8"), kPass);
  s.device.capability = 100;  // takes any order
  EXPECT_EQ(KernelsOfAStep(s, "second_copy_fp8"), 0);
  s.training.matmul.recipe = models::Recipe::kTensorDelayed;  // scales are those of earlier steps
  EXPECT_EQ(KernelsOfAStep(s, "find largest"), 0);
}

TEST(ShardedPrecision, CastsEachShareBeforeEachGatherWhereItIsHeldInSixteen) {
  Scenario s = TwoRanks(models::Recipe::kTensorCurrent);
  s.training.matmul.parameter_gather = s.training.matmul.cast_each_gather = true;
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), 2 * 3 * 5);  // of each of 5 units
  EXPECT_EQ(KernelsOfAStep(s, "find largest"), 1);
  s.training.sharding.reshard_after_forward = false;
  EXPECT_EQ(KernelsOfAStep(s, "cast_weights"), 3 * 5);
}

// Gathered once a micro-batch and kept, one micro-batch a step: as often as with weights that are whole.
TEST(ShardedPrecision, OfUnitsThatStayWholeTakesAsLongAsOfWholeWeights) {
  Scenario cut = TwoRanks(models::Recipe::kTensorCurrent), whole = cut;
  cut.training.sharding.reshard_after_forward = false;
  whole.training.optimizer_sharding = OptimizerSharding::kZero1;
  for (Scenario* s : {&cut, &whole}) {
    s->batch.global = 2;
    s->batch.micro_batches = s->pipeline.shape.microbatches = 1;
  }
  EXPECT_EQ(KernelsOfAStep(cut, "cast_weights"), 5 * 4);
  EXPECT_EQ(KernelsOfAStep(whole, "cast_weights"), 5 * 4);
}

// LLaMA-7B on tensor 4, data 4, 4 micro-batches: 32 x (4 h^2 + 3 h f) / 4 numbers of linear layers.
constexpr std::int64_t kLayer = (4LL * 4096 * 4096 + 3LL * 4096 * 11008) / 4, kLinear = 32 * kLayer;

Scenario Llama(Sets more) {
  more.insert(more.end(), {{"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_3"}});
  const Loading loading = Load(more);
  EXPECT_TRUE(loading.scenario.has_value()) << testing::PrintToString(loading.errors());
  return loading.scenario.value_or(Scenario());
}

const Sets kBehind = {{"training.matmul.recipe", "FP8_TENSOR_CURRENT"}};
const Sets kHeld = {{"training.matmul.recipe", "FP8_TENSOR_CURRENT"},
                    {"training.matmul.fp8_param_gather", "true"}};
const Sets kEach = {{"training.matmul.recipe", "FP8_TENSOR_CURRENT"},
                    {"training.matmul.fp8_param_gather", "true"},
                    {"training.matmul.cast_each_gather", "true"}};

// 4 micro-batches gather twice; each of 4 ranks sends three quarters, of 2 bytes a number or 1.
TEST(ShardedPrecision, GathersOneByteANumberWhereCastsComeFirst) {
  const auto gathered = [](const Sets& sets) {
    const Scenario s = Llama(sets);
    return ClosedFormOf(s, PlanStages(s, OneName("qkv")), sim::Duration()).parameter_bytes_per_rank;
  };
  const double wide = gathered({});
  EXPECT_EQ(gathered(kBehind), wide);
  EXPECT_EQ(wide - gathered(kHeld), 4 * 2 * 0.75 * static_cast<double>(kLinear));
  EXPECT_EQ(gathered(kEach), gathered(kHeld));
}

// The program's all-gathers and its all-reduce of scales: one FP32 number for each of 4 matrices a layer.
TEST(ShardedPrecision, TheProgramMovesWhatTheClosedFormSaysAndTheScales) {
  Scenario s = TwoRanks(models::Recipe::kTensorCurrent);
  s.training.matmul.parameter_gather = true;
  s.training.gradient_norm = false;
  for (auto& model : s.device.gemm) model.kind = hardware::GemmModelKind::kRoofline;
  s.device.peak_flops_per_s.fill(1e12);
  const StepProgram steps = BuildSteps(s, OneName("qkv")).value();
  std::map<std::string, std::int64_t> moved;
  for (const sim::Communication& c : steps.program.communications) {
    const sim::Traffic& traffic = steps.program.traffics[c.traffic.pos()];
    moved[steps.program.names[traffic.name]] += traffic.size.count();
  }
  const ClosedForm form = ClosedFormOf(s, steps.stages, sim::Duration());
  EXPECT_EQ(static_cast<double>(moved["all-gather"]) / 2,
            form.parameter_bytes_per_rank * static_cast<double>(s.steps));
  EXPECT_EQ(moved["all-reduce"], s.steps * 5 * 4 * 4);
}

// Two units are whole at a time; one of them has a copy, which is one byte a number.
TEST(ShardedPrecision, HoldsCopiesOfTheLayerThatRuns) {
  auto wide = PartsOf(Llama({}), OneName("qkv")), behind = PartsOf(Llama(kBehind), OneName("qkv")),
       held = PartsOf(Llama(kHeld), OneName("qkv")), each = PartsOf(Llama(kEach), OneName("qkv"));
  EXPECT_EQ(behind["weights"], wide["weights"]);
  EXPECT_EQ(behind["gathered"], wide["gathered"]);
  EXPECT_EQ(behind["fp8_weights"], sim::Bytes(kLayer));
  EXPECT_EQ(wide["weights"] - held["weights"], sim::Bytes(kLinear / 4));
  // In sixteen bits two layers are most. In eight the first layer, with its copy, and the table beside it.
  constexpr std::int64_t kNorms = 2 * 2 * 4096, kTable = 2 * 32256LL * 4096 / 4;
  EXPECT_EQ(wide["gathered"], sim::Bytes(2 * (2 * kLayer + kNorms)));
  EXPECT_EQ(held["gathered"], sim::Bytes(kLayer + kNorms + kTable));
  EXPECT_EQ(held["fp8_weights"], sim::Bytes(kLayer));  // the second, of the backward
  EXPECT_EQ(each["weights"], wide["weights"]);
  EXPECT_EQ(each["gathered"], held["gathered"]);
  // All of both copies, where all layers stay.
  Sets stay = kBehind;
  stay.emplace_back("training.sharding.reshard_after_forward", "false");
  EXPECT_EQ(PartsOf(Llama(stay), OneName("qkv"))["fp8_weights"], sim::Bytes(2 * kLinear));
}

}  // namespace
}  // namespace scenarios
