// Optimizer and weights on the hosts: what moves, how long a step takes, what is freed.

#include "scenarios/host_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "hardware/device_cost_model.h"
#include "models/optimizer.h"
#include "scenarios/estimate.h"
#include "scenarios/offload.h"
#include "scenarios/run.h"
#include "scenarios/sharding.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using namespace sim::literals;
using sim::Duration;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// `data` ranks with links of their own at 1 GB/s to their host and back, and a memory at 1 GB/s each: a byte
// takes a nanosecond. Communication is free.
Scenario OnHosts(std::int64_t data, std::int64_t micro_batches, OptimizerSharding kind, std::int64_t parts) {
  Scenario s = SyntheticScenario(1, micro_batches, 1, "1f1b", /*layers_of_piece=*/5);
  s.devices = s.layout.data = data;
  s.batch.global = data * micro_batches;
  s.training.optimizer_sharding = kind;
  s.training.sharding.no_sync = kind < OptimizerSharding::kZero2;
  s.training.offload.optimizer_parts = parts;
  s.fabric.domain.assign(static_cast<std::size_t>(data), 0);
  s.fabric.rail.clear();
  topologies::StorageRoutes routes;
  const auto link = [&] {
    const auto rate = sim::ByteRate::BytesPerSecond(kBillion);
    s.fabric.links.push_back({.from = {}, .to = {}, .capacity = rate, .latency = {}});
    return sim::LinkId(s.fabric.links.size() - 1);
  };
  for (std::int64_t rank = 0; rank < data; ++rank) {
    s.fabric.rail.push_back(static_cast<std::uint32_t>(rank));
    routes.to_host.push_back({.uses = {{link()}}, .latency = {}});
    routes.to_device.push_back({.uses = {{link()}}, .latency = {}});
    routes.memory.push_back(link());
  }
  s.fabric.storage = std::make_shared<const topologies::StorageRoutes>(routes);
  return s;
}

std::int64_t Owned(const Scenario& s) {
  const std::int64_t held = PlanStages(s, LayerCost(7_ns, 13_ns))[0].held.total().total();
  const std::int64_t ranks = SharingOf(s).ranks;
  return (held + ranks - 1) / ranks;
}

// FP32 gradients down, BF16 weights up; the update reads a gradient, and reads and writes 12 bytes of state,
// and writes the weight: 4 + 24 + 2. 3 micro-batches of 5 layers of 20 ns.
TEST(HostOptimizer, WithoutOverlapAddsTheCopiesAndTheUpdate) {
  for (const OptimizerSharding kind : {OptimizerSharding::kReplicated, OptimizerSharding::kZero1,
                                       OptimizerSharding::kZero2, OptimizerSharding::kZero3}) {
    for (const std::int64_t parts : {kBillion / 4, kBillion}) {
      const Scenario s = OnHosts(2, 3, kind, parts);
      const std::int64_t numbers = Owned(s) * parts / kBillion;
      EXPECT_EQ(StepTime(s, LayerCost(7_ns, 13_ns)),
                Duration::Nanoseconds(3 * 5 * 20 + numbers * (4 + 30 + 2)));
    }
  }
}

TEST(HostOptimizer, RunsNoFasterThanItsProcessorsAddUp) {
  Scenario s = OnHosts(1, 1, OptimizerSharding::kReplicated, kBillion);
  s.training.offload.host_rate = sim::ByteRate::BytesPerSecond(kBillion / 5);
  EXPECT_EQ(StepTime(s, LayerCost(7_ns, 13_ns)), Duration::Nanoseconds(5 * 20 + Owned(s) * (4 + 5 * 30 + 2)));
}

// Two ranks of one node share its memory.
TEST(HostOptimizer, RanksOfANodeShareItsMemory) {
  Scenario s = OnHosts(2, 1, OptimizerSharding::kZero1, kBillion);
  topologies::StorageRoutes routes = *s.fabric.storage;
  routes.memory[1] = routes.memory[0];
  s.fabric.storage = std::make_shared<const topologies::StorageRoutes>(routes);
  EXPECT_EQ(StepTime(s, LayerCost(7_ns, 13_ns)), Duration::Nanoseconds(5 * 20 + Owned(s) * (4 + 2 * 30 + 2)));
}

// One layer's backward takes longer than all copies: with overlap the gradients are down but for the last
// bucket's.
TEST(HostOptimizer, WithOverlapNeverTakesLongerAndMovesAsMuch) {
  for (const OptimizerSharding kind : {OptimizerSharding::kZero1, OptimizerSharding::kZero3}) {
    Scenario after = OnHosts(2, 2, kind, kBillion);
    after.training.bucket = sim::Bytes(1);  // a unit each
    Scenario beside = after;
    beside.training.offload.overlap = true;
    const Duration both = StepTime(after, LayerCost(7_ns, 13_ns));
    EXPECT_LT(StepTime(beside, LayerCost(7_ns, 13_ns)), both);
    // Updates are one after the other: they and the last weights cannot hide.
    EXPECT_GT(StepTime(beside, LayerCost(7_ns, 13_ns)),
              Duration::Nanoseconds(2 * 5 * 20 + Owned(after) * 30));
    const auto bytes = [](const Scenario& s) {
      std::map<sim::StreamKind, std::int64_t> moved;
      const sim::Program p = BuildSteps(s, LayerCost(7_ns, 13_ns)).value().program;
      for (std::size_t t = 0; t < p.tasks(); ++t) {
        const sim::TaskId task(t);
        if (p.row(task).kind != sim::TaskKind::kSeat || p.row(task).task_class != sim::TaskClass::kOffload)
          continue;
        const sim::Communication& c = p.communications[p.communication_of(task).pos()];
        moved[p.stream_kind_of(task)] += p.traffics[c.traffic.pos()].size.count();
      }
      return moved;
    };
    EXPECT_EQ(bytes(after), bytes(beside));
    EXPECT_EQ(bytes(after)[sim::StreamKind::kCopyOut], after.steps * 2 * 4 * Owned(after));
    EXPECT_EQ(bytes(after)[sim::StreamKind::kCopyIn], after.steps * 2 * 2 * Owned(after));
    EXPECT_EQ(bytes(after)[sim::StreamKind::kHost], after.steps * 2 * 30 * Owned(after));
  }
}

TEST(HostOptimizer, OfNothingBuildsTheProgramWithoutIt) {
  const Loading none = Load({{"training.offload.optimizer", "0"}}), plain = Load();
  ASSERT_THAT(none.errors(), IsEmpty());
  const auto text = [](const Scenario& s) {
    return sim::ToText(BuildSteps(s, hardware::DeviceCostModel(s.device)).value().program);
  };
  EXPECT_EQ(text(*none.scenario), text(*plain.scenario));
}

// Shares come up before each of two gathers a micro-batch, all of them without a share of a byte left behind;
// nothing comes up after the update.
TEST(HostOptimizer, WeightsOnHostsComeUpBeforeEachGather) {
  Scenario s = OnHosts(2, 3, OptimizerSharding::kZero3, kBillion);
  s.training.offload.parameters = s.training.sharding.reshard_last_unit = true;
  const StepProgram steps = BuildSteps(s, LayerCost(7_ns, 13_ns)).value();
  std::int64_t up = 0, shares = 0;
  for (const Bucket& bucket : steps.stages[0].buckets) shares += (2 * bucket.parameters + 1) / 2;
  for (std::size_t t = 0; t < steps.program.tasks(); ++t) {
    const sim::TaskId task(t);
    if (steps.program.stream_kind_of(task) != sim::StreamKind::kCopyIn ||
        steps.program.rank_of(task).value() != 0)
      continue;
    up +=
        steps.program
            .traffics[steps.program.communications[steps.program.communication_of(task).pos()].traffic.pos()]
            .size.count();
  }
  EXPECT_EQ(up, s.steps * 3 * 2 * shares);
  EXPECT_EQ(HostWeightsPerStep(s, steps.stages).count(), 3 * 2 * shares);
}

std::map<std::string, std::int64_t> HeldParts(const Scenario& s) {
  const auto stages = PlanStages(s, LayerCost(7_ns, 13_ns));
  std::map<std::string, std::int64_t> parts;
  for (const BytePart& part : MemoryOfStage(s, stages[0], StageOrders(s.pipeline).Of(0)).parts) {
    parts[part.name] = part.bytes.count();
  }
  return parts;
}

// Mixtral on 16 data ranks, expert 8: shares of both kinds.
TEST(HostOptimizer, MemoryFallsByWhatIsMoved) {
  const Sets job = {{"model", "mixtral_8x7b"},
                    {"layout.tensor", "1"},
                    {"layout.pipeline", "1"},
                    {"layout.expert", "8"},
                    {"training.optimizer_sharding", "ZERO_3"}};
  Sets half = job, all = job;
  half.emplace_back("training.offload.optimizer", "0.5");
  all.emplace_back("training.offload.optimizer", "1");
  all.emplace_back("training.offload.parameters", "true");
  const Loading here = Load(job), some = Load(half), none = Load(all);
  ASSERT_THAT(some.errors(), IsEmpty());
  ASSERT_THAT(none.errors(), IsEmpty());
  auto a = HeldParts(*here.scenario), b = HeldParts(*some.scenario), c = HeldParts(*none.scenario);
  for (const char* part : {"master_weights", "moments", "expert_master_weights", "expert_moments"}) {
    EXPECT_EQ(b[part], (a[part] + 4) / 8 * 4) << part;  // an odd number stays
    EXPECT_EQ(c[part], 0) << part;
  }
  for (const char* part : {"weights", "expert_weights"}) {
    EXPECT_EQ(b[part], a[part]);
    EXPECT_EQ(c[part], 0);
  }
  for (const char* part : {"gradients", "activations", "gathered", "unreduced"}) {
    EXPECT_EQ(b[part], a[part]);
    EXPECT_EQ(c[part], a[part]);
  }
  // A host keeps 12 bytes of state, a gradient of 4 and a weight of 2 of each number of its 8 ranks.
  const std::int64_t numbers = a["master_weights"] / 4 + a["expert_master_weights"] / 4;
  EXPECT_EQ(HostBytesOfNode(*none.scenario).count(), 8 * 18 * numbers);
}

TEST(HostOptimizer, TheReportAndTheEstimateHaveIt) {
  for (const char* overlap : {"false", "true"}) {
    const Loading loading =
        Load({{"training.offload.optimizer", "0.5"}, {"training.offload.overlap", overlap}});
    ASSERT_THAT(loading.errors(), IsEmpty());
    const Scenario& s = *loading.scenario;
    const RunResult run = scenarios::Run(s).value();
    ASSERT_TRUE(run.report.offload.has_value());
    EXPECT_EQ(run.report.offload->optimizer_fraction, 0.5);
    EXPECT_EQ(run.report.offload->gradients_per_step.count(),
              2 * run.report.offload->weights_per_step.count());
    EXPECT_GT(run.report.step_time, scenarios::Run(*Load().scenario).value().report.step_time);
    EXPECT_NEAR(EstimateOf(s, run.steps.stages).tasks / static_cast<double>(run.steps.program.tasks()), 1.06,
                0.09);
  }
}

TEST(HostOptimizer, EachMistakeIsOneClearLine) {
  const auto error = [&](const Sets& sets) {
    const Loading loading = Load(sets);
    EXPECT_EQ(loading.errors().size(), 1u) << testing::PrintToString(loading.errors());
    return loading.errors().empty() ? "" : loading.errors().front();
  };
  EXPECT_THAT(error({{"training.offload.optimizer", "1.5"}}),
              HasSubstr("training.offload.optimizer: 1.5 is out of range"));
  EXPECT_THAT(error({{"training.offload.parameters", "true"}}),
              HasSubstr("training.offload.parameters: true needs optimizer_sharding ZERO_3"));
  EXPECT_THAT(error({{"training.offload.parameters", "true"}, {"training.optimizer_sharding", "ZERO_3"}}),
              HasSubstr("training.offload.parameters: true needs optimizer 1"));
  EXPECT_THAT(error({{"training.offload.optimizer", "0"}, {"training.offload.overlap", "true"}}),
              HasSubstr("training.offload.overlap: needs optimizer above 0"));
  EXPECT_THAT(error({{"training.offload.optimizer", "1"},
                     {"training.matmul.recipe", "FP8_TENSOR_CURRENT"},
                     {"training.matmul.fp8_param_gather", "true"}}),
              HasSubstr("training.offload.optimizer: is not simulated with matmul.fp8_param_gather"));
  EXPECT_THAT(error({{"training.offload.optimizer", "1"}, {"hardware.node.host_memory.capacity_gib", "1"}}),
              HasSubstr("training.offload.optimizer: "));
}

}  // namespace
}  // namespace scenarios
