// The real program, ended by kill -9 at times that a seed chooses, and started again with the same words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "scenarios/sweep/journal.h"
#include "sim/base/random.h"

namespace tools {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> WordsFor(const std::string& output, bool best) {
  std::vector<std::string> words = {ORRERY_PROGRAM,
                                    "sweep",
                                    "llama_70b_64xh800_pp4",
                                    "--quiet",
                                    "--jobs",
                                    "2",
                                    "--set",
                                    "model.layers=16",
                                    "--over",
                                    "batch.micro=1,2,4,3",
                                    "--over",
                                    "training.recompute=NONE,FULL",
                                    "--over",
                                    "batch.global=64,128,192",
                                    "--output",
                                    output};
  if (best) words.insert(words.end(), {"--best", "step_time"});
  return words;
}

// The program at work, its output nowhere.
pid_t Start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(99);
    execv(arguments[0], arguments.data());
    _exit(99);
  }
  return child;
}

int WaitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string TextOfFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// How many rows a journal has; each point at most once.
std::size_t RowsOf(const std::string& journal) {
  const auto contents = scenarios::ReadJournal(journal);
  if (!contents.ok()) return 0;
  std::set<std::size_t> points;
  for (const auto& [point, row] : contents.value().rows) {
    EXPECT_TRUE(points.insert(point).second) << "point " << point << " was played twice";
  }
  return points.size();
}

void Kill(std::size_t times, const std::string& name, bool best) {
  const std::string folder = testing::TempDir() + "/sweep_kill_" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string whole = folder + "/whole.csv", file = folder + "/rows.csv";
  const Clock::time_point began = Clock::now();
  ASSERT_EQ(WaitFor(Start(WordsFor(whole, best))), 0);
  const auto all = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began);
  const std::string wanted = TextOfFile(whole);
  ASSERT_GT(wanted.size(), 1000u);

  sim::Random random(26, name);
  std::size_t most_rows = 0, kills = 0;
  while (kills < times) {
    const pid_t child = Start(WordsFor(file, best));
    std::this_thread::sleep_for(all * random.Between(5, 70) / 100);
    kill(child, SIGKILL);
    const int status = WaitFor(child);
    const std::size_t rows = RowsOf(file + ".journal");
    EXPECT_TRUE(status == -SIGKILL || status == 0) << status;
    if (status == -SIGKILL) ++kills;
    most_rows = std::max(most_rows, rows);
    if (!std::filesystem::exists(file)) continue;
    ASSERT_EQ(TextOfFile(file), wanted);  // it came to its end in pieces, or was killed behind it
    std::filesystem::remove(file);
    std::filesystem::remove(file + ".journal");
  }
  EXPECT_GT(most_rows, 3u);  // kills hit sweeps that had rows already
  ASSERT_EQ(WaitFor(Start(WordsFor(file, best))), 0);
  EXPECT_EQ(TextOfFile(file), wanted);
  EXPECT_FALSE(std::filesystem::exists(file + ".journal"));
}

TEST(SweepKill, TwentyTimesLosesNothingAndGivesTheSameFile) { Kill(20, "all", false); }
TEST(SweepKill, GivesTheSameFileAlsoOfTheBest) { Kill(5, "best", true); }

}  // namespace
}  // namespace tools
