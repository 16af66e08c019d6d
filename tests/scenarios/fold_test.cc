// A run of one rank of each kind is the run of all.

#include "scenarios/fold.h"

#include <gtest/gtest.h>

#include "scenarios/kernel_costs.h"
#include "scenarios/loader.h"
#include "scenarios/output/report_json.h"
#include "scenarios/run.h"
#include "sim/program/executor.h"

namespace scenarios {
namespace {

using Sets = std::vector<std::pair<std::string, std::string>>;

Scenario Load(const std::string& name, const Sets& sets = {}) {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets)
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  proto::Diagnostics diagnostics;
  auto scenario = LoadScenario(name, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value()) << name;
  return std::move(scenario).value();
}

// All that is reported, but for what it took.
std::string TextOf(Report report) {
  report.events = 0;
  report.ranks_played = 0;
  return ReportJson(report);
}

// Returns how many ranks were played.
std::int64_t ExpectTheWholeRun(const Scenario& scenario) {
  const Report folded = Run(scenario).value().report;
  const Report whole = Run(scenario, {.fold = false}).value().report;
  EXPECT_EQ(whole.ranks_played, scenario.layout.ranks());
  EXPECT_EQ(folded.digest, whole.digest);
  EXPECT_EQ(TextOf(folded), TextOf(whole));
  return folded.ranks_played;
}

TEST(Fold, PlaysOneRankAStageWhereStagesAreAllThatDiffers) {
  // 64 H800 in four stages: tensor and data ranks are alike.
  EXPECT_EQ(ExpectTheWholeRun(Load("llama_70b_64xh800_pp4", {{"batch.global", "16"}})), 8);
  EXPECT_EQ(ExpectTheWholeRun(Load("llama_70b_64xh800_a", {{"batch.global", "16"}})), 4);
}

TEST(Fold, PlaysOneRankWhereAllAreAlike) { EXPECT_EQ(ExpectTheWholeRun(Load("llama_7b_256xh800")), 1); }

// With rings of keys, each place in the ring has other work; with a load of experts, each group of them.
TEST(Fold, PlaysWhatHasOtherWorkByItself) {
  const Sets ring = {
      {"layout.tensor", "2"}, {"layout.context", "4"}, {"layout.data", "1"}, {"layout.zigzag", "false"}};
  EXPECT_EQ(ExpectTheWholeRun(Load("llama3_8b_8xh100", ring)), 4);
  ExpectTheWholeRun(Load("deepseek_v2_l4_8xb200_pp2"));
}

// Where flows are hashed onto spines, some share one and others do not.
TEST(Fold, TellsApartRanksWhoseFlowsMeetOthers) {
  const Sets small = {{"devices", "256"},       {"layout.tensor", "1"},  {"layout.data", "64"},
                      {"layout.pipeline", "4"}, {"batch.global", "256"}, {"topology", "roce_ecmp_400"}};
  const Scenario hashed = Load("llama_7b_256xh800", small);
  EXPECT_GT(ExpectTheWholeRun(hashed), 4);
}

TEST(Fold, TellsApartRanksBehindASlowLink) {
  const Scenario even = Load("llama_70b_64xh800_pp4", {{"batch.global", "16"}});
  Scenario slow = even;
  ASSERT_FALSE(slow.fabric.links.empty());
  // One cable out of a node at half its rate.
  for (topologies::Link& link : slow.fabric.links) {
    if (link.tier != topologies::Tier::kNic) continue;
    link.capacity = sim::ByteRate::MilliBytesPerSecond(link.capacity.milli() / 2);
    break;
  }
  EXPECT_GT(ExpectTheWholeRun(slow), ExpectTheWholeRun(even));
}

TEST(Fold, IsNoneOfWhatIsNotFolded) {
  const auto fold = [](const Scenario& scenario) {
    return FoldOf(scenario, PlanStages(scenario, CostModelOf(scenario)));
  };
  EXPECT_FALSE(fold(Load("seed27_example")));                // one rank
  EXPECT_FALSE(fold(Load("llama_70b_64xh800_checkpoint")));  // saves
  EXPECT_FALSE(fold(Load("zero_bubble_1_5b_8xa100")));       // eight stages of one rank
  EXPECT_FALSE(fold(Load("llama3_8b_8xh100", {{"fidelity", "CHUNK"}})));
  EXPECT_TRUE(fold(Load("llama3_8b_8xh100")));
}

// Two pairs of ranks do the same, and then all four reduce a norm; or only three of them wait for the others.
TEST(MovedApart, IsFalseWhereSomethingElseMovesMeanwhile) {
  using sim::Rank, sim::StreamKind, sim::TaskClass, sim::Bytes, sim::LinkId;
  const auto play = [](sim::Duration before_norm) {
    const auto rate = sim::ByteRate::BytesPerSecond(1'000'000);
    sim::ProgramBuilder builder(2, {rate, rate});  // a link and its copy
    const auto traffic = [&](std::uint32_t link) {
      sim::TrafficDescription t{.name = "x", .size = Bytes(1000)};
      t.flows = {{.volume = sim::Volume::Of(Bytes(1000)), .uses = {{LinkId(link)}}}};
      return builder.AddTraffic(t);
    };
    const auto one = builder.AddCommunication(traffic(0)), norm = builder.AddCommunication(traffic(1));
    builder.Seat(builder.AddStream(Rank(std::uint32_t{0}), StreamKind::kData), one, TaskClass::kData, {});
    const auto compute = builder.AddStream(Rank(std::uint32_t{1}), StreamKind::kCompute);
    builder.Work(compute, builder.AddWork({before_norm, before_norm}), TaskClass::kForward, {});
    builder.Seat(compute, norm, TaskClass::kNorm, {});
    return std::move(builder).Build().value();
  };
  Fold fold;
  fold.carrying = {LinkId(std::uint32_t{0})};
  fold.apart = true;
  const auto moved_apart = [&](const sim::Program& program) {
    return MovedApart(fold, program, sim::Simulate(program).value());
  };
  // Data move for a millisecond.
  EXPECT_FALSE(moved_apart(play(sim::Duration::Microseconds(999))));
  EXPECT_TRUE(moved_apart(play(sim::Duration::Microseconds(1000))));
  fold.apart = false;
  EXPECT_TRUE(moved_apart(play(sim::Duration::Microseconds(999))));
}

}  // namespace
}  // namespace scenarios
