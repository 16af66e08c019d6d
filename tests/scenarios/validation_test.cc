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

struct PublishedRow {
  std::string name;
  double published = 0, simulated = 0;
  bool experts = false, context = false;
  double error() const { return simulated / published - 1; }
};

// Every scenario of the catalogue that states a published result, but for those of a
// table of its own (zero_bubble_test.cc).
std::vector<PublishedRow> PublishedRows() {
  std::vector<PublishedRow> rows;
  for (const proto::CatalogueFile& file : Catalogue()) {
    if (file.name.starts_with("zero_bubble_")) continue;
    proto::Diagnostics diagnostics;
    const auto scenario = LoadScenario(std::string(file.name), {}, &diagnostics);
    EXPECT_TRUE(scenario.has_value()) << file.name;
    if (!scenario || !scenario->published) continue;
    const RunResult result = scenarios::Run(*scenario).value();
    EXPECT_TRUE(result.report.steady) << file.name;
    rows.push_back({std::string(file.name), scenario->published->step_time_s,
                    result.report.step_time.seconds(), scenario->model.experts.routed > 0,
                    scenario->layout.context > 1});
  }
  return rows;
}

std::string TableLine(const PublishedRow& row) {
  char line[200];
  std::snprintf(line, sizeof line, "| `%s` | %.4g | %.4g | %+.1f %% |", row.name.c_str(), row.published,
                row.simulated, 100 * row.error());
  return line;
}

// No row is further off than `most`, nor all on average than `mean`.
void ExpectWithin(const std::vector<PublishedRow>& rows, double most, double mean) {
  double sum = 0;
  for (const PublishedRow& row : rows) {
    EXPECT_LT(std::abs(row.error()), most) << TableLine(row);
    sum += std::abs(row.error());
  }
  EXPECT_LT(sum / static_cast<double>(rows.size()), mean);
}

// Results move when the models do; then the table moves in the same change.
void ExpectInTheDocumentation(const std::vector<PublishedRow>& rows) {
  std::ifstream file(ORRERY_SOURCE_DIR "/docs/validation.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const PublishedRow& row : rows) {
    EXPECT_NE(text.str().find(TableLine(row)), std::string::npos) << "docs/validation.md lacks\n"
                                                                  << TableLine(row);
  }
}

// One test, because the rows take a sanitized build minutes.
TEST(Validation, PublishedStepTimesAreMetWithinTheirBoundsAndTheDocumentationSaysHow) {
  const std::vector<PublishedRow> rows = PublishedRows();
  ExpectInTheDocumentation(rows);
  std::vector<PublishedRow> megatron, fsdp, experts, context, fp8;
  for (const PublishedRow& row : rows) {
    (row.context                    ? context
     : row.experts                  ? experts
     : row.name.ends_with("_fp8")   ? fp8
     : row.name.starts_with("mpt_") ? fsdp
                                    : megatron)
        .push_back(row);
  }
  ASSERT_EQ(megatron.size(), 10u);
  ExpectWithin(megatron, 0.25, 0.12);
  // llm-foundry's, by FSDP: nothing was changed after they were first seen. These bounds and
  // those of models with experts say how far off they are, for reasons that docs/validation.md
  // gives, not how far off they may be: so that they do not get worse unseen.
  ASSERT_EQ(fsdp.size(), 5u);
  ExpectWithin(fsdp, 0.37, 0.25);
  ASSERT_EQ(context.size(), 1u);
  ExpectWithin(context, 0.2, 0.2);
  ASSERT_EQ(fp8.size(), 1u);
  ExpectWithin(fp8, 0.1, 0.1);
  ASSERT_EQ(experts.size(), 4u);
  ExpectWithin(experts, 0.4, 0.4);
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
