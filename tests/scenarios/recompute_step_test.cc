// Steps that compute parts of layers again: time, bytes, which layers.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "scenarios/estimate.h"
#include "scenarios/run.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// Four ranks whose communication is free, each with a sequence of 64 tokens; one layer of four
// experts, two a token, and a shared one.
Scenario WithExperts(std::int64_t expert) {
  Scenario s = SyntheticScenario(1, 1, 1, "1f1b");
  s.model.ffn = 0;
  s.model.experts = {.routed = 4, .per_token = 2, .ffn = 16, .shared = 1, .shared_ffn = 8};
  s.devices = s.layout.data = 4;
  s.layout.expert = expert;
  s.batch = {.global = 4, .micro = 1, .sequence_length = 64, .micro_batches = 1};
  s.fabric.domain.assign(4, 0);
  s.fabric.rail = {0, 1, 2, 3};
  return s;
}

// Per token, in 2 FLOPs: router 4 x 8; two routed experts of 3 x 8 x 16; the shared one of 3 x 8 x 8.
TEST(RecomputedModules, CostTheirProductsOnceMore) {
  const std::int64_t router = 2 * 64 * 32, routed = 2 * 64 * 2 * 384, shared = 2 * 64 * 192;
  const std::pair<models::SelectiveModules, std::int64_t> cases[] = {
      {{.attention_core = false, .experts = true}, router + routed + shared},
      {{.attention_core = false, .shared_experts = true}, shared},
      {{.attention_core = false, .expert_nonlinearity = true}, 0},
  };
  for (const std::int64_t expert : {1, 2, 4}) {
    const std::int64_t none = StepTime(WithExperts(expert), FlopCost()).ps();
    for (const auto& [modules, again] : cases) {
      Scenario s = WithExperts(expert);
      s.training.recompute = Recompute::kSelective;
      s.training.selective = modules;
      EXPECT_EQ(StepTime(s, FlopCost()).ps() - none, again) << expert;
    }
  }
}

// The gate's rows are the experts': the busiest group's decide.
TEST(RecomputedModules, RunNonlinearitiesOfTheBusiestExperts) {
  class GateCost final : public hardware::CostModel {
   public:
    hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
      const bool gate = std::string_view(kernel.name) == "expert_gate";
      const sim::Duration time = sim::Duration::Picoseconds(gate ? kernel.bytes.count() : 0);
      return {time, time};
    }
  };
  Scenario s = WithExperts(4);
  s.experts.loads = {1, 1, 1, 5};
  s.training.recompute = Recompute::kSelective;
  s.training.selective = {.attention_core = false};
  const std::int64_t once = StepTime(s, GateCost()).ps();
  // Of 4 x 128 choices 5/8 go to the last: 320 rows of 2 x (32 + 16) bytes.
  EXPECT_EQ(once, 320 * 96);
  s.training.selective.expert_nonlinearity = true;
  EXPECT_EQ(StepTime(s, GateCost()).ps(), 2 * once);
}

struct SentByStep {
  double tensor = 0, expert = 0;
};

// A model cut to four layers on a node: tensor 2, sequence parallel, data 4; 4 micro-batches of 2,048 tokens.
// The closed forms and the estimate of tasks hold in every case.
SentByStep BytesOfAStep(const std::string& model, const std::string& expert, const std::string& training) {
  std::string text = std::string(kScenario) + "training { " + training + " }\n";
  const Loading loading = Load({{"model", model},
                                {"model.layers", "4"},
                                {"topology", "single_node"},
                                {"devices", "8"},
                                {"layout.tensor", "2"},
                                {"layout.sequence", "true"},
                                {"layout.pipeline", "1"},
                                {"layout.expert", expert},
                                {"batch.global", "16"}},
                               text);
  EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
  const RunResult run = Run(loading.scenario.value(), {.fold = false}).value();
  const ClosedForm& form = run.report.closed_form;
  const auto steps = static_cast<double>(loading.scenario->steps);
  EXPECT_EQ(BytesSent(run.steps.program, sim::TaskClass::kTensor), steps * form.tensor_bytes_per_rank)
      << training;
  EXPECT_EQ(BytesSent(run.steps.program, sim::TaskClass::kExpert), steps * form.expert_bytes_per_rank)
      << training;
  const double tasks = EstimateOf(*loading.scenario, run.steps.stages).tasks;
  const double ratio = tasks / static_cast<double>(run.steps.program.tasks());
  EXPECT_GE(ratio, 0.98) << training;
  EXPECT_LE(ratio, 1.25) << training;
  return {form.tensor_bytes_per_rank, form.expert_bytes_per_rank};
}

// Of 16 passes (4 layers, 4 micro-batches) each sends half a tensor of 2,048 x 4,096 or 7,168 numbers a time.
TEST(RecomputedModules, SendWhatTheyGatherAndReduceAgain) {
  const double half = 2048.0 * 4096, plain = BytesOfAStep("llama_7b", "1", "recompute: NONE").tensor;
  EXPECT_EQ(BytesOfAStep("llama_7b", "1", "recompute: SELECTIVE recompute_modules: [MLP]").tensor,
            plain + 16 * 2 * half);  // a gather and a reduce-scatter
  EXPECT_EQ(BytesOfAStep("llama_7b", "1", "recompute: OPERATIONS").tensor, plain);
  const double latent = BytesOfAStep("deepseek_v3", "4", "recompute: NONE").tensor;
  EXPECT_EQ(BytesOfAStep("deepseek_v3", "4", "recompute: SELECTIVE recompute_modules: [MLA_UP_PROJ]").tensor,
            latent + 16 * 2048.0 * (1536 + 512));
}

// One of DeepSeek-V3's first four layers has experts; its shared one is cut over the tensor group.
TEST(RecomputedModules, SendTokensToExpertsAgain) {
  const auto bytes = [](const std::string& modules) {
    return BytesOfAStep(
        "deepseek_v3", "4",
        modules.empty() ? "recompute: NONE" : "recompute: SELECTIVE recompute_modules: [" + modules + "]");
  };
  const SentByStep none = bytes(""), moe = bytes("MOE"), shared = bytes("SHARED_EXPERTS");
  const double both = 4 * 2 * 2048.0 * 7168;  // the shared expert's gather and reduce-scatter
  EXPECT_EQ(moe.expert, 1.5 * none.expert);
  EXPECT_EQ(moe.tensor, none.tensor + both);
  EXPECT_EQ(shared.expert, none.expert);
  EXPECT_EQ(shared.tensor, none.tensor + both);
  EXPECT_EQ(bytes("MOE_ACT, LAYERNORM").tensor, none.tensor);
}

// torchtitan counts a stage's layers from chunk to chunk.
TEST(RecomputedLayers, EveryNthOfAStageRunsAgain) {
  Scenario s = SyntheticScenario(2, 4, 2, "interleaved", 3);
  s.training.recompute = Recompute::kFull;
  const auto again = [&](std::int64_t every) {
    s.training.full_recompute = {.every = every};
    std::string layers;
    for (const StagePlan& plan : PlanStages(s, FlopCost())) {
      for (const auto& units : plan.chunks) {
        for (const Unit& unit : units) {
          if (unit.kind == Unit::Kind::kLayer) layers += unit.recompute == Recompute::kFull ? 'R' : '.';
          EXPECT_TRUE(unit.recompute == Recompute::kNone || (unit.ends_group && unit.place_in_group == 0));
        }
      }
    }
    return layers;
  };
  EXPECT_EQ(again(1), "RRRRRRRRRRRR");
  EXPECT_EQ(again(2), ".R.R.R.R.R.R");
  EXPECT_EQ(again(4), "...R.....R..");
}

}  // namespace
}  // namespace scenarios
