// Data ranks that share what they hold: volumes, times and memory of DDP, ZeRO-1
// to 3, FSDP and HSDP.

#include "scenarios/sharding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "hardware/device_cost_model.h"
#include "scenarios/closed_form.h"
#include "scenarios/loader.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// Layers of any parts on `data` ranks; communication is free, a layer takes 7 ns
// forward and 13 ns backward.
Scenario OfRanks(std::int64_t data, std::int64_t micro_batches, OptimizerSharding kind,
                 const Sharding& sharding) {
  Scenario s = SyntheticScenario(1, micro_batches, 1, "1f1b", /*layers_of_piece=*/5);
  s.devices = s.layout.data = data;
  s.batch.global = data * micro_batches;
  s.fabric.domain.assign(static_cast<std::size_t>(data), 0);
  s.fabric.rail.clear();
  for (std::int64_t d = 0; d < data; ++d) s.fabric.rail.push_back(static_cast<std::uint32_t>(d));
  s.device.capability = 90;  // closed forms ask for its peak
  for (auto& model : s.device.gemm) model.kind = hardware::GemmModelKind::kRoofline;
  s.device.peak_flops_per_s.fill(1e12);
  s.training.optimizer_sharding = kind;
  s.training.sharding = sharding;
  return s;
}

StepProgram Build(const Scenario& scenario) { return BuildSteps(scenario, LayerCost(7_ns, 13_ns)).value(); }

// What rank 0 sends by rings in the whole run, by the name of the collective.
std::map<std::string, double> SentByRank0(const sim::Program& p) {
  std::map<std::string, double> sent;
  for (std::size_t t = 0; t < p.tasks(); ++t) {
    const sim::TaskId task(t);
    if (p.row(task).kind != sim::TaskKind::kSeat || p.rank_of(task).value() != 0) continue;
    if (p.row(task).task_class != sim::TaskClass::kData) continue;
    const sim::Communication& c = p.communications[p.communication_of(task).pos()];
    const sim::Traffic& traffic = p.traffics[c.traffic.pos()];
    const std::string kind = p.names[traffic.name];
    const double n = c.seats;
    sent[kind] += (kind == "all-reduce" ? 2 : 1) * static_cast<double>(traffic.size.count()) * (n - 1) / n;
  }
  return sent;
}

// The rank's parameters, and those of its last unit (norm and output matrix): 8
// channels, 32 words, padded to 128.
std::int64_t AllParameters(const StepProgram& steps) { return steps.stages[0].held.total().total(); }
std::int64_t LastUnit(const StepProgram& steps) { return steps.stages[0].chunks[0].back().parameters; }

// Source: textbook 17.6 as corrected: 3 (n-1)/n of the weights a micro-batch, two
// gathers and one scatter; without the gather of what stays whole. BF16 weights of 2 B,
// FP32 gradients of 4 B.
TEST(ZeRO3, GathersInForwardAndBackwardAndScattersInEveryMicroBatch) {
  for (const std::int64_t n : {2, 3, 8}) {
    for (const std::int64_t m : {1, 4}) {
      for (const bool no_sync : {false, true}) {
        for (const bool reshard : {false, true}) {
          for (const bool last : {false, true}) {
            for (const std::int64_t prefetch : {0, 1, 3}) {
              if (last && !reshard) continue;
              SCOPED_TRACE(testing::Message()
                           << n << ' ' << m << ' ' << no_sync << reshard << last << prefetch);
              const Scenario s =
                  OfRanks(n, m, OptimizerSharding::kZero3, {0, no_sync, reshard, last, prefetch});
              const StepProgram steps = Build(s);
              auto sent = SentByRank0(steps.program);
              const auto all = static_cast<double>(AllParameters(steps)), mbs = static_cast<double>(m),
                         part = static_cast<double>(n - 1) / static_cast<double>(n);
              double again = reshard ? all : 0;  // gathered once more for the backward
              if (reshard && !last) again -= static_cast<double>(LastUnit(steps));
              const double runs = static_cast<double>(s.steps);
              EXPECT_NEAR(sent["all-gather"], runs * mbs * part * 2 * (all + again), 1e-6);
              EXPECT_NEAR(sent["reduce-scatter"], runs * (no_sync ? 1 : mbs) * part * 4 * all, 1e-6);
              EXPECT_EQ(sent.count("all-reduce"), 0u);
              const ClosedForm form = ClosedFormOf(s, steps.stages);
              EXPECT_NEAR(form.parameter_bytes_per_rank * runs, sent["all-gather"], 1e-6);
              EXPECT_NEAR(form.gradient_bytes_per_rank * runs, sent["reduce-scatter"], 1e-6);
            }
          }
        }
      }
    }
  }
}

// HB-092: 8,030,261,248 parameters in BF16 with FP32 gradients on 8 ranks, 4
// micro-batches, everything resharded: gathers send 2 M (n-1)/n 2 N, scatters M or
// 1 times (n-1)/n 4 N.
TEST(ZeRO3, GathersRepeatForEveryMicroBatch) {
  StagePlan plan;
  plan.held.attention.sharded = 8'030'261'248;
  plan.buckets = {{.parameters = 8'030'261'248}};
  Scenario s = OfRanks(8, 4, OptimizerSharding::kZero3, {.no_sync = false, .reshard_last_unit = true});
  ClosedForm form = ClosedFormOf(s, {plan});
  EXPECT_NEAR(form.parameter_bytes_per_rank, 1.12424e11, 1e6);
  EXPECT_NEAR(form.gradient_bytes_per_rank, 1.12424e11, 1e6);
  s.training.sharding.no_sync = true;
  EXPECT_NEAR(ClosedFormOf(s, {plan}).gradient_bytes_per_rank, 2.81059e10, 1e5);
}

// Textbook 17.9.1 as corrected: with 16 micro-batches each rank of 256 sends 443 GB a
// step, 645 GB if gradients move in every one too, not 26.1 GB shared by 16.
TEST(ZeRO3, OfLlama7bWith16MicroBatchesSends443GigabytesAStep) {
  for (const auto& [no_sync, gigabytes] : {std::pair("true", 443.0), std::pair("false", 644.4)}) {
    proto::Diagnostics diagnostics;
    const auto s = LoadScenario("llama_7b_256xh800",
                                {{1, "batch.global", "16384"},
                                 {2, "training.sharding.reshard_last_unit", "true"},
                                 {3, "training.sharding.no_sync", no_sync}},
                                &diagnostics);
    const auto stages = PlanStages(s.value(), hardware::DeviceCostModel(s->device));
    const ClosedForm form = ClosedFormOf(*s, stages);
    EXPECT_NEAR(1e-9 * (form.parameter_bytes_per_rank + form.gradient_bytes_per_rank), gigabytes, 0.5);
  }
}

TEST(ZeRO2, ScattersEveryMicroBatchAndGathersOnceAStep) {
  for (const std::int64_t m : {1, 3}) {
    const Scenario s = OfRanks(4, m, OptimizerSharding::kZero2, {.no_sync = false});
    const StepProgram steps = Build(s);
    auto sent = SentByRank0(steps.program);
    const auto all = static_cast<double>(AllParameters(steps)), runs = static_cast<double>(s.steps);
    EXPECT_NEAR(sent["reduce-scatter"], runs * static_cast<double>(m) * 0.75 * 4 * all, 1e-6);
    EXPECT_NEAR(sent["all-gather"], (runs - 1) * 0.75 * 2 * all, 1e-6);  // not before the first step
  }
}

// HSDP: 4 ranks share a copy, 3 copies. Gathers and scatters stay among the 4; each
// share, a quarter, is reduced over the 3 copies: 2 (3-1)/3.
TEST(HybridSharding, ScattersInsideAndReducesSharesOverTheCopies) {
  for (const OptimizerSharding kind :
       {OptimizerSharding::kZero1, OptimizerSharding::kZero2, OptimizerSharding::kZero3}) {
    const Scenario s = OfRanks(12, 2, kind, {.ranks = 4, .no_sync = kind == OptimizerSharding::kZero1});
    const StepProgram steps = Build(s);
    auto sent = SentByRank0(steps.program);
    double numbers = 0;  // of shares, each rounded up
    for (const Bucket& bucket : steps.stages[0].buckets) {
      numbers += static_cast<double>((bucket.parameters + 3) / 4);
    }
    const auto all = static_cast<double>(AllParameters(steps));
    const double reductions = static_cast<double>(s.steps) * (kind == OptimizerSharding::kZero1 ? 1 : 2);
    EXPECT_NEAR(sent["reduce-scatter"], reductions * 0.75 * 4 * all, 1e-6);
    EXPECT_NEAR(sent["all-reduce"], reductions * 2 * 2 / 3 * 4 * numbers, 1e-6);
    EXPECT_NEAR(ClosedFormOf(s, steps.stages).gradient_bytes_per_rank * static_cast<double>(s.steps),
                sent["reduce-scatter"] + sent["all-reduce"], reductions * 40);
  }
}

// DDP without no_sync reduces in every micro-batch.
TEST(NoSync, ReducesOnceAStepInsteadOfOnceAMicroBatch) {
  for (const bool no_sync : {false, true}) {
    const Scenario s = OfRanks(4, 5, OptimizerSharding::kReplicated, {.no_sync = no_sync});
    const StepProgram steps = Build(s);
    auto sent = SentByRank0(steps.program);
    EXPECT_NEAR(sent["all-reduce"],
                static_cast<double>(s.steps * AllParameters(steps)) * 4 * 1.5 * (no_sync ? 1 : 5), 1e-6);
  }
}

TEST(Sharding, OnOneRankIsNoShardingToThePicosecond) {
  const Scenario plain = OfRanks(1, 3, OptimizerSharding::kReplicated, {});
  for (const OptimizerSharding kind :
       {OptimizerSharding::kZero1, OptimizerSharding::kZero2, OptimizerSharding::kZero3}) {
    const Scenario cut = OfRanks(1, 3, kind, {.no_sync = false});
    EXPECT_EQ(StepTime(cut, LayerCost(7_ns, 13_ns)), StepTime(plain, LayerCost(7_ns, 13_ns)));
    EXPECT_EQ(sim::ToText(Build(cut).program), sim::ToText(Build(plain).program));
  }
}

// 3 micro-batches of 5 layers, 20 ns each.
TEST(Sharding, WithFreeCommunicationTakesAsLongAsDdp) {
  for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
    for (const std::int64_t prefetch : {0, 1, 2}) {
      Scenario ddp = OfRanks(6, 3, OptimizerSharding::kReplicated, {});
      Scenario cut =
          OfRanks(6, 3, OptimizerSharding::kZero3, {.ranks = 3, .no_sync = false, .prefetch = prefetch});
      ddp.training.recompute = cut.training.recompute = recompute;
      EXPECT_EQ(StepTime(ddp, LayerCost(7_ns, 13_ns)),
                recompute == Recompute::kFull ? 15 * 27_ns : 15 * 20_ns);
      EXPECT_EQ(StepTime(cut, LayerCost(7_ns, 13_ns)), StepTime(ddp, LayerCost(7_ns, 13_ns)));
    }
  }
}

// The order of PyTorch's fully_shard: a unit's gather comes before the unit in front
// of it runs; in the backward, before the scatter of that one.
TEST(ZeRO3, GathersTheNextUnitBesideTheOneThatRuns) {
  Scenario s = OfRanks(2, 1, OptimizerSharding::kZero3, {.no_sync = false});
  s.steps = 1;
  s.model.layers = 2;
  s.pipeline.layers_of_piece = {2};
  s.training.gradient_norm = false;
  const StepProgram steps = Build(s);
  std::string order;
  for (std::size_t t = 0; t < steps.program.tasks(); ++t) {
    const sim::TaskId task(t);
    if (steps.program.rank_of(task).value() != 0) continue;
    const sim::TaskRow& row = steps.program.row(task);
    if (row.kind == sim::TaskKind::kWork) order += row.task_class == sim::TaskClass::kForward ? 'F' : 'B';
    if (row.kind == sim::TaskKind::kSeat) {
      const auto& traffic =
          steps.program.traffics[steps.program.communications[steps.program.communication_of(task).pos()]
                                     .traffic.pos()];
      order += steps.program.names[traffic.name] == "all-gather" ? 'g' : 's';
    }
  }
  // Embedding and layer 0; layer 1, F; head, F. Backward: the head is whole, layer 1;
  // the head's scatter, layer 0, B, scatter; embedding, B, scatter; its own scatter.
  EXPECT_EQ(order, "gggFgFgsgBsgBss");
}

// E3 of table 17-46 and HB-063: 16 P; 4 P + 12 P/n; 2 P + 14 P/n; 16 P/n.
TEST(Sharding, StatesAreCutByStage) {
  struct Case {
    OptimizerSharding kind;
    double of_7b, of_7_5b;  // GB: LLaMA-7B on 8, 7.5e9 parameters on 64
  };
  for (const Case& c : {Case{OptimizerSharding::kReplicated, 107.8, 120},
                        {OptimizerSharding::kZero1, 37.1, 31.41},
                        {OptimizerSharding::kZero2, 25.3, 16.64},
                        {OptimizerSharding::kZero3, 13.5, 1.875}}) {
    const bool no_sync = c.kind < OptimizerSharding::kZero2;
    const auto states = [&](std::int64_t parameters, std::int64_t ranks) {
      const models::Shares shares = SharesOf(OfRanks(ranks, 1, c.kind, {.no_sync = no_sync}));
      return 1e-9 *
             static_cast<double>(models::Total(models::StaticMemory(parameters, sim::NumberFormat::kBf16,
                                                                    sim::NumberFormat::kBf16, shares))
                                     .count());
    };
    EXPECT_NEAR(states(6'738'415'616, 8), c.of_7b, 0.05);
    EXPECT_NEAR(states(7'500'000'000, 64), c.of_7_5b, 0.005);
  }
}

sim::Bytes Part(const StageMemory& memory, const std::string& name) {
  for (const BytePart& part : memory.parts) {
    if (part.name == name) return part.bytes;
  }
  return {};
}

StageMemory MemoryOf(const Scenario& s) {
  const std::vector<StagePlan> stages = PlanStages(s, LayerCost(7_ns, 13_ns));
  return MemoryOfStage(s, stages[0], s.pipeline.schedule->order(s.pipeline.shape, 0));
}

// HB-045: gradients that wait for the last micro-batch are whole on every rank.
TEST(NoSync, KeepsUnshardedGradients) {
  const auto gradients = [](std::int64_t ranks, bool no_sync) {
    const models::Shares shares =
        SharesOf(OfRanks(ranks, 4, OptimizerSharding::kZero3, {.no_sync = no_sync}));
    return models::StaticMemory(6'738'415'616, sim::NumberFormat::kBf16, sim::NumberFormat::kFp32, shares)[1]
        .bytes.count();
  };
  EXPECT_EQ(gradients(2, false), 13'476'831'232);
  EXPECT_EQ(gradients(8, false), 3'369'207'808);
  EXPECT_EQ(gradients(2, true), 26'953'662'464);
  EXPECT_EQ(gradients(8, true), 26'953'662'464);
}

// HB-065: 6.05e9 parameters of 16 B: halving the share halves the states, not the rest.
TEST(ZeRO3, OnlyTheStatesFallWithTheRanks) {
  const auto states = [](std::int64_t ranks) {
    const models::Shares shares = SharesOf(OfRanks(ranks, 1, OptimizerSharding::kZero3, {.no_sync = false}));
    return static_cast<double>(models::Total(models::StaticMemory(6'050'000'000, sim::NumberFormat::kBf16,
                                                                  sim::NumberFormat::kBf16, shares))
                                   .count()) /
           (1 << 30);
  };
  EXPECT_NEAR(states(2), 45.08, 0.01);
  EXPECT_NEAR(states(4), 22.54, 0.01);
  // The gathered units do not.
  const Sharding sharding{.no_sync = false};
  EXPECT_EQ(Part(MemoryOf(OfRanks(2, 1, OptimizerSharding::kZero3, sharding)), "gathered"),
            Part(MemoryOf(OfRanks(4, 1, OptimizerSharding::kZero3, sharding)), "gathered"));
}

// HB-066: 340e6 parameters on 4 ranks, 2 GiB of buffers beside the states.
TEST(Sharding, OfASmallModelGainsLittle) {
  const struct {
    OptimizerSharding kind;
    double gib;
  } cases[] = {{OptimizerSharding::kZero1, 4.22},
               {OptimizerSharding::kZero2, 3.74},
               {OptimizerSharding::kZero3, 3.27}};
  for (const auto& c : cases) {
    const models::Shares shares =
        SharesOf(OfRanks(4, 1, c.kind, {.no_sync = c.kind == OptimizerSharding::kZero1}));
    const auto states =
        models::StaticMemory(340'000'000, sim::NumberFormat::kBf16, sim::NumberFormat::kBf16, shares);
    EXPECT_NEAR(2 + static_cast<double>(models::Total(states).count()) / (1 << 30), c.gib, 0.01);
  }
}

// Two layers at a time, and the head, which stays whole until the backward has
// passed it; without resharding everything; the most by the limit.
TEST(ZeRO3, HoldsAsManyWholeUnitsAsItGathersAhead) {
  Sharding sharding{.no_sync = false};
  const Scenario s = OfRanks(4, 2, OptimizerSharding::kZero3, sharding);
  const std::vector<StagePlan> stages = PlanStages(s, LayerCost(7_ns, 13_ns));
  const std::vector<Unit>& units = stages[0].chunks[0];
  const std::int64_t embedding = units[0].parameters, layer = units[1].parameters, head = units[6].parameters;
  EXPECT_EQ(Part(MemoryOf(s), "gathered"),
            sim::Bytes(2 * std::max({embedding + layer, 2 * layer, layer + head})));
  sharding.reshard_after_forward = false;
  EXPECT_EQ(Part(MemoryOf(OfRanks(4, 2, OptimizerSharding::kZero3, sharding)), "gathered"),
            sim::Bytes(2 * (embedding + 5 * layer + head)));
  // Gradients of two neighbours in FP32.
  EXPECT_EQ(Part(MemoryOf(s), "unreduced"),
            sim::Bytes(4 * std::max({embedding + layer, 2 * layer, layer + head})));
}

}  // namespace
}  // namespace scenarios
