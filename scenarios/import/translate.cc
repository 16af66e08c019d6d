#include "scenarios/import/translate.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "sim/base/units.h"

namespace scenarios {
namespace {

// Circles end here, as towers of interpolations do.
constexpr int kDeepest = 16;
// Values that name each other twice would otherwise double at each step.
constexpr int kMostLookUps = 10'000;
constexpr std::size_t kLongest = 10'000;

struct Resolved {
  std::string text, doubt;
};

std::optional<std::int64_t> Whole(const std::string& text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string Trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// a op b of whole numbers, where the result is one.
std::optional<std::int64_t> Compute(const std::string& name, std::int64_t a, std::int64_t b) {
  sim::Wide result = 0;
  if (name == "multiply" || name == "mul") {
    result = static_cast<sim::Wide>(a) * b;
  } else if (name == "add" || name == "sum") {
    result = static_cast<sim::Wide>(a) + b;
  } else if (name == "subtract" || name == "sub") {
    result = static_cast<sim::Wide>(a) - b;
  } else if ((name == "divide" || name == "div") && b != 0 && static_cast<sim::Wide>(a) % b == 0) {
    result = static_cast<sim::Wide>(a) / b;
  } else {
    return std::nullopt;
  }
  if (result > INT64_MAX || result < INT64_MIN) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

class Resolver {
 public:
  explicit Resolver(const std::vector<Setting>& all) {
    for (const Setting& setting : all) by_key_[setting.key] = &setting;
  }

  // `where` is the key that the text stands at.
  Resolved Resolve(const std::string& text, const std::string& where, int depth) {
    std::string done;
    std::size_t at = 0;
    while (true) {
      const std::size_t open = text.find("${", at);
      done += text.substr(at, open - at);
      if (open == std::string::npos) return {done, ""};
      const std::size_t close = Close(text, open + 2);
      if (close == std::string::npos) return {text, "${ that is never closed"};
      const Resolved inner = One(text.substr(open + 2, close - open - 2), where, depth + 1);
      if (!inner.doubt.empty()) return {text, inner.doubt};
      done += inner.text;
      if (done.size() > kLongest) return {text, "a value longer than 10,000 bytes"};
      at = close + 1;
    }
  }

 private:
  static std::size_t Close(const std::string& text, std::size_t at) {
    for (int depth = 1; at < text.size(); ++at) {
      if (text[at] == '{') ++depth;
      if (text[at] == '}' && --depth == 0) return at;
    }
    return std::string::npos;
  }

  Resolved One(const std::string& inside, const std::string& where, int depth) {
    const std::string shown = "${" + inside.substr(0, 40) + '}';
    if (depth > kDeepest || ++look_ups_ > kMostLookUps) return {"", shown + " leads in a circle, or too far"};
    const std::size_t colon = inside.find(':');
    const std::size_t nested = inside.find("${");
    if (colon != std::string::npos && colon < nested) return Call(inside, colon, where, depth);
    const Resolved path = Resolve(inside, where, depth);
    if (!path.doubt.empty()) return path;
    const std::string key = Absolute(Trimmed(path.text), where);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return {"", shown + " names no value of this file"};
    const proto::Node& value = found->second->value;
    if (!value.children.empty()) return {"", shown + " names a list or an object"};
    return Resolve(value.text, key, depth);
  }

  // "multiply:4, ${.hidden_size}".
  Resolved Call(const std::string& inside, std::size_t colon, const std::string& where, int depth) {
    const std::string name = Trimmed(inside.substr(0, colon));
    const Resolved arguments = Resolve(inside.substr(colon + 1), where, depth);
    if (!arguments.doubt.empty()) return arguments;
    const std::size_t comma = arguments.text.find(',');
    const std::string shown = "${" + inside.substr(0, 40) + '}';
    if (comma == std::string::npos) return {"", shown + " is not resolved: " + name + " is unknown here"};
    const auto a = Whole(Trimmed(arguments.text.substr(0, comma)));
    const auto b = Whole(Trimmed(arguments.text.substr(comma + 1)));
    const auto value = a && b ? Compute(name, *a, *b) : std::nullopt;
    if (!value)
      return {"", shown + " is not resolved: multiply, add, subtract and divide of two whole numbers are"};
    return {std::to_string(*value), ""};
  }

  // ".x" is beside the key, "..x" one level up.
  static std::string Absolute(const std::string& path, std::string where) {
    if (!path.starts_with('.')) return path;
    std::size_t dots = 0;
    while (dots < path.size() && path[dots] == '.') {
      const std::size_t end = where.rfind('.');
      where.resize(end == std::string::npos ? 0 : end);
      ++dots;
    }
    return where.empty() ? path.substr(dots) : where + '.' + path.substr(dots);
  }

  std::map<std::string, const Setting*> by_key_;
  int look_ups_ = 0;
};

}  // namespace

std::vector<Setting> Translate(std::span<const KeyName> names, std::vector<Setting>* all) {
  std::vector<Setting> translated;
  for (Setting& setting : *all) {
    const auto name =
        std::find_if(names.begin(), names.end(), [&](const KeyName& n) { return setting.key == n.from; });
    if (name == names.end()) continue;
    setting.key.clear();
    Setting other = setting;
    other.key = name->to;
    if (name->how == KeyName::How::kOnWhenOff && other.value.kind == proto::Node::Kind::kWord &&
        other.value.text != "null") {
      other.value.text = other.value.text == "false" ? "true" : "false";
    }
    translated.push_back(std::move(other));
  }
  std::erase_if(*all, [](const Setting& setting) { return setting.key.empty(); });
  return translated;
}

void ResolveInterpolations(std::vector<Setting>* all) {
  const std::vector<Setting> before = *all;
  for (Setting& setting : *all) {
    if (setting.value.text.find("${") == std::string::npos) continue;
    const Resolved resolved = Resolver(before).Resolve(setting.value.text, setting.key, 0);
    setting.doubt = resolved.doubt;
    if (!resolved.doubt.empty()) continue;
    const proto::Node scalar = ScalarNode(resolved.text);
    setting.value.kind = scalar.kind;
    setting.value.text = scalar.text;
  }
}

}  // namespace scenarios
