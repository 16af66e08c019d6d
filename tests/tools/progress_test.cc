#include "tools/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sstream>

#include "tools/command_line.h"
#include "tools/interrupt.h"

namespace tools {
namespace {

using scenarios::RunProgress;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ProgressText, NamesThePhaseThePartAndTheTimeLeft) {
  EXPECT_EQ(ProgressText({RunProgress::Phase::kBuild, 0, 16'384, {}}, 0.1),
            "building: 0.0 % of 16,384 ranks");
  // A quarter took 10 s, so three quarters take 30.
  EXPECT_EQ(ProgressText({RunProgress::Phase::kSimulate, 250, 1'000, {}}, 10),
            "simulating: 25.0 % of 1,000 tasks, 30 s left");
  EXPECT_EQ(ProgressText({RunProgress::Phase::kSimulate, 1, 101, {}}, 1),
            "simulating: 1.0 % of 101 tasks, 1 min 40 s left");
  EXPECT_EQ(ProgressText({RunProgress::Phase::kSimulate, 5, 5, {}}, 1),
            "simulating: 100.0 % of 5 tasks, 0 s left");
}

// 10 points of its own in 20 s; those that were done before say nothing of the time.
TEST(ProgressText, OfASweepCountsItsOwnPointsForTheTimeLeft) {
  EXPECT_EQ(ProgressText(PointProgress{.done = 0, .of = 500}, 1), "0 of 500 points");
  EXPECT_EQ(ProgressText(PointProgress{.done = 110, .of = 500, .before = 100}, 20),
            "110 of 500 points, 13 min 0 s left");
}

TEST(ProgressLine, SaysNothingInTheFirstHalfSecond) {
  std::ostringstream err;
  {
    ProgressLine line(err, ProgressLine::Style::kInPlace);
    line.Show({RunProgress::Phase::kBuild, 1, 2, {}});
  }
  EXPECT_EQ(err.str(), "");
}

// What Ctrl-C does, at the first thing that is written.
class InterruptingBuffer final : public std::stringbuf {
 public:
  int sync() override {
    if (!done_) std::raise(SIGINT);
    done_ = true;
    return std::stringbuf::sync();
  }

 private:
  bool done_ = false;
};

// 64 ranks times 20 steps take longer to build than the half second to the first line.
TEST(Run, CtrlCPrintsWhatIsDoneAndWritesNoFile) {
  HandleInterrupts();
  const std::string folder = testing::TempDir() + "interrupted";
  std::filesystem::create_directories(folder);
  InterruptingBuffer buffer;
  std::ostream err(&buffer);
  std::ostringstream out;
  const int status = tools::Run({"run", "llama_70b_64xh800_a", "--set", "steps=20", "--progress", "--trace",
                                 folder + "/t.json.gz", "--report", folder + "/r.json"},
                                out, err);
  EXPECT_EQ(status, kExitInterrupted);
  EXPECT_THAT(out.str(), StartsWith("interrupted after "));
  EXPECT_THAT(buffer.str(), HasSubstr("building: "));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::signal(SIGINT, SIG_DFL);
}

TEST(Run, QuietTellsNothingButMistakes) {
  std::ostringstream out, err;
  const std::string trace = testing::TempDir() + "quiet.json";
  EXPECT_EQ(tools::Run({"run", "seed27_example", "--trace", trace, "--progress", "--quiet"}, out, err),
            kExitDone);
  EXPECT_EQ(err.str(), "");
}

TEST(InterruptDeathTest, ASecondCtrlCEndsTheProgramAtOnce) {
  const auto twice = [] {
    HandleInterrupts();
    const InterruptWatch watch;
    std::raise(SIGINT);
    if (!watch.interrupted()) std::_Exit(1);
    std::raise(SIGINT);
    std::_Exit(2);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(kExitInterrupted), "");
}

TEST(InterruptDeathTest, WithoutAWatchTheFirstOneDoes) {
  const auto once = [] {
    HandleInterrupts();
    { const InterruptWatch watch; }
    std::raise(SIGINT);
    std::_Exit(2);
  };
  EXPECT_EXIT(once(), testing::ExitedWithCode(kExitInterrupted), "");
}

}  // namespace
}  // namespace tools
