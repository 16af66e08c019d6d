// Weights and gradients cut over data ranks together with experts on other ranks and with pipelines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "hardware/device_cost_model.h"
#include "scenarios/closed_form.h"
#include "scenarios/estimate.h"
#include "scenarios/sharding.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/schedules.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Mixtral on two nodes: 16 data ranks.
Sets Mixtral(Sets more) {
  Sets sets = {{"model", "mixtral_8x7b"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

std::map<std::string, std::int64_t> CountsOf(const Scenario& s, std::uint32_t stage = 0) {
  const auto stages = PlanStages(s, SplitCost(Nanoseconds(1, 1, 1)));
  std::map<std::string, std::int64_t> parts;
  for (const BytePart& part : MemoryOfStage(s, stages[stage], StageOrders(s.pipeline).Of(stage)).parts) {
    parts[part.name] += part.bytes.count();
  }
  return parts;
}

// 32 layers of 8 experts of 3 matrices: on each of e groups 8 / e of them, cut over 16 / e ranks, so a share
// is the same sixteenth whatever e. Without a share each has 8 / e.
TEST(ShardedExperts, HoldASixteenthHoweverTheyAreSpread) {
  const std::int64_t experts = std::int64_t{32} * 8 * 3 * 4096 * 14336;
  for (const std::int64_t expert : {2, 4, 8}) {
    const std::string e = std::to_string(expert);
    const Loading cut = Load(Mixtral({{"layout.expert", e}, {"training.optimizer_sharding", "ZERO_3"}})),
                  gradients =
                      Load(Mixtral({{"layout.expert", e}, {"training.optimizer_sharding", "ZERO_2"}}));
    ASSERT_THAT(cut.errors(), IsEmpty());
    ASSERT_THAT(gradients.errors(), IsEmpty());
    auto three = CountsOf(*cut.scenario), two = CountsOf(*gradients.scenario);
    EXPECT_EQ(three["expert_weights"], 2 * experts / 16);
    EXPECT_EQ(three["expert_gradients"], 4 * experts / 16);
    EXPECT_EQ(three["expert_master_weights"] + three["expert_moments"], 12 * experts / 16);
    EXPECT_EQ(two["expert_weights"], 2 * experts / expert);
    EXPECT_EQ(two["expert_gradients"], 4 * experts / 16);
    // Two layers' experts of this rank are whole at once, and two layers' gradients.
    const std::int64_t layer = experts / 32 / expert;
    EXPECT_GT(three["gathered"], 2 * 2 * layer);
    EXPECT_GT(three["unreduced"], 4 * 2 * layer);
    EXPECT_LT(three["gathered"], 2 * 2 * (layer + 200'000'000));
  }
}

// Of one micro-batch each of n ranks of expert data sends (n - 1)/n of this rank's experts, gathered twice in
// BF16 and scattered once in FP32.
TEST(ShardedExperts, MoveOverExpertDataOnly) {
  const double experts = 32.0 * 3 * 4096 * 14336;  // one of 8 a layer
  const auto form = [](const Sets& sets) {
    const Loading loading = Load(Mixtral(sets));
    EXPECT_THAT(loading.errors(), IsEmpty());
    const auto stages = PlanStages(*loading.scenario, SplitCost(Nanoseconds(1, 1, 1)));
    return ClosedFormOf(*loading.scenario, stages);
  };
  // 16 ranks, expert 8: expert data 2. The rest is the same with expert 4 (expert data 4, two experts a
  // rank).
  const Sets common = {{"training.optimizer_sharding", "ZERO_3"}};
  Sets eight = common, four = common;
  eight.emplace_back("layout.expert", "8");
  four.emplace_back("layout.expert", "4");
  EXPECT_NEAR(form(four).parameter_bytes_per_rank - form(eight).parameter_bytes_per_rank,
              2 * 2 * (2 * experts * 3 / 4 - experts / 2), 1);
  EXPECT_NEAR(form(four).gradient_bytes_per_rank - form(eight).gradient_bytes_per_rank,
              4 * (2 * experts * 3 / 4 - experts / 2), 1);
  // Two copies, each on a node: expert data of a copy is 1 with expert 8, and shares are reduced over the
  // copies.
  eight.emplace_back("training.sharding.ranks", "8");
  const Scenario hybrid = *Load(Mixtral(eight)).scenario;
  EXPECT_EQ(SharingOf(hybrid, true).ranks, 1);
  EXPECT_EQ(SharingOf(hybrid, true).replicas, 2);
}

TEST(ShardedExperts, CopiesHoldWholeExpertGroups) {
  EXPECT_THAT(
      Load(Mixtral({{"layout.expert", "8"}, {"training.sharding.ranks", "4"}})).errors(),
      ElementsAre(HasSubstr("training.sharding.ranks: 4 x tensor 1 is not a multiple of the 8 ranks of "
                            "expert x expert_tensor")));
  EXPECT_THAT(
      Load({{"model", "mixtral_8x7b"},
            {"layout.expert", "2"},
            {"layout.pipeline", "1"},
            {"layout.rank_order", "data-tensor-context-pipeline"},
            {"training.sharding.ranks", "2"}})
          .errors(),
      ElementsAre(HasSubstr("training.sharding.ranks: a part of the data ranks is simulated with routed "
                            "experts on other ranks only where tensor comes first")));
}

TEST(ShardedExperts, AreRefusedBesideJoinedStepsWhoseTokensTravel) {
  const Sets job = {{"model", "mixtral_8x7b"},
                    {"layout.tensor", "1"},
                    {"layout.virtual", "2"},
                    {"pipeline.schedule", "DUALPIPEV"},
                    {"batch.global", "64"},
                    {"layout.expert", "2"},
                    {"training.optimizer_sharding", "ZERO_3"}};
  EXPECT_THAT(Load(job).errors(),
              ElementsAre(HasSubstr("training.optimizer_sharding: ZERO_2 and ZERO_3 are not simulated beside "
                                    "joined steps whose tokens travel; pipeline.overlap_experts false")));
  Sets apart = job;
  apart.emplace_back("pipeline.overlap_experts", "false");
  EXPECT_THAT(Load(apart).errors(), IsEmpty());
}

// A synthetic scenario on `data` ranks a stage; communication is free.
Scenario Piped(const std::string& schedule, std::int64_t stages, std::int64_t micro_batches,
               std::int64_t data) {
  Scenario s = ScheduleScenario(schedule, stages, micro_batches);
  s.layout.data = data;
  s.devices = data * stages;
  s.batch.global = data * micro_batches;
  s.fabric.domain.assign(static_cast<std::size_t>(s.devices), 0);
  s.fabric.rail.clear();
  for (std::int64_t d = 0; d < s.devices; ++d) s.fabric.rail.push_back(static_cast<std::uint32_t>(d));
  s.training.optimizer_sharding = OptimizerSharding::kZero3;
  s.device.capability = 90;  // closed forms ask for its peak
  for (auto& model : s.device.gemm) model.kind = hardware::GemmModelKind::kRoofline;
  s.device.peak_flops_per_s.fill(1e12);
  return s;
}

struct Moved {
  std::int64_t gathered = 0, scattered = 0;  // bytes of all ranks' collectives, each once
};
Moved MovedBy(const Scenario& s) {
  const sim::Program p = BuildSteps(s, SplitCost(Nanoseconds(5, 5, 5))).value().program;
  Moved moved;
  for (std::size_t i = 0; i < p.communications.size(); ++i) {
    if (p.row(p.seats_of(sim::CommunicationId(i))[0]).task_class != sim::TaskClass::kData) continue;
    const sim::Traffic& traffic = p.traffics[p.communications[i].traffic.pos()];
    (p.names[traffic.name] == "all-gather" ? moved.gathered : moved.scattered) += traffic.size.count();
  }
  return moved;
}

// Whatever the order, m forwards and m backwards of a chunk gather m + 1 times where forwards give back; once
// where nothing is given back before the step ends. Gradients are scattered once.
TEST(ShardedPipelines, GatherOncePerMicroBatchAndOnceMoreOrOnceAStep) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb1p", "zbv", "dualpipev"}) {
    for (const std::int64_t m : {4, 8}) {
      for (const bool reshard : {false, true}) {
        SCOPED_TRACE(testing::Message() << schedule << ' ' << m << ' ' << reshard);
        Scenario s = Piped(schedule, 2, m, 3);
        s.training.sharding.reshard_after_forward = s.training.sharding.reshard_last_unit = reshard;
        const std::vector<StagePlan> stages = PlanStages(s, SplitCost(Nanoseconds(5, 5, 5)));
        std::int64_t all = 0, most = 0;
        for (const StagePlan& plan : stages) {
          all += plan.held.total().total();
          most = std::max(most, plan.held.total().total());
        }
        const Moved moved = MovedBy(s);
        EXPECT_EQ(moved.gathered, s.steps * 2 * all * (reshard ? m + 1 : 1));
        EXPECT_EQ(moved.scattered, s.steps * 4 * all);
        // Of three ranks each sends two thirds.
        const ClosedForm form = ClosedFormOf(s, stages);
        const auto third = static_cast<double>(most) / 3;
        EXPECT_NEAR(form.parameter_bytes_per_rank, 2 * 2 * third * static_cast<double>(reshard ? m + 1 : 1),
                    1e-6);
        EXPECT_NEAR(form.gradient_bytes_per_rank, 4 * 2 * third, 1e-6);
      }
    }
  }
}

TEST(ShardedPipelines, WithFreeCommunicationTakeAsLongAsZero1) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv", "dualpipev"}) {
    for (const OptimizerSharding kind : {OptimizerSharding::kZero2, OptimizerSharding::kZero3}) {
      Scenario s = Piped(schedule, 2, 6, 2), one = s;
      s.training.optimizer_sharding = kind;
      one.training.optimizer_sharding = OptimizerSharding::kZero1;
      EXPECT_EQ(StepTimeOf(s, Nanoseconds(7, 5, 3)), StepTimeOf(one, Nanoseconds(7, 5, 3))) << schedule;
    }
  }
}

// LLaMA-7B, two stages of 16 layers on tensor 4: all that a rank holds is whole where nothing is given back,
// two layers and the head otherwise; gradients wait whole for the last micro-batch.
TEST(ShardedPipelines, HoldAllWeightsOrTwoLayersAtOnce) {
  const Loading kept = Load({{"training.optimizer_sharding", "ZERO_3"},
                             {"training.sharding.reshard_after_forward", "false"}}),
                given_back = Load({{"training.optimizer_sharding", "ZERO_3"}});
  ASSERT_THAT(kept.errors(), IsEmpty());
  ASSERT_THAT(given_back.errors(), IsEmpty());
  const std::int64_t layer = (4LL * 4096 * 4096 + 3LL * 4096 * 11008) / 4 + 2 * 4096,
                     table = 32256LL * 4096 / 4;  // of 63 x 512 words
  auto all = CountsOf(*kept.scenario, 1), some = CountsOf(*given_back.scenario, 1);
  EXPECT_EQ(all["gathered"], 2 * (16 * layer + table + 4096));
  EXPECT_EQ(all["weights"], all["gathered"] / 2);
  EXPECT_EQ(all["gradients"], 2 * all["gathered"]);
  EXPECT_EQ(some["gradients"], all["gradients"]);
  // A backward gives nothing back before the last, so the units of one are whole until the next forward.
  EXPECT_EQ(some["gathered"], all["gathered"]);
}

TEST(ShardedEstimate, IsAtMost15PerCentMoreThanTheTasksThatAreBuilt) {
  const Sets experts = {{"model", "mixtral_8x7b"},
                        {"model.layers", "4"},
                        {"layout.tensor", "1"},
                        {"layout.pipeline", "1"},
                        {"layout.expert", "8"}};
  const Sets jobs[] = {experts, {{"layout.virtual", "4"}}, {{"layout.pipeline", "1"}}};
  for (Sets job : jobs) {
    job.insert(job.end(),
               {{"training.optimizer_sharding", "ZERO_3"}, {"training.matmul.recipe", "FP8_TENSOR_CURRENT"}});
    const Loading loading = Load(job);
    ASSERT_THAT(loading.errors(), IsEmpty());
    const StepProgram steps =
        BuildSteps(*loading.scenario, hardware::DeviceCostModel(loading.scenario->device)).value();
    const auto built = static_cast<double>(steps.program.tasks());
    EXPECT_NEAR(EstimateOf(*loading.scenario, steps.stages).tasks / built, 1.065, 0.085);
  }
}

}  // namespace
}  // namespace scenarios
