// Steps of jobs whose sequences are cut over ranks: time, bytes, who reduces with whom.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "models/transformer.h"
#include "scenarios/checkpoint_plan.h"
#include "scenarios/estimate.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using models::ContextKind;

// Attention takes a picosecond for each of its FLOPs; what waits for the end of its backward
// takes one, all else nothing.
class AttentionCost final : public hardware::CostModel {
 public:
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const bool attention = kernel.kind == sim::KernelKind::kAttentionForward ||
                           kernel.kind == sim::KernelKind::kAttentionBackward;
    const bool next = kernel.name == std::string_view("qkv_dgrad");
    const auto time = sim::Duration::Picoseconds(attention ? kernel.flops.count() : next ? 1 : 0);
    return {time, time};
  }
};

// Every device has one link out; what is sent to any other loads it.
class PortOut final : public topologies::Router {
 public:
  topologies::Route Between(std::uint32_t from, std::uint32_t) const override {
    return {.uses = {{sim::LinkId(std::size_t{from})}}, .latency = {}};
  }
};

// One layer, one micro-batch of 64 tokens of two heads of 4, over `spread`.
Scenario Ring(const models::ContextSpread& spread) {
  Scenario s = SyntheticScenario(1, 1, 1, "1f1b");
  s.training.attention = sim::AttentionKind::kFlash2;
  s.training.optimizer_sharding = OptimizerSharding::kReplicated;
  s.training.overlap_parameter_gather = false;
  s.training.gradient_norm = false;
  s.devices = s.layout.context = spread.ranks;
  s.layout.ulysses = spread.ulysses;
  s.layout.context_kind = spread.kind;
  s.layout.zigzag = spread.zigzag;
  s.batch.sequence_length = 64;
  s.fabric.domain.assign(static_cast<std::size_t>(spread.ranks), 0);
  s.fabric.rail.resize(static_cast<std::size_t>(spread.ranks));
  std::iota(s.fabric.rail.begin(), s.fabric.rail.end(), 0u);
  return s;
}

// The same with a link of `rate` out of every device.
Scenario Linked(Scenario s, sim::ByteRate rate) {
  for (std::int64_t d = 0; d < s.devices; ++d) {
    s.fabric.links.push_back({.from = {}, .to = {}, .capacity = rate, .latency = {}});
  }
  s.fabric.router = std::make_shared<PortOut>();
  s.device.collective_timing.assign(1, {});
  return s;
}

// From the first task to the end of the last attention of the backward.
sim::Duration AttentionTime(const Scenario& scenario) {
  const StepProgram steps = BuildSteps(scenario, AttentionCost()).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  sim::Time last_end;
  steps.program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    const sim::TaskRow& row = steps.program.row(at);
    if (row.label.micro_batch != 0 || row.task_class == sim::TaskClass::kStepEnd) return;
    if (steps.program.stream_kind_of(at) == sim::StreamKind::kData) return;
    last_end = std::max(last_end, timeline.end[task.pos()]);
  });
  return last_end.since_start() - sim::Duration::Picoseconds(1);
}

Scenario OneStep(Scenario s) {
  s.steps = 1;
  return s;
}

// s = 64, two heads of 4 and values of 4: a forward of 2 * (4 + 4) * 64^2 FLOPs, the backward 2.5 times that.
constexpr std::int64_t kAttentionForward = 2 * 8 * 64 * 64, kAttentionBackward = kAttentionForward / 2 * 5;

TEST(ContextSteps, WithAFreeNetworkTakeTheirShareOfTheWork) {
  for (const models::ContextSpread& spread : {models::ContextSpread{1},
                                              {4, 1, ContextKind::kRing, true},
                                              {8, 1, ContextKind::kRing, true},
                                              {4, 1, ContextKind::kAllGather, true},
                                              {2, 2},
                                              {4, 2, ContextKind::kRing, true}}) {
    EXPECT_EQ(AttentionTime(OneStep(Ring(spread))).ps(),
              (kAttentionForward + kAttentionBackward) / spread.ranks)
        << spread.ranks;
  }
  // Not balanced: the last of 4 ranks has 7 of 16 parts.
  for (const ContextKind kind : {ContextKind::kRing, ContextKind::kAllGather}) {
    EXPECT_EQ(AttentionTime(OneStep(Ring({4, 1, kind, false}))).ps(),
              (kAttentionForward + kAttentionBackward) * 7 / 16);
  }
}

// A block of keys and values is 64/4 tokens x 2 heads x (4 + 4) x 2 B = 512 B. At 1 B/ns it travels for 512
// ns, while a block's attention is 4.096 ns forward, 10.24 ns backward. Forward: the last of 3 blocks comes
// after three transfers, then it is worked on. Backward: one transfer of keys, two of keys and gradients, one
// of gradients.
TEST(ContextSteps, OnSlowLinksWaitForEveryTransferAndOneBlock) {
  const Scenario slow =
      OneStep(Linked(Ring({4, 1, ContextKind::kRing, true}), sim::ByteRate::BytesPerSecond(1'000'000'000)));
  const std::int64_t transfer = 512'000, block = kAttentionForward / 16;
  EXPECT_EQ(AttentionTime(slow).ps(), (3 * transfer + block) + (1 + 2 * 2 + 1) * transfer);
}

// At 1,000 B/ns a transfer is 0.512 ns, two 1.024: both below a block. Only what the last rounds of a
// backward cannot hide stays: nothing, as the gradients of the last round travel beside the work on the own
// block.
TEST(ContextSteps, OnFastLinksHideEveryTransfer) {
  const Scenario fast = OneStep(
      Linked(Ring({4, 1, ContextKind::kRing, true}), sim::ByteRate::BytesPerSecond(1'000'000'000'000)));
  EXPECT_EQ(AttentionTime(fast).ps(), (kAttentionForward + kAttentionBackward) / 4);
}

// Gathered keys and values, 3/4 of 2 x 1024 B at 1 B/ns, are waited for; so are those of the backward, and
// their gradients. Exchanged heads: 3/4 of four tensors of 256 B, each way.
TEST(ContextSteps, GathersAndExchangesAreNotHidden) {
  const auto rate = sim::ByteRate::BytesPerSecond(1'000'000'000);
  const std::int64_t work = (kAttentionForward + kAttentionBackward) / 4;
  const Scenario gather = OneStep(Linked(Ring({4, 1, ContextKind::kAllGather, true}), rate));
  EXPECT_EQ(AttentionTime(gather).ps(), work + 3 * 3 * 2 * 1024 / 4 * 1000);
  Scenario heads = Ring({4, 4});
  heads.model.hidden = 16;
  heads.model.heads = heads.model.kv_heads = 4;
  // Three connections share a port; their rates round down, which costs a picosecond an exchange.
  EXPECT_EQ(AttentionTime(OneStep(Linked(heads, rate))).ps(), 2 * work + 2 * 3 * 4 * 512 / 4 * 1000 + 8);
}

constexpr const char* kKinds[][3] = {{"RING", "1", "true"},       {"RING", "1", "false"},
                                     {"ALL_GATHER", "1", "true"}, {"ULYSSES", "4", "true"},
                                     {"RING", "2", "true"},       {"ALL_GATHER", "2", "true"}};

// Two layers of LLaMA-7B on a node: tensor 2, context 4, four micro-batches of 2,048 tokens.
Loading OnANode(const char* const* kind, const Sets& more = {}) {
  Sets sets = {{"model.layers", "2"},       {"topology", "single_node"}, {"devices", "8"},
               {"layout.tensor", "2"},      {"layout.sequence", "true"}, {"layout.pipeline", "1"},
               {"layout.context", "4"},     {"batch.global", "4"},       {"layout.context_kind", kind[0]},
               {"layout.ulysses", kind[1]}, {"layout.zigzag", kind[2]}};
  sets.insert(sets.end(), more.begin(), more.end());
  return Load(sets);
}

// n = 4 ranks of b s = 512 tokens; 16 heads of 128 a rank, BF16. Keys and values of a rank: 2 x 512 x 2,048 x
// 2 B.
TEST(ContextSteps, SendTheBytesOfTheClosedForm) {
  constexpr double kTensor = 512 * 2048 * 2;  // queries, keys, values or outputs of one rank
  const double want[] = {
      3 * 3 * 2 * kTensor,     // 3 times a block of two; and their gradients; the blocks again
      3 * 3 * 2 * kTensor,     // balanced or not
      3 * 3 * 2 * kTensor,     // 3/4 of four times as much
      2 * 4 * 0.75 * kTensor,  // 3/4 of four tensors, each way
      2 * 4 * 0.5 * kTensor +
          3 * 1 * 2 * 2 * kTensor / 2,  // half of four each way; a ring of two, twice the tokens
      2 * 4 * 0.5 * kTensor + 3 * 1 * 2 * 2 * kTensor / 2};
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    SCOPED_TRACE(testing::Message() << kKinds[i][0] << ' ' << kKinds[i][1]);
    for (const char* recompute : {"NONE", "FULL", "SELECTIVE"}) {
      const Loading loading = OnANode(kKinds[i], {{"training.recompute", recompute}});
      ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
      const RunResult run = scenarios::Run(*loading.scenario, {.fold = false}).value();
      const ClosedForm& form = run.report.closed_form;
      if (recompute == std::string("NONE")) {
        EXPECT_EQ(form.context_bytes_per_rank, 2 * 4 * want[i]);
      } else {
        EXPECT_GT(form.context_bytes_per_rank, 2 * 4 * want[i]);
      }
      const auto steps = static_cast<double>(loading.scenario->steps);
      EXPECT_EQ(BytesSent(run.steps.program, sim::TaskClass::kContext), steps * form.context_bytes_per_rank);
      EXPECT_EQ(BytesSent(run.steps.program, sim::TaskClass::kTensor), steps * form.tensor_bytes_per_rank);
      // It adds up, with a line of its own.
      sim::Duration sum;
      bool has_line = false;
      for (const TimePart& part : run.report.breakdown) {
        sum += part.time;
        has_line |= part.name == "context" && part.time > sim::Duration();
      }
      EXPECT_EQ(sum, run.report.step_time);
      EXPECT_TRUE(has_line);
      const double built = static_cast<double>(run.steps.program.tasks());
      EXPECT_GE(EstimateOf(*loading.scenario, run.steps.stages).tasks / built, 0.98);
      EXPECT_LE(EstimateOf(*loading.scenario, run.steps.stages).tasks / built, 1.15);
    }
  }
}

// Errata E1 and E24 of 17.6.7: at 128K tokens a block of 67.1 MB travels for far less than its attention
// takes, so that ring attention hides, even over one NIC a rank.
TEST(ContextSteps, RingsOfLongSequencesHideTheirTransfers) {
  const Loading loading = Load({{"model", "llama3_8b"},
                                {"model.layers", "2"},
                                {"hardware.node.devices", "1"},
                                {"hardware.node.nics", "1"},
                                {"devices", "8"},
                                {"layout.tensor", "1"},
                                {"layout.pipeline", "1"},
                                {"layout.context", "8"},
                                {"batch.global", "1"},
                                {"batch.sequence_length", "131072"}});
  ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
  const Report report = scenarios::Run(*loading.scenario).value().report;
  for (const TimePart& part : report.breakdown) {
    if (part.name != "context") continue;
    EXPECT_LT(part.time.seconds(), 0.01 * report.step_time.seconds());
  }
}

// Megatron-LM's groups: context ranks hold the same parameters as data ranks, so that context 2 x data 4 cuts
// the optimizer and reduces gradients as data 8 does.
TEST(ContextSteps, ReduceGradientsOverDataTimesContext) {
  const auto job = [](const char* context) {
    Sets sets = {
        {"devices", "16"}, {"layout.tensor", "2"}, {"layout.pipeline", "1"}, {"layout.context", context}};
    const Loading loading = Load(sets);
    EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    return *loading.scenario;
  };
  const Scenario whole = job("1"), cut = job("2");
  const RunResult of_whole = scenarios::Run(whole, {.fold = false}).value(),
                  of_cut = scenarios::Run(cut, {.fold = false}).value();
  const ClosedForm &a = of_whole.report.closed_form, &b = of_cut.report.closed_form;
  EXPECT_EQ(a.gradient_bytes_per_rank, b.gradient_bytes_per_rank);
  EXPECT_EQ(a.parameter_bytes_per_rank, b.parameter_bytes_per_rank);
  EXPECT_EQ(BytesSent(of_whole.steps.program, sim::TaskClass::kData),
            BytesSent(of_cut.steps.program, sim::TaskClass::kData));
  EXPECT_GT(of_cut.report.mfu, 0);
  std::map<std::string, sim::Bytes> parts[2];
  for (int i = 0; i < 2; ++i) {
    for (const BytePart& part : (i == 0 ? of_whole : of_cut).report.stages[0].memory)
      parts[i][part.name] = part.bytes;
  }
  for (const char* name : {"weights", "gradients", "master_weights", "moments"}) {
    EXPECT_EQ(parts[0][name], parts[1][name]) << name;
  }
  EXPECT_EQ(parts[0]["activations"], 2 * parts[1]["activations"]);
  // Two blocks of 1,024 tokens x 2 x 2,048 channels x 2 B, and their gradients.
  EXPECT_EQ(parts[1]["context"], sim::Bytes(4 * 2 * 1024 * 2048 * 2));
}

// A save has each number once, whatever the order of ranks; the context ranks share it out as data ranks do.
TEST(ContextSteps, SavesHoldEachNumberOnce) {
  const auto plan = [](const char* context, const char* order, const char* format) {
    const Loading loading = Load({{"devices", "16"},
                                  {"layout.tensor", "2"},
                                  {"layout.pipeline", "1"},
                                  {"layout.context", context},
                                  {"layout.rank_order", order},
                                  {"checkpoint.every_steps", "100"},
                                  {"checkpoint.path", "NIC"},
                                  {"checkpoint.format", format},
                                  {"checkpoint.source.title", "a test"},
                                  {"checkpoint.storage.servers", "4"},
                                  {"checkpoint.storage.write_gb_per_s", "40"},
                                  {"checkpoint.storage.read_gb_per_s", "50"},
                                  {"checkpoint.storage.source.title", "a test"}});
    EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    return PlanCheckpoint(*loading.scenario);
  };
  for (const char* format : {"SHARDED", "CONSOLIDATED"}) {
    const CheckpointPlan whole = plan("1", "tp-cp-dp-pp", format);
    for (const char* order : {"tp-cp-dp-pp", "tp-dp-cp-pp", "cp-tp-pp-dp"}) {
      const CheckpointPlan cut = plan("2", order, format);
      EXPECT_EQ(cut.total, whole.total) << order;
      EXPECT_EQ(cut.largest_rank, whole.largest_rank) << order;
    }
  }
}

// Each other way with half of the kinds: builds, runs, and reports what adds up.
TEST(ContextSteps, GoWithEveryOtherWayToCutAJob) {
  const Sets jobs[] = {
      {{"layout.pipeline", "2"},
       {"layout.virtual", "2"},
       {"batch.global", "4"},
       {"layout.rank_order", "cp-tp-pp-dp"}},
      {{"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_3"}, {"batch.global", "4"}},
      {{"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_2"}, {"training.sharding.ranks", "4"}},
      {{"layout.pipeline", "1"},
       {"layout.expert", "4"},
       {"layout.expert_tensor", "1"},
       {"model", "mixtral_8x7b"}},
      {{"layout.pipeline", "1"},
       {"model", "deepseek_v2_lite"},
       {"training.attention", "FLASH3"},
       {"layout.expert", "8"},
       {"layout.expert_tensor", "1"}}};
  for (std::size_t i = 0; i < std::size(jobs); ++i) {
    const Sets& job = jobs[i];
    for (const auto* kind : {kKinds[i % 2], kKinds[2 + i % 2], kKinds[4 + i % 2]}) {
      Sets sets = job;
      sets.insert(sets.end(), {{"devices", "16"}, {"topology", "rail_optimised_ndr"}, {"model.layers", "4"}});
      const Loading loading = OnANode(kind, sets);
      ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
      const RunResult run = scenarios::Run(*loading.scenario, {.fold = false}).value();
      sim::Duration sum;
      for (const TimePart& part : run.report.breakdown) sum += part.time;
      EXPECT_EQ(sum, run.report.step_time);
      EXPECT_TRUE(run.report.steady);
      EXPECT_EQ(BytesSent(run.steps.program, sim::TaskClass::kContext),
                static_cast<double>(loading.scenario->steps) * run.report.closed_form.context_bytes_per_rank);
    }
  }
}

// Played transfer by transfer a step takes about as long: rings and exchanges stay on NVLink.
TEST(ContextSteps, TakeAsLongTransferByTransfer) {
  for (const auto* kind : {kKinds[0], kKinds[2], kKinds[3]}) {
    double time[2] = {};
    for (int chunks = 0; chunks < 2; ++chunks) {
      const Loading loading = OnANode(kind, {{"fidelity", chunks == 1 ? "CHUNK" : "FLOW"},
                                             {"batch.global", "1"},
                                             {"training.overlap_gradient_reduce", "false"},
                                             {"training.overlap_parameter_gather", "false"}});
      time[chunks] = scenarios::Run(*loading.scenario).value().report.step_time.seconds();
    }
    EXPECT_NEAR(time[1] / time[0], 1, 0.03) << kind[0] << kind[1];
  }
}

}  // namespace
}  // namespace scenarios
