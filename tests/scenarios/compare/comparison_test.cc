#include "scenarios/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/output/comparison_output.h"
#include "tests/scenarios/compare/comparing.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseVariant, TakesAJobAndChanges) {
  const VariantSpec both = ParseVariant("  other_job layout.tensor=4   batch.global=64 ").value();
  EXPECT_EQ(both.job, "other_job");
  EXPECT_THAT(both.changes, ElementsAre("layout.tensor=4", "batch.global=64"));
  EXPECT_EQ(both.text, "other_job layout.tensor=4 batch.global=64");
  EXPECT_EQ(ParseVariant("a=b=c").value().changes.front(), "a=b=c");
  EXPECT_EQ(ParseVariant("a=b=c").value().job, "");
}

TEST(ParseVariant, RefusesWhatIsNeither) {
  EXPECT_THAT(ParseVariant("  ").error().message, HasSubstr("there is nothing in it"));
  EXPECT_THAT(ParseVariant("=4").error().message, HasSubstr("has no field"));
  EXPECT_THAT(ParseVariant("layout.tensor=4 other_job").error().message,
              HasSubstr("\"other_job\" is no PATH"));
  EXPECT_THAT(ParseVariant("one two").error().message, HasSubstr("\"two\" is no PATH=VALUE"));
}

sim::Result<PlayedJob> PlayOne(std::size_t i) {
  const Sets jobs[] = {{}, {{"layout.tensor", "2"}, {"layout.data", "4"}}, {}, {{"batch.global", "32"}}};
  if (i == 2) return sim::Error{"layout.tensor: 3 does not divide"};
  return PlayedWith(jobs[i]);
}

const std::vector<std::string> kTexts = {"small", "layout.tensor=2", "layout.tensor=3", "batch.global=32"};

TEST(Compare, DoesNotDependOnThreads) {
  const Comparison one = Compare(kTexts, 1, PlayOne), four = Compare(kTexts, 4, PlayOne);
  EXPECT_EQ(ComparisonText(one), ComparisonText(four));
  EXPECT_EQ(ComparisonJson(one), ComparisonJson(four));
}

TEST(Compare, WhatCannotBePlayedIsARowWithItsReason) {
  const Comparison comparison = Compare(kTexts, 2, PlayOne);
  EXPECT_TRUE(comparison.any_variant());
  EXPECT_FALSE(comparison.variants[1].played.has_value());
  EXPECT_FALSE(comparison.variants[1].waterfall.has_value());
  EXPECT_THAT(ComparisonText(comparison), HasSubstr("\n2     layout.tensor: 3 does not divide\n"));
  const auto json = nlohmann::json::parse(ComparisonJson(comparison));
  EXPECT_EQ(json["variants"][1]["refused"], "layout.tensor: 3 does not divide");
  EXPECT_TRUE(json["variants"][0]["refused"].is_null());
}

// What scripts add up: whole picoseconds.
TEST(Compare, WaterfallsInJsonAddUp) {
  const auto json = nlohmann::json::parse(ComparisonJson(Compare(kTexts, 2, PlayOne)));
  for (const std::size_t v : {std::size_t{0}, std::size_t{2}}) {
    const auto& waterfall = json["variants"][v]["waterfall"];
    std::int64_t sum = waterfall["base_ps"];
    for (const auto& part : waterfall["parts"]) sum += part["difference_ps"].get<std::int64_t>();
    EXPECT_EQ(sum, waterfall["variant_ps"].get<std::int64_t>());
    std::int64_t parts = 0;
    for (const auto& part : json["variants"][v]["parts_ps"]) parts += part.get<std::int64_t>();
    EXPECT_EQ(parts, waterfall["variant_ps"].get<std::int64_t>());
  }
}

TEST(Compare, LinesFitAHundredColumns) {
  std::istringstream text(ComparisonText(Compare(kTexts, 2, PlayOne)));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace scenarios
