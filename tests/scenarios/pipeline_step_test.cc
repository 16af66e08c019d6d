// Schedules that split their backward, place chunks in a V or feed from both ends,
// as training steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "hardware/device_cost_model.h"
#include "models/memory.h"
#include "scenarios/checkpoint_plan.h"
#include "scenarios/closed_form.h"
#include "scenarios/sharding.h"
#include "scenarios/stage_memory.h"
#include "sim/schedule/play_order.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/schedules.h"

namespace scenarios {
namespace {

constexpr const char* kSchedules[] = {"zb1p", "zb2p", "zbv", "vhalf", "vmin", "dualpipe", "dualpipev"};

struct ScheduleShape {
  std::string schedule;
  std::int64_t stages, microbatches;
};

// Shapes that each schedule takes; 6 and 8 stages block where partners share a stream.
std::vector<ScheduleShape> Shapes() {
  std::vector<ScheduleShape> grid;
  for (const std::string schedule : kSchedules) {
    for (const std::int64_t p : {1, 2, 3, 4, 6, 8}) {
      for (const std::int64_t m : {1L, p, 2 * p, 2 * p + 3}) {
        sim::PipelineShape shape{.stages = static_cast<std::uint32_t>(p),
                                 .microbatches = static_cast<std::uint32_t>(m)};
        shape.chunks = sim::FindPipelineSchedule(schedule)->chunks;
        if (!sim::FindPipelineSchedule(schedule)->refuse(shape)) grid.push_back({schedule, p, m});
      }
    }
  }
  return grid;
}

// Communication is free and stages are equal, so a step takes what the order takes when it
// is played alone; all ranks meet in the gradient norm, which nothing overlaps.
TEST(PipelineStep, TakesExactlyWhatItsOrderTakes) {
  std::set<std::string> seen;
  for (const ScheduleShape& at : Shapes()) {
    for (const sim::PassTimes& times : {Nanoseconds(5, 11, 3), Nanoseconds(4, 6, 13)}) {
      SCOPED_TRACE(testing::Message() << at.schedule << " p " << at.stages << " m " << at.microbatches);
      const Scenario s = ScheduleScenario(at.schedule, at.stages, at.microbatches);
      EXPECT_EQ(StepTimeOf(s, times), PlayOrder(OrderApart(s.pipeline), times).length);
      seen.insert(at.schedule);
    }
  }
  EXPECT_EQ(seen.size(), std::size(kSchedules));
}

// Work plus the closed form of its bubble, where that counts the whole step.
TEST(PipelineStep, TakesItsWorkAndTheClosedFormOfItsBubble) {
  int known = 0;
  for (const ScheduleShape& at : Shapes()) {
    const Scenario s = ScheduleScenario(at.schedule, at.stages, at.microbatches);
    const sim::PipelineSchedule& schedule = *s.pipeline.schedule;
    if (schedule.bypasses_optimizer || s.pipeline.copies() > 1 || at.schedule == "dualpipev") continue;
    for (const sim::PassTimes& times : {Nanoseconds(7, 7, 7), Nanoseconds(5, 11, 3)}) {
      const auto bubble = schedule.bubble(s.pipeline.shape, times);
      if (!bubble) continue;
      SCOPED_TRACE(testing::Message() << at.schedule << " p " << at.stages << " m " << at.microbatches);
      const std::int64_t passes = at.microbatches * schedule.chunks;
      EXPECT_EQ(StepTimeOf(s, times), passes * (times.forward + times.backward()) + *bubble);
      ++known;
    }
  }
  EXPECT_GT(known, 20);
}

// (p/2-1)(FB+B-3W) is for pairs that run beside each other in FB = F + B. One after the other,
// the first of a pair is passed on earlier: half of that bubble is left when all times are equal.
TEST(PipelineStep, DualPipeWithItsPairsApartHasHalfTheBubbleOfItsClosedForm) {
  for (const std::string schedule : {"dualpipe", "dualpipev"}) {
    for (const std::int64_t p : {2, 4, 6}) {
      const Scenario s = ScheduleScenario(schedule, p, 2 * p + 2);
      const sim::PassTimes times = Nanoseconds(6, 6, 6);
      const std::int64_t passes = s.pipeline.microbatches_of_chunk() * s.pipeline.shape.chunks;
      const sim::Duration bubble = *s.pipeline.schedule->bubble(s.pipeline.shape, times);
      EXPECT_EQ(2 * (StepTimeOf(s, times) - passes * (times.forward + times.backward())), bubble)
          << schedule << p;
    }
  }
}

// Without a norm of all gradients no stage waits for the others at the end of a step, and
// the next one begins as the last one ends, stage after stage: the bypass of Qi et al.
// does no more than that. ZB-H2 and ZB-V then work without a pause.
TEST(PipelineStep, WithoutTheGradientNormZeroBubbleSchedulesHaveNone) {
  for (const std::string schedule : {"zb2p", "zbv"}) {
    for (const std::int64_t p : {2, 4, 6}) {
      Scenario s = ScheduleScenario(schedule, p, 3 * p);
      s.training.gradient_norm = false;
      s.steps = 6;
      const std::int64_t passes = 3 * p * s.pipeline.schedule->chunks;
      EXPECT_EQ(StepTimeOf(s, Nanoseconds(7, 7, 7)), 3 * passes * Nanoseconds(7, 7, 7).forward)
          << schedule << p;
    }
  }
}

// What a stage holds is at its most what the schedule says in closed form.
TEST(PipelineStep, ActivationsInFlightAreTheClosedForm) {
  for (const ScheduleShape& at : Shapes()) {
    const Scenario s = ScheduleScenario(at.schedule, at.stages, at.microbatches);
    const std::vector<StagePlan> stages = PlanStages(s, SplitCost(Nanoseconds(1, 1, 1)));
    const StageOrders orders(s.pipeline);
    std::int64_t most = 0, form = 0;
    for (std::uint32_t stage = 0; stage < at.stages; ++stage) {
      SCOPED_TRACE(testing::Message()
                   << at.schedule << " p " << at.stages << " m " << at.microbatches << " stage " << stage);
      const StageMemory memory = MemoryOfStage(s, stages[stage], orders.Of(stage));
      most = std::max(most, memory.micro_batches_in_flight);
      form = std::max<std::int64_t>(form, s.pipeline.InFlight(stage));
      if (s.pipeline.schedule->in_flight_is_the_most) continue;
      EXPECT_EQ(memory.micro_batches_in_flight, s.pipeline.InFlight(stage));
    }
    EXPECT_EQ(most, form);
  }
}

sim::Bytes ActivationsOf(const Scenario& s, std::uint32_t stage) {
  const std::vector<StagePlan> stages = PlanStages(s, SplitCost(Nanoseconds(1, 1, 1)));
  return MemoryOfStage(s, stages[stage], StageOrders(s.pipeline).Of(stage)).parts.at(4).bytes;
}

// Stage 2 of 4 has a layer and neither end of the model. ZB-H1 has 4 micro-batches in
// flight there. Computed again, one layer is whole from its input gradient to its weight
// gradient: under ZB-H1 stage 2 keeps back two weight gradients, and the third is made
// after the third input gradient, so 3 are whole and one forward waits.
TEST(PipelineStep, ActivationsLiveUntilTheWeightGradientAndAreWholeFromTheInputGradientOn) {
  Scenario s = ScheduleScenario("zb1p", 4, 8);
  const models::Execution e = ExecutionOf(s);
  const sim::Bytes whole = models::LayerActivationBytes(s.model, e, 2, Recompute::kNone);
  EXPECT_EQ(ActivationsOf(s, 2), 4 * whole);
  s.training.recompute = Recompute::kFull;
  EXPECT_EQ(ActivationsOf(s, 2), 3 * whole + models::LayerInput(s.model, e));
}

// Recomputation belongs to the half that needs it first.
TEST(PipelineStep, FullRecomputationRunsBeforeTheInputGradient) {
  Scenario s = ScheduleScenario("zb1p", 4, 8);
  s.training.recompute = Recompute::kFull;
  const sim::PassTimes times = Nanoseconds(5, 7, 6), played = Nanoseconds(5, 12, 6);
  EXPECT_EQ(StepTimeOf(s, times), PlayOrder(OrderOf(s.pipeline), played).length);
}

// Both halves of every block of every kind of layer, by the device's own cost model.
TEST(PipelineStep, InputAndWeightHalvesAddUpToTheWholeBackward) {
  for (const std::string name : {"llama_70b_64xh800_a", "deepseek_v3_2048xh800", "mixtral_8x7b_64xh100",
                                 "gpt3_175b_64xa100", "zero_bubble_1_5b_8xa100"}) {
    proto::Diagnostics diagnostics;
    const Scenario s = LoadScenario(name, {}, &diagnostics).value();
    int blocks = 0, split = 0;
    for (const StagePlan& plan : PlanStages(s, hardware::DeviceCostModel(s.device))) {
      for (const BlockPlan& b : plan.blocks) {
        EXPECT_EQ(b.backward_head + b.backward_main + b.backward_weight + b.backward_tail,
                  b.split.head + b.split.main + b.split.weights + b.split.tail);
        for (const ExpertPlan& experts : b.experts) {
          EXPECT_EQ(experts.backward, experts.backward_input + experts.weights);
          EXPECT_GT(experts.weights.alone, sim::Duration());
        }
        blocks += std::string(b.name) == "embedding" ? 0 : 1;
        split += b.split.weights.alone > sim::Duration() ? 1 : 0;
      }
    }
    EXPECT_EQ(split, blocks) << name;
  }
}

// Tensor and sequence parallelism send what they send without a split, and so do experts.
TEST(PipelineStep, ASplitBackwardSendsWhatAWholeOneSends) {
  for (const char* sequence : {"false", "true"}) {
    for (const char* recompute : {"NONE", "FULL", "SELECTIVE"}) {
      const auto bytes = [&](const char* schedule) {
        return BytesByClass(Load({{"pipeline.schedule", schedule},
                                  {"layout.sequence", sequence},
                                  {"training.recompute", recompute},
                                  {"model.layers", "4"},
                                  {"steps", "2"}})
                                .scenario.value());
      };
      EXPECT_EQ(bytes("ZB1P"), bytes("ONE_F_ONE_B")) << sequence << recompute;
    }
  }
  const auto of_experts = [](const char* schedule) {
    return BytesByClass(Load({{"model", "deepseek_v2_lite"},
                              {"pipeline.schedule", schedule},
                              {"layout.sequence", "true"},
                              {"layout.expert", "8"},
                              {"model.layers", "4"},
                              {"steps", "2"}})
                            .scenario.value());
  };
  EXPECT_EQ(of_experts("ZB2P"), of_experts("ONE_F_ONE_B"));
}

// From 6 stages on transfers of zbv block if partners share a stream. The turn of the V
// sends nothing: 2 x 6 pieces have 11 boundaries, one of them inside stage 5.
TEST(PipelineStep, TheTurnOfTheVSendsNothing) {
  Scenario s = ScheduleScenario("zbv", 6, 12);
  s.steps = 2;
  const StepProgram steps = BuildSteps(s, SplitCost(Nanoseconds(1, 1, 1))).value();
  std::int64_t seats = 0;
  std::set<std::uint32_t> streams;  // of stage 2, which trades with both neighbours both ways
  for (std::size_t t = 0; t < steps.program.tasks(); ++t) {
    const sim::TaskId task(t);
    if (steps.program.row(task).task_class != sim::TaskClass::kPipeline) continue;
    ++seats;
    if (steps.program.rank_of(task).value() == 2) streams.insert(steps.program.stream_of(task).value());
  }
  EXPECT_EQ(seats, 2 /* steps */ * 12 * 10 * 2 /* kinds */ * 2 /* ends */);
  EXPECT_EQ(streams.size(), 8u);
}

// Two stages hold each piece: twice the parameters a rank, and reductions over the data
// ranks of both.
TEST(PipelineStep, DualPipeAddsUpTheGradientsOfBothCopies) {
  const Sets job = {{"devices", "16"},       {"layout.tensor", "1"}, {"layout.pipeline", "4"},
                    {"layout.virtual", "2"}, {"batch.global", "32"}, {"pipeline.schedule", "DUALPIPE"},
                    {"model.layers", "4"},   {"steps", "2"}};
  const Scenario s = Load(job).scenario.value();
  ASSERT_EQ(s.layout.data, 4);
  EXPECT_EQ(SharingOf(s).ranks, 8);
  const StepProgram steps = BuildSteps(s, hardware::DeviceCostModel(s.device)).value();
  EXPECT_TRUE(sim::Simulate(steps.program).ok());
  for (std::size_t t = 0; t < steps.program.tasks(); ++t) {
    const sim::TaskId task(t);
    if (steps.program.row(task).task_class != sim::TaskClass::kData) continue;
    EXPECT_EQ(steps.program.communications[steps.program.communication_of(task).pos()].seats, 8u);
  }
  std::int64_t held = 0;
  for (const StagePlan& plan : steps.stages) held += plan.held.total().total();
  EXPECT_EQ(held, 2 * models::ParametersOf(s.model).total());
}

// Every number once, whoever holds it: 14 B a parameter (BF16 weights, FP32 master and moments).
TEST(PipelineStep, ACheckpointOfTwoCopiesHasEachNumberOnce) {
  for (const char* sharding : {"NONE", "ZERO_1"}) {
    const auto total = [&](const char* schedule, const char* chunks) {
      proto::Diagnostics diagnostics;
      const auto s = LoadScenario("llama_70b_64xh800_checkpoint",
                                  {{1, "pipeline.schedule", schedule},
                                   {2, "layout.virtual", chunks},
                                   {3, "training.optimizer_sharding", sharding}},
                                  &diagnostics);
      for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
      return PlanCheckpoint(s.value()).total;
    };
    EXPECT_EQ(total("DUALPIPE", "2"), total("ONE_F_ONE_B", "1")) << sharding;
  }
}

// ZB-H1 leaves F + I - W of 1F1B's F + I + W a stage; the report says so of equal stages.
TEST(PipelineStep, TheReportsBubbleIsTheSchedulesClosedForm) {
  const Scenario s = ScheduleScenario("zb1p", 4, 8);
  const std::vector<StagePlan> stages = PlanStages(s, SplitCost(Nanoseconds(6, 7, 5)));
  Scenario with_peak = s;
  with_peak.device.capability = 90;
  for (auto& model : with_peak.device.gemm) model.kind = hardware::GemmModelKind::kRoofline;
  with_peak.device.peak_flops_per_s.fill(1e12);
  const double bubble = 3 * (6 + 12 - 2 * 5), work = 8 * 18;
  EXPECT_NEAR(ClosedFormOf(with_peak, stages).bubble_share, bubble / (bubble + work), 1e-12);
}

}  // namespace
}  // namespace scenarios
