// The table of "Zero bubble pipeline parallelism" against what the program gives, and
// the table in docs/validation.md against both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "scenarios/loader.h"
#include "scenarios/run.h"

namespace scenarios {
namespace {

// Source: Qi et al., ICLR 2024, table 4: samples per second and device, 8 A100.
struct Row {
  const char* scenario;
  std::int64_t sequences, microbatches;  // of a micro-batch; of a step
  const char *schedule, *chunks;         // one layer a chunk where it is interleaved
  double published;
};
constexpr Row kRows[] = {
    {"zero_bubble_1_5b_8xa100", 6, 24, "ONE_F_ONE_B", "1", 11.8},
    {"zero_bubble_1_5b_8xa100", 6, 24, "INTERLEAVED", "3", 13.1},
    {"zero_bubble_1_5b_8xa100", 6, 32, "ONE_F_ONE_B", "1", 12.5},
    {"zero_bubble_1_5b_8xa100", 6, 32, "INTERLEAVED", "3", 13.4},
    {"zero_bubble_1_5b_8xa100", 6, 64, "ONE_F_ONE_B", "1", 13.6},
    {"zero_bubble_1_5b_8xa100", 6, 64, "INTERLEAVED", "3", 13.9},
    {"zero_bubble_6_2b_8xa100", 3, 24, "ONE_F_ONE_B", "1", 3.5},
    {"zero_bubble_6_2b_8xa100", 3, 24, "INTERLEAVED", "4", 4.01},
    {"zero_bubble_6_2b_8xa100", 3, 32, "ONE_F_ONE_B", "1", 3.7},
    {"zero_bubble_6_2b_8xa100", 3, 32, "INTERLEAVED", "4", 4.08},
    {"zero_bubble_6_2b_8xa100", 3, 64, "ONE_F_ONE_B", "1", 4.03},
    {"zero_bubble_6_2b_8xa100", 3, 64, "INTERLEAVED", "4", 4.19},
};

// Samples per second and device.
double Throughput(const Row& row, const std::vector<proto::Override>& more = {}) {
  const std::int64_t samples = row.sequences * row.microbatches;
  std::vector<proto::Override> sets = {{1, "pipeline.schedule", row.schedule},
                                       {2, "layout.virtual", row.chunks},
                                       {3, "batch.global", std::to_string(samples)}};
  sets.insert(sets.end(), more.begin(), more.end());
  proto::Diagnostics diagnostics;
  const auto scenario = LoadScenario(row.scenario, sets, &diagnostics);
  EXPECT_THAT(diagnostics.errors(), testing::IsEmpty());
  const double seconds = scenarios::Run(scenario.value()).value().report.step_time.seconds();
  return static_cast<double>(samples) / 8 / seconds;
}

std::string TableLine(const Row& row, double simulated) {
  char line[200];
  std::snprintf(line, sizeof line, "| `%s` | %lld | %s | %.4g | %.4g | %+.1f %% |", row.scenario,
                static_cast<long long>(row.microbatches), row.schedule, row.published, simulated,
                100 * (row.published / simulated - 1));  // of the step time
  return line;
}

// Six groups of two: interleaving wins in each, by less the more micro-batches there are.
TEST(ZeroBubbleTable, TheRankingInEveryGroupIsThePublishedOneAndTheDocumentationSaysHow) {
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/validation.md");
  std::stringstream text;
  text << file.rdbuf();
  for (std::size_t i = 0; i < std::size(kRows); i += 2) {
    double simulated[2] = {};
    for (const std::size_t j : {0u, 1u}) {
      const Row& row = kRows[i + j];
      simulated[j] = Throughput(row);
      EXPECT_NE(text.str().find(TableLine(row, simulated[j])), std::string::npos)
          << "docs/validation.md lacks\n"
          << TableLine(row, simulated[j]);
    }
    EXPECT_EQ(simulated[0] < simulated[1], kRows[i].published < kRows[i + 1].published)
        << kRows[i].scenario << ' ' << kRows[i].microbatches;
  }
}

// Qi et al., section 5.2: ZB-2p is ahead of every other method in every setting, with an optimizer
// that waits for no other stage. Where stages meet at the end of a step it is not.
TEST(ZeroBubbleTable, ZbH2IsAheadWhereNoStageWaitsForTheOthers) {
  const auto throughput = [](const char* schedule, const char* chunks, const char* meet) {
    return Throughput({"zero_bubble_6_2b_8xa100", 3, 24, schedule, chunks, 0},
                      {{4, "training.gradient_norm", meet}, {5, "model.tied_embedding", meet}});
  };
  EXPECT_LT(throughput("ONE_F_ONE_B", "1", "false"), throughput("ZB1P", "1", "false"));
  EXPECT_LT(throughput("ZB1P", "1", "false"), throughput("ZB2P", "1", "false"));
  EXPECT_LT(throughput("INTERLEAVED", "4", "false"), throughput("ZB2P", "1", "false"));
  EXPECT_GT(throughput("INTERLEAVED", "4", "true"), throughput("ZB2P", "1", "true"));
}

}  // namespace
}  // namespace scenarios
