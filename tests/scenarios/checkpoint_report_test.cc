#include "scenarios/checkpoint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/checkpoint_forms.h"
#include "scenarios/loader.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "tests/scenarios/saving.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Report ReportOf(const std::string& name, const std::vector<proto::Override>& overrides = {}) {
  proto::Diagnostics diagnostics;
  const auto scenario = LoadScenario(name, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  return scenarios::Run(scenario.value()).value().report;
}

double Gb(sim::Bytes bytes) { return static_cast<double>(bytes.count()) * 1e-9; }

// Exercise 27.8: 400 GB take 2,000 s at 200 MB/s. In 20 minutes 240 GB are written, 160 GB stay; the
// scenario's period is 20 minutes to a few per cent, and all else follows from it.
TEST(CheckpointReport, TheBacklogOfExercise27Point8GrowsBy160GbAPeriod) {
  const Report report = ReportOf("checkpoint_backlog");
  const CheckpointReport& c = *report.checkpoint;
  EXPECT_NEAR(Gb(c.bytes), 400, 1e-6);
  EXPECT_NEAR(c.write_time.seconds(), 2000, 1e-3);
  const double period = c.interval_s;
  EXPECT_NEAR(period, 1200, 0.03 * 1200);
  EXPECT_NEAR(Gb(c.backlog_per_interval), 400 - 0.2 * period, 1e-3);
  EXPECT_NEAR(Gb(c.backlog_per_interval), 160, 0.2 * 0.03 * 1200);
  EXPECT_THAT(report.warnings, Contains(HasSubstr("unstable: 400 GB arrive")));
  // Two saves fit: the fourth is due after three periods, and the second is written after two writes.
  const double due = 3 * period, written = c.copy_time.seconds() + 2 * 2000;
  ASSERT_EQ(c.saves_in_staging, 2);
  EXPECT_EQ(c.first_stall_save, 4);
  EXPECT_NEAR(c.first_stall_since.seconds(), due, 1e-3);
  EXPECT_NEAR(c.first_stall.seconds(), written - due, 1e-2);
  // The simulation finds the same.
  ASSERT_EQ(c.saves.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(c.saves[i].stall, sim::Duration());
  EXPECT_NEAR((c.saves[3].stalled_since - c.saves[0].start).seconds(), due, 1e-2);
  EXPECT_NEAR(c.saves[3].stall.seconds(), written - due, 1e-2);
  // Once staging is full, a save leaves every 2,000 s and no faster.
  EXPECT_NEAR(c.effective_step_time.seconds(), 2000, 0.01);
  EXPECT_EQ(c.servers_needed, 2);  // one writes 240 of 400 GB in time
}

// A save of 965.8 GB at 100 GB/s: synchronous, the next step waits for 9.66 s and the copy; asynchronous,
// for the copy only: 15.21 GB of a rank over PCIe. Of 1,000 steps that is little each.
TEST(CheckpointReport, A70BRunStallsForTheWriteWhenSyncAndForTheCopyWhenAsync) {
  const std::vector<proto::Override> small = {{1, "batch.global", "8"}};
  const Report async = ReportOf("llama_70b_64xh800_checkpoint", small);
  std::vector<proto::Override> sets = small;
  sets.push_back({2, "checkpoint.mode", "SYNC"});
  const std::string text = "llama_70b_64xh800_checkpoint";
  proto::Diagnostics diagnostics;
  auto scenario = LoadScenario(text, small, &diagnostics);
  ASSERT_TRUE(scenario.has_value());
  scenario->checkpoint->mode = SaveMode::kSync;
  const Report sync = scenarios::Run(*scenario).value().report;
  const double bytes = static_cast<double>(sync.checkpoint->bytes.count()), write = bytes / 100e9;
  const double copy = static_cast<double>(sync.checkpoint->largest_rank.count()) /
                      scenario->device.node.pcie.bytes_per_second();
  EXPECT_NEAR(bytes, 965.85e9, 1e7);
  // Ranks whose share is smaller start to write a little earlier.
  EXPECT_NEAR(sync.checkpoint->blocked.seconds(), write + copy, 0.01);
  EXPECT_NEAR(async.checkpoint->blocked.seconds(), copy, 1e-4);
  EXPECT_EQ(sync.step_time, async.step_time);
  EXPECT_NEAR((sync.checkpoint->effective_step_time - sync.step_time).seconds(),
              StallPerStep(write + copy, 1000), 1e-5);
  EXPECT_NEAR((async.checkpoint->effective_step_time - async.step_time).seconds(), copy / 1000, 1e-5);
}

sim::Duration SumOf(const std::vector<TimePart>& parts) {
  sim::Duration sum;
  for (const TimePart& part : parts) sum += part.time;
  return sum;
}

sim::Duration PartOf(const std::vector<TimePart>& parts, const std::string& name) {
  const auto at = std::find_if(parts.begin(), parts.end(), [&](const TimePart& p) { return p.name == name; });
  return at == parts.end() ? sim::Duration() : at->time;
}

TEST(CheckpointReport, TheHeldStepIsAStepAndTheTimeThatTheSaveBlockedIt) {
  for (const char* format : {"SHARDED", "CONSOLIDATED"}) {
    const Report report = ReportOf("llama_70b_64xh800_checkpoint",
                                   {{1, "batch.global", "8"}, {2, "checkpoint.format", format}});
    const CheckpointReport& c = *report.checkpoint;
    EXPECT_EQ(PartOf(report.breakdown, "checkpoint"), sim::Duration());  // of a step without a save
    EXPECT_EQ(SumOf(report.breakdown), report.step_time);
    EXPECT_EQ(PartOf(c.breakdown, "checkpoint"), c.blocked) << format;
    EXPECT_NEAR((SumOf(c.breakdown) - c.blocked).seconds(), report.step_time.seconds(),
                0.01 * report.step_time.seconds());
    EXPECT_GT(c.restart->seconds(), c.restart_read->seconds());
    EXPECT_GE(*c.restart_read, c.restart_idle);
  }
}

// Traffic through the NICs of collectives: what it slows down is part of the cost.
TEST(CheckpointReport, ASaveThroughTheNicsCostsMoreThanItBlocks) {
  const Report report = ReportOf("llama_7b_256xh800", {{1, "devices", "16"},
                                                       {2, "layout.data", "16"},
                                                       {3, "batch.global", "64"},
                                                       {4, "steps", "8"},
                                                       {5, "checkpoint.every_steps", "100"},
                                                       {6, "checkpoint.path", "NIC"},
                                                       {7, "checkpoint.source.title", "a test"},
                                                       {8, "checkpoint.storage.servers", "10"},
                                                       {9, "checkpoint.storage.write_gb_per_s", "40"},
                                                       {10, "checkpoint.storage.read_gb_per_s", "40"},
                                                       {11, "checkpoint.storage.source.title", "a test"},
                                                       {12, "training.optimizer_sharding", "ZERO_1"}});
  EXPECT_GT(report.checkpoint->cost, report.checkpoint->blocked);
  EXPECT_GT(report.checkpoint->write_time, report.checkpoint->write_idle);
}

Report OfSynthetic(const Scenario& scenario, sim::Duration step) {
  const Played played = Play(scenario, step);
  Report report;
  report.step_time = SteadySteps(scenario, played.program, played.timeline).step_time();
  AddCheckpoint(scenario, played.program, played.timeline, &report);
  return report;
}

// HB-140 (NVIDIA/Megatron-LM#2288): a save takes 45 s (5 s copy, 40 s write), one is due each 30 s.
TEST(CheckpointReport, AnIntervalShorterThanTheSaveIsWarnedAboutWithBothFigures) {
  const Checkpoint often{.every_steps = 1, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, often, Ms(5000), Ms(40'000), 8), Ms(25'000));
  EXPECT_EQ(report.step_time, Ms(25'000));
  EXPECT_THAT(report.warnings,
              Contains(HasSubstr("a save takes 45 s to copy and write, and one is due every 30 s")));
  EXPECT_GT(report.checkpoint->stalled, sim::Duration());
  ExpectTime(report.checkpoint->effective_step_time, Ms(45'000));
  // Stalls apart, a save costs its copy.
  ExpectTime(report.checkpoint->cost, Ms(5000));
  Checkpoint seldom = often;
  seldom.every_steps = 3;
  const Report rested = OfSynthetic(Saving(1, seldom, Ms(5000), Ms(40'000), 9), Ms(25'000));
  EXPECT_THAT(rested.warnings, Not(Contains(HasSubstr("a save takes"))));
  EXPECT_FALSE(rested.checkpoint->first_stall_save.has_value());
  // 75 s of training and 5 s of copy for three steps.
  ExpectTime(rested.checkpoint->effective_step_time, sim::Duration::Picoseconds(Ms(80'000).ps() / 3));
}

// HB-138 with a cost that the simulation gives: 60 s to copy, a failure every 3 hours.
TEST(CheckpointReport, YoungsIntervalFollowsFromTheSimulatedCost) {
  const Checkpoint save{.every_steps = 100, .mtbf_hours = 3, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, save, Ms(60'000), Ms(70'000), 6), Ms(10'000));
  EXPECT_NEAR(*report.checkpoint->young_interval_s, 1138.4, 0.1);
  EXPECT_NEAR(*report.checkpoint->young_waste, 0.1054, 1e-4);
  EXPECT_NEAR(*report.checkpoint->waste, 60 / 1060.0 + 1060 / 21'600.0, 1e-4);
}

// 3,000 steps of 1,200 s are 41.7 days, 10^9 of them 38,000 years; the clock spans 106 days. In the long
// run a step takes itself and its part of the 5 s that a save copies.
TEST(CheckpointReport, AnIntervalBeyondTheClockIsCountedInFull) {
  for (const std::int64_t every : {3'000, 1'000'000'000}) {
    const Checkpoint save{.every_steps = every, .mtbf_hours = 1e9, .source = {}, .storage_source = {}};
    const Report report = OfSynthetic(Saving(1, save, Ms(5000), Ms(40'000), 5), Ms(1'200'000));
    const CheckpointReport& c = *report.checkpoint;
    const auto steps = static_cast<double>(every);
    EXPECT_NEAR(c.interval_s, steps * 1200 + 5, 1e-6 * steps);
    EXPECT_NEAR(c.effective_step_time.seconds(), 1200 + 5 / steps, 1e-6);
    EXPECT_NEAR(*c.waste, 5 / c.interval_s + c.interval_s / 7.2e12, 1e-9);
    EXPECT_EQ(c.servers_needed, 1);
    EXPECT_FALSE(c.first_stall_save.has_value());
  }
}

// Of 45 s that a step takes in the long run 25 are training. Lost work is 45 s / (2 x 3.6e6 s) beside it.
TEST(CheckpointReport, TheWasteContainsTheStalls) {
  const Checkpoint save{.every_steps = 1, .mtbf_hours = 1000, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, save, Ms(5000), Ms(40'000), 8), Ms(25'000));
  EXPECT_NEAR(*report.checkpoint->waste, 20 / 45.0 + 45 / 7.2e6, 1e-4);
}

// Failures every 36 s lose half an interval of 1,060 s each: more than there is.
TEST(CheckpointReport, AWasteOfEverythingIsWholeAndSaysThatThereIsNoProgress) {
  const Checkpoint save{.every_steps = 100, .mtbf_hours = 0.01, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, save, Ms(60'000), Ms(70'000), 6), Ms(10'000));
  EXPECT_EQ(*report.checkpoint->waste, 1);
  EXPECT_LE(*report.checkpoint->young_waste, 1);
  EXPECT_THAT(report.warnings, Contains(HasSubstr("the job makes no progress")));
  EXPECT_THAT(ReportText(report), HasSubstr("100.00 % of the time at a failure every 0.01 h: the job makes"));
}

// sqrt(2 x 5 s x 72 s) = 26.8 s, while a copy and a write take 45 s.
TEST(CheckpointReport, YoungsIntervalBelowThatOfStallsIsWarnedAboutWithBothFigures) {
  const Checkpoint save{.every_steps = 4, .mtbf_hours = 0.02, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, save, Ms(5000), Ms(40'000), 9), Ms(25'000));
  const CheckpointReport& c = *report.checkpoint;
  EXPECT_NEAR(*c.young_interval_s, 26.833, 1e-3);
  EXPECT_NEAR(*c.advised_interval_s, 45, 1e-3);
  EXPECT_NEAR(*c.advised_waste, 5 / 45.0 + 45 / 144.0, 1e-4);
  EXPECT_NEAR(*c.young_waste, (5 + 45 - 26.833) / 45 + 45 / 144.0, 1e-4);  // stalled up to 45 s all the same
  EXPECT_THAT(report.warnings, Contains(HasSubstr("Young's interval of 26.83 s is below the 45 s")));
  EXPECT_THAT(ReportText(report), HasSubstr("saves would stall; without stalls 45.000 s"));
  // An interval of hours needs no such word.
  Checkpoint rare = save;
  rare.mtbf_hours = 1000;
  const Report rested = OfSynthetic(Saving(1, rare, Ms(5000), Ms(40'000), 9), Ms(25'000));
  EXPECT_THAT(rested.warnings, Not(Contains(HasSubstr("Young"))));
  EXPECT_EQ(rested.checkpoint->advised_interval_s, rested.checkpoint->young_interval_s);
}

// 965.8 GB at 4 kB/s are more than seven years.
TEST(CheckpointReport, AWriteOfYearsSaysThatItIsNotCountedToItsEnd) {
  const Report report = ReportOf(
      "llama_70b_64xh800_checkpoint",
      {{1, "batch.global", "8"}, {2, "steps", "4"}, {3, "checkpoint.storage.write_gb_per_s", "1e-6"}});
  EXPECT_THAT(report.warnings, Contains(HasSubstr("a save takes more than the 26 days")));
}

TEST(CheckpointReport, ADeltaSaysWhatPartOfAParameterIsWritten) {
  const Checkpoint save{.every_steps = 4,
                        .format = SaveFormat::kDelta,
                        .delta_parts = kBillion / 4,
                        .source = {},
                        .storage_source = {}};
  const Report report = OfSynthetic(Saving(1, save, Ms(5), Ms(40), 6), Ms(100));
  EXPECT_THAT(ReportText(report), HasSubstr("14 a parameter, of which 25 % are written"));
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_EQ(json["checkpoint"]["bytes_per_parameter"], 14);
  EXPECT_EQ(json["checkpoint"]["written_fraction"], 0.25);
}

TEST(CheckpointReport, WithoutASaveInTheSimulatedStepsItSaysSo) {
  const Checkpoint save{.every_steps = 1, .source = {}, .storage_source = {}};
  const Report report = OfSynthetic(Saving(2, save, Ms(5), Ms(40), 4), Ms(100));
  EXPECT_THAT(report.warnings, Contains(HasSubstr("no save was simulated")));
  EXPECT_THAT(report.checkpoint->saves, IsEmpty());
  ExpectTime(report.checkpoint->write_time, Ms(40));  // the idle fabric's
  ExpectTime(report.checkpoint->blocked, Ms(5));
  EXPECT_GT(report.checkpoint->bytes, sim::Bytes());
}

// What the step time and its breakdown are of: steps without a save.
TEST(CheckpointReport, TheStepTimeIsThatOfTheSameJobWithoutSaves) {
  for (const char* copy : {"BLOCKING", "OVERLAPPED"}) {
    proto::Diagnostics diagnostics;
    auto scenario = LoadScenario(
        "llama_70b_64xh800_checkpoint",
        {{1, "batch.global", "8"}, {2, "checkpoint.copy", copy}, {3, "checkpoint.every_steps", "1"}},
        &diagnostics);
    ASSERT_TRUE(scenario.has_value());
    const Report with = scenarios::Run(*scenario).value().report;
    EXPECT_EQ(with.checkpoint->saves.size(), 4u);
    scenario->checkpoint.reset();
    scenario->steps = 3;
    const Report without = scenarios::Run(*scenario).value().report;
    EXPECT_EQ(with.step_time, without.step_time);
    EXPECT_TRUE(with.steady);
    for (std::size_t i = 0; i < without.breakdown.size(); ++i) {
      EXPECT_EQ(with.breakdown[i].time, without.breakdown[i].time) << without.breakdown[i].name;
    }
  }
}

// Four servers write 965.8 GB in time, but a serialiser of 0.1 GB/s takes 152 s for 15.2 GB.
TEST(CheckpointReport, NoNumberOfServersHelpsASlowHost) {
  const Report report =
      ReportOf("llama_70b_64xh800_checkpoint", {{1, "batch.global", "8"},
                                                {2, "checkpoint.every_steps", "10"},
                                                {3, "checkpoint.serialise_gb_per_s", "0.1"}});
  const CheckpointReport& c = *report.checkpoint;
  EXPECT_NEAR(c.write_time.seconds(), Gb(c.largest_rank) / 0.1, 0.1);
  EXPECT_FALSE(c.servers_needed.has_value());
  EXPECT_THAT(ReportText(report), HasSubstr("this cadence needs faster hosts or networks, not servers"));
}

TEST(CheckpointReport, IsInBothDocumentsAndNullWhereNothingIsSaved) {
  const Report report = ReportOf("llama_70b_64xh800_checkpoint", {{1, "batch.global", "8"}});
  const auto json = nlohmann::json::parse(ReportJson(report));
  const auto& c = json["checkpoint"];
  EXPECT_EQ(c["bytes"], report.checkpoint->bytes.count());
  EXPECT_EQ(c["saves"].size(), 1u);
  EXPECT_EQ(c["saves"][0]["after_step"], 4);
  EXPECT_TRUE(c["first_stall_save"].is_null());
  EXPECT_FALSE(c["unstable"].get<bool>());
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("Checkpoint (ASYNC, copy BLOCKING, SHARDED, FRONTEND, every 1,000 steps)"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  const Report bare = ReportOf("seed27_example");
  EXPECT_TRUE(nlohmann::json::parse(ReportJson(bare))["checkpoint"].is_null());
  EXPECT_THAT(ReportText(bare), Not(HasSubstr("Checkpoint")));
}

}  // namespace
}  // namespace scenarios
