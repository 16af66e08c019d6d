// orrery schedule, from the command line to its text and picture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/schedule/pipeline_schedule.h"
#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

Result Schedule(std::vector<std::string> words) {
  words.insert(words.begin(), "schedule");
  return RunWords(words);
}

// A path in a folder of its own, which goes with it.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::path(testing::TempDir()) /
              (std::string("orrery_schedule_") +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// HB-081 with the orders played: 1F1B 45, ZB1P 15, DualPipe 10.5, activations 17, two copies.
TEST(ScheduleCommand, ShowsBubblesBesideTheirClosedForms) {
  const std::vector<std::string> shape = {"--stages", "16", "--microbatches", "40"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), shape.begin(), shape.end());
    return Schedule(words).out;
  };
  EXPECT_THAT(with({"1f1b"}), HasSubstr("\n  bubble       45, "));
  EXPECT_THAT(with({"1f1b"}), HasSubstr("\n  closed form  45\n"));
  EXPECT_THAT(with({"zb1p"}), HasSubstr("\n  bubble       15, "));
  EXPECT_THAT(with({"zb1p"}), HasSubstr("\n  closed form  15\n"));
  const std::string dual = with({"dualpipe", "--joined", "2.5"});
  EXPECT_THAT(dual, HasSubstr("\n  bubble       10.5, "));
  EXPECT_THAT(dual, HasSubstr("\n  closed form  10.5\n"));
  EXPECT_THAT(dual, HasSubstr("\n  parameters   2 copies\n"));
  EXPECT_THAT(dual, HasSubstr("  17      17      17\n"));
}

// Chunks and parts do not change what a stage has to do.
TEST(ScheduleCommand, CutsTheTimesOfAStageAmongItsChunksAndParts) {
  // m (F+I+W) + (p-1)(F+I+W)/v = 24 + 9/2 and 24 + 9/3.
  const auto interleaved = Schedule({"interleaved", "--stages", "4", "--microbatches", "8", "--chunks", "2"});
  EXPECT_THAT(interleaved.out, HasSubstr("\n  step         28.5\n  bubble       4.5, 15.8 %"));
  const auto sequence = Schedule({"seq1f1b", "--stages", "4", "--microbatches", "8", "--parts", "3"});
  EXPECT_THAT(sequence.out, HasSubstr("\n  step         27\n  bubble       3, 11.1 %"));
}

TEST(ScheduleCommand, SaysWhatTheOptimizerMustNotDoForNoBubble) {
  const auto result = Schedule({"zb2p", "--stages", "4", "--microbatches", "8"});
  EXPECT_THAT(result.out, HasSubstr("  bubble       3, "));  // stage 3 begins at 3
  EXPECT_THAT(result.out,
              HasSubstr("0 between a stage's own first and last step, if the optimizer waits for none"));
}

TEST(ScheduleCommand, KeepsToAHundredColumnsForEverySchedule) {
  for (const sim::PipelineSchedule* schedule : sim::PipelineSchedules()) {
    for (const char* microbatches : {"16", "200"}) {
      const auto result = Schedule({std::string(schedule->name), "--stages", "8", "--microbatches",
                                    microbatches, "--weight", "0.7", "--backward-input", "1.3"});
      ASSERT_EQ(result.status, kExitDone) << result.err;
      for (const std::string& line : Lines(result.out)) EXPECT_LE(line.size(), 100u) << line;
      EXPECT_EQ(result.err, "");
      const bool long_one = std::string(microbatches) == "200";
      if (long_one) {
        EXPECT_THAT(result.out, HasSubstr("Too long for 100 columns"));
      }
    }
  }
  for (const std::string& line : Lines(Schedule({"--list"}).out)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(ScheduleCommand, ListsEveryScheduleWithItsNeeds) {
  const auto result = Schedule({"--list"});
  EXPECT_EQ(result.status, kExitDone);
  for (const sim::PipelineSchedule* schedule : sim::PipelineSchedules()) {
    EXPECT_THAT(result.out, HasSubstr("\n  " + std::string(schedule->name)));
    EXPECT_THAT(result.out, HasSubstr("needs " + std::string(schedule->needs)));
  }
}

TEST(ScheduleCommand, NamesEveryWrongValueInOneRun) {
  const auto result = Schedule({"zbv", "--stages", "0", "--microbatches", "many", "--chunks=-2", "--weight",
                                "-1", "--forward", "1e3", "--backward-input", "0", "--svg", "-"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err,
      "orrery: error: --forward: \"1e3\" is no time; a number above 0 to 1000000 with at most 6 digits after "
      "the point would do\n"
      "orrery: error: --backward-input: \"0\" is no time; a number above 0 to 1000000 with at most 6 digits "
      "after the point would do\n"
      "orrery: error: --weight: \"-1\" is no time; a number from 0 to 1000000 with at most 6 digits after "
      "the "
      "point would do\n"
      "orrery: error: --svg -: the name of a file is wanted\n"
      "orrery: error: --stages: \"0\" is out of range; 1 to 65536 would do\n"
      "orrery: error: --microbatches: \"many\" is no whole number; 1 to 1048576 would do\n"
      "orrery: error: --chunks: \"-2\" is out of range; 1 to 65536 would do\n");
}

TEST(ScheduleCommand, RefusesWhatIsMissingUnknownOrTooMuch) {
  const auto error = [](const std::vector<std::string>& words) {
    const auto result = Schedule(words);
    EXPECT_EQ(result.status, kExitUsage);
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(error({}),
            "orrery: error: no schedule; `orrery schedule --list` names all, or give the file of an order\n");
  EXPECT_EQ(error({"1f1b"}),
            "orrery: error: --stages: missing; a number from 1 on is wanted\n"
            "orrery: error: --microbatches: missing; a number from 1 on is wanted\n");
  EXPECT_EQ(error({"zbvv", "--stages", "2"}), "orrery: error: no schedule zbvv; did you mean zbv?\n");
  EXPECT_EQ(error({"dualpipe", "--stages", "5", "--microbatches", "20"}),
            "orrery: error: dualpipe: 5 stages; an even number, as they meet in the middle\n");
  EXPECT_EQ(error({"gpipe", "--stages", "1000", "--microbatches", "1000"}),
            "orrery: error: 2000000 steps are too many to draw; at most 1000000 would do\n");
  EXPECT_EQ(error({"zb1p", "--stages", "2", "--microbatches", "4", "--joined", "3"}),
            "orrery: error: --joined: zb1p joins no steps; leave it out\n");
  EXPECT_EQ(error({"dualpipe", "--stages", "2", "--microbatches", "4", "--joined", "1.5"}),
            "orrery: error: --joined: \"1.5\" is less than the forward or the whole backward that it joins; "
            "no less "
            "would do\n");
}

TEST(ScheduleCommand, ReadsTheOrderThatItPrints) {
  const Folder folder;
  const auto printed = Schedule({"zbv", "--stages", "3", "--microbatches", "5", "--text"});
  ASSERT_EQ(printed.status, kExitDone);
  std::ofstream(folder / "mine.txt") << "# my own\n" << printed.out;
  const auto result = Schedule({folder / "mine.txt"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  // The same picture; without closed forms, of which an order of one's own has none.
  const auto drawn = Schedule({"zbv", "--stages", "3", "--microbatches", "5"});
  for (std::size_t i = 4; i < 7; ++i) EXPECT_EQ(Lines(result.out)[i], Lines(drawn.out)[i]);
  EXPECT_THAT(result.out, testing::Not(HasSubstr("closed form  ")));
  EXPECT_EQ(Schedule({folder / "mine.txt", "--text"}).out, printed.out);
}

TEST(ScheduleCommand, RefusesAFileThatDeadlocksAndWhatTheFileSaysItself) {
  const Folder folder;
  const std::string path = folder / "mine.txt";
  std::ofstream(path) << "F0 B0 F1 B1\nF0 F1 B0 B1\n";
  const auto result = Schedule({path, "--stages", "2"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.err,
            "orrery: error: " + path +
                ":1:4: stage 0, step 1 (B0): deadlock: waits for B0 of stage 1, which waits at step 1 "
                "(F1) for F1 of stage 0\n"
                "orrery: error: --stages: the file says it; leave it out\n");
  EXPECT_THAT(Schedule({folder / "none.txt"}).err, HasSubstr("none.txt: there is no such file"));
}

TEST(ScheduleCommand, WritesThePictureWholeOrNotAtAll) {
  const Folder folder;
  const std::string path = folder / "picture.svg";
  const auto refused = Schedule({"zbv", "--stages", "4", "--microbatches", "0", "--svg", path});
  EXPECT_EQ(refused.status, kExitUsage);
  EXPECT_TRUE(folder.empty());
  const auto nowhere =
      Schedule({"zbv", "--stages", "4", "--microbatches", "8", "--svg", folder / "no/such/picture.svg"});
  EXPECT_EQ(nowhere.status, kExitUsage);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_TRUE(folder.empty());

  ASSERT_EQ(Schedule({"dualpipe", "--stages", "4", "--microbatches", "8", "--svg", path}).status, kExitDone);
  const std::string svg = Read(path);
  EXPECT_EQ(svg.rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0u);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr(">F3&amp;b5<"));  // escaped
  // A background, 4 rows, a legend of 5, and a rectangle a step, or a pair of joined ones.
  std::size_t rectangles = 0;
  for (std::size_t at = 0; (at = svg.find("<rect", at)) != svg.npos; ++at) ++rectangles;
  const std::string text = Schedule({"dualpipe", "--stages", "4", "--microbatches", "8", "--text"}).out;
  const std::string steps = text.substr(text.find('\n'));  // after the placement
  const auto count = [&](const char* of) {
    return static_cast<std::size_t>(std::count_if(steps.begin(), steps.end(), [&](char c) {
      return std::string_view(of).find(c) != std::string_view::npos;
    }));
  };
  EXPECT_EQ(rectangles, 1 + 4 + 5 + count("FBIW") - count("&"));
}

}  // namespace
}  // namespace tools
