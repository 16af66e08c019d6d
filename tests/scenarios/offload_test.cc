// Activations that wait in the hosts' memory: how long a step takes, what is copied, what is freed.

#include "scenarios/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "hardware/device_cost_model.h"
#include "scenarios/estimate.h"
#include "scenarios/output/report_json.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using sim::Duration;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The first `offloaded` of `layers` a stage leave the device, over links of each rank's own at 1 GB/s: a
// layer's copy takes as many ns as it has bytes.
Scenario Offloading(std::int64_t stages, std::int64_t micro_batches, std::int64_t layers,
                    std::int64_t offloaded) {
  Scenario s = SyntheticScenario(stages, micro_batches, 1, "1f1b", layers);
  s.training.offload.activation_layers = offloaded;
  topologies::StorageRoutes routes;
  const auto link = [&] {
    const auto rate = sim::ByteRate::BytesPerSecond(1'000'000'000);
    s.fabric.links.push_back({.from = {}, .to = {}, .capacity = rate, .latency = {}});
    return topologies::Route{.uses = {{sim::LinkId(s.fabric.links.size() - 1)}}, .latency = {}};
  };
  for (std::int64_t rank = 0; rank < stages; ++rank) {
    routes.to_host.push_back(link());
    routes.to_device.push_back(link());
  }
  s.fabric.storage = std::make_shared<const topologies::StorageRoutes>(routes);
  return s;
}

struct Step {
  Duration time, exposed;
};
Step Play(const Scenario& scenario, Duration forward, Duration backward) {
  const sim::Program program = BuildSteps(scenario, LayerCost(forward, backward)).value().program;
  const sim::Timeline timeline = sim::Simulate(program).value();
  const sim::StepTimes times = sim::FindSteps(program, timeline);
  EXPECT_TRUE(times.steady);
  const sim::Breakdown breakdown =
      BreakdownOf(program, timeline, FindPredecessors(program), sim::Rank(0), times.period);
  return {times.step_time(), breakdown.of(sim::Cause::kOffload)};
}

// Layers of forward f, backward b and copy c, all offloaded, one micro-batch. With two buffers a forward
// waits for the copy of the layer before the previous one: the last copy ends at f + (L-1) max(f, c) + c.
// Backwards the same: the first one waits c for its own, each other one is max(b, c) later, and the last ends
// b after that.
TEST(Offload, AStepIsTheLongerOfComputeAndCopiesLayerByLayer) {
  constexpr std::int64_t kLayers = 5;
  const Scenario s = Offloading(1, 1, kLayers, kLayers);
  const Duration c = Duration::Nanoseconds(ActivationsOfLayer(s, 0).count());
  for (const std::int64_t forward_of_8 : {4, 8, 24}) {
    for (const std::int64_t backward_of_8 : {2, 8, 40}) {
      const Duration f = Duration::Picoseconds(c.ps() * forward_of_8 / 8);
      const Duration b = Duration::Picoseconds(c.ps() * backward_of_8 / 8);
      const Step step = Play(s, f, b);
      EXPECT_EQ(step.time, f + b + 2 * c + (kLayers - 1) * (std::max(f, c) + std::max(b, c)));
      EXPECT_EQ(step.exposed, step.time - kLayers * (f + b));
    }
  }
}

// The first 3 of 5: while c is below f and b, the layers that stay hide the last copy out and the first back.
TEST(Offload, CopiesShorterThanComputeAreHiddenBehindLayersThatStay) {
  const Scenario s = Offloading(1, 2, 5, 3);
  const Duration c = Duration::Nanoseconds(ActivationsOfLayer(s, 0).count());
  const Step step = Play(s, c, c);
  EXPECT_EQ(step.time, 2 * 5 * (c + c));
  EXPECT_EQ(step.exposed, Duration());
}

// One of 4, c = 10 f, b = f: its copy out ends at 11 f and its copy back at 21 f, after which its backward
// runs.
TEST(Offload, ALayerThatComesBackLateHoldsUpItsOwnBackwardOnly) {
  const Scenario s = Offloading(1, 1, 4, 1);
  const Duration f = Duration::Picoseconds(ActivationsOfLayer(s, 0).count() * 100);
  const Step step = Play(s, f, f);
  EXPECT_EQ(step.time, 22 * f);
  EXPECT_EQ(step.exposed, 14 * f);  // of 22 f the rank computes for 8 f
}

TEST(Offload, EachWayGoesWhatTheLayersKeepOnceAMicroBatch) {
  constexpr std::int64_t kMicroBatches = 4, kOffloaded = 3;
  Scenario s = Offloading(2, kMicroBatches, 5, kOffloaded);
  const sim::Bytes kept = models::LayerActivationBytes(s.model, ExecutionOf(s), 0, Recompute::kNone);
  ASSERT_GT(kept, sim::Bytes());
  const StepProgram steps =
      BuildSteps(s, LayerCost(Duration::Nanoseconds(7), Duration::Nanoseconds(9))).value();
  sim::Bytes out, in;
  for (std::size_t t = 0; t < steps.program.tasks(); ++t) {
    const sim::TaskId task(t);
    if (steps.program.row(task).task_class != sim::TaskClass::kOffload) continue;
    const sim::Communication& at = steps.program.communications[steps.program.communication_of(task).pos()];
    const bool leaves = steps.program.stream_kind_of(task) == sim::StreamKind::kCopyOut;
    (leaves ? out : in) += steps.program.traffics[at.traffic.pos()].size;
  }
  EXPECT_EQ(out, s.steps * 2 * kMicroBatches * kOffloaded * kept);
  EXPECT_EQ(in, out);
  EXPECT_EQ(OffloadedPerStep(s, steps.stages), kMicroBatches * kOffloaded * kept);
}

// Stage 0 of two has two micro-batches in flight, stage 1 one: 2 x 3 + 1 x 3 layers on their host.
TEST(Offload, MemoryThatIsFreedIsTheLayersInFlightLessTwoBuffers) {
  const Scenario with = Offloading(2, 4, 5, 3), without = Offloading(2, 4, 5, 0);
  const sim::Bytes kept = ActivationsOfLayer(with, 0);
  const auto memory = [](const Scenario& s, std::uint32_t stage) {
    const auto order = s.pipeline.schedule->order(s.pipeline.shape, stage);
    const LayerCost cost(Duration::Nanoseconds(7), Duration::Nanoseconds(9));
    return MemoryOfStage(s, PlanStages(s, cost)[stage], order).total;
  };
  EXPECT_EQ(memory(without, 0) - memory(with, 0), 2 * 3 * kept - 2 * kept);
  EXPECT_EQ(memory(without, 1) - memory(with, 1), 3 * kept - 2 * kept);
  EXPECT_EQ(HostBytesOfNode(with), (2 + 1) * 3 * kept);
}

TEST(Offload, APieceWithFewerLayersOffloadsAllOfThem) {
  const Scenario all = Offloading(1, 1, 5, 5), more = Offloading(1, 1, 5, 50);
  const Duration time = Duration::Nanoseconds(100);
  EXPECT_EQ(Play(all, time, time).time, Play(more, time, time).time);
  EXPECT_EQ(HostBytesOfNode(more), 5 * ActivationsOfLayer(more, 0));
}

// A plan adds up blocks, the check of hosts layers.
TEST(Offload, PlansAndHostsCountTheSameBytes) {
  const std::vector<Sets> jobs = {
      {},
      {{"training.recompute", "SELECTIVE"}, {"layout.virtual", "2"}},
      {{"training.matmul.recipe", "FP8_TENSOR_CURRENT"}, {"layout.sequence", "true"}}};
  for (Sets sets : jobs) {
    sets.emplace_back("training.offload.activation_layers", "3");
    const Loading loading = Load(sets);
    ASSERT_THAT(loading.errors(), IsEmpty());
    const Scenario& s = *loading.scenario;
    for (const StagePlan& plan : PlanStages(s, hardware::DeviceCostModel(s.device))) {
      for (const std::vector<Unit>& units : plan.chunks) {
        int offloaded = 0;
        for (const Unit& unit : units) {
          if (unit.offloaded == sim::Bytes()) continue;
          ++offloaded;
          EXPECT_EQ(unit.offloaded, ActivationsOfLayer(s, unit.layer));
        }
        EXPECT_EQ(offloaded, 3);
      }
    }
  }
}

TEST(Offload, EachMistakeIsOneClearLine) {
  const std::string field = "training.offload.activation_layers";
  const auto error = [&](Sets sets, const std::string& layers = "2") {
    sets.emplace_back(field, layers);
    const Loading loading = Load(sets);
    EXPECT_EQ(loading.errors().size(), 1u) << testing::PrintToString(loading.errors());
    return loading.errors().empty() ? "" : loading.errors().front();
  };
  EXPECT_THAT(error({}, "0"), HasSubstr(field + ": 0 is out of range"));
  EXPECT_THAT(
      error({{"training.recompute", "FULL"}}),
      HasSubstr(field + ": offload is not simulated with recompute FULL, which keeps the layers' inputs "
                        "only; NONE or SELECTIVE is wanted"));
  EXPECT_THAT(error({{"pipeline.schedule", "ZB1P"}}),
              HasSubstr(field + ": offload is not simulated with backwards in halves (pipeline zb1p)"));
  EXPECT_THAT(
      error({{"hardware.node.host_memory.capacity_gib", "1"}}),
      HasSubstr("of activations would wait on one node, more than the 1.07374 GB of memory that a host"));
}

TEST(Offload, ATopologyThatListsItsLinksIsRefused) {
  const std::string file = testing::TempDir() + "offload_pair.textproto";
  std::ofstream(file) << R"(name: "pair" source { title: "made for the tests" } explicit {
    nodes { name: "n/gpu0" kind: DEVICE } nodes { name: "n/gpu1" kind: DEVICE }
    links { from: "n/gpu0" to: "n/gpu1" bandwidth_gb_per_s_each_way: 100 latency_ns: 100 } })";
  const Loading loading = Load({{"training.offload.activation_layers", "2"},
                                {"topology", file},
                                {"devices", "2"},
                                {"layout.tensor", "2"},
                                {"layout.pipeline", "1"}});
  EXPECT_THAT(
      loading.errors(),
      ElementsAre(HasSubstr("training.offload.activation_layers: topology \"pair\" lists its links")));
}

// The report has the copies' own cause and what waits where; without offload neither.
TEST(Offload, TheReportSaysWhatWaitsInHostMemory) {
  const Loading loading = Load({{"training.offload.activation_layers", "16"}});
  ASSERT_THAT(loading.errors(), IsEmpty());
  const Report report = scenarios::Run(*loading.scenario).value().report;
  ASSERT_TRUE(report.offload.has_value());
  EXPECT_EQ(report.offload->host_per_node, HostBytesOfNode(*loading.scenario));
  const auto part = std::find_if(report.breakdown.begin(), report.breakdown.end(),
                                 [](const TimePart& p) { return p.name == "offload"; });
  ASSERT_NE(part, report.breakdown.end());
  EXPECT_GT(part->time, Duration());
  EXPECT_THAT(ReportJson(report),
              HasSubstr("\"host_bytes_per_node\": " + std::to_string(report.offload->host_per_node.count())));
  EXPECT_FALSE(scenarios::Run(*Load().scenario).value().report.offload.has_value());
}

TEST(Offload, TheEstimateCountsTheCopies) {
  const Loading loading = Load({{"training.offload.activation_layers", "16"}});
  const Scenario& s = *loading.scenario;
  const StepProgram steps = BuildSteps(s, hardware::DeviceCostModel(s.device)).value();
  const auto built = static_cast<double>(steps.program.tasks());
  EXPECT_NEAR(EstimateOf(s, steps.stages).tasks / built, 1.06, 0.09);
}

}  // namespace
}  // namespace scenarios
