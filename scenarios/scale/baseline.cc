#include "scenarios/scale/baseline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "scenarios/scale/log_fit.h"

namespace scenarios {
namespace {

// Fits come from sums whose last digits are a matter of the compiler.
constexpr double kLastDigits = 1e-6;

// Inputs that are the same at all points that have them.
std::vector<InputValue> Common(const std::vector<ScaleRow>& rows) {
  std::map<std::string, std::string> values;
  std::vector<std::string> differ;
  for (const ScaleRow& row : rows) {
    for (const InputValue& input : row.inputs) {
      const auto [at, is_new] = values.emplace(input.key, input.value);
      if (!is_new && at->second != input.value) differ.push_back(input.key);
    }
  }
  for (const std::string& key : differ) values.erase(key);
  std::vector<InputValue> common;
  for (const auto& [key, value] : values) common.push_back({key, value});
  return common;
}

void AddSimulated(const std::vector<ScaleRow>& rows, Baseline* baseline) {
  for (const ScaleRow& row : rows) {
    if (!row.simulated()) continue;
    baseline->points.push_back({.devices = row.devices,
                                .value = row.step_time.seconds(),
                                .step_ps = row.step_time.ps(),
                                .batch = row.batch,
                                .layout = row.layout,
                                .digest = row.digest,
                                .causes = {}});
    for (const TimePart& part : row.breakdown) {
      if (part.time > sim::Duration()) baseline->points.back().causes.push_back(part);
    }
  }
}

// By curve, devices and, of repeated measurements, which one.
using Key = std::pair<std::pair<std::string, std::int64_t>, int>;
std::map<Key, const BaselinePoint*> ByKey(const Baseline& baseline) {
  std::map<Key, const BaselinePoint*> points;
  for (const BaselinePoint& point : baseline.points) {
    Key key{{point.curve, point.devices}, 0};
    while (points.count(key) > 0) ++key.second;
    points[key] = &point;
  }
  return points;
}

// The part by which two measurements of a curve differ by chance: of its preferred law, else of the one that
// leaves least; nothing where no law was fitted.
double NoiseOf(const Baseline& baseline, const std::string& curve) {
  const BaselineFit* best = nullptr;
  for (const BaselineFit& fit : baseline.fits) {
    if (fit.curve != curve) continue;
    if (best == nullptr || (fit.preferred && !best->preferred) ||
        (fit.preferred == best->preferred && fit.spread < best->spread)) {
      best = &fit;
    }
  }
  if (best == nullptr) return 0;
  const double t = StudentQuantile((1 + kConfidence) / 2, best->degrees);
  return Exp(t * best->spread * std::sqrt(2)) - 1;
}

std::vector<std::pair<std::string, double>> CauseChanges(const BaselinePoint& before,
                                                         const BaselinePoint& after) {
  std::map<std::string, std::int64_t> change;
  for (const TimePart& part : before.causes) change[part.name] -= part.time.ps();
  for (const TimePart& part : after.causes) change[part.name] += part.time.ps();
  std::vector<std::pair<std::string, double>> causes;
  for (const auto& [name, ps] : change) {
    if (ps != 0) causes.emplace_back(name, sim::Duration::Picoseconds(ps).seconds());
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  return causes;
}

// Nothing where they are the same.
std::optional<PointChange> ChangeOf(const BaselinePoint* before, const BaselinePoint* after, double allowed,
                                    bool measured) {
  const BaselinePoint& one = before != nullptr ? *before : *after;
  PointChange change{.curve = one.curve, .devices = one.devices, .allowed = allowed};
  if (before != nullptr) change.before = before->value;
  if (after != nullptr) change.after = after->value;
  if (before == nullptr || after == nullptr) {
    change.moved = true;
    return change;
  }
  const bool same = measured ? before->value == after->value
                             : before->step_ps == after->step_ps && before->digest == after->digest &&
                                   before->layout == after->layout && before->batch == after->batch;
  if (same) return std::nullopt;
  // As large a step down as up.
  const double ratio = std::max(change.after / change.before, change.before / change.after);
  const bool equal = !measured && before->step_ps == after->step_ps;
  change.moved = !equal && ratio - 1 > allowed;
  if (before->layout != after->layout) {
    change.layout_before = before->layout;
    change.layout_after = after->layout;
  }
  change.causes = CauseChanges(*before, *after);
  return change;
}

const BaselineFit* Find(const Baseline& baseline, const BaselineFit& like) {
  for (const BaselineFit& fit : baseline.fits) {
    if (fit.curve == like.curve && fit.law == like.law) return &fit;
  }
  return nullptr;
}

// Parameters of the preferred laws, or where a curve has none of all that were fitted to it.
void CompareParameters(const Baseline& before, const Baseline& after, double tolerance,
                       std::vector<ParameterChange>* changes) {
  const auto has_preferred = [&](const std::string& curve) {
    return std::any_of(before.fits.begin(), before.fits.end(),
                       [&](const BaselineFit& fit) { return fit.curve == curve && fit.preferred; });
  };
  for (const BaselineFit& old_fit : before.fits) {
    const BaselineFit* fit = Find(after, old_fit);
    if (fit == nullptr || (!old_fit.preferred && has_preferred(old_fit.curve))) continue;
    for (const Parameter& was : old_fit.parameters) {
      for (const Parameter& is : fit->parameters) {
        if (is.name != was.name) continue;
        const double change = std::abs(is.value - was.value);
        const double size = std::max(std::abs(is.value), std::abs(was.value));
        if (change <= kLastDigits * size) continue;
        const double chance = std::sqrt(was.half() * was.half() + is.half() * is.half());
        const bool moved = change > std::max(chance, tolerance * std::abs(was.value));
        changes->push_back({old_fit.curve, old_fit.law, was.name, was.unit, was.value, is.value, moved});
      }
    }
  }
}

std::optional<sim::Error> Unlike(const Baseline& before, const Baseline& after) {
  const auto of = [](const Baseline& b) {
    return std::string(b.measured ? "measured points" : "simulated points") + " (" + ToText(b.quantity) +
           "), " + ToText(b.scaling) + " scaling" +
           (b.measured ? "" : std::string(", layouts ") + ToText(b.layouts));
  };
  if (of(before) == of(after)) return std::nullopt;
  return sim::Error{"it is of " + of(before) + "; this curve is of " + of(after)};
}

}  // namespace

bool BaselineComparison::holds() const {
  const auto moved = [](const auto& change) { return change.moved; };
  return std::none_of(points.begin(), points.end(), moved) &&
         std::none_of(parameters.begin(), parameters.end(), moved);
}

Baseline BaselineOf(const ScaleReport& report, const std::string& version) {
  Baseline baseline{.subject = report.subject,
                    .version = version,
                    .measured = !report.layouts.has_value(),
                    .scaling = report.scaling,
                    .layouts = report.layouts.value_or(LayoutRule::kFixed)};
  AddSimulated(report.rows, &baseline);
  for (const CurveReport& curve : report.curves) {
    baseline.quantity = curve.curve.quantity;
    if (baseline.measured) {
      for (const CurvePoint& point : curve.curve.points) {
        baseline.points.push_back(
            {.curve = curve.curve.name, .devices = point.devices, .value = point.value});
      }
    }
    for (const LawFit& one : curve.fits) {
      if (!one.fit.ok()) continue;
      const Fit& fit = one.fit.value();
      baseline.fits.push_back(
          {curve.curve.name, one.law, curve.preferred == one.law, fit.degrees, fit.spread, fit.parameters});
    }
  }
  baseline.inputs = Common(report.rows);
  return baseline;
}

sim::Result<BaselineComparison> Compare(const Baseline& before, const Baseline& after, double tolerance) {
  if (const auto unlike = Unlike(before, after)) return *unlike;
  BaselineComparison comparison{
      .version_before = before.version, .version_after = after.version, .measured = before.measured};
  const auto old_points = ByKey(before);
  auto new_points = ByKey(after);
  for (const auto& [key, point] : old_points) new_points.try_emplace(key, nullptr);
  for (const auto& [key, point] : new_points) {
    const auto old_point = old_points.find(key);
    const double noise = before.measured ? NoiseOf(before, key.first.first) : 0;
    const auto change = ChangeOf(old_point == old_points.end() ? nullptr : old_point->second, point,
                                 std::max(noise, tolerance), before.measured);
    ++comparison.compared;
    if (change) comparison.points.push_back(*change);
  }
  CompareParameters(before, after, tolerance, &comparison.parameters);
  comparison.inputs = ChangesBetween(before.inputs, after.inputs);
  return comparison;
}

}  // namespace scenarios
