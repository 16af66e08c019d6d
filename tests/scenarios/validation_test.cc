// Published step times against simulated ones, and the table in
// docs/validation.md against both.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/run.h"

namespace scenarios {
namespace {

struct Row {
  std::string name;
  double published = 0, simulated = 0;
  bool experts = false;
  double error() const { return simulated / published - 1; }
};

// Every scenario of the catalogue that states a published result.
std::vector<Row> PublishedRows() {
  std::vector<Row> rows;
  for (const proto::CatalogueFile& file : Catalogue()) {
    proto::Diagnostics diagnostics;
    const auto scenario = LoadScenario(std::string(file.name), {}, &diagnostics);
    EXPECT_TRUE(scenario.has_value()) << file.name;
    if (!scenario || !scenario->published) continue;
    const RunResult result = scenarios::Run(*scenario).value();
    EXPECT_TRUE(result.report.steady) << file.name;
    rows.push_back({std::string(file.name), scenario->published->step_time_s,
                    result.report.step_time.seconds(), scenario->model.experts.routed > 0});
  }
  return rows;
}

std::string TableLine(const Row& row) {
  char line[200];
  std::snprintf(line, sizeof line, "| `%s` | %.4g | %.4g | %+.1f %% |", row.name.c_str(), row.published,
                row.simulated, 100 * row.error());
  return line;
}

// Rows with experts are far off so far, for reasons that docs/validation.md gives: each is held
// to where it is, so that it does not get worse unseen.
TEST(Validation, PublishedStepTimesOfDenseModelsAreMetWithin25PerCentAnd12OnAverage) {
  double sum = 0;
  int dense = 0, experts = 0;
  for (const Row& row : PublishedRows()) {
    EXPECT_LT(std::abs(row.error()), row.experts ? 0.4 : 0.25) << TableLine(row);
    ++(row.experts ? experts : dense);
    if (!row.experts) sum += std::abs(row.error());
  }
  EXPECT_EQ(dense, 10);
  EXPECT_EQ(experts, 4);
  EXPECT_LT(sum / dense, 0.12);
}

// Results move when the models do; then the table moves in the same change.
TEST(Validation, TheTableInTheDocumentationIsWhatTheProgramGives) {
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/validation.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Row& row : PublishedRows()) {
    EXPECT_NE(text.str().find(TableLine(row)), std::string::npos) << "docs/validation.md lacks\n"
                                                                  << TableLine(row);
  }
}

// Forward and backward of one layer: what a 48th layer adds to a step, less its
// part of the optimizer. Published, in ms: Korthikanti et al. 2022, table 4.
TEST(Validation, OneLayerOfMegatron22BIsMetWithin5PerCent) {
  struct Case {
    const char *recompute, *sequence;
    double published_ms;
  };
  for (const Case& c : {Case{"NONE", "false", 7.7 + 11.9},
                        {"NONE", "true", 7.2 + 11.8},
                        {"FULL", "false", 7.7 + 19.5},
                        {"SELECTIVE", "false", 7.7 + 13.2},
                        {"SELECTIVE", "true", 7.2 + 13.1}}) {
    double ms[2] = {};
    for (const int layers : {47, 48}) {
      proto::Diagnostics diagnostics;
      const auto scenario = LoadScenario("megatron_22b_8xa100_full",
                                         {{1, "training.recompute", c.recompute},
                                          {2, "layout.sequence", c.sequence},
                                          {3, "model.layers", std::to_string(layers)}},
                                         &diagnostics);
      const Report report = scenarios::Run(scenario.value()).value().report;
      sim::Duration optimizer;
      for (const TimePart& part : report.breakdown)
        optimizer += part.name == "optimizer" ? part.time : sim::Duration();
      ms[layers - 47] = 1e3 * (report.step_time - optimizer).seconds();
    }
    EXPECT_NEAR((ms[1] - ms[0]) / c.published_ms, 1, 0.05) << c.recompute << " sequence " << c.sequence;
  }
}

}  // namespace
}  // namespace scenarios
