#include "scenarios/scale/inputs.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "models/parameters.h"

namespace scenarios {
namespace {

// What the rows of a curve differ in, and what no step time depends on.
constexpr std::array<std::string_view, 8> kLeftOut = {"name",         "description",        "devices",
                                                      "batch.global", "batch.accumulation", "layout.data",
                                                      "price",        "published"};

bool IsLeftOut(std::string_view path) {
  return std::any_of(kLeftOut.begin(), kLeftOut.end(), [&](std::string_view out) {
    return path.starts_with(out) && (path.size() == out.size() || path[out.size()] == '.');
  });
}

void AddModel(const models::Model& m, std::map<std::string, std::string>* inputs) {
  const std::pair<const char*, std::int64_t> shape[] = {{"layers", m.layers},
                                                        {"hidden", m.hidden},
                                                        {"ffn", m.ffn},
                                                        {"heads", m.heads},
                                                        {"kv_heads", m.kv_heads},
                                                        {"head_dim", m.head_dim},
                                                        {"vocabulary", m.vocabulary},
                                                        {"sliding_window", m.sliding_window},
                                                        {"experts.routed", m.experts.routed},
                                                        {"experts.per_token", m.experts.per_token},
                                                        {"experts.ffn", m.experts.ffn},
                                                        {"parameters", models::ParametersOf(m).total()}};
  for (const auto& [key, value] : shape) {
    if (value != 0) inputs->emplace(std::string("model.") + key, std::to_string(value));
  }
}

// Fields of "a: 1 b { c: 2 c: 3 }": "a", "b.c", "b.c[1]". Quoted values keep their blanks. Nothing where the
// text is none such.
std::map<std::string, std::string> PartsOf(std::string_view text) {
  std::map<std::string, std::string> parts;
  std::vector<std::string> path;
  std::map<std::string, int> times;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    if (text[at] == '}') {
      if (path.empty()) return {};
      path.pop_back();
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view name = text.substr(at, end - at);
    const std::size_t next = std::min(text.find_first_not_of(' ', end), text.size());
    if (next == text.size()) return {};
    if (text[next] == '{') {
      path.emplace_back(name);
      at = next + 1;
      continue;
    }
    if (name.back() != ':') return {};
    std::string key;
    for (const std::string& part : path) key += part + '.';
    key += name.substr(0, name.size() - 1);
    if (const int time = times[key]++; time > 0) key += '[' + std::to_string(time) + ']';
    const std::size_t close =
        text[next] == '"' ? std::min(text.find('"', next + 1), text.size() - 1) + 1 : text.find(' ', next);
    at = std::min(close, text.size());
    parts[key] = text.substr(next, at - next);
  }
  return parts;
}

// Of one key whose value changed.
void ComparePart(const std::string& key, const std::string& before, const std::string& after,
                 std::vector<InputChange>* changes) {
  const auto old_parts = PartsOf(before), new_parts = PartsOf(after);
  if (old_parts.empty() || new_parts.empty()) {
    changes->push_back({key, before, after});
    return;
  }
  std::set<std::string> names;
  for (const auto& [name, value] : old_parts) names.insert(name);
  for (const auto& [name, value] : new_parts) names.insert(name);
  const auto value_of = [](const auto& parts, const std::string& name) {
    const auto found = parts.find(name);
    return found == parts.end() ? std::string() : found->second;
  };
  for (const std::string& name : names) {
    const std::string was = value_of(old_parts, name), is = value_of(new_parts, name);
    if (was != is) changes->push_back({key + '.' + name, was, is});
  }
}

}  // namespace

std::vector<InputValue> InputsOf(const Scenario& scenario, const Report& report) {
  std::map<std::string, std::string> inputs;
  for (const proto::FieldValue& field : scenario.fields) {
    if (!IsLeftOut(field.path)) inputs.emplace(field.path, field.value);
  }
  AddModel(scenario.model, &inputs);
  for (const Provenance& figure : report.figures) {
    if (figure.used) inputs.emplace("hardware." + figure.key, figure.value);
  }
  std::vector<InputValue> list;
  for (const auto& [key, value] : inputs) list.push_back({key, value});
  return list;
}

std::vector<InputChange> ChangesBetween(const std::vector<InputValue>& before,
                                        const std::vector<InputValue>& after) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const InputValue& input : before) values[input.key].first = input.value;
  for (const InputValue& input : after) values[input.key].second = input.value;
  std::vector<InputChange> changes;
  for (const auto& [key, value] : values) {
    if (value.first != value.second) ComparePart(key, value.first, value.second, &changes);
  }
  return changes;
}

}  // namespace scenarios
