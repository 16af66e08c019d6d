// orrery timeline, from the command line to its files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

// A pipeline of four stages on 64 devices, short.
Result Timeline(std::vector<std::string> words) {
  std::vector<std::string> all = {"timeline", "llama_70b_64xh800_a", "--set", "steps=2",
                                  "--set",    "batch.global=8",      "--set", "model.layers=4"};
  all.insert(all.end(), words.begin(), words.end());
  return RunWords(all);
}

std::string NewFolder() {
  const std::string folder =
      testing::TempDir() + "orrery_timeline_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

nlohmann::json Read(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

std::set<int> RanksIn(const nlohmann::json& trace) {
  std::set<int> ranks;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ranks.insert(event["pid"].get<int>() - 1);
  }
  return ranks;
}

TEST(Timeline, RefusesWhatItCannotReadInOneLineEachAndWritesNothing) {
  const std::string folder = NewFolder(), file = folder + "/a.json";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"-o", file, "--ranks", "64"},
       "--ranks 64: give ranks from 0 to 63, as in 0,8,16-23; or all, stages or kinds"},
      {{"-o", file, "--streams", "compute,datum"},
       "--streams datum: no such stream; there are compute, tensor, "},
      {{"-o", file, "--steps", "2"}, "--steps 2: give steps from 0 to 1, as in 1 or 1-2"},
      {{"-o", file, "--steps", "1-0"}, "--steps 1-0: give steps from 0 to 1"},
      {{"-o", file, "--window", "1.2s"}, "--window 1.2s: give two times, as in 1.2s..1.5s"},
      {{"-o", file, "--window", "2s..1s"}, "--window 2s..1s: it ends before it begins"},
      {{"-o", file, "--window", "1..2"}, "has no unit"},
      {{"-o", file, "--window", "0s..1s", "--steps", "1"}, "--window and --steps both say when"},
      {{"-o", file, "--min", "10"}, "--min 10: "},
      {{"-o", file, "--format", "pdf"},
       "--format: \"pdf\" is unknown; one of chrome, perfetto, speedscope, svg"},
      {{"-o", folder + "/a.pdf"}, "a name that ends in .json, .pftrace, .speedscope.json or .svg"},
      {{"-o", folder + "/a.pftrace", "--args"}, "--args: only trace events"},
      {{"-o", folder + "/none/a.json"}, "cannot write"},
      {{"-o", folder + "/k", "--like", "nsys"}, "--like nsys: unknown; kineto would do"},
      {{"-o", file, "--like", "kineto"}, "a file a rank is written"},
      {{"-o", folder + "/k", "--like", "kineto", "--set", "fidelity=CHUNK"}, "fidelity CHUNK"},
      {{"-o", "-"}, "--output -: the name of a file is wanted"},
      {{}, "--output FILE is wanted"},
  };
  for (const auto& [words, message] : cases) {
    const Result result = Timeline(words);
    EXPECT_EQ(result.status, kExitUsage) << message;
    EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_TRUE(result.out.empty());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

// Stages of 16 ranks each, the first of each: 0, 16, 32, 48.
TEST(Timeline, ShowsTheRanksThatAreChosen) {
  const std::string file = NewFolder() + "/a.json";
  ASSERT_EQ(Timeline({"-o", file, "--ranks", "stages"}).status, kExitDone);
  EXPECT_EQ(RanksIn(Read(file)), (std::set<int>{0, 16, 32, 48}));
  ASSERT_EQ(Timeline({"-o", file, "--ranks", "5,7-8"}).status, kExitDone);
  EXPECT_EQ(RanksIn(Read(file)), (std::set<int>{5, 7, 8}));
}

// Each stage does something else, so that there is a rank of each among the kinds, and fewer than all.
TEST(Timeline, OfKindsHasRanksOfEachStageAndNotAll) {
  const std::string file = NewFolder() + "/a.json";
  ASSERT_EQ(Timeline({"-o", file, "--ranks", "kinds"}).status, kExitDone);
  std::set<int> stages;
  const std::set<int> ranks = RanksIn(Read(file));
  for (const int rank : ranks) stages.insert(rank / 16);
  EXPECT_EQ(stages.size(), 4u);
  EXPECT_LT(ranks.size(), 64u);
}

TEST(Timeline, ShowsStepsStreamsAndWhatIsLongEnough) {
  const std::string file = NewFolder() + "/a.json";
  const auto all = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"-o", file, "--ranks", "0"});
    EXPECT_EQ(Timeline(words).status, kExitDone);
    std::vector<nlohmann::json> slices;
    const nlohmann::json trace = Read(file);
    for (const auto& event : trace["traceEvents"]) {
      if (event["ph"] == "X") slices.push_back(event);
    }
    return slices;
  };
  const auto whole = all({}), first = all({"--steps", "0"}), second = all({"--steps", "1"});
  EXPECT_LT(first.size(), whole.size());
  EXPECT_GE(first.size() + second.size(), whole.size());  // what reaches over the border is in both
  EXPECT_LT(first.size() + second.size(), whole.size() + 20);
  EXPECT_EQ(all({"--steps", "0-1"}).size(), whole.size());
  for (const auto& slice : all({"--streams", "compute", "--min", "100us"})) {
    EXPECT_GE(slice["dur"].get<double>(), 99.999);
    EXPECT_THAT((std::vector<std::string>{"forward", "backward", "recomputation", "optimizer"}),
                testing::Contains(slice["cat"].get<std::string>()));
  }
}

TEST(Timeline, TellsOfItsFileAsOneDocument) {
  const std::string file = NewFolder() + "/a.pftrace";
  const Result result = Timeline({"-o", file, "--ranks", "stages", "--json"});
  ASSERT_EQ(result.status, kExitDone);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["file"], file);
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["arrows"], 2 * 4 * 3 * 2);  // steps x micro-batches x boundaries x there and back
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(file));
}

TEST(Timeline, WritesTheSameFileEachTime) {
  const std::string folder = NewFolder();
  for (const char* name : {"/a.json", "/a.pftrace", "/a.speedscope.json"}) {
    std::vector<std::string> texts;
    for (const char* version : {"1", "2"}) {
      const std::string path = folder + "/" + version + (name + 1);
      ASSERT_EQ(Timeline({"-o", path, "--ranks", "0,16"}).status, kExitDone);
      std::ifstream in(path, std::ios::binary);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    EXPECT_FALSE(texts[0].empty());
    EXPECT_EQ(texts[0], texts[1]);
  }
}

TEST(Timeline, ThatHasNothingToShowSaysSo) {
  const std::string file = NewFolder() + "/a.json";
  const Result empty = Timeline({"-o", file, "--ranks", "0", "--streams", "host"});
  EXPECT_EQ(empty.status, kExitNo);
  EXPECT_THAT(empty.err, HasSubstr("no slice is left"));
  const Result late = Timeline({"-o", file, "--window", "900s..901s"});
  EXPECT_EQ(late.status, kExitUsage);
  EXPECT_THAT(late.err, HasSubstr("--window: the run ends at "));
}

// HolisticTraceAnalysis leaves out the last step: one more than the two that the job has is played.
TEST(Timeline, LikeKinetoIsAFileARankWithAStepMoreThanAskedFor) {
  const std::string folder = NewFolder();
  const auto steps_of = [&](const std::string& file) {
    std::vector<std::string> steps;
    const nlohmann::json trace = Read(file);
    for (const auto& event : trace["traceEvents"]) {
      if (event.value("cat", "") == "user_annotation") steps.push_back(event["name"]);
    }
    return steps;
  };
  const std::string pattern = folder + "/r{rank}.json";
  ASSERT_EQ(Timeline({"-o", pattern, "--like", "kineto", "--ranks", "0,16"}).status, kExitDone);
  EXPECT_THAT(steps_of(folder + "/r16.json"),
              testing::ElementsAre("ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"));
  ASSERT_EQ(Timeline({"-o", pattern, "--like", "kineto", "--ranks", "0", "--steps", "1"}).status, kExitDone);
  EXPECT_THAT(steps_of(folder + "/r0.json"), testing::ElementsAre("ProfilerStep#1", "ProfilerStep#2"));
  const Result in_folder =
      Timeline({"-o", folder + "/new", "--like", "kineto", "--ranks", "3", "--steps", "0"});
  EXPECT_EQ(in_folder.status, kExitDone);
  EXPECT_TRUE(std::filesystem::exists(folder + "/new/rank_3.json.gz"));
}

}  // namespace
}  // namespace tools
