#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/scale_output.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

// Nine digits: those behind them are the compiler's.
Json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return Json::parse(text.data());
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Rounded(*value) : Json(nullptr);
}

Json RowJson(const ScaleRow& row) {
  Json json = {{"devices", row.devices}, {"batch", row.batch}, {"refused", row.refused}};
  if (!row.simulated()) return json;
  json["layout"] = row.layout;
  json["digest"] = row.digest;
  json["step_time_s"] = row.step_time.seconds();
  json["tokens_per_s"] = row.tokens_per_s;
  json["mfu"] = row.mfu;
  json["efficiency"] = row.efficiency;
  json["exposed"] = row.exposed;
  json["bubble"] = row.bubble;
  json["breakdown_s"] = Json::object();
  for (const TimePart& part : row.breakdown) json["breakdown_s"][part.name] = part.time.seconds();
  json["cost_usd_per_trillion_tokens"] =
      row.usd_per_trillion_tokens ? Json(*row.usd_per_trillion_tokens) : Json(nullptr);
  json["fits"] = row.fits;
  return json;
}

Json FitJson(const LawFit& one) {
  Json json = {{"law", ToText(one.law)}, {"formula", FormulaOf(one.law)}};
  if (!one.fit.ok()) {
    json["refused"] = one.fit.error().message;
    return json;
  }
  const Fit& fit = one.fit.value();
  json["refused"] = "";
  json["parameters"] = Json::array();
  for (const Parameter& p : fit.parameters) {
    json["parameters"].push_back({{"name", p.name},
                                  {"unit", p.unit},
                                  {"value", Rounded(p.value)},
                                  {"low", Rounded(p.low)},
                                  {"high", Rounded(p.high)},
                                  {"at_bound", p.at_bound}});
  }
  json["degrees_of_freedom"] = fit.degrees;
  json["spread"] = Rounded(fit.spread);
  json["r_squared"] = OrNull(fit.r_squared);
  json["aicc"] = OrNull(fit.aicc);
  json["no_aicc"] = fit.no_aicc;
  json["residuals"] = Json::array();
  for (const double residual : fit.residuals) json["residuals"].push_back(Rounded(residual));
  return json;
}

Json ExtrapolatedJson(const Extrapolated& one) {
  Json json = {{"law", ToText(one.law)}, {"devices", one.devices}};
  const bool there = one.prediction.ok();
  json["refused"] = there ? "" : one.prediction.error().message;
  if (!there) return json;
  const Prediction& p = one.prediction.value();
  json["value"] = Rounded(p.value);
  json["low"] = Rounded(p.low);
  json["high"] = Rounded(p.high);
  json["outside_the_points"] = p.outside;
  return json;
}

Json CurveJson(const CurveReport& report) {
  Json json = {{"name", report.curve.name}, {"quantity", ToText(report.curve.quantity)}};
  json["points"] = Json::array();
  for (const CurvePoint& point : report.curve.points) {
    json["points"].push_back({{"devices", point.devices},
                              {"value", point.value},
                              {"efficiency", Rounded(EfficiencyAt(report.curve, point))}});
  }
  json["fits"] = Json::array();
  for (const LawFit& one : report.fits) json["fits"].push_back(FitJson(one));
  json["preferred"] = report.preferred ? Json(ToText(*report.preferred)) : Json(nullptr);
  json["extrapolated"] = Json::array();
  for (const Extrapolated& one : report.extrapolated) json["extrapolated"].push_back(ExtrapolatedJson(one));
  return json;
}

Json PointChangeJson(const PointChange& change) {
  Json json = {{"curve", change.curve},
               {"devices", change.devices},
               {"before", change.before > 0 ? Json(change.before) : Json(nullptr)},
               {"after", change.after > 0 ? Json(change.after) : Json(nullptr)},
               {"allowed", Rounded(change.allowed)},
               {"moved", change.moved}};
  json["layout_before"] = change.layout_before;
  json["layout_after"] = change.layout_after;
  json["causes_s"] = Json::object();
  for (const auto& [name, seconds] : change.causes) json["causes_s"][name] = seconds;
  return json;
}

Json ComparisonJson(const BaselineComparison& comparison) {
  Json json = {{"holds", comparison.holds()},
               {"compared", comparison.compared},
               {"version_before", comparison.version_before},
               {"version_after", comparison.version_after}};
  json["points"] = Json::array();
  for (const PointChange& change : comparison.points) json["points"].push_back(PointChangeJson(change));
  json["parameters"] = Json::array();
  for (const ParameterChange& change : comparison.parameters) {
    json["parameters"].push_back({{"curve", change.curve},
                                  {"law", ToText(change.law)},
                                  {"name", change.name},
                                  {"unit", change.unit},
                                  {"before", Rounded(change.before)},
                                  {"after", Rounded(change.after)},
                                  {"moved", change.moved}});
  }
  json["inputs"] = Json::array();
  for (const InputChange& change : comparison.inputs) {
    json["inputs"].push_back({{"key", change.key}, {"before", change.before}, {"after", change.after}});
  }
  return json;
}

}  // namespace

std::string ScaleJson(const ScaleReport& report, const BaselineComparison* comparison) {
  Json json = {{"schema_version", 1},
               {"subject", report.subject},
               {"about", report.about},
               {"scaling", ToText(report.scaling)},
               {"layouts", report.layouts ? Json(ToText(*report.layouts)) : Json(nullptr)},
               {"confidence", kConfidence}};
  json["rows"] = Json::array();
  for (const ScaleRow& row : report.rows) json["rows"].push_back(RowJson(row));
  json["curves"] = Json::array();
  for (const CurveReport& curve : report.curves) json["curves"].push_back(CurveJson(curve));
  json["baseline"] = comparison == nullptr ? Json(nullptr) : ComparisonJson(*comparison);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
