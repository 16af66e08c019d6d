#include "scenarios/verdict/utilisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hardware/device_reader.h"
#include "scenarios/output/utilisation_output.h"
#include "scenarios/run.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

double Product(const Utilisation& u) {
  return u.kernels * u.recomputation * u.optimizer * u.host * u.bubble * u.communication * u.saves;
}

// tests/scenarios/loading.h has tensor 4, pipeline 2, data 2; four layers of it.
Scenario Job(Changes more = {}) {
  more.insert(more.begin(), "model.layers=4");
  auto scenario = ReloadOf("small.textproto", {}, kScenario)(more);
  EXPECT_TRUE(scenario.ok()) << (scenario.ok() ? "" : scenario.error().message);
  return scenario.value();
}

Report ReportOf(const Scenario& scenario) { return scenarios::Run(scenario).value().report; }

// Of a scenario without a loader, on a device that has nothing but a peak: what is sent is there.
Utilisation Played(Scenario scenario, const hardware::CostModel& cost) {
  const StepProgram steps = BuildSteps(scenario, cost).value();
  const sim::Timeline timeline = sim::Simulate(steps.program).value();
  proto::Diagnostics diagnostics;
  scenario.device = hardware::ReadDevice("h100_sxm", {}, "", &diagnostics).value();
  return UtilisationOf(MakeReport(scenario, steps, timeline));
}

const Changes kSaves = {"steps=8",
                        "checkpoint.every_steps=1",
                        "checkpoint.path=FRONTEND",
                        "checkpoint.frontend_gb_per_s=100",
                        "checkpoint.storage.servers=1",
                        "checkpoint.storage.write_gb_per_s=100",
                        "checkpoint.storage.read_gb_per_s=100",
                        "checkpoint.storage.source.title=made",
                        "checkpoint.source.title=made"};

// Jobs with every factor below 1 among them. F/(N R e) is the MFU, by the definition of both.
TEST(Utilisation, IsTheProductOfItsFactors) {
  const std::vector<Changes> jobs = {
      {},
      {"training.recompute=FULL"},
      {"layout.virtual=2", "training.optimizer_sharding=NONE"},
      {"layout.pipeline=1", "layout.context=2", "training.optimizer_sharding=ZERO_3"},
      {"layout.pipeline=1", "training.offload.activation_layers=4"},
      {"model=mixtral_8x7b", "layout.expert=2", "layout.expert_tensor=1"},
      {"pipeline.stage_layers=[3,1]"},
      kSaves};
  for (const Changes& sets : jobs) {
    const Report report = ReportOf(Job(sets));
    const Utilisation u = UtilisationOf(report);
    EXPECT_NEAR(Product(u), u.u, 1e-12 * u.u);
    const double mean =
        report.checkpoint ? report.checkpoint->effective_step_time.seconds() : report.step_time.seconds();
    EXPECT_NEAR(u.u, report.mfu * report.step_time.seconds() / mean, 1e-15);
    double exposed = 0;
    for (const Utilisation::Exposed& part : u.exposed) exposed += part.share;
    EXPECT_NEAR(exposed, 1 - u.communication, 1e-12);
    for (const double factor : {u.recomputation, u.optimizer, u.host, u.bubble, u.communication, u.saves}) {
      EXPECT_GT(factor, 0);
      EXPECT_LE(factor, 1);
    }
  }
  EXPECT_LT(UtilisationOf(ReportOf(Job(jobs[1]))).recomputation, 0.9);
  EXPECT_LT(UtilisationOf(ReportOf(Job(jobs[4]))).host, 0.9);
  EXPECT_LT(UtilisationOf(ReportOf(Job(kSaves))).saves, 0.9);
}

TEST(Utilisation, OfOneDeviceIsKernelsRecomputationAndOptimizer) {
  const Utilisation u =
      UtilisationOf(ReportOf(Job({"devices=1", "layout.tensor=1", "layout.pipeline=1", "batch.global=4"})));
  EXPECT_EQ(u.bubble, 1);
  EXPECT_EQ(u.communication, 1);
  EXPECT_EQ(u.host, 1);
  EXPECT_EQ(u.saves, 1);
  EXPECT_EQ(u.recomputation, 1);
  EXPECT_LT(u.optimizer, 1);
  EXPECT_LT(u.kernels, 1);
}

// Equal stages and a network that takes no time: m micro-batches of v pieces fill m v of m v + p - 1 turns.
TEST(Utilisation, ItsBubbleRisesToMTimesVOverMTimesVPlusPLessOne) {
  const LayerCost cost(sim::Duration::Microseconds(5), sim::Duration::Microseconds(10));
  for (const std::int64_t v : {1, 2}) {
    double before = 0;
    for (const std::int64_t m : {4, 8, 32}) {
      constexpr std::int64_t p = 4;
      const Utilisation u = Played(SyntheticScenario(p, m, v, v == 1 ? "1f1b" : "interleaved"), cost);
      EXPECT_NEAR(u.bubble, static_cast<double>(m * v) / static_cast<double>(m * v + p - 1), 1e-12);
      EXPECT_EQ(u.communication, 1);
      EXPECT_GT(u.bubble, before);
      before = u.bubble;
    }
  }
}

// A forward takes a third of forward and backward, and runs once more: 3 of 4 parts are the model's.
TEST(Utilisation, OfFullRecomputationIsThreeQuarters) {
  Scenario s = SyntheticScenario(1, 2, 1, "1f1b");
  s.training.recompute = Recompute::kFull;
  const LayerCost cost(sim::Duration::Microseconds(5), sim::Duration::Microseconds(10));
  EXPECT_NEAR(Played(std::move(s), cost).recomputation, 0.75, 1e-12);
}

// Nothing of it runs beside compute, which it would slow down, and nobody waits for another stage.
TEST(Utilisation, OnASlowerNetworkDiffersInCommunicationAlone) {
  const Changes alone = {"layout.tensor=1", "layout.pipeline=1", "training.overlap_gradient_reduce=false",
                         "training.overlap_parameter_gather=false"};
  Changes slow = alone;
  slow.emplace_back("hardware.node.nics=1");
  const Utilisation fast = UtilisationOf(ReportOf(Job(alone))), slower = UtilisationOf(ReportOf(Job(slow)));
  EXPECT_LT(slower.communication, 0.8 * fast.communication);
  EXPECT_GT(slower.exposed[0].share, fast.exposed[0].share);
  EXPECT_NEAR(slower.kernels, fast.kernels, 1e-12);
  EXPECT_NEAR(slower.optimizer, fast.optimizer, 1e-12);
  EXPECT_EQ(slower.bubble, 1);
}

// The job above with all that a row can vary, two of each, by 16 devices.
std::vector<UtilisationRow> Table(const UtilisationRequest& request) {
  const Reload reload = ReloadOf("small.textproto", {{1, "model.layers", "4"}}, kScenario);
  return UtilisationTable(reload({}).value(), request, reload,
                          [](const Scenario& s) -> sim::Result<Report> { return ReportOf(s); });
}

TEST(UtilisationTable, HasARowForEachAndWhatItSaysIsWhatARunOfItSays) {
  const auto rows = Table({.devices = {16, 32},
                           .topologies = {"rail_optimised_ndr", "non_blocking"},
                           .batches = {16, 32},
                           .sequences = {1024, 2048}});
  ASSERT_EQ(rows.size(), 16u);
  const UtilisationRow& last = rows.back();
  EXPECT_EQ(last.devices, 32);
  EXPECT_EQ(last.topology, "non_blocking");
  EXPECT_EQ(last.batch, 32);
  EXPECT_EQ(last.sequence, 2048);
  const Report report = ReportOf(Job({"devices=32", "batch.global=32", "topology=non_blocking"}));
  EXPECT_EQ(last.step_time, report.step_time);
  EXPECT_EQ(last.utilisation->u, report.mfu);
  EXPECT_TRUE(last.fits);
}

// 24 devices are three data ranks, which share no 16 sequences; tensor 4 x pipeline 2 do not divide 20; the
// catalogue has no such topology; nobody plays.
TEST(UtilisationTable, SaysWhyARowIsNotThere) {
  const auto rows = Table({.devices = {16, 20, 24, 4}, .weak = false});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_TRUE(rows[0].utilisation.has_value());
  EXPECT_THAT(rows[1].refused,
              HasSubstr("20 devices are not a multiple of tensor 4 x context 1 x pipeline 2"));
  EXPECT_THAT(rows[2].refused, HasSubstr("not a multiple of micro 1 x data 3"));
  EXPECT_THAT(rows[3].refused, HasSubstr("> 4 devices"));
  EXPECT_FALSE(rows[1].utilisation || rows[2].utilisation || rows[3].utilisation);
  EXPECT_THAT(Table({.topologies = {"nowhere"}})[0].refused, HasSubstr("\"nowhere\""));
}

TEST(UtilisationTable, OfWeakScalingHasABatchThatGrowsWithTheDevices) {
  const auto rows = Table({.devices = {8, 16, 32}, .batches = {16}, .weak = true});
  EXPECT_EQ(rows[0].batch, 8);
  EXPECT_EQ(rows[1].batch, 16);
  EXPECT_EQ(rows[2].batch, 32);
  const auto odd = Table({.devices = {8}, .batches = {15}, .weak = true});
  EXPECT_THAT(odd[0].refused, HasSubstr("no whole number of sequences"));
}

// The same batch on more devices has fewer micro-batches a pipeline: what scaling costs.
TEST(UtilisationTable, OfStrongScalingLosesInTheBubble) {
  const auto rows = Table({.devices = {16, 32}});
  EXPECT_LT(rows[1].utilisation->bubble, rows[0].utilisation->bubble);
  EXPECT_LT(rows[1].utilisation->u, rows[0].utilisation->u);
}

TEST(UtilisationOutput, HasAColumnForEachFigureInCsvAndJson) {
  const auto rows = Table({.devices = {16, 20}});
  const std::string csv = UtilisationCsv(rows);
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 20) << line;
  }
  const auto json = nlohmann::json::parse(UtilisationJson(Job(), rows));
  double product = 1;
  for (const auto& factor : json["rows"][0]["factors"]) product *= factor.get<double>();
  const auto u = json["rows"][0]["u"].get<double>();
  EXPECT_NEAR(product, u, 1e-12 * u);
  EXPECT_TRUE(json["rows"][1]["u"].is_null());
  EXPECT_EQ(json["rows"][1]["refused"], rows[1].refused);
}

TEST(UtilisationOutput, SaysWhatIsNotInItOnceAndFitsItsColumns) {
  const auto rows = Table({.devices = {16, 32}, .sequences = {1024, 2048}});
  const std::string text = UtilisationText(Job(), rows);
  EXPECT_THAT(text, HasSubstr("Not in it: data loading."));
  EXPECT_EQ(text.find("EAGER"), text.rfind("EAGER"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110u) << line;
}

}  // namespace
}  // namespace scenarios
