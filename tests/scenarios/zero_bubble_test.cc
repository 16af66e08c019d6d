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

double StepSeconds(const Row& row, const char* schedule, const char* chunks) {
  proto::Diagnostics diagnostics;
  const auto scenario = LoadScenario(row.scenario,
                                     {{1, "pipeline.schedule", schedule},
                                      {2, "layout.virtual", chunks},
                                      {3, "batch.global", std::to_string(row.sequences * row.microbatches)}},
                                     &diagnostics);
  EXPECT_THAT(diagnostics.errors(), testing::IsEmpty());
  return scenarios::Run(scenario.value()).value().report.step_time.seconds();
}

double SamplesPerSecond(const Row& row, const char* schedule, const char* chunks) {
  return static_cast<double>(row.sequences * row.microbatches) / 8 / StepSeconds(row, schedule, chunks);
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
      simulated[j] = SamplesPerSecond(row, row.schedule, row.chunks);
      EXPECT_NE(text.str().find(TableLine(row, simulated[j])), std::string::npos)
          << "docs/validation.md lacks\n"
          << TableLine(row, simulated[j]);
    }
    EXPECT_EQ(simulated[0] < simulated[1], kRows[i].published < kRows[i + 1].published)
        << kRows[i].scenario << ' ' << kRows[i].microbatches;
  }
}

}  // namespace
}  // namespace scenarios
