#include "tools/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A command with a flag of each kind, which prints what it got.
Command Echo() {
  return {"echo",
          "Prints.",
          "[WORD]...",
          2,
          {{"set", "P=V", "", true}, {"steps", "N", "", false}, {"verbose", "", "", false}},
          "",
          [](const Arguments&, std::ostream&, std::ostream&) { return kExitDone; }};
}

std::string Mistake(const std::vector<std::string>& words) {
  const auto arguments = ParseArguments(Echo(), words);
  return arguments.ok() ? "none" : arguments.error().message;
}

TEST(ParseArguments, TakesFlagsAndWordsInAnyOrder) {
  const auto arguments =
      ParseArguments(Echo(), {"a", "--set", "x=1", "--steps=-5", "--set=y=[1, 2]", "-", "--verbose"}).value();
  EXPECT_THAT(arguments.positional, ElementsAre("a", "-"));
  EXPECT_THAT(arguments.values.at("set"), ElementsAre("x=1", "y=[1, 2]"));
  EXPECT_EQ(arguments.value("steps"), "-5");  // not 4294967291
  EXPECT_TRUE(arguments.has("verbose"));
  EXPECT_EQ(arguments.value("other", "none"), "none");
}

TEST(ParseArguments, DoesNotGuessFlags) {
  EXPECT_EQ(Mistake({"--verb"}), "unknown option --verb; did you mean --verbose?");
  EXPECT_EQ(Mistake({"--hel"}), "unknown option --hel; did you mean --help?");
  EXPECT_EQ(Mistake({"--wombat=3"}), "unknown option --wombat; `orrery echo --help` lists all");
  EXPECT_EQ(Mistake({"--argument=3"}), "unknown option --argument; `orrery echo --help` lists all");
}

TEST(ParseArguments, RefusesRepeatedAndMissingValuesAndExtraWords) {
  EXPECT_EQ(Mistake({"--steps=1", "--steps=2"}), "--steps is given twice; once is wanted");
  EXPECT_THAT(Mistake({"--set"}), HasSubstr("'--set' is missing"));
  EXPECT_THAT(Mistake({"--verbose=yes"}), HasSubstr("--verbose"));
  EXPECT_EQ(Mistake({"a", "b", "c"}), "unexpected argument c; usage: orrery echo [WORD]...");
}

TEST(OverridesOf, NumbersThemFromOne) {
  const auto arguments = ParseArguments(Echo(), {"--set", "a.b=1", "--set", "c=x=y", "--set", "d="}).value();
  const std::vector<proto::Override> overrides = OverridesOf(arguments).value();
  ASSERT_EQ(overrides.size(), 3u);
  EXPECT_EQ(overrides[1].index, 2);
  EXPECT_EQ(overrides[1].path, "c");
  EXPECT_EQ(overrides[1].value, "x=y");
  EXPECT_EQ(overrides[2].value, "");
  const auto wrong = ParseArguments(Echo(), {"--set", "a=1", "--set", "layout.tensor"}).value();
  EXPECT_EQ(OverridesOf(wrong).error().message,
            "--set 2: \"layout.tensor\" is not PATH=VALUE; wanted one like layout.tensor=8");
}

TEST(Orrery, HelpFitsAScreen) {
  std::vector<std::vector<std::string>> helps = {{"--help"}, {}, {"help"}};
  for (const Command& command : Commands()) {
    helps.push_back({command.name, "--help"});
    helps.push_back({"help", command.name});
  }
  for (const auto& words : helps) {
    const Result result = RunWords(words);
    EXPECT_EQ(result.status, kExitDone);
    EXPECT_EQ(result.err, "");
    const std::vector<std::string> lines = Lines(result.out);
    EXPECT_LE(lines.size(), 24u);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 100u) << line;
    EXPECT_THAT(result.out, HasSubstr("xample"));
  }
}

TEST(Orrery, UnknownCommandsNameTheNearest) {
  const Result result = RunWords({"chek"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "orrery: error: unknown command chek; did you mean check?\n");
  EXPECT_EQ(RunWords({"--json"}).status, kExitUsage);
  EXPECT_EQ(RunWords({"help", "wombat"}).err,
            "orrery: error: unknown command wombat; `orrery --help` lists all\n");
}

TEST(Check, TakesTheDefaultScenario) {
  const Result result = RunWords({"check"});
  EXPECT_EQ(result.status, kExitDone);
  EXPECT_THAT(
      result.out,
      HasSubstr("llama_7b_256xh800: legal: llama_7b on 256 x h800_sxm, tensor 1 x pipeline 1 x data 256"));
  // Two layers of 202,383,360 parameters, gathered in BF16; their gradients, as wide.
  EXPECT_THAT(result.out, HasSubstr(", gathered 772.0 MiB, unreduced 772.0 MiB\n"));
}

// HB-214: exit code 2 and the nearest name. stdout is the result only.
TEST(Check, ReportsEveryMistakeOnStderrAndExitsWith2) {
  const Result result =
      RunWords({"check", "llama_7b_256xh800", "--set", "layout.tensor=12", "--set", "batch.micro_size=4"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(
      result.err,
      HasSubstr("orrery: error: --set 2: batch.micro_size: unknown field; did you mean batch.micro?\n"));
  EXPECT_THAT(result.err,
              HasSubstr("orrery: error: --set 1: layout.tensor: 12 does not divide the 32 attention heads of "
                        "model \"llama_7b\"; 1, 2, 4, 8, 16 and 32 do\n"));
}

// HB-223: one line with the path, exit code 2.
TEST(Check, RefusesFilesThatAreNotThere) {
  const Result result = RunWords({"check", "no/such/file.json"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.err, "orrery: error: no/such/file.json: there is no such file\n");
}

TEST(Check, PrintsOneJsonDocument) {
  const Result result = RunWords({"check", "seed27_example", "wombat", "--json"});
  EXPECT_EQ(result.status, kExitUsage);
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["scenarios"][0]["legal"], true);
  EXPECT_EQ(document["scenarios"][1]["legal"], false);
  EXPECT_EQ(document["scenarios"][1]["errors"].size(), 1u);
}

TEST(List, FitsAHundredColumns) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"list"}, {"list", "hardware", "h100_sxm"}}) {
    const Result result = RunWords(words);
    EXPECT_EQ(result.status, kExitDone);
    EXPECT_EQ(result.err, "");
    for (const std::string& line : Lines(result.out)) {
      // An address cannot be broken.
      if (line.find("http") != line.npos) continue;
      EXPECT_LE(line.size(), 100u) << line;
    }
  }
}

TEST(List, ShowsEveryCatalogue) {
  const Result result = RunWords({"list", "--json"});
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(document["models"][0].value("name", ""), "bloom_176b");
  for (const auto& model : document["models"]) {
    if (model.value("name", "") != "mixtral_8x7b") continue;
    EXPECT_EQ(model.value("parameters", ""), "46702792704");
    EXPECT_EQ(model.value("active", ""), "12879925248");
  }
  for (const char* catalogue : {"scenarios", "models", "hardware", "topologies"}) {
    EXPECT_GT(document[catalogue].size(), 3u) << catalogue;
  }
  EXPECT_EQ(RunWords({"list", "model"}).err, "orrery: error: no catalogue model; did you mean models?\n");
  EXPECT_EQ(RunWords({"list", "models", "llama_7b"}).status, kExitUsage);
  EXPECT_EQ(RunWords({"list", "hardware", "A10"}).status, kExitUsage);  // HB-211: A10 is not the A100
}

TEST(Check, ExitsWith1WhenTheJobDoesNotFit) {
  const Result result = RunWords({"check", "seed27_example", "--set", "hardware.memory.usable_gib=1"});
  EXPECT_EQ(result.status, kExitNo);
  EXPECT_THAT(result.out, HasSubstr("does not fit"));
  EXPECT_EQ(RunWords({"run", "seed27_example", "--set", "hardware.memory.usable_gib=1"}).status, kExitNo);
}

TEST(Run, PrintsTheReportAndItsJson) {
  const Result text = RunWords({"run", "seed27_example"});
  EXPECT_EQ(text.status, kExitDone);
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, HasSubstr("step time"));
  const auto json = nlohmann::json::parse(RunWords({"run", "seed27_example", "--json"}).out);
  for (const char* key :
       {"schema_version", "digest", "step_time_s", "mfu", "hfu", "tokens_per_s", "tflops_per_gpu",
        "breakdown_s", "stages", "fits", "cost_usd_per_step", "closed_form"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_TRUE(json["stages"][0]["memory_bytes"].is_object());
  double sum = 0;
  for (const auto& [name, seconds] : json["breakdown_s"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, json["step_time_s"].get<double>(), 1e-12);
}

TEST(Run, WritesNothingWhenOneOfItsFilesCannotBe) {
  const std::string folder = testing::TempDir() + "run_outputs";
  std::filesystem::create_directories(folder);
  const std::string trace = folder + "/trace.json";
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace", trace, "--report", folder + "/no/r.json"}).status,
            kExitUsage);
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace", trace, "--report", trace}).status, kExitUsage);
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace", ""}).status, kExitUsage);
  EXPECT_EQ(RunWords({"run", "seed27_example", "--report", folder + "/r.pdf"}).status, kExitUsage);
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace-ranks", "0"}).status, kExitUsage);
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace", trace, "--trace-ranks", "0,7"}).status, kExitUsage);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Run, NeverWritesOverWhatItReadNorTwiceToOneFile) {
  const std::string folder = testing::TempDir() + "run_same";
  std::filesystem::create_directories(folder);
  const std::string input = folder + "/job.json", trace = folder + "/t.json";
  std::ofstream(input) << R"({"description": "not a whole scenario"})";
  const auto size = std::filesystem::file_size(input);
  const std::string scenario = std::string(ORRERY_SOURCE_DIR) + "/scenarios/seed27_example.textproto";
  EXPECT_EQ(RunWords({"run", scenario, "--trace", scenario}).status, kExitUsage);
  const Result twice =
      RunWords({"run", "seed27_example", "--trace", trace, "--report", folder + "/../run_same/t.json"});
  EXPECT_EQ(twice.status, kExitUsage);
  EXPECT_THAT(twice.err, HasSubstr("two names are wanted"));
  EXPECT_EQ(RunWords({"run", "seed27_example", "--trace", folder + "/t.txt"}).status, kExitUsage);
  const Result import = RunWords({"import", "hf", input, "--output", folder + "/./job.json"});
  EXPECT_EQ(import.status, kExitUsage);
  EXPECT_EQ(std::filesystem::file_size(input), size);
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST(Run, ARanksTraceAndReportAreWritten) {
  const std::string folder = testing::TempDir() + "run_written";
  std::filesystem::create_directories(folder);
  const Result result =
      RunWords({"run", "megatron_22b_8xa100_full", "--set", "model.layers=2", "--trace", folder + "/t.json",
                "--trace-ranks", "0-1,1,0", "--report", folder + "/r.txt"});
  EXPECT_EQ(result.status, kExitDone);
  EXPECT_THAT(result.err, HasSubstr("(2 of 8 ranks, "));
  EXPECT_GT(std::filesystem::file_size(folder + "/t.json"), 1000u);
  EXPECT_GT(std::filesystem::file_size(folder + "/r.txt"), 1000u);
}

}  // namespace
}  // namespace tools
