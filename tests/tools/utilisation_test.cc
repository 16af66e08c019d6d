// orrery utilisation, and the verdict of orrery run, from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

Result Utilisation(std::vector<std::string> words) {
  words.insert(words.begin(), {"utilisation", "llama_7b_256xh800", "--set", "model.layers=2"});
  return RunWords(words);
}

// 256 sequences on 256 devices in the scenario's layout, 12 are not a multiple of what a batch needs.
TEST(UtilisationCommand, PrintsATableWithARowForEachThatWasAskedFor) {
  const Result result = Utilisation({"--devices", "8,16,12", "--batch", "64"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rail_optimised_ndr, sequences of 4,096 tokens"));
  EXPECT_THAT(result.out, HasSubstr("\n       8       64 "));
  EXPECT_THAT(result.out, HasSubstr("\n      12       64   batch: 64 % (4*12) = 16: not a multiple"));
  EXPECT_EQ(Lines(Utilisation({"--devices", "8,16", "--weak", "--csv"}).out).size(), 3u);
}

TEST(UtilisationCommand, OfTheScenarioAsItIsIsItsRun) {
  const Result table = Utilisation({"--set", "devices=8", "--set", "batch.global=32", "--json"});
  const Result run = RunWords({"run", "llama_7b_256xh800", "--set", "model.layers=2", "--set", "devices=8",
                               "--set", "batch.global=32", "--json"});
  ASSERT_EQ(table.status, kExitDone) << table.err;
  ASSERT_EQ(run.status, kExitDone) << run.err;
  const auto row = nlohmann::json::parse(table.out)["rows"][0];
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(row["step_time_s"], report["step_time_s"]);
  EXPECT_EQ(row["u"], report["mfu"]);
  EXPECT_EQ(report["verdict"]["id"], "recomputation");
}

TEST(UtilisationCommand, TellsAllMistakesInOneRun) {
  const Result result = Utilisation({"--devices", "8,x", "--batch", "0", "--set", "layout.tensor=3"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("--devices: \"x\" is no whole number from 1 to 1,000,000,000"));
  EXPECT_THAT(result.err, HasSubstr("--batch: \"0\""));
  EXPECT_THAT(result.err, HasSubstr("layout.tensor: 3"));
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(Utilisation({"--json", "--csv"}).status, kExitUsage);
}

}  // namespace
}  // namespace tools
