#include "scenarios/output/scale_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

template <class... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 240> line;
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

std::string Share(double part) { return Format("%.1f %%", 100 * part); }
std::string Change(double part) { return Format("%+.2f %%", 100 * part); }

// "12.34 ms" for times, "41.3 %" for MFU, tokens in a second with separators.
std::string ValueText(Quantity quantity, double value) {
  if (quantity == Quantity::kStepTime) return SecondsText(value);
  if (quantity == Quantity::kMfu) return Format("%.2f %%", 100 * value);
  return value < 9e15 ? CountText(std::llround(value)) : Format("%.4g", value);
}

std::string RowsText(const ScaleReport& report) {
  std::string text = Format("%8s %8s %11s %12s %7s %7s %8s %7s %10s  %s\n", "devices", "batch", "step",
                            "tokens/s", "MFU", "effic.", "exposed", "bubble", "USD/1e12t", "layout");
  for (const ScaleRow& row : report.rows) {
    text += Format("%8s %8s", CountText(row.devices).c_str(), CountText(row.batch).c_str());
    if (!row.simulated()) {
      text += "   " + row.refused + '\n';
      continue;
    }
    const auto usd = row.usd_per_trillion_tokens;
    text += Format(" %11s %12s %7s %7s %8s %7s %10s  ", TimeText(row.step_time).c_str(),
                   CountText(std::llround(row.tokens_per_s)).c_str(), Share(row.mfu).c_str(),
                   Share(row.efficiency).c_str(), Share(row.exposed).c_str(), Share(row.bubble).c_str(),
                   usd ? CountText(std::llround(*usd)).c_str() : "-");
    text += row.layout + (row.fits ? "\n" : "; does not fit\n");
  }
  return text;
}

std::string PointsText(const CurveReport& report) {
  const Curve& curve = report.curve;
  std::string text = Format("%8s %14s %7s\n", "devices", ToText(curve.quantity), "effic.");
  for (const CurvePoint& point : curve.points) {
    text += Format("%8s %14s %7s\n", CountText(point.devices).c_str(),
                   ValueText(curve.quantity, point.value).c_str(), Share(EfficiencyAt(curve, point)).c_str());
  }
  return text;
}

std::string ParameterText(const Parameter& p) {
  const std::string unit = p.unit.empty() ? "" : ' ' + p.unit;
  return Format("              %-13s %.5g%s, %.5g to %.5g%s\n", p.name.c_str(), p.value, unit.c_str(), p.low,
                p.high, p.at_bound ? "; at its bound" : "");
}

std::string FitText(const CurveReport& report, const Fit& fit) {
  std::string text = Format("  %-11s %s\n", ToText(fit.law), FormulaOf(fit.law));
  for (const Parameter& p : fit.parameters) text += ParameterText(p);
  std::size_t worst = 0;
  for (std::size_t i = 0; i < fit.residuals.size(); ++i) {
    if (std::abs(fit.residuals[i]) > std::abs(fit.residuals[worst])) worst = i;
  }
  text +=
      Format("              spread %.3g %%, R2 %s, %s, largest residual %s on %s devices\n", 100 * fit.spread,
             fit.r_squared ? Format("%.5f", *fit.r_squared).c_str() : "none (all alike)",
             fit.aicc ? Format("AICc %.2f", *fit.aicc).c_str() : fit.no_aicc.c_str(),
             Change(fit.residuals[worst]).c_str(), CountText(report.curve.points[worst].devices).c_str());
  return text;
}

std::string PreferredText(const CurveReport& report) {
  if (!report.preferred) return "  preferred by AICc: none; there are too few points to compare laws\n";
  std::string text = std::string("  preferred by AICc: ") + ToText(*report.preferred);
  const double best = *report.FitOf(*report.preferred)->aicc;
  for (const LawFit& one : report.fits) {
    if (one.law == *report.preferred || !one.fit.ok() || !one.fit.value().aicc) continue;
    text += Format(", %s %+.1f", ToText(one.law), *one.fit.value().aicc - best);
  }
  return text + '\n';
}

std::string ExtrapolatedText(const CurveReport& report) {
  std::string text;
  for (const Extrapolated& one : report.extrapolated) {
    text += Format("  on %s devices by %s: ", CountText(one.devices).c_str(), ToText(one.law));
    if (!one.prediction.ok()) {
      text += one.prediction.error().message + '\n';
      continue;
    }
    const Prediction& p = one.prediction.value();
    const Quantity quantity = report.curve.quantity;
    text += ValueText(quantity, p.value) + ", " + ValueText(quantity, p.low) + " to " +
            ValueText(quantity, p.high);
    if (p.outside) {
      const Fit* fit = report.FitOf(one.law);
      text += Format("; warning: outside the points' %s to %s", CountText(fit->fewest).c_str(),
                     CountText(fit->most).c_str());
    }
    text += '\n';
  }
  return text;
}

// What the intervals are; once a report.
const char* Intervals(const ScaleReport& report) {
  return report.layouts
             ? "95 % intervals take what a law leaves untold for noise; simulated points have none."
             : "95 % intervals by Student's t; errors are taken to be relative, independent and of one size.";
}

std::string CurveText(const CurveReport& report, bool measured) {
  std::string text = "\n";
  if (measured)
    text += (report.curve.name.empty() ? "" : report.curve.name + '\n') + PointsText(report) + '\n';
  text +=
      Format("Laws fitted to %zu points (%s)\n", report.curve.points.size(), ToText(report.curve.quantity));
  for (const LawFit& one : report.fits) {
    text += one.fit.ok()
                ? FitText(report, one.fit.value())
                : Format("  %-11s not fitted: %s\n", ToText(one.law), one.fit.error().message.c_str());
  }
  return text + PreferredText(report) + ExtrapolatedText(report);
}

std::string Number(double value) { return Format("%.9g", value); }

// A field of CSV: quoted where it has to be.
std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string MeasuredCsv(const ScaleReport& report) {
  std::string text = "name,devices,quantity,value,efficiency";
  for (const Law law : kLaws) text += std::string(",residual_") + ToText(law);
  text += '\n';
  for (const CurveReport& curve : report.curves) {
    for (std::size_t i = 0; i < curve.curve.points.size(); ++i) {
      const CurvePoint& point = curve.curve.points[i];
      text += CsvField(curve.curve.name) + ',' + std::to_string(point.devices) + ',' +
              ToText(curve.curve.quantity) + ',' + Number(point.value) + ',' +
              Number(EfficiencyAt(curve.curve, point));
      for (const Law law : kLaws) {
        const Fit* fit = curve.FitOf(law);
        text += ',' + (fit == nullptr ? "" : Number(fit->residuals[i]));
      }
      text += '\n';
    }
  }
  return text;
}

std::string CauseText(const PointChange& change) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(change.causes.size(), 3); ++i) {
    const auto& [name, seconds] = change.causes[i];
    text += (i == 0 ? "" : ", ") + name + (seconds < 0 ? " -" : " +") + SecondsText(std::abs(seconds));
  }
  return text;
}

std::string PointChangeText(const PointChange& change) {
  std::string text = Format("  %s on %s devices: ", change.curve.empty() ? "point" : change.curve.c_str(),
                            CountText(change.devices).c_str());
  if (change.before == 0) return text + "is not in the baseline\n";
  if (change.after == 0) return text + "is in the baseline alone\n";
  if (change.before == change.after) {
    text += Number(change.before) + " as before, by another timeline";
  } else {
    text += Number(change.before) + " -> " + Number(change.after) + ", " +
            Change(change.after / change.before - 1) +
            (change.moved ? "" : Format(", within %.2f %%", 100 * change.allowed));
  }
  if (!change.layout_before.empty())
    text += "; layout " + change.layout_before + " -> " + change.layout_after;
  if (const std::string causes = CauseText(change); !causes.empty()) text += "; " + causes;
  return text + '\n';
}

std::string InputChangeText(const InputChange& change) {
  const auto or_none = [](const std::string& value) { return value.empty() ? std::string("(none)") : value; };
  return "  " + change.key + ": " + or_none(change.before) + " -> " + or_none(change.after) + '\n';
}

}  // namespace

std::string ScaleText(const ScaleReport& report) {
  std::string text = report.subject + ": " + (report.about.empty() ? "" : report.about + ", ") +
                     ToText(report.scaling) + " scaling";
  if (report.layouts) {
    text += std::string(", layouts ") + ToText(*report.layouts) + '\n';
    text += '\n' + RowsText(report);
  } else {
    text += '\n';
  }
  for (const CurveReport& curve : report.curves) text += CurveText(curve, !report.layouts);
  if (report.curves.empty()) return text;
  return text + '\n' + Intervals(report) + '\n';
}

std::string ScaleCsv(const ScaleReport& report) {
  if (!report.layouts) return MeasuredCsv(report);
  std::string text =
      "devices,batch,layout,step_time_s,tokens_per_s,mfu,efficiency,exposed,bubble,"
      "usd_per_trillion_tokens,fits,digest,refused\n";
  for (const ScaleRow& row : report.rows) {
    text += std::to_string(row.devices) + ',' + std::to_string(row.batch) + ',';
    if (!row.simulated()) {
      text += std::string(10, ',') + CsvField(row.refused) + '\n';
      continue;
    }
    const auto usd = row.usd_per_trillion_tokens;
    text += CsvField(row.layout) +
            Format(",%.12g,%.12g,%.12g,%.12g,%.12g,%.12g,", row.step_time.seconds(), row.tokens_per_s,
                   row.mfu, row.efficiency, row.exposed, row.bubble) +
            (usd ? Number(*usd) : "") + (row.fits ? ",true," : ",false,") + row.digest + ",\n";
  }
  return text;
}

std::string ComparisonText(const BaselineComparison& comparison, const std::string& file) {
  const auto moved = [](const auto& change) { return change.moved; };
  const auto points = std::count_if(comparison.points.begin(), comparison.points.end(), moved);
  const auto parameters = std::count_if(comparison.parameters.begin(), comparison.parameters.end(), moved);
  std::string text = Format("\nBaseline %s: ", file.c_str());
  if (comparison.holds()) {
    text += Format("holds, %zu points\n", comparison.compared);
  } else {
    text += Format("does not hold: %td of %zu points and %td parameters moved\n", points, comparison.compared,
                   parameters);
  }
  for (const PointChange& change : comparison.points) text += PointChangeText(change);
  for (const ParameterChange& change : comparison.parameters) {
    if (!change.moved) continue;
    const std::string unit = change.unit.empty() ? "" : ' ' + change.unit;
    text += "  " + (change.curve.empty() ? "" : change.curve + ' ') + ToText(change.law) + ' ' + change.name +
            Format(": %.5g -> %.5g%s\n", change.before, change.after, unit.c_str());
  }
  if (comparison.measured || comparison.points.empty()) return text;
  if (comparison.inputs.empty()) {
    return text + "  no input changed: Orrery itself did, from " + comparison.version_before + " to " +
           comparison.version_after + '\n';
  }
  text += "Changed inputs\n";
  for (const InputChange& change : comparison.inputs) text += InputChangeText(change);
  return text;
}

}  // namespace scenarios
