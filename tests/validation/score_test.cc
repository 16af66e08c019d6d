#include "scenarios/published/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

StepOutcome Outcome(const std::string& source, double published, double simulated) {
  StepOutcome outcome;
  outcome.row.source = source;
  outcome.row.model_name = "m";
  outcome.row.n_gpu = outcome.row.global_batch = outcome.row.seq_len = 1;
  outcome.row.step_time_s = published;
  outcome.simulated_s = simulated;
  return outcome;
}

// -0.4 ... 0.5: absolute 0, 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.5: sum 2.5; the middle two 0.2 and
// 0.3; the 9th of 10; signed sum 0.5.
TEST(Score, MeanMedianP90AndBiasOfTenErrors) {
  const Errors errors = ErrorsOf({-0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5});
  EXPECT_EQ(errors.rows, 10);
  EXPECT_DOUBLE_EQ(errors.mean, 0.25);
  EXPECT_DOUBLE_EQ(errors.median, 0.25);
  EXPECT_DOUBLE_EQ(errors.p90, 0.4);
  EXPECT_NEAR(errors.bias, 0.05, 1e-15);
}

TEST(Score, OneErrorIsItsOwnMedianAndP90) {
  const Errors errors = ErrorsOf({-0.3});
  EXPECT_DOUBLE_EQ(errors.median, 0.3);
  EXPECT_DOUBLE_EQ(errors.p90, 0.3);
  EXPECT_DOUBLE_EQ(errors.bias, -0.3);
}

// No ties: 1 - 6 sum d^2 / (n (n^2 - 1)). Ranks 1 2 3 4 5 against 2 1 4 3 5: d^2 = 4, 1 - 24 / 120.
TEST(Score, RankCorrelationIsSpearmans) {
  EXPECT_DOUBLE_EQ(*RankCorrelation({1, 2, 3, 4, 5}, {20, 10, 40, 30, 99}), 0.8);
  EXPECT_DOUBLE_EQ(*RankCorrelation({1, 2, 3}, {9, 5, 1}), -1);
  EXPECT_DOUBLE_EQ(*RankCorrelation({1, 2, 3}, {1, 10, 1000}), 1);
}

// Ranks 1.5 1.5 3 against 1 2 3: deviations -0.5 -0.5 1 and -1 0 1: 1.5 / sqrt(1.5 x 2).
TEST(Score, EqualValuesShareTheirRanks) {
  EXPECT_DOUBLE_EQ(*RankCorrelation({7, 7, 8}, {1, 2, 3}), 1.5 / std::sqrt(3.0));
  EXPECT_EQ(RankCorrelation({7, 7, 7}, {1, 2, 3}), std::nullopt);
  EXPECT_EQ(RankCorrelation({7}, {1}), std::nullopt);
}

TEST(Score, SweepsAreRowsOfOneSourceModelAndDeviceThatWereSimulated) {
  std::vector<StepOutcome> outcomes;
  for (const double t : {1.0, 2.0, 3.0}) outcomes.push_back(Outcome("a", t, 2 * t));
  outcomes.push_back(Outcome("a", 4, 0));  // not simulated
  outcomes.push_back(Outcome("b", 4, 5));
  const auto sweeps = SweepsOf(outcomes, 3);
  ASSERT_THAT(sweeps, SizeIs(1));
  EXPECT_EQ(sweeps[0].rows, 3);
  EXPECT_DOUBLE_EQ(sweeps[0].correlation, 1);
  EXPECT_THAT(SweepsOf(outcomes, 4), SizeIs(0));
}

// "a": 10 % too slow and 30 % too fast: mean 20 %, bias -10 %. "b": 50 % too slow, one row refused.
// All: mean 30 %; lines alike: (20 + 50) / 2.
TEST(Score, TheTableCountsRowsAndWeighsGroupsAlike) {
  std::vector<StepOutcome> outcomes = {Outcome("a", 1, 1.1), Outcome("a", 1, 0.7), Outcome("b", 1, 1.5),
                                       Outcome("b", 1, 0)};
  outcomes[3].refused = {"why"};
  const std::string table = ErrorTable(outcomes, "source", [](const StepOutcome& o) { return o.row.source; });
  EXPECT_THAT(table, HasSubstr("| a | 2 | 2 | 2 | 20.0 % | 20.0 % | 30.0 % | -10.0 % |\n"));
  EXPECT_THAT(table, HasSubstr("| b | 2 | 1 | 1 | 50.0 % | 50.0 % | 50.0 % | +50.0 % |\n"));
  EXPECT_THAT(table, HasSubstr("| all | 4 | 3 | 3 | 30.0 % | 30.0 % | 50.0 % | +10.0 % |\n"));
  EXPECT_THAT(table, HasSubstr("| mean of the 2 lines with rows simulated | | | | 35.0 % |"));
  EXPECT_THAT(ReasonTable(outcomes, "refused", [](const StepOutcome& o) { return o.refused; }),
              HasSubstr("| why | 1 |"));
  EXPECT_THAT(OutcomesCsv(outcomes), HasSubstr("\"\",\"a\",1,1.1,10.00,yes,0,\"\"\n"));
  EXPECT_THAT(OutcomesCsv(outcomes), HasSubstr("\"\",\"b\",1,,,,,\"why\"\n"));
}

}  // namespace
}  // namespace scenarios
