// Scenarios whose layers are not alike: experts, latent attention, halves side by side.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/flops.h"
#include "models/parameters.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "scenarios/stage_plan.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A FLOP takes a picosecond, also of a kernel that memory bounds; all else nothing.
class AnyFlopCost final : public hardware::CostModel {
 public:
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const sim::Duration time = sim::Duration::Picoseconds(kernel.flops.count());
    return {time, time};
  }
};

// 4 layers: the first dense, then 2 of 5 experts a token and a shared one.
models::Model Experts() {
  models::Model m = SyntheticScenario(1, 1, 1, "1f1b", 4).model;
  m.experts = {.routed = 5, .per_token = 2, .ffn = 6, .shared = 1, .shared_ffn = 10};
  m.experts.first_dense_layers = 1;
  return m;
}

models::Model Latent() {
  models::Model m = Experts();
  m.latent = {.query_rank = 6, .kv_rank = 5, .nope_dim = 4, .rope_dim = 2, .value_dim = 3};
  m.head_dim = 6;
  return m;
}

models::Model SideBySide() {
  models::Model m = SyntheticScenario(1, 1, 1, "1f1b", 4).model;
  m.parallel_residual = true;
  m.norms_per_layer = 1;
  return m;
}

TEST(LayerKinds, AStepOnOneRankTakesTheModelFlopsWhenAFlopTakesAPicosecond) {
  for (const models::Model& model : {Experts(), Latent(), SideBySide()}) {
    Scenario scenario = SyntheticScenario(1, 3, 1, "1f1b", 4);
    scenario.model = model;
    scenario.training.vocabulary_divisor = 1;
    const StepProgram steps = BuildSteps(scenario, AnyFlopCost()).value();
    const sim::Timeline timeline = sim::Simulate(steps.program).value();
    const sim::Wide want = models::ModelFlops(model, 3, scenario.batch.sequence_length);
    EXPECT_EQ(sim::FindSteps(steps.program, timeline).step_time(),
              sim::Duration::Picoseconds(static_cast<std::int64_t>(want)));
  }
}

TEST(StagePlan, LayersOfEachKindShareBlocksOfTheirOwn) {
  Scenario scenario = SyntheticScenario(1, 1, 1, "1f1b", 6);
  scenario.model = Experts();
  scenario.model.layers = 6;
  scenario.training.vocabulary_divisor = 1;
  scenario.model.sliding_window = 2;
  scenario.model.attention_pattern = {models::Attention::kSliding, models::Attention::kFull};
  // Kinds by layer: dense with window; then experts, full and with window in turn.
  const StagePlan plan = PlanStage(scenario, AnyFlopCost(), 0);
  const std::vector<Unit>& units = plan.chunks[0];  // embedding, six layers, head
  ASSERT_EQ(units.size(), 8u);
  EXPECT_EQ(plan.blocks.size(), 2 + 3 * 2u);
  EXPECT_STREQ(plan.blocks[units[1].blocks[1]].name, "mlp");
  EXPECT_STREQ(plan.blocks[units[2].blocks[1]].name, "experts");
  EXPECT_NE(units[1].blocks, units[3].blocks);
  EXPECT_NE(units[2].blocks, units[3].blocks);
  EXPECT_EQ(units[2].blocks, units[4].blocks);
  EXPECT_EQ(units[3].blocks, units[5].blocks);
  EXPECT_EQ(units[4].layer, 3);
  std::int64_t sum = 0;
  for (const Unit& unit : units) sum += unit.parameters;
  EXPECT_EQ(sum, models::ParametersOf(scenario.model).total());
  EXPECT_EQ(units[1].parameters, models::ParametersOfLayer(scenario.model, 0).total());
  EXPECT_EQ(units[2].parameters, models::ParametersOfLayer(scenario.model, 1).total());
}

std::vector<Scenario> RealScenarios() {
  return {Loaded({{"model", "mixtral_8x7b"}, {"layout.expert_tensor", "4"}}),
          Loaded({{"model", "mixtral_8x7b"},
                  {"layout.sequence", "true"},
                  {"layout.expert_tensor", "4"},
                  {"training.recompute", "FULL"}}),
          Loaded({{"model", "deepseek_v2_lite"},
                  {"layout.sequence", "true"},
                  {"layout.expert_tensor", "4"},
                  {"layout.pipeline", "1"},
                  {"pipeline.schedule", "ONE_F_ONE_B"}}),
          Loaded({{"model", "gpt_oss_20b"},
                  {"layout.tensor", "2"},
                  {"layout.sequence", "true"},
                  {"layout.expert_tensor", "2"}}),
          Loaded({{"model", "palm_540b"},
                  {"model.layers", "4"},
                  {"layout.sequence", "true"},
                  {"model.kv_heads", "4"}}),
          Loaded({{"model", "palm_540b"}, {"model.layers", "4"}, {"model.kv_heads", "4"}})};
}

TEST(StageMemory, WeightsOfAllRanksWithOneExpertGroupAreTheWholeModel) {
  for (const Scenario& scenario : RealScenarios()) {
    SCOPED_TRACE(scenario.model.name);
    sim::Bytes weights;
    std::int64_t shared = 0;  // what more ranks of a tensor group hold beyond the first
    for (std::uint32_t stage = 0; stage < scenario.layout.pipeline; ++stage) {
      const StagePlan plan = PlanStage(scenario, AnyFlopCost(), stage);
      const auto order = scenario.pipeline.schedule->order(scenario.pipeline.shape, stage);
      const StageMemory memory = MemoryOfStage(scenario, plan, order);
      EXPECT_EQ(memory.parts[0].name, "weights");
      weights += scenario.layout.tensor * memory.parts[0].bytes;
      shared += (scenario.layout.tensor - 1) * plan.held.total().replicated;
      if (plan.held.tied_copy) shared += scenario.layout.tensor * plan.held.head.sharded;
    }
    const std::int64_t rows = models::PadVocabulary(
        scenario.model.vocabulary, scenario.training.vocabulary_divisor, scenario.layout.tensor);
    const std::int64_t padding =
        (rows - scenario.model.vocabulary) * scenario.model.hidden * (scenario.model.tied_embedding ? 1 : 2);
    EXPECT_EQ(weights.count(), 2 * (models::ParametersOf(scenario.model).total() + shared + padding));
  }
}

TEST(LayerKinds, ScenariosRunAndTheirPartsAddUp) {
  for (Scenario scenario : RealScenarios()) {
    SCOPED_TRACE(scenario.model.name);
    scenario.steps = 3;
    const Report report = scenarios::Run(scenario).value().report;
    EXPECT_TRUE(report.steady);
    sim::Duration sum;
    for (const TimePart& part : report.breakdown) sum += part.time;
    EXPECT_EQ(sum, report.step_time);
    EXPECT_GT(report.mfu, 0.05);
    EXPECT_LT(report.mfu, 0.9);
    EXPECT_EQ(report.active_parameters, models::ParametersOf(scenario.model).active());
  }
}

// Norms, routers and the way down to narrow vectors see a part of the sequence each.
TEST(StagePlan, GradientsOfWhatWorksOnCutTokensAreReducedOverTheTensorGroup) {
  const Scenario scenario = Loaded({{"model", "deepseek_v2_lite"},
                                    {"layout.sequence", "true"},
                                    {"layout.pipeline", "1"},
                                    {"training.gradient_type", "FP32"}});
  // 27 layers: two norms, 576 narrow channels and a norm of 512; 26 routers of 64; the last norm.
  const std::int64_t cut = 27 * (2 * 2048 + 2048 * 576 + 512) + 26 * 64 * 2048 + 2048;
  EXPECT_EQ(PlanStage(scenario, AnyFlopCost(), 0).sequence_gradient, sim::Bytes(4 * cut));
}

TEST(Loader, RefusesRanksThatDoNotDivideAnExpert) {
  EXPECT_THAT(
      Load({{"model", "mixtral_8x7b"}, {"model.experts.ffn", "14338"}, {"layout.expert_tensor", "4"}})
          .errors(),
      Contains(HasSubstr("4 does not divide the 14338 channels of an expert of model \"mixtral_8x7b\"")));
}

TEST(Loader, SaysThatPredictionModulesAreNotPartOfTheStep) {
  const Loading loading = Load({{"model", "deepseek_v3"}, {"layout.pipeline", "1"}, {"layout.data", "4"}});
  ASSERT_TRUE(loading.scenario.has_value()) << testing::PrintToString(loading.errors());
  EXPECT_THAT(loading.warnings(), Contains(HasSubstr("predict further tokens")));
}

}  // namespace
}  // namespace scenarios
