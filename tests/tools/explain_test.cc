// orrery explain from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

TEST(ExplainCommand, SaysWhatTheStepIsMadeOf) {
  const Result result = RunWords({"explain", "seed27_example", "--check", "1"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Critical path of a step"));
  EXPECT_THAT(result.out, HasSubstr("compute: matrix products"));
  EXPECT_THAT(result.out, HasSubstr("played with +1 %"));
  EXPECT_THAT(result.out, HasSubstr("A step takes at least"));
}

TEST(ExplainCommand, OfAJobAgreesWithItsRun) {
  const Result explained = RunWords({"explain", "mpt_7b_8xa100", "--set", "model.layers=2", "--json"});
  const Result run = RunWords({"run", "mpt_7b_8xa100", "--set", "model.layers=2", "--json"});
  const auto json = nlohmann::json::parse(explained.out), report = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["digest"], report["digest"]);
  std::int64_t sum = 0;
  for (const auto& cause : json["causes"]) sum += cause["time_ps"].get<std::int64_t>();
  EXPECT_DOUBLE_EQ(1e-12 * static_cast<double>(sum), report["step_time_s"].get<double>());
  EXPECT_TRUE(json["checked_with"].is_null());
}

TEST(ExplainCommand, RefusesWhatIsNoPercentage) {
  for (const char* wrong : {"", "x", "0", "-1", "101", "1x", "nan"}) {
    const Result result = RunWords({"explain", "seed27_example", std::string("--check=") + wrong});
    EXPECT_EQ(result.status, kExitUsage) << wrong;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_THAT(RunWords({"explain", "seed27_example", "--check", "x"}).err,
              HasSubstr("no number of per cent"));
  EXPECT_EQ(RunWords({"explain", "no_such_job"}).status, kExitUsage);
}

}  // namespace
}  // namespace tools
