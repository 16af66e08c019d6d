// orrery plan, from the command line to what it prints and writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Four layers of LLaMA-7B, one play.
Result Plan(std::vector<std::string> more) {
  std::vector<std::string> words = {"plan",   "llama_7b", "--set",  "layers=4",      "--tokens", "2e11",
                                    "--with", "batch=64", "--with", "sequence=1024", "--with",   "plays=1"};
  words.insert(words.end(), more.begin(), more.end());
  return RunWords(words);
}

TEST(PlanCommand, PrintsTheTenStepsAndTheLayouts) {
  const Result r = Plan({"--devices", "8", "--bill"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, AllOf(HasSubstr("8 h800_sxm for "), HasSubstr("\n 1 parameters\n"),
                           HasSubstr("\n10 money\n"), HasSubstr("\nlayouts, best first"),
                           HasSubstr("\nassumptions\n"), HasSubstr("bill of materials: 8 h800_sxm")));
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
}

TEST(PlanCommand, WritesOneDocument) {
  const auto json = nlohmann::json::parse(Plan({"--devices", "8", "--json"}).out);
  EXPECT_EQ(json["chosen"], "h800_sxm");
  const auto& plan = json["plans"][0];
  EXPECT_EQ(plan["steps"].size(), 10u);
  EXPECT_EQ(plan["layouts"][0]["devices"], 8);
  EXPECT_GE(plan["layouts"][0]["step_time_s"], plan["layouts"][0]["least_step_time_s"]);
  EXPECT_FALSE(plan["bill"].empty());
  EXPECT_THAT(plan["scenario"].get<std::string>(), HasSubstr("devices: 8"));
}

// What is written can be run.
TEST(PlanCommand, WritesTheScenarioThatItChose) {
  const auto path = std::filesystem::path(testing::TempDir()) / "plan_test.textproto";
  std::filesystem::remove(path);
  const Result r = RunWords({"plan", "llama_7b", "--devices", "16", "--with", "pipeline=2", "--with",
                             "plays=1", "--with", "batch=64", "--write", path.string()});
  EXPECT_EQ(r.status, 0) << r.err;
  const Result check = RunWords({"check", path.string()});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("legal: llama_7b on 16 x h800_sxm"));
  EXPECT_THAT(check.out, HasSubstr("pipeline 2"));
  std::filesystem::remove(path);
}

TEST(PlanCommand, TellsEveryMistakeInOneRun) {
  const auto path = std::filesystem::path(testing::TempDir()) / "plan_mistake.textproto";
  const Result r = Plan({"--days", "soon", "--with", "tensr=2", "--with", "zero=4", "--device", "h900",
                         "--device", "h20=cheap", "--topology", "rails", "--write", path.string()});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  for (const char* part :
       {"--days: \"soon\" is not a number", "did you mean \"tensor\"?", "--with zero: \"4\" is unknown",
        "h900", "\"cheap\" is no price of \"h20\"", "rails", "--write: is given beside --set"}) {
    EXPECT_THAT(r.err, HasSubstr(part));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PlanCommand, ListsItsChoices) {
  const Result r = RunWords({"plan", "--with", "list"});
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr("  tensor "), HasSubstr("  longer ")));
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
}

// Exit 1: everything is printed, and nothing holds.
TEST(PlanCommand, SaysWhenNothingHolds) {
  const Result r = Plan({"--devices", "8", "--days", "0.01"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, AllOf(HasSubstr("does not hold"), HasSubstr("Late: ")));
}

TEST(PlanCommand, ComparesDevices) {
  const Result r = Plan({"--devices", "8", "--device", "h800_sxm=2", "--device", "h100_sxm=2"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("  8 h800_sxm for "), HasSubstr("  8 h100_sxm for "), HasSubstr("  chosen: ")));
}

}  // namespace
}  // namespace tools
