// orrery compare from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

Result CompareWords(std::vector<std::string> words) {
  words.insert(words.begin(), {"compare", "llama_7b_256xh800", "--set", "model.layers=2", "--set",
                               "devices=8", "--set", "batch.global=32"});
  return RunWords(words);
}

TEST(CompareCommand, PutsVariantsAndOtherJobsBesideTheBase) {
  const Result result = CompareWords({"--vs", "training.recompute=NONE", "--vs", "layout.tensor=3", "--vs",
                                      "mpt_7b_8xa100 model.layers=2", "--json"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["base"]["scenario"], "llama_7b_256xh800");
  // Variants of the base have what was set there; other jobs do not.
  EXPECT_EQ(json["variants"][0]["overrides"].size(), 4u);
  EXPECT_EQ(json["variants"][2]["scenario"], "mpt_7b_8xa100");
  EXPECT_EQ(json["variants"][2]["overrides"].size(), 1u);
  EXPECT_THAT(json["variants"][1]["refused"].get<std::string>(), HasSubstr("not a multiple of tensor 3"));
}

TEST(CompareCommand, OfTheBaseAgreesWithItsRun) {
  const Result compared = CompareWords({"--vs", "training.recompute=NONE", "--json"});
  const Result run = RunWords({"run", "llama_7b_256xh800", "--set", "model.layers=2", "--set", "devices=8",
                               "--set", "batch.global=32", "--json"});
  const auto base = nlohmann::json::parse(compared.out)["base"];
  const auto report = nlohmann::json::parse(run.out);
  for (const char* key : {"digest", "step_time_s", "mfu", "hfu", "tokens_per_s", "fits", "breakdown_rank"}) {
    EXPECT_EQ(base[key], report[key]) << key;
  }
}

TEST(CompareCommand, TellsMistakesAtOnceAndPrintsNothing) {
  const Result result = CompareWords({"--vs", "", "--vs", "a b", "--set", "layout.tensor=3"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("--vs 1: there is nothing in it"));
  EXPECT_THAT(result.err, HasSubstr("--vs 2: \"b\" is no PATH=VALUE"));
  EXPECT_THAT(result.err, HasSubstr("layout.tensor: 3"));
  EXPECT_THAT(CompareWords({}).err, HasSubstr("--vs is missing"));
}

TEST(CompareCommand, FailsWhereNoVariantCanBePlayed) {
  const Result result = CompareWords({"--vs", "layout.tensor=3", "--vs", "no_such_job", "--vs", "-"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.out, HasSubstr("\n3     only the base may come from standard input\n"));
  EXPECT_THAT(result.err, HasSubstr("no variant could be played"));
}

TEST(CompareCommand, OfABaseThatDoesNotFitSaysSo) {
  const Result result =
      CompareWords({"--set", "batch.micro=4", "--set", "batch.sequence_length=65536", "--set",
                    "training.recompute=NONE", "--vs", "training.recompute=FULL batch.micro=1"});
  EXPECT_EQ(result.status, kExitNo) << result.err;
  EXPECT_THAT(result.out, HasSubstr("does not fit"));
  EXPECT_THAT(result.err, HasSubstr("the base does not fit"));
}

}  // namespace
}  // namespace tools
