#include "scenarios/budget/scenario_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "scenarios/closed_form.h"
#include "scenarios/loader.h"
#include "scenarios/sharding.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

using testing::ElementsAre;

Budget Make(const BudgetRequest& request) {
  const BudgetResult result = MakeBudget(request);
  EXPECT_EQ(result.errors, std::vector<std::string>());
  return result.budget.value();
}

// `overrides` as in `--set`: "layout.tensor=4".
Scenario Load(const char* name, const std::vector<std::string>& overrides = {}) {
  proto::Diagnostics diagnostics;
  std::vector<proto::Override> set;
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    set.push_back({.path = one.substr(0, equals), .value = one.substr(equals + 1)});
  }
  const std::optional<Scenario> scenario = LoadScenario(name, set, &diagnostics);
  EXPECT_THAT(diagnostics.errors(), ElementsAre()) << name;
  return scenario.value();
}

// What the simulator holds of the same job: its state part by part, and all of it within the
// vocabulary's padding and the units that FSDP keeps whole.
TEST(Budget, OfAScenarioHoldsWhatTheSimulatorDoes) {
  struct Case {
    const char* name;
    std::vector<std::string> overrides;
  };
  const Case cases[] = {{"llama_7b_256xh800", {}},
                        {"llama_70b_64xh800_a", {}},
                        {"llama_70b_64xh800_a", {"training.optimizer_sharding=ZERO_2"}},
                        {"llama_70b_64xh800_a", {"training.optimizer_sharding=ZERO_3"}},
                        {"megatron_22b_8xa100_full", {}},
                        {"sc21_gpt_1_7b_32xa100", {}},
                        {"mpt_7b_8xa100", {}},
                        {"llama_70b_64xh800_a", {"layout.sequence=false"}},
                        {"llama_70b_64xh800_a", {"pipeline.stage_layers=[17, 17, 24, 22]"}},
                        {"llama_70b_64xh800_a", {"training.format=FP16", "training.gradient_type=FP16"}},
                        {"megatron_22b_8xa100_full", {"training.format=FP32", "training.attention=UNFUSED"}},
                        {"llama_7b_256xh800", {"training.sharding.prefetch=3"}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name + testing::PrintToString(c.overrides));
    const Scenario scenario = Load(c.name, c.overrides);
    const sim::Result<BudgetRequest> request = RequestOf(scenario);
    ASSERT_TRUE(request.ok()) << request.error().message;
    const Budget budget = Make(request.value());
    const auto stages = PlanStages(scenario, hardware::DeviceCostModel(scenario.device));
    const StageMemory memory = LargestStageMemory(scenario, stages);
    const auto part = [&](const char* wanted) {
      for (const BytePart& p : memory.parts) {
        if (p.name == wanted) return static_cast<double>(p.bytes.count());
      }
      return 0.0;
    };
    const auto mine = [&](const char* line) { return budget.line("memory of a device", line).value; };
    EXPECT_NEAR(mine("weights") / part("weights"), 1, 0.01);
    EXPECT_NEAR(mine("gradients") / part("gradients"), 1, 0.01);
    EXPECT_NEAR(mine("master weights"), part("master_weights"), 0.01 * part("master_weights"));
    EXPECT_NEAR(mine("optimizer") / part("moments"), 1, 0.01);
    EXPECT_NEAR(mine("total") / static_cast<double>(memory.total.count()), 1, 0.15);
    if (part("gathered") > 0 && scenario.layout.pipeline > 1) {
      EXPECT_NEAR(mine("gathered") / part("gathered"), 1, 0.01);
    }
  }
}

// Where nothing is recomputed and no vocabulary padded, activations are what the simulator keeps, with and
// without sequence parallelism: without it each rank keeps norms and residuals whole.
TEST(Budget, OfAScenarioKeepsActivationsAsTheSimulatorDoes) {
  double kept[2] = {};
  for (const bool sequence : {false, true}) {
    const Scenario scenario =
        Load("llama_70b_64xh800_a", {std::string("layout.sequence=") + (sequence ? "true" : "false")});
    const Budget budget = Make(RequestOf(scenario).value());
    const auto stages = PlanStages(scenario, hardware::DeviceCostModel(scenario.device));
    const StageMemory memory = LargestStageMemory(scenario, stages);
    for (const BytePart& part : memory.parts) {
      if (part.name == "activations") kept[sequence] = static_cast<double>(part.bytes.count());
    }
    const double mine = budget.line("memory of a device", "activations").value;
    EXPECT_NEAR(mine / kept[sequence], 1, 0.01) << sequence;
  }
  EXPECT_GT(kept[false], 1.5 * kept[true]);
}

// What ZeRO-3 gathers in a step is what the simulator's units gather, with the head once or twice.
TEST(Budget, OfAScenarioGathersWhatTheSimulatorDoes) {
  double gathered[2] = {};
  for (const bool again : {false, true}) {
    const Scenario scenario = Load("llama_7b_256xh800", {std::string("training.sharding.reshard_last_unit=") +
                                                         (again ? "true" : "false")});
    const auto stages = PlanStages(scenario, hardware::DeviceCostModel(scenario.device));
    double units = 0;
    for (std::uint32_t b = 0; b < stages[0].buckets.size(); ++b) {
      units += static_cast<double>(GathersOfStep(scenario, stages[0], b) *
                                   WeightsOf(scenario, stages[0].buckets[b]).count()) *
               255 / 256;
    }
    gathered[again] =
        Make(RequestOf(scenario).value()).line("sent by a device in a step", "weights gathered").value;
    EXPECT_NEAR(gathered[again] / units, 1, 1e-6) << again;
  }
  EXPECT_LT(gathered[false], gathered[true]);
}

// Rings and experts over their own ranks send what the closed form of the simulated job says, and hold what
// the simulator does.
TEST(Budget, OfAScenarioSendsInRingsAndToExpertsWhatItsClosedFormSays) {
  const std::vector<std::string> spread = {"layout.virtual=1", "layout.expert=4", "layout.expert_tensor=2"};
  std::vector<std::string> again = spread;
  again.push_back("training.recompute=FULL");
  struct Case {
    const char* name;
    std::vector<std::string> overrides;
  };
  const Case cases[] = {{"llama3_8b_8xh100", {}},
                        {"llama3_8b_8xh100", {"training.recompute=FULL"}},
                        {"llama3_8b_8xh100", {"training.recompute=SELECTIVE"}},
                        {"llama3_8b_8xh100", {"layout.tensor=2", "layout.sequence=true", "layout.data=2"}},
                        {"mixtral_8x7b_64xh100", spread},
                        {"mixtral_8x7b_64xh100",
                         {"layout.virtual=1", "layout.tensor=1", "layout.sequence=false", "layout.expert=8",
                          "layout.expert_tensor=1"}},
                        {"mixtral_8x7b_64xh100", again}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name + testing::PrintToString(c.overrides));
    const Scenario scenario = Load(c.name, c.overrides);
    const sim::Result<BudgetRequest> request = RequestOf(scenario);
    ASSERT_TRUE(request.ok()) << request.error().message;
    const Budget budget = Make(request.value());
    const auto stages = PlanStages(scenario, hardware::DeviceCostModel(scenario.device));
    const ClosedForm form = ClosedFormOf(scenario, stages);
    const auto sent = [&](const char* line) { return budget.line("sent by a device in a step", line).value; };
    if (scenario.layout.context > 1) {
      EXPECT_NEAR(sent("context group") / form.context_bytes_per_rank, 1, 1e-9);
    }
    if (scenario.layout.expert > 1) {
      EXPECT_NEAR(sent("experts") / form.expert_bytes_per_rank, 1, 0.01);
    }
    const StageMemory memory = LargestStageMemory(scenario, stages);
    EXPECT_NEAR(budget.line("memory of a device", "total").value / static_cast<double>(memory.total.count()),
                1, 0.05);
  }
}

TEST(RequestOf, RefusesWhatABudgetDoesNotCount) {
  EXPECT_EQ(RequestOf(Load("llama3_8b_8xh100", {"layout.context_kind=ALL_GATHER"})).error().message,
            "llama3_8b_8xh100: layout.context_kind other than RING is not budgeted; `orrery check` and "
            "`orrery run` "
            "count it");
  EXPECT_FALSE(RequestOf(Load("mixtral_8x7b_64xh100")).ok());
}

// Each of what a scenario may have besides, in one line.
TEST(RequestOf, RefusesWhatAScenarioHasBeyondABudget) {
  struct Case {
    const char* scenario;
    std::vector<std::string> overrides;
    const char* what;
  };
  const Case cases[] = {
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=EVERY", "training.recompute_layers=2"},
       "training.recompute_method: EVERY"},
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=BLOCK", "training.recompute_layers=1"},
       "training.recompute_method: BLOCK"},
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=UNIFORM", "training.recompute_layers=2"},
       "training.recompute_layers: 2 together"},
      {"llama_70b_64xh800_a", {"training.recompute=OPERATIONS"}, "training.recompute: OPERATIONS"},
      {"llama_70b_64xh800_a",
       {"training.recompute=SELECTIVE", "training.recompute_modules=[CORE_ATTENTION, MLP]"},
       "training.recompute_modules other than CORE_ATTENTION"},
      {"llama_70b_64xh800_a",
       {"training.recompute=SELECTIVE", "training.recompute_modules=[LAYERNORM]"},
       "training.recompute_modules other than CORE_ATTENTION"},
      {"llama_7b_256xh800", {"training.offload.optimizer=0.5"}, "training.offload"},
      {"llama_7b_256xh800",
       {"training.optimizer_sharding=ZERO_3", "training.offload.optimizer=1",
        "training.offload.parameters=true"},
       "training.offload"},
      {"llama_70b_64xh800_a",
       {"pipeline.schedule=SEQ1F1B", "pipeline.sequence_parts=4", "training.recompute=NONE"},
       "pipeline.sequence_parts: 4"},
      {"llama_70b_64xh800_a", {"pipeline.schedule=GPIPE"}, "pipeline.schedule: gpipe"},
      {"llama_70b_64xh800_a", {"pipeline.schedule=ZB1P"}, "pipeline.schedule: zb1p, backwards in halves"},
      {"llama_7b_256xh800", {"training.sharding.no_sync=true"}, "training.sharding.no_sync: true"},
      {"llama_7b_256xh800",
       {"training.sharding.reshard_after_forward=false"},
       "training.sharding.reshard_after_forward: false"},
      {"mixtral_8x7b_64xh100", {"layout.virtual=1"}, "layout.expert_tensor: 1 beside tensor 2"},
      {"mixtral_8x7b_64xh100",
       {"layout.virtual=1", "layout.expert_tensor=2", "layout.expert=4", "layout.sequence=false"},
       "layout.sequence: false beside spread experts"},
      {"mixtral_8x7b_64xh100",
       {"layout.virtual=1", "layout.expert_tensor=2", "layout.expert=4", "experts.capacity_factor=1.25"},
       "experts.capacity_factor"},
      {"mixtral_8x7b_64xh100",
       {"layout.virtual=1", "layout.tensor=1", "layout.sequence=false", "experts.dispatcher=DEEPEP"},
       "experts.dispatcher other than ALLTOALL"},
      {"llama_70b_64xh800_a", {"model.prediction_modules=1", "training.mtp=true"}, "training.mtp"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const sim::Result<BudgetRequest> request = RequestOf(Load(c.scenario, c.overrides));
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(request.error().message, std::string(c.scenario) + ": " + c.what +
                                           " is not budgeted; `orrery check` and `orrery run` count it");
  }
}

}  // namespace
}  // namespace scenarios
