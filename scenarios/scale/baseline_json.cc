#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/scale/baseline.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

// Nine digits: more would be the compiler's.
Json Rounded(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return Json::parse(text);
}

Json PointJson(const BaselinePoint& point, bool measured) {
  Json json = Json::object();
  if (!point.curve.empty()) json["curve"] = point.curve;
  json["devices"] = point.devices;
  if (measured) {
    json["value"] = point.value;
    return json;
  }
  json["step_ps"] = point.step_ps;
  json["batch"] = point.batch;
  json["layout"] = point.layout;
  json["digest"] = point.digest;
  json["causes_ps"] = Json::object();
  for (const TimePart& part : point.causes) json["causes_ps"][part.name] = part.time.ps();
  return json;
}

Json FitJson(const BaselineFit& fit) {
  Json json = Json::object();
  if (!fit.curve.empty()) json["curve"] = fit.curve;
  json["law"] = ToText(fit.law);
  json["preferred"] = fit.preferred;
  json["degrees"] = fit.degrees;
  json["spread"] = Rounded(fit.spread);
  json["parameters"] = Json::array();
  for (const Parameter& p : fit.parameters) {
    json["parameters"].push_back({{"name", p.name},
                                  {"unit", p.unit},
                                  {"value", Rounded(p.value)},
                                  {"low", Rounded(p.low)},
                                  {"high", Rounded(p.high)}});
  }
  return json;
}

// A line an element.
void AddList(const char* name, const std::vector<Json>& list, bool last, std::string* text) {
  *text += std::string("  \"") + name + "\": [";
  for (std::size_t i = 0; i < list.size(); ++i) {
    *text += (i == 0 ? "\n    " : ",\n    ") + list[i].dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  *text += list.empty() ? "]" : "\n  ]";
  *text += last ? "\n}\n" : ",\n";
}

// The value of `names` that ToText writes so; nlohmann's exceptions tell the rest.
template <class T, std::size_t n>
T OneOf(const Json& json, const T (&values)[n]) {
  const std::string text = json.get<std::string>();
  for (const T value : values) {
    if (text == ToText(value)) return value;
  }
  throw Json::other_error::create(501, "unknown value \"" + text + '"', &json);
}

BaselinePoint PointOf(const Json& json, bool measured) {
  BaselinePoint point{.curve = json.value("curve", ""), .devices = json.at("devices").get<std::int64_t>()};
  if (measured) {
    point.value = json.at("value").get<double>();
    return point;
  }
  point.step_ps = json.at("step_ps").get<std::int64_t>();
  point.value = sim::Duration::Picoseconds(point.step_ps).seconds();
  point.batch = json.at("batch").get<std::int64_t>();
  point.layout = json.at("layout").get<std::string>();
  point.digest = json.at("digest").get<std::string>();
  for (const auto& [name, ps] : json.at("causes_ps").items()) {
    point.causes.push_back({name, sim::Duration::Picoseconds(ps.get<std::int64_t>())});
  }
  return point;
}

BaselineFit FitOf(const Json& json) {
  BaselineFit fit{.curve = json.value("curve", ""), .law = OneOf(json.at("law"), kLaws)};
  fit.preferred = json.at("preferred").get<bool>();
  fit.degrees = json.at("degrees").get<std::size_t>();
  fit.spread = json.at("spread").get<double>();
  for (const Json& p : json.at("parameters")) {
    fit.parameters.push_back({p.at("name").get<std::string>(), p.at("unit").get<std::string>(),
                              p.at("value").get<double>(), p.at("low").get<double>(),
                              p.at("high").get<double>()});
  }
  return fit;
}

Baseline BaselineFrom(const Json& json) {
  constexpr Scaling kScalings[] = {Scaling::kStrong, Scaling::kWeak};
  constexpr LayoutRule kRules[] = {LayoutRule::kFixed, LayoutRule::kBest};
  constexpr Quantity kQuantities[] = {Quantity::kStepTime, Quantity::kTokenRate, Quantity::kMfu};
  Baseline baseline{.subject = json.at("subject").get<std::string>(),
                    .version = json.at("version").get<std::string>(),
                    .measured = json.at("measured").get<bool>()};
  baseline.scaling = OneOf(json.at("scaling"), kScalings);
  baseline.layouts = OneOf(json.at("layouts"), kRules);
  baseline.quantity = OneOf(json.at("quantity"), kQuantities);
  for (const Json& point : json.at("points")) baseline.points.push_back(PointOf(point, baseline.measured));
  for (const Json& fit : json.at("fits")) baseline.fits.push_back(FitOf(fit));
  for (const Json& input : json.at("inputs")) {
    baseline.inputs.push_back({input.at("key").get<std::string>(), input.at("value").get<std::string>()});
  }
  return baseline;
}

// What a comparison takes for granted.
std::optional<sim::Error> Impossible(const Baseline& baseline) {
  for (const BaselinePoint& point : baseline.points) {
    if (!(point.value > 0) || point.devices < 1) return sim::Error{"a point is not above zero"};
  }
  for (const BaselineFit& fit : baseline.fits) {
    if (fit.degrees < 1 || !(fit.spread >= 0)) return sim::Error{"a fit without degrees of freedom"};
  }
  return std::nullopt;
}

}  // namespace

std::string BaselineJson(const Baseline& baseline) {
  const Json head = {{"schema_version", kSchema},
                     {"subject", baseline.subject},
                     {"version", baseline.version},
                     {"measured", baseline.measured},
                     {"scaling", ToText(baseline.scaling)},
                     {"layouts", ToText(baseline.layouts)},
                     {"quantity", ToText(baseline.quantity)}};
  std::string text = head.dump(2, ' ', false, Json::error_handler_t::replace);
  text.erase(text.size() - 2);  // "\n}"
  text += ",\n";
  std::vector<Json> points, fits, inputs;
  for (const BaselinePoint& point : baseline.points) points.push_back(PointJson(point, baseline.measured));
  for (const BaselineFit& fit : baseline.fits) fits.push_back(FitJson(fit));
  for (const InputValue& input : baseline.inputs)
    inputs.push_back({{"key", input.key}, {"value", input.value}});
  AddList("points", points, false, &text);
  AddList("fits", fits, false, &text);
  AddList("inputs", inputs, true, &text);
  return text;
}

sim::Result<Baseline> ReadBaseline(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const int schema = json.at("schema_version").get<int>();
    if (schema != kSchema) {
      return sim::Error{"schema_version " + std::to_string(schema) + "; " + std::to_string(kSchema) +
                        " is read here"};
    }
    Baseline baseline = BaselineFrom(json);
    if (const auto impossible = Impossible(baseline)) return *impossible;
    return baseline;
  } catch (const Json::exception& exception) {
    std::string what = exception.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    return sim::Error{"no baseline of `orrery scale --update`: " + what};
  }
}

}  // namespace scenarios
