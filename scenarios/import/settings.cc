#include "scenarios/import/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace scenarios {
namespace {

using proto::Node;

std::string Found(const Node& node) {
  constexpr std::size_t kMost = 60;
  if (node.kind == Node::Kind::kMessage) return "an object";
  if (node.kind == Node::Kind::kList) return "a list";
  return '"' + node.text.substr(0, kMost) + '"';
}

bool IsNull(const Node& node) {
  return node.kind == Node::Kind::kWord && (node.text == "null" || node.text == "None");
}

// Not given, or as good as that.
bool IsOff(const Node& node) {
  if (node.kind == Node::Kind::kList || node.kind == Node::Kind::kMessage) return node.children.empty();
  for (const char* off : {"null", "None", "false", "False", "0", "none", ""}) {
    if (node.text == off) return true;
  }
  return false;
}

std::optional<double> ToNumber(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto parsed = std::from_chars(begin, end, value);
  if (text.empty() || parsed.ptr != end || parsed.ec != std::errc() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// Also 5e8, as JSON of Python programs has it.
std::optional<std::int64_t> ToInteger(const std::string& text) {
  constexpr double kExact = 9e15;  // whole doubles up to 2^53
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (!text.empty() && parsed.ptr == end && parsed.ec == std::errc()) return value;
  const std::optional<double> number = ToNumber(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool Matches(const KeyRule& rule, const std::string& key) {
  const std::string_view pattern = rule.key;
  if (pattern.ends_with('*')) return key.starts_with(pattern.substr(0, pattern.size() - 1));
  return key == pattern;
}

// An exact row before one that stands for many.
const KeyRule* RuleOf(std::span<const KeyRule> rules, const std::string& key) {
  const KeyRule* best = nullptr;
  for (const KeyRule& rule : rules) {
    if (!Matches(rule, key)) continue;
    if (key == rule.key) return &rule;
    if (best == nullptr) best = &rule;
  }
  return best;
}

// Whether two keys differ in no more than two characters at one spot.
bool IsSlip(const std::string& a, const std::string& b) {
  const std::size_t most = std::max(a.size(), b.size()), least = std::min(a.size(), b.size());
  std::size_t front = 0, back = 0;
  while (front < least && a[front] == b[front]) ++front;
  while (back < least - front && a[a.size() - 1 - back] == b[b.size() - 1 - back]) ++back;
  return least > 4 && front + back + 2 >= most;
}

std::string LastPart(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? key : key.substr(dot + 1);
}

void FlattenInto(const std::string& file, const Node& node, const std::string& path,
                 std::vector<Setting>* all) {
  for (const Node& child : node.children) {
    const std::string key = path.empty() ? child.name : path + '.' + child.name;
    if (child.kind == Node::Kind::kMessage && !child.children.empty()) {
      FlattenInto(file, child, key, all);
      continue;
    }
    const std::string place =
        file + ':' + std::to_string(child.at.line) + ':' + std::to_string(child.at.column);
    all->push_back({key, key, place, child, ""});
  }
}

}  // namespace

Node ScalarNode(const std::string& text) {
  Node node;
  node.text = text;
  node.kind = Node::Kind::kString;
  constexpr const char* kTrue[] = {"true", "True", "TRUE"};
  constexpr const char* kFalse[] = {"false", "False", "FALSE"};
  constexpr const char* kNull[] = {"null", "Null", "NULL", "None", "~", ""};
  const auto is = [&](const auto& words) {
    return std::any_of(std::begin(words), std::end(words), [&](const char* word) { return text == word; });
  };
  if (is(kTrue)) return {Node::Kind::kWord, "", "true", {}, {}};
  if (is(kFalse)) return {Node::Kind::kWord, "", "false", {}, {}};
  if (is(kNull)) return {Node::Kind::kWord, "", "null", {}, {}};
  if (ToNumber(text)) node.kind = Node::Kind::kNumber;
  return node;
}

std::vector<Setting> Flatten(const std::string& file, const Node& root) {
  std::vector<Setting> all;
  FlattenInto(file, root, "", &all);
  return all;
}

void ApplyGiven(const std::vector<GivenValue>& given, const std::string& prefix, std::vector<Setting>* all) {
  for (const GivenValue& value : given) {
    const std::string key = value.key.starts_with(prefix) ? value.key.substr(prefix.size()) : value.key;
    std::erase_if(*all, [&](const Setting& setting) { return setting.key == key; });
    all->push_back({key, prefix + key, "--set " + std::to_string(value.index), ScalarNode(value.value), ""});
  }
}

Settings::Settings(std::string file, std::string prefix, std::vector<Setting> all, bool repeats,
                   proto::Diagnostics* diagnostics)
    : file_(std::move(file)), prefix_(std::move(prefix)), all_(std::move(all)), diagnostics_(diagnostics) {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Setting& setting = all_[i];
    const auto [found, fresh] = at_.emplace(setting.key, i);
    if (fresh) continue;
    const Setting& before = all_[found->second];
    found->second = i;
    if (!repeats) {
      diagnostics_->Error(setting.place + ": " + setting.shown,
                          "is also at " + before.place + "; once is wanted");
    } else if (before.value.text != setting.value.text) {
      diagnostics_->Warning(setting.place + ": " + setting.shown,
                            "is also at " + before.place + "; this one, the last, counts");
    }
  }
}

const Setting* Settings::Peek(const std::string& key) const {
  const auto found = at_.find(key);
  return found == at_.end() ? nullptr : &all_[found->second];
}

const Setting* Settings::Find(const std::string& key) {
  asked_.insert(key);
  const Setting* setting = Peek(key);
  if (setting == nullptr || IsNull(setting->value)) return nullptr;
  if (setting->doubt.empty()) return setting;
  if (!refused(key)) Error(key, setting->doubt + "; give it with --set " + key + "=VALUE");
  return nullptr;
}

bool Settings::has(const std::string& key) { return Find(key) != nullptr; }

bool Settings::certain(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const Setting* setting = Peek(key);
    return setting == nullptr || setting->doubt.empty();
  });
}

std::string Settings::Place(const std::string& key) const {
  const Setting* setting = Peek(key);
  if (setting != nullptr) return setting->place + ": " + setting->shown;
  const auto named = shown_.find(key);
  return file_ + ": " + (named == shown_.end() ? prefix_ + key : named->second);
}

void Settings::Error(const std::string& key, const std::string& what) {
  refused_.insert(key);
  diagnostics_->Error(Place(key), what);
}

std::optional<std::int64_t> Settings::Integer(const std::string& key, std::int64_t low, std::int64_t high) {
  const Setting* setting = Find(key);
  if (setting == nullptr) return std::nullopt;
  const std::string wanted =
      "; a whole number from " + std::to_string(low) + " to " + std::to_string(high) + " is wanted";
  const bool scalar =
      setting->value.kind == Node::Kind::kNumber || setting->value.kind == Node::Kind::kString;
  const auto value = scalar ? ToInteger(setting->value.text) : std::nullopt;
  if (!value) {
    if (!refused(key)) Error(key, Found(setting->value) + " is no whole number" + wanted);
    return std::nullopt;
  }
  if (*value >= low && *value <= high) return value;
  if (!refused(key)) Error(key, std::to_string(*value) + " is out of range" + wanted);
  return std::nullopt;
}

std::optional<double> Settings::Number(const std::string& key) {
  const Setting* setting = Find(key);
  if (setting == nullptr) return std::nullopt;
  const auto value =
      setting->value.kind == Node::Kind::kNumber ? ToNumber(setting->value.text) : std::nullopt;
  if (!value && !refused(key)) Error(key, Found(setting->value) + " is no number; one is wanted");
  return value;
}

std::optional<bool> Settings::Boolean(const std::string& key) {
  const Setting* setting = Find(key);
  if (setting == nullptr) return std::nullopt;
  const Node word = ScalarNode(setting->value.text);
  if (setting->value.children.empty() && word.kind == Node::Kind::kWord) return word.text == "true";
  if (!refused(key)) Error(key, Found(setting->value) + "; true or false is wanted");
  return std::nullopt;
}

std::optional<std::string> Settings::Text(const std::string& key) {
  const Setting* setting = Find(key);
  if (setting == nullptr) return std::nullopt;
  if (setting->value.kind != Node::Kind::kList && setting->value.kind != Node::Kind::kMessage) {
    return setting->value.text;
  }
  if (!refused(key)) Error(key, Found(setting->value) + "; one word is wanted");
  return std::nullopt;
}

std::vector<std::string> Settings::Texts(const std::string& key) {
  const Setting* setting = Find(key);
  if (setting == nullptr) return {};
  if (setting->value.kind != Node::Kind::kList) return {setting->value.text};
  std::vector<std::string> texts;
  for (const Node& node : setting->value.children) texts.push_back(node.text);
  return texts;
}

std::optional<std::string> Settings::OneOf(const std::string& key, const std::vector<std::string>& known) {
  const std::optional<std::string> text = Text(key);
  if (!text || std::find(known.begin(), known.end(), *text) != known.end()) return text;
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  if (!refused(key)) Error(key, '"' + *text + "\" is not simulated; one of " + all + " is wanted");
  return std::nullopt;
}

std::int64_t Settings::Required(const std::string& key, std::int64_t low, std::int64_t high,
                                const std::string& wanted) {
  const auto value = Integer(key, low, high);
  if (value) return *value;
  if (!refused(key)) Error(key, "missing; " + wanted + ", or give it with --set " + key + "=VALUE");
  return low;
}

void Settings::Unknown(const Setting& setting, std::span<const KeyRule> rules) {
  std::vector<std::string> known, misplaced;
  for (const KeyRule& rule : rules) {
    const std::string key = rule.key;
    if (key.ends_with('*')) continue;
    known.push_back(key);
    if (LastPart(key) == LastPart(setting.key)) misplaced.push_back(key);
  }
  std::vector<std::string> near = misplaced.empty() ? proto::Nearest(setting.key, known) : misplaced;
  std::string what = "unknown key";
  // A slip in the last part of a long path: the path is what the rest has in common.
  if (near.empty()) {
    std::vector<std::string> last;
    for (const std::string& key : known) last.push_back(LastPart(key));
    const std::vector<std::string> close = proto::Nearest(LastPart(setting.key), last);
    for (std::size_t i = 0; i < known.size() && near.empty(); ++i) {
      if (!close.empty() && last[i] == close[0]) near.push_back(known[i]);
    }
  }
  what += near.empty() ? "; leave it out, or --keep-unknown lists such keys"
                       : "; did you mean " + prefix_ + near[0] + "? (--keep-unknown lists such keys)";
  diagnostics_->Error(setting.place + ": " + setting.shown, what);
}

std::vector<std::string> Settings::NotMapped(std::span<const KeyRule> rules, bool keep_unknown) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Setting& setting = all_[i];
    if (at_.at(setting.key) != i || asked_.count(setting.key) > 0) continue;
    const KeyRule* rule = RuleOf(rules, setting.key);
    // What only a row for many takes may be a slip of one that is read.
    const bool of_many = rule != nullptr && setting.key != rule->key;
    const bool slip = of_many && std::any_of(rules.begin(), rules.end(), [&](const KeyRule& other) {
                        return other.treatment == Treatment::kMapped && at_.count(other.key) == 0 &&
                               IsSlip(setting.key, other.key);
                      });
    if (slip && !keep_unknown) rule = nullptr;
    const std::string note = rule != nullptr && *rule->note != '\0' ? std::string(": ") + rule->note : "";
    if (rule == nullptr && keep_unknown) {
      lines.push_back(setting.shown + ": unknown");
    } else if (rule == nullptr) {
      Unknown(setting, rules);
    } else if (rule->treatment == Treatment::kMapped) {
      if (!IsOff(setting.value)) lines.push_back(setting.shown + ": has no effect in this job");
    } else if (rule->treatment == Treatment::kLeftOut) {
      if (!IsOff(setting.value)) lines.push_back("! " + setting.shown + note);
    } else if (rule->treatment == Treatment::kRefused) {
      if (!IsOff(setting.value)) Error(setting.key, "not simulated" + note);
    }
  }
  return lines;
}

}  // namespace scenarios
