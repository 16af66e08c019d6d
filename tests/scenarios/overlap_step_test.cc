// Joined steps in turns: tokens of one micro-batch travel beside the work on another.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "hardware/device_cost_model.h"
#include "scenarios/closed_form.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "sim/schedule/play_order.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/schedules.h"

namespace scenarios {
namespace {

using testing::ElementsAre;

// Picoseconds of a layer; `moved` is one dispatch or combine.
struct Times {
  std::int64_t attention, attention_input, attention_weight;
  std::int64_t experts, experts_input, experts_weight;
  std::int64_t moved;

  std::int64_t attention_backward() const { return attention_input + attention_weight; }
  std::int64_t experts_backward() const { return experts_input + experts_weight; }
};

// One product each of attention and of the experts takes time, all else none.
class LayerTimes final : public hardware::CostModel {
 public:
  explicit LayerTimes(const Times& t)
      : time_{{"qkv", t.attention},
              {"qkv_dgrad", t.attention_input},
              {"qkv_wgrad", t.attention_weight},
              {"expert_gate_up", t.experts},
              {"expert_up_dgrad", t.experts_input},
              {"expert_up_wgrad", t.experts_weight}} {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const auto at = time_.find(kernel.name);
    const sim::Duration time = sim::Duration::Picoseconds(at == time_.end() ? 0 : at->second);
    return {time, time};
  }

 private:
  std::map<std::string, std::int64_t> time_;
};

// Stages of four ranks with one of four experts each; what moves takes that long.
Scenario FourExperts(std::int64_t layers, std::int64_t micro_batches, std::int64_t moved,
                     const std::string& schedule = "1f1b", std::int64_t stages = 1) {
  const std::int64_t chunks = sim::FindPipelineSchedule(schedule)->chunks;
  Scenario s = SyntheticScenario(stages, micro_batches, chunks, schedule, layers);
  s.pipeline.layers_of_piece.resize(PieceCount(s.pipeline.placement(), s.pipeline.shape));
  s.model.layers = layers * static_cast<std::int64_t>(s.pipeline.layers_of_piece.size());
  s.model.ffn = 0;
  s.model.experts = {.routed = 4, .per_token = 1, .ffn = 16};
  s.layout.data = s.layout.expert = 4;
  s.devices = 4 * stages;
  s.batch.global = 4 * micro_batches;
  s.training.gradient_norm = false;
  s.training.optimizer_sharding = OptimizerSharding::kReplicated;
  s.fabric.domain.assign(static_cast<std::size_t>(s.devices), 0);
  s.fabric.rail.clear();
  for (std::int64_t d = 0; d < s.devices; ++d) s.fabric.rail.push_back(static_cast<std::uint32_t>(d));
  s.device.collective_timing = {{.base = sim::Duration::Picoseconds(moved)}};
  return s;
}

Scenario InTurns(Scenario s, bool weights_later = false) {
  s.pipeline.shape.joined = !s.pipeline.joins();
  s.pipeline.overlaps_experts = true;
  s.pipeline.delays_weight_gradients = weights_later;
  return s;
}

// What turns save in a step of one stage: of `micro_batches` forwards and backwards all but one pair up.
std::int64_t Saved(std::int64_t layers, std::int64_t micro_batches, const Times& t, bool weights_later) {
  const Scenario s = FourExperts(layers, micro_batches, t.moved);
  return (StepTime(s, LayerTimes(t)) - StepTime(InTurns(s, weights_later), LayerTimes(t))).ps();
}

// Four ways a layer, each hidden by the segment of the other micro-batch that is behind it.
TEST(OverlapSteps, HideAllThatTravelsUnderSegmentsThatAreLonger) {
  const Times t{50, 30, 25, 70, 60, 45, 40};
  for (const std::int64_t layers : {1, 2, 5}) {
    EXPECT_EQ(Saved(layers, 4, t, false), 3 * 4 * layers * t.moved) << layers;
    EXPECT_EQ(Saved(layers, 4, t, true), 3 * 4 * layers * t.moved) << layers;
  }
}

// The other way round: a pair takes as long as what travels, 4 L c, and all work is hidden.
TEST(OverlapSteps, HideAllWorkUnderWaysThatAreLonger) {
  const Times t{50, 30, 25, 70, 60, 45, 200};
  for (const std::int64_t layers : {1, 2, 5}) {
    const std::int64_t work =
        layers * (t.attention + t.attention_backward() + t.experts + t.experts_backward());
    EXPECT_EQ(Saved(layers, 4, t, false), 3 * work) << layers;
    EXPECT_EQ(Saved(layers, 4, t, true), 3 * work) << layers;
  }
}

// A pair by itself, turn by turn: the backward's turns are nothing, experts, attention, experts, ...;
// the forward's attention, experts, ..., nothing. A turn starts when the one before has ended and its
// tokens have come, and sends at its end; of a backward that makes weight gradients later, when
// the input gradients are there. Tokens travel one after the other.
std::int64_t PairLength(std::int64_t layers, const Times& t, bool weights_later) {
  struct Turn {
    std::int64_t before_sending, after;
  };
  std::vector<Turn> backward = {{0, 0}}, forward;
  for (std::int64_t i = 0; i < layers; ++i) {
    for (const auto& [input, weight] :
         {std::pair{t.experts_input, t.experts_weight}, {t.attention_input, t.attention_weight}}) {
      backward.push_back(weights_later ? Turn{input, weight} : Turn{input + weight, 0});
    }
    forward.push_back({t.attention, 0});
    forward.push_back({t.experts, 0});
  }
  forward.push_back({0, 0});
  std::int64_t computed = 0, travelled = 0, arrived[2] = {};
  for (std::size_t turn = 0; turn < forward.size(); ++turn) {
    for (const std::size_t who : {0u, 1u}) {
      const Turn& now = (who == 0 ? backward : forward)[turn];
      computed = std::max(computed, arrived[who]) + now.before_sending;
      if (turn + 1 < forward.size()) arrived[who] = travelled = std::max(travelled, computed) + t.moved;
      computed += now.after;
    }
  }
  return computed;
}

TEST(OverlapSteps, TakeAsLongAsTheirTurnsOneByOne) {
  constexpr std::int64_t kLayers = 3, kMicroBatches = 3;
  for (const std::int64_t attention : {10, 90}) {
    for (const std::int64_t experts : {20, 160}) {
      for (const std::int64_t moved : {0, 15, 45, 100, 170}) {
        for (const bool later : {false, true}) {
          const Times t{attention, attention + 3, attention - 4, experts, experts + 7, experts - 1, moved};
          const std::int64_t apart = kLayers * (t.attention + t.attention_backward() + t.experts +
                                                t.experts_backward() + 4 * t.moved);
          EXPECT_EQ(Saved(kLayers, kMicroBatches, t, later),
                    (kMicroBatches - 1) * (apart - PairLength(kLayers, t, later)))
              << attention << ' ' << experts << ' ' << moved << ' ' << later;
        }
      }
    }
  }
}

struct PipelineShape {
  std::string schedule;
  std::int64_t stages, micro_batches;
};
const PipelineShape kPipelines[] = {{"interleaved", 2, 4}, {"interleaved", 3, 6}, {"dualpipe", 2, 6},
                                    {"dualpipe", 4, 10},   {"dualpipev", 2, 5},   {"dualpipev", 3, 8}};

// Where nothing takes time to move, a pair only makes its forward end later than a forward by itself, with
// its backward at the latest: so a step ends after one whose pairs run apart, and before the played
// order, whose pairs end together. A chunk of 2 layers takes 2 x (50 + 70), 2 x (30 + 60), 2 x (25 + 45).
TEST(OverlapSteps, OfAFreeNetworkLieBetweenPairsApartAndPairsThatEndTogether) {
  const Times t{50, 30, 25, 70, 60, 45, 0};
  const auto ps = sim::Duration::Picoseconds;
  const sim::PassTimes played{ps(240), ps(180), ps(140), ps(560)};
  for (const PipelineShape& at : kPipelines) {
    const Scenario s = InTurns(FourExperts(2, at.micro_batches, 0, at.schedule, at.stages), true);
    Scenario apart = s;
    apart.pipeline.overlaps_experts = apart.pipeline.delays_weight_gradients = false;
    const sim::Duration step = StepTime(s, LayerTimes(t));
    EXPECT_GE(step, StepTime(apart, LayerTimes(t))) << at.schedule << at.stages;
    EXPECT_LE(step, PlayOrder(OrderOf(s.pipeline), played).length) << at.schedule << at.stages;
  }
}

// From a fifth of a layer's forward on, spent on the ways of its tokens, turns pay in every pipeline.
TEST(OverlapSteps, AreNeverSlowerWhereWaysTakeTheirTime) {
  for (const PipelineShape& at : kPipelines) {
    for (const std::int64_t moved : {12, 30, 60, 150}) {
      for (const bool later : {false, true}) {
        const Times t{50, 30, 25, 70, 60, 45, moved};
        const Scenario s = FourExperts(2, at.micro_batches, moved, at.schedule, at.stages);
        EXPECT_LE(StepTime(InTurns(s, later), LayerTimes(t)), StepTime(s, LayerTimes(t)))
            << at.schedule << at.stages << ' ' << moved;
      }
    }
  }
}

// Names on the compute stream of a rank, with the micro-batch, of one step.
std::vector<std::string> ComputeOf(const sim::Program& program) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < program.stream_kind.size(); ++s) {
    if (program.stream_rank[s].value() != 0 || program.stream_kind[s] != sim::StreamKind::kCompute) continue;
    for (sim::TaskId t = program.stream_head[s]; t.valid(); t = program.next_in_stream(t)) {
      const sim::TaskRow& row = program.row(t);
      if (row.task_class == sim::TaskClass::kStepEnd) return names;
      if (row.label.micro_batch < 0) continue;
      names.push_back(std::string(row.task_class == sim::TaskClass::kForward ? "F" : "B") +
                      std::to_string(row.label.micro_batch) + ' ' + program.names[row.label.name]);
    }
  }
  return names;
}

// DeepSeek-V3's figure 4: MLP(B) MLP(W) MLP(F) ATTN(B) ATTN(W) ATTN(F), from the forward's attention on.
TEST(OverlapSteps, AlternateAsInFigure4OfDeepSeekV3) {
  const Times t{1, 1, 1, 1, 1, 1, 1};
  const Scenario s = InTurns(FourExperts(1, 2, 1), /*weights_later=*/true);
  EXPECT_THAT(ComputeOf(BuildSteps(s, LayerTimes(t)).value().program),
              ElementsAre("F0 attention", "F0 experts",                          // by itself
                          "F1 attention", "B0 experts", "B0 experts weights",    // the pair
                          "F1 experts", "B0 attention", "B0 attention weights",  //
                          "B1 experts", "B1 attention"));                        // by itself
}

// The same job on 16 devices: DeepSeek-V2-Lite cut to 8 layers.
Loading Job(const Sets& more) {
  Sets sets = {
      {"model", "deepseek_v2_lite"}, {"model.layers", "8"},  {"layout.tensor", "1"}, {"layout.pipeline", "2"},
      {"layout.expert", "8"},        {"batch.global", "64"}, {"steps", "2"}};
  sets.insert(sets.end(), more.begin(), more.end());
  return Load(sets);
}

struct Schedule {
  std::string name;
  Sets apart, in_turns;
};

std::vector<Schedule> Schedules() {
  return {
      {"one stage",
       {{"layout.pipeline", "1"}},
       {{"layout.pipeline", "1"}, {"pipeline.overlap_experts", "true"}}},
      {"interleaved",
       {{"layout.virtual", "2"}},
       {{"layout.virtual", "2"}, {"pipeline.overlap_experts", "true"}}},
      {"interleaved, weights later",
       {{"layout.virtual", "2"}},
       {{"layout.virtual", "2"},
        {"pipeline.overlap_experts", "true"},
        {"pipeline.delay_weight_gradients", "true"}}},
      {"dualpipe",
       {{"layout.virtual", "2"}, {"pipeline.schedule", "DUALPIPE"}, {"pipeline.overlap_experts", "false"}},
       {{"layout.virtual", "2"}, {"pipeline.schedule", "DUALPIPE"}}},
      {"dualpipev",
       {{"layout.virtual", "2"}, {"pipeline.schedule", "DUALPIPEV"}, {"pipeline.overlap_experts", "false"}},
       {{"layout.virtual", "2"}, {"pipeline.schedule", "DUALPIPEV"}}}};
}

Scenario LoadedJob(const Sets& sets) {
  Loading loading = Job(sets);
  for (const std::string& error : loading.errors()) ADD_FAILURE() << error;
  return std::move(loading.scenario).value();
}

TEST(OverlapSteps, AreFasterAndExposeLessOfWhatTravels) {
  for (const Schedule& schedule : Schedules()) {
    const Report apart = scenarios::Run(LoadedJob(schedule.apart)).value().report;
    const Report in_turns = scenarios::Run(LoadedJob(schedule.in_turns)).value().report;
    EXPECT_LT(in_turns.step_time, apart.step_time) << schedule.name;
    const auto exposed = [](const Report& report) {
      for (const TimePart& part : report.breakdown) {
        if (part.name == "expert") return part.time;
      }
      return sim::Duration();
    };
    EXPECT_LT(exposed(in_turns), exposed(apart)) << schedule.name;
    sim::Duration sum;
    for (const TimePart& part : in_turns.breakdown) sum += part.time;
    EXPECT_EQ(sum, in_turns.step_time) << schedule.name;
  }
}

TEST(OverlapSteps, SendWhatTheySendApart) {
  for (const Schedule& schedule : Schedules()) {
    for (const Sets& more : {Sets{}, Sets{{"layout.tensor", "2"}, {"layout.sequence", "true"}},
                             Sets{{"layout.context", "2"}, {"training.recompute", "SELECTIVE"}}}) {
      const auto with = [&](Sets sets) {
        sets.insert(sets.end(), more.begin(), more.end());
        return LoadedJob(sets);
      };
      const Scenario in_turns = with(schedule.in_turns);
      EXPECT_EQ(BytesByClass(in_turns), BytesByClass(with(schedule.apart))) << schedule.name;
      EXPECT_TRUE(scenarios::Run(in_turns).ok()) << schedule.name;
    }
  }
}

sim::Bytes ActivationsOf(const Scenario& s) {
  const StagePlan plan = PlanStage(s, LayerTimes({1, 1, 1, 1, 1, 1, 1}), 0);
  for (const BytePart& part : MemoryOfStage(s, plan, StageOrders(s.pipeline).Of(0)).parts) {
    if (std::string(part.name) == "activations") return part.bytes;
  }
  return {};
}

// A forward takes a layer before the backward has given one back, but after the head's: L + 1 layers and
// two embeddings' 32 bytes of token numbers, where two micro-batches would hold 2 L. That is less than
// one micro-batch with its head, unless the vocabulary is small.
TEST(OverlapSteps, HoldOneLayerMore) {
  const auto job = [](std::int64_t layers, std::int64_t vocabulary) {
    Scenario s = FourExperts(layers, 4, 0);
    s.model.vocabulary = s.training.vocabulary_divisor = vocabulary;
    return s;
  };
  const sim::Bytes layer = ActivationsOf(job(9, 2)) - ActivationsOf(job(8, 2));
  for (const std::int64_t layers : {1, 8}) {
    EXPECT_EQ(ActivationsOf(InTurns(job(layers, 2))), (layers + 1) * layer + sim::Bytes(2 * 32)) << layers;
    EXPECT_EQ(ActivationsOf(InTurns(job(layers, 512))), ActivationsOf(job(layers, 512))) << layers;
  }
}

// Chunks that a stage has begun: one more, and two micro-batches on one stage.
TEST(OverlapSteps, BeginOneForwardMore) {
  const auto in_flight = [](const Sets& sets) {
    const Scenario s = LoadedJob(sets);
    const StagePlan plan = PlanStage(s, hardware::DeviceCostModel(s.device), 0);
    return MemoryOfStage(s, plan, StageOrders(s.pipeline).Of(0)).micro_batches_in_flight;
  };
  const std::vector<Schedule> all = Schedules();
  EXPECT_EQ(in_flight(all[0].apart), 1);
  EXPECT_EQ(in_flight(all[0].in_turns), 2);
  EXPECT_EQ(in_flight(all[1].in_turns), in_flight(all[1].apart) + 1);
}

// 4 stages, F = I = 120 and W = 60, with FB = F + I + W: (p/2-1)(FB + B - 3W) = 300 + 180 - 180, beside
// 2 x 12 / 2 passes each of 300.
TEST(OverlapSteps, HaveDualPipesBubbleInTheReport) {
  const Times t{50, 50, 30, 70, 70, 30, 0};
  Scenario s = InTurns(FourExperts(1, 12, 0, "dualpipe", 4));
  s.device.capability = 90;
  for (auto& model : s.device.gemm) model.kind = hardware::GemmModelKind::kRoofline;
  s.device.peak_flops_per_s.fill(1e12);
  EXPECT_NEAR(ClosedFormOf(s, PlanStages(s, LayerTimes(t))).bubble_share, 300.0 / (300 + 12 * 300), 1e-12);
}

// Nothing travels, so nothing takes turns: the same program, whatever the schedule would join.
TEST(OverlapSteps, OfADenseModelAreThoseThatRunApart) {
  const auto text = [](const char* overlap) {
    Sets sets = {{"model.layers", "4"}, {"layout.tensor", "1"},  {"batch.global", "64"},
                 {"steps", "2"},        {"layout.virtual", "2"}, {"pipeline.schedule", "DUALPIPE"}};
    if (overlap != nullptr) sets.emplace_back("pipeline.overlap_experts", overlap);
    const Scenario s = Load(sets).scenario.value();
    return ToText(BuildSteps(s, hardware::DeviceCostModel(s.device)).value().program);
  };
  EXPECT_EQ(text(nullptr), text("false"));
}

TEST(OverlapSteps, ChunkByChunkAreWithinATenthOfCoupledFlows) {
  const auto step_time = [](const char* fidelity) {
    return scenarios::Run(LoadedJob({{"model.layers", "4"},
                                     {"layout.virtual", "2"},
                                     {"batch.global", "32"},
                                     {"batch.sequence_length", "512"},
                                     {"pipeline.overlap_experts", "true"},
                                     {"fidelity", fidelity}}))
        .value()
        .report.step_time.seconds();
  };
  EXPECT_NEAR(step_time("CHUNK") / step_time("FLOW"), 1, 0.1);
}

}  // namespace
}  // namespace scenarios
