// Laws fitted to published scaling curves, and docs/scaling.md with its pictures to what comes of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/output/scale_svg.h"
#include "scenarios/scale/scale_report.h"
#include "tests/pages/page.h"

namespace scenarios {
namespace {

std::string Contents(const std::string& name) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/tests/scaling/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<CurveReport> Fitted(const std::string& name, const std::vector<std::int64_t>& extrapolate) {
  proto::Diagnostics diagnostics;
  std::vector<CurveReport> reports;
  for (Curve& curve : ReadCurves(name, Contents(name), Scaling::kWeak, &diagnostics)) {
    reports.push_back(ReportOn(std::move(curve), extrapolate));
  }
  EXPECT_TRUE(diagnostics.ok()) << testing::PrintToString(diagnostics.errors());
  return reports;
}

std::string Points(double part) { return pages::Number(100 * part, 1); }

// MFU at the smallest size, and points of it for ten times the devices.
std::string LossTable(const std::vector<CurveReport>& reports) {
  std::string table = pages::TableHead(
      {"curve", "devices", "MFU, smallest", "points a decade", "95 % interval", "spread", "furthest off"});
  for (const CurveReport& report : reports) {
    const Fit& fit = *report.FitOf(Law::kPerDecade);
    const Parameter& loss = fit.parameters[1];
    const double worst = *std::max_element(fit.residuals.begin(), fit.residuals.end(),
                                           [](double a, double b) { return std::abs(a) < std::abs(b); });
    table += pages::TableLine({report.curve.name,
                               std::to_string(fit.fewest) + " to " + std::to_string(fit.most) + ", " +
                                   std::to_string(fit.points) + " points",
                               pages::Percent(fit.parameters[0].value), Points(loss.value),
                               Points(loss.low) + " to " + Points(loss.high), pages::Percent(fit.spread),
                               pages::Percent(worst)});
  }
  return table;
}

struct Verdicts {
  int in_rule = 0;     // the fitted loss is 2 to 5 points a decade
  int less = 0;        // it is less, or a gain
  int below_zero = 0;  // the whole interval is a loss
  int well_known = 0;  // the interval is at most ten points wide
};

Verdicts Judge(const std::vector<CurveReport>& reports) {
  Verdicts verdicts;
  for (const CurveReport& report : reports) {
    const Parameter& loss = report.FitOf(Law::kPerDecade)->parameters[1];
    verdicts.in_rule += loss.value <= -0.02 && loss.value >= -0.05;
    verdicts.less += loss.value > -0.02;
    verdicts.below_zero += loss.high < 0;
    verdicts.well_known += loss.high - loss.low <= 0.1;
  }
  return verdicts;
}

std::string LawsTable(const CurveReport& report) {
  std::string table = pages::TableHead({"law", "parameters, with 95 % intervals", "spread"});
  for (const LawFit& one : report.fits) {
    if (!one.fit.ok()) {
      table += pages::TableLine({ToText(one.law), "not fitted: " + one.fit.error().message, ""});
      continue;
    }
    std::string parameters;
    for (const Parameter& p : one.fit.value().parameters) {
      const int decimals = p.name == "one_device" || p.unit == "MFU" ? 3 : 5;
      parameters += (parameters.empty() ? "" : "; ") + p.name + ' ' + pages::Number(p.value, decimals) +
                    " (" + pages::Number(p.low, decimals) + " to " + pages::Number(p.high, decimals) + ')';
    }
    table += pages::TableLine({ToText(one.law), parameters, pages::Percent(one.fit.value().spread, 2)});
  }
  return table;
}

std::string Fenced(const std::string& language, const std::string& text) {
  return "```" + language + '\n' + text + "```\n";
}

std::string Introduction() {
  return "# Scaling curves\n\n" +
         pages::Wrapped(
             "Made by `tests/scaling`. `orrery scale` plays a job on more and more devices, or takes "
             "measured points, "
             "fits laws to the curve, and holds it to one that was agreed on. Strong scaling keeps the batch "
             "of a "
             "step, weak scaling that of a device; tensor, pipeline, context and expert groups stay as the "
             "scenario "
             "has them (`--layouts fixed`), or are chosen anew at each size (`--layouts best`: all that fit, "
             "played "
             "in the order of their lower bounds until none can beat the best).") +
         "\n\n" +
         Fenced("",
                "orrery scale llama_70b_64xh800_b --devices 64,128,256,512 --weak --extrapolate 4096\n"
                "orrery scale llama_70b_64xh800_b --devices 64,128,256 --layouts best --csv\n"
                "orrery scale --points tests/scaling/mosaicml.csv --weak --svg curves.svg\n") +
         "\n## Laws\n\n" +
         "With X(N) the work that N devices do in a second and T(N) the time of a step:\n\n"
         "| law | formula | parameters |\n|---|---|---|\n"
         "| amdahl | X = X1 / (s + (1-s)/N) | serial_share s, 0 to 1 |\n"
         "| gustafson | X = X1 (s + (1-s) N) | serial_share s, 0 to 1 |\n"
         "| universal | X = X1 N / (1 + c (N-1) + k N (N-1)) | contention c, 0 to 1; coherency k, from 0 |\n"
         "| terms | T = alpha + beta/N + gamma log2 N + delta N | none below 0 |\n"
         "| per_decade | X/N = u + d log10(N / smallest N) | MFU at the smallest N, and what ten times N add "
         "to it "
         "|\n\n" +
         pages::Wrapped(
             "Errors are taken to be relative, independent, normal in the logarithm and of one size, "
             "`spread`; so a "
             "time and its inverse give the same fit, and all laws can be compared. Intervals are Student's "
             "t at 95 %; "
             "of 1,000 curves with noise they hold the truth in 930 to 970 (`tests/scenarios/scale`). The "
             "preferred "
             "law has the smallest AICc, which needs three points more than a law has parameters. "
             "Predictions come "
             "with the interval of a new point, and a warning beyond the points. A simulated curve has no "
             "noise: there "
             "the intervals are of what a law leaves untold. A parameter at its bound keeps the interval "
             "that it would "
             "have inside.") +
         "\n\n";
}

std::string Published(const std::vector<CurveReport>& mosaic, const std::vector<CurveReport>& h100) {
  const Verdicts verdicts = Judge(mosaic);
  const std::string all = std::to_string(mosaic.size());
  std::string page =
      "## MosaicML's tables\n\n" +
      pages::Wrapped(
          "MPT models by FSDP at sequences of 2,048 tokens (mosaicml/llm-foundry, "
          "scripts/train/benchmarking/README.md at 8c8dd48f7), all curves of three sizes or more among "
          "the rows at hand; MFU of 989.4 and 312 TFLOP/s with attention counted in full. The batch of a "
          "device differs along some of them: on 8 devices, where each holds more of the state, "
          "micro-batches are smaller (30b and 13b), which makes the smallest size slow.") +
      "\n\n" + LossTable(mosaic) + '\n';
  page += pages::Wrapped(
              "The textbook's rule 9 has MFU fall by 2 to 5 points a decade. Of these " + all + " curves " +
              std::to_string(verdicts.in_rule) + " do so by their fit, " + std::to_string(verdicts.less) +
              " lose less or gain; in " + std::to_string(verdicts.below_zero) +
              " the whole interval is a loss, and in " + std::to_string(verdicts.well_known) +
              " it is at most ten points wide: three or four sizes within one decade say little of the next. "
              "1b on A100 has a row that is a fifth too slow on 32 devices, which no law explains.") +
          "\n\n![MosaicML's curves](scaling_mosaicml.svg)\n\n";
  page += "### MPT-13b on H100\n\n" +
          pages::Wrapped(
              "The one whose batch of a device is the same at all sizes. Every law says that nothing is lost "
              "up to 64 devices, and none can be told from another by four points.") +
          "\n\n" + LawsTable(mosaic[1]) + '\n';
  page += "## Megatron-LM's weak scaling on H100\n\n" +
          pages::Wrapped(
              "The three rows at hand of Megatron-LM's README (images/model_table.png at f2e5db402c, "
              "Megatron-Core 0.8): "
              "1.7, 7.1 and 16 billion parameters on 48, 96 and 192 devices. The model grows with the "
              "devices, and wider "
              "products are faster: MFU rises. So this is no curve of one job, and the rule is not spoken "
              "to. Its "
              "points are few enough that the 95 % interval of a prediction for 1,024 devices ends above a "
              "whole:") +
          "\n\n" + LossTable(h100);
  for (const Extrapolated& one : h100[0].extrapolated) {
    if (one.law != Law::kPerDecade) continue;
    const Prediction& p = one.prediction.value();
    page += "\nOn " + pages::Count(one.devices) + " devices by per_decade: " + pages::Percent(p.value) +
            ", " + pages::Percent(p.low) + " to " + pages::Percent(p.high) + ".\n";
  }
  return page + "\n![Megatron-LM's rows](scaling_h100.svg)\n\n";
}

std::string Guarding() {
  std::string page =
      "## Holding a curve\n\n" +
      pages::Wrapped(
          "`--baseline FILE --update` writes the points, their causes (the breakdown of the step), the "
          "laws, and every field and figure that the points lean on, a line each. `--baseline FILE` "
          "compares: simulated points have to be the same to the picosecond, or within `--tolerance`; "
          "measured ones may differ by what two points of the curve differ by chance (the spread of its "
          "law, times the square root of two, at 95 %). Where something moved, the status is 1, and the "
          "report names the points, by how much, the parts of the step that grew, the parameters beyond "
          "their intervals, and the inputs that changed. Pin the version of Orrery: where no input "
          "changed, it is Orrery that did.") +
      "\n\n" +
      Fenced("",
             "Baseline jobs/my_job.curve.json: does not hold: 2 of 3 points and 0 parameters moved\n"
             "  point on 16 devices: ...; data +...\n"
             "  point on 32 devices: ...; data +...\n"
             "Changed inputs\n"
             "  hardware.node.nic.latency_ns: 600 -> 600000\n");
  page += "\nA shell script, for any CI (`tests/scaling/guard_check.sh` runs this one):\n\n" +
          Fenced("sh", Contents("guard.sh")) + "\nGitHub Actions, with that script as `jobs/guard.sh`:\n\n" +
          Fenced("yaml", Contents("guard.yml"));
  return page;
}

void ExpectKept(const std::string& name, const std::string& text) {
  if (text == pages::Kept(name)) return;
  ADD_FAILURE() << "docs/" << name << " is not up to date; the new one is " << pages::WriteNew(name, text);
}

TEST(ScalingPage, IsWhatTheLawsSayOfPublishedCurves) {
  const auto mosaic = Fitted("mosaicml.csv", {});
  const auto h100 = Fitted("h100_weak_scaling.csv", {1024});
  ASSERT_EQ(mosaic.size(), 12u);
  ASSERT_EQ(h100.size(), 1u);
  ExpectKept("scaling_mosaicml.svg", ScaleSvg(mosaic, "MosaicML, MPT by FSDP"));
  ExpectKept("scaling_h100.svg", ScaleSvg(h100, "Megatron-LM README, weak scaling"));
  ExpectKept("scaling.md", Introduction() + Published(mosaic, h100) + Guarding());
}

// What the page's sentences say of the curves.
TEST(ScalingPage, SaysOfTheCurvesWhatTheyShow) {
  const auto mosaic = Fitted("mosaicml.csv", {});
  ASSERT_EQ(mosaic[1].curve.name, "MPT-13b on H100");
  for (const LawFit& one : mosaic[1].fits) {
    if (!one.fit.ok()) continue;
    EXPECT_LT(one.fit.value().spread, 0.01);
  }
  for (const CurvePoint& point : mosaic[1].curve.points) {
    EXPECT_NEAR(EfficiencyAt(mosaic[1].curve, point), 1, 0.01);
  }
  for (const CurveReport& report : mosaic) {
    EXPECT_EQ(report.preferred, std::nullopt);  // too few points
    if (report.curve.name != "MPT-1b on A100-40GB") continue;
    EXPECT_LT(EfficiencyAt(report.curve, report.curve.points[2]), 0.82);
  }
  const auto h100 = Fitted("h100_weak_scaling.csv", {1024});
  EXPECT_GT(h100[0].FitOf(Law::kPerDecade)->parameters[1].value, 0);
  for (const Extrapolated& one : h100[0].extrapolated) {
    EXPECT_TRUE(one.prediction.value().outside);
    if (one.law != Law::kPerDecade) continue;
    EXPECT_GT(one.prediction.value().high, 1);
  }
}

}  // namespace
}  // namespace scenarios
