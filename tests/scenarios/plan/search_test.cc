// The best of all layouts.

#include "scenarios/plan/search.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "scenarios/run.h"
#include "tests/scenarios/plan/small_jobs.h"

namespace scenarios {
namespace {

const SearchOptions kAll = {.plays = 10'000, .slice = 1'000'000};  // every play is of the whole job

// Every layout that fits played, and the best taken, against the search, which plays some of them only.
TEST(Search, FindsTheBestOfAllLayouts) {
  for (const char* model : {"llama_7b", "mixtral_8x7b"}) {
    const PlanJob job = JobOf(model, 4, 16);
    const LayoutLimits limits{.micro = 1, .recompute = Recompute::kNone};
    const SearchResult found = BestLayouts(job, limits, 16, 16, kAll);
    double best = std::numeric_limits<double>::infinity();
    for (const Candidate& c : found.candidates) {
      const auto run = scenarios::Run(ScenarioOf(job, c.layout, c.shape).value());
      best = std::min(best, DeviceSecondsOfToken(c, job, run.value().report.step_time.seconds()));
    }
    const Played& first = found.played.front();
    EXPECT_EQ(DeviceSecondsOfToken(first.candidate, job, first.step_s()), best) << model;
    EXPECT_LT(found.played.size(), found.candidates.size()) << model;
    EXPECT_GT(found.ruled_out, 0) << model;
  }
}

TEST(Search, CountsEveryLayoutOnce) {
  const PlanJob job = JobOf("llama_7b", 8, 64);
  for (const std::int64_t plays : {std::int64_t{3}, kAll.plays}) {
    SearchOptions options = kAll;
    options.plays = plays;
    const SearchResult r = BestLayouts(job, {}, 16, 16, options);
    const std::int64_t dropped = std::accumulate(r.dropped.begin(), r.dropped.end(), std::int64_t{0},
                                                 [](auto n, const auto& d) { return n + d.second; });
    EXPECT_EQ(r.enumerated, dropped + r.fit);
    EXPECT_EQ(r.fit, static_cast<std::int64_t>(r.candidates.size()));
    EXPECT_EQ(r.fit, static_cast<std::int64_t>(r.played.size()) + r.ruled_out + r.left + r.not_playable);
    EXPECT_LE(static_cast<std::int64_t>(r.played.size()), plays);
  }
}

// The first by hand is the one with the fewest device-seconds a token; the first of those played likewise.
TEST(Search, OrdersByDeviceSecondsOfAToken) {
  const PlanJob job = JobOf("llama_7b", 8, 64);
  const SearchResult r = BestLayouts(job, {}, 16, 16, kAll);
  for (std::size_t i = 1; i < r.candidates.size(); ++i) {
    EXPECT_LE(DeviceSecondsOfToken(r.candidates[i - 1], job, r.candidates[i - 1].hand.step_s()),
              DeviceSecondsOfToken(r.candidates[i], job, r.candidates[i].hand.step_s()));
  }
  for (std::size_t i = 1; i < r.played.size(); ++i) {
    EXPECT_LE(DeviceSecondsOfToken(r.played[i - 1].candidate, job, r.played[i - 1].step_s()),
              DeviceSecondsOfToken(r.played[i].candidate, job, r.played[i].step_s()));
  }
}

// Threads play side by side; what is found does not depend on which is done first.
TEST(Search, FindsTheSameEveryTime) {
  const PlanJob job = JobOf("llama_7b", 8, 64);
  const SearchResult a = BestLayouts(job, {}, 16, 16, {.plays = 9, .slice = 8});
  const SearchResult b = BestLayouts(job, {}, 16, 16, {.plays = 9, .slice = 8});
  ASSERT_EQ(a.played.size(), b.played.size());
  for (std::size_t i = 0; i < a.played.size(); ++i) {
    EXPECT_EQ(a.played[i].candidate.layout, b.played[i].candidate.layout);
    EXPECT_EQ(a.played[i].report.digest, b.played[i].report.digest);
  }
}

// 64 devices in slices of 16; the best one is played whole in the end, unless that is too much.
TEST(Search, PlaysTheBestWhole) {
  const PlanJob job = JobOf("llama_7b", 4, 256);
  const SearchResult slices = BestLayouts(job, {}, 64, 64, {.plays = 4, .whole = 0, .slice = 16});
  EXPECT_LE(slices.played.front().devices, 32);
  const SearchResult whole = BestLayouts(job, {}, 64, 64, {.plays = 4, .whole = 4, .slice = 16});
  EXPECT_TRUE(whole.played.front().whole());
  EXPECT_EQ(whole.played.front().devices, 64);
  const SearchResult much = BestLayouts(job, {}, 64, 64, {.plays = 4, .slice = 16, .whole_tasks = 100});
  EXPECT_FALSE(much.played.front().whole());
}

// A slice has the micro-batches of the whole job, and waits for its data ranks nearly as long.
TEST(Search, SlicesTakeAboutAsLongAsTheWhole) {
  const PlanJob job = JobOf("llama_7b", 8, 512);
  const LayoutLimits limits{
      .tensor = 2, .pipeline = 4, .virtual_stages = 1, .micro = 1, .recompute = Recompute::kNone};
  const SearchResult slice = BestLayouts(job, limits, 128, 128, {.whole = 0, .slice = 32});
  const SearchResult whole = BestLayouts(job, limits, 128, 128, {.slice = 128});
  EXPECT_LT(slice.played.front().devices, 128);
  EXPECT_NEAR(slice.played.front().step_s() / whole.played.front().step_s(), 1, 0.03);
}

// LLaMA-2-70B on one device, and what comes nearest.
TEST(Search, SaysWhatNearlyFits) {
  const SearchResult r = BestLayouts(JobOf("llama2_70b", 8, 64), {.tensor = 1, .pipeline = 1}, 1, 1, kAll);
  EXPECT_EQ(r.fit, 0);
  EXPECT_TRUE(r.played.empty());
  ASSERT_TRUE(r.nearest_miss.has_value());
  EXPECT_GT(r.nearest_miss->memory, DeviceOf("h800_sxm").usable_memory);
}

// The roughly shortest come first; the rest is counted.
TEST(Search, LooksUntilEnoughFit) {
  SearchOptions options = kAll;
  options.looks = 10;
  const SearchResult r = BestLayouts(JobOf("llama_7b", 8, 64), {}, 16, 16, options);
  EXPECT_GE(r.fit, 10);
  EXPECT_LE(r.fit, 10 + 64);
  EXPECT_GT(r.dropped.at("longer by a rough count"), 0);
}

TEST(Search, StopsWhenItIsTold) {
  const PlanJob job = JobOf("llama_7b", 8, 64);
  SearchOptions options = kAll;
  int asked = 0;
  options.go_on = [&](const char*, std::int64_t) { return ++asked < 2; };
  const SearchResult r = BestLayouts(job, {}, 16, 16, options);
  EXPECT_TRUE(r.stopped);
  EXPECT_TRUE(r.played.empty());
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace scenarios
