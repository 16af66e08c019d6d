// The two small languages in Megatron-LM's arguments.

#include <cctype>
#include <charconv>

#include "scenarios/import/megatron.h"

namespace scenarios {
namespace {

// No model has more layers; proto/model.proto.
constexpr std::size_t kMost = 10'000;
constexpr int kDeepest = 32;

class Cursor {
 public:
  explicit Cursor(const std::string& text) {
    for (const char c : text) {
      if (c != ' ' && c != '\n' && c != '\t') text_ += c;
    }
  }
  bool done() const { return at_ >= text_.size(); }
  char Peek() const { return done() ? '\0' : text_[at_]; }
  char Take() { return text_[at_++]; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::int64_t> Integer() {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (parsed.ec != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
    return value;
  }
  // A number after '*'; 1 without one; nothing when it is out of range.
  std::optional<std::size_t> Times() {
    if (!Take('*')) return 1;
    const auto times = Integer();
    if (!times || *times < 0 || *times > static_cast<std::int64_t>(kMost)) return std::nullopt;
    return static_cast<std::size_t>(*times);
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

using List = std::optional<std::vector<std::int64_t>>;

List Sum(Cursor* in, int depth);

List Unit(Cursor* in, int depth) {
  std::vector<std::int64_t> list;
  if (depth > kDeepest) return std::nullopt;
  if (in->Take('(')) {
    List inner = Sum(in, depth + 1);
    if (!inner || !in->Take(')')) return std::nullopt;
    list = *std::move(inner);
  } else {
    if (!in->Take('[')) return std::nullopt;
    while (!in->Take(']')) {
      const auto value = in->Integer();
      if (!value) return std::nullopt;
      list.push_back(*value);
      if (!in->Take(',') && in->Peek() != ']') return std::nullopt;
    }
  }
  while (in->Peek() == '*') {
    const auto times = in->Times();
    if (!times || list.size() * *times > kMost) return std::nullopt;
    const std::vector<std::int64_t> once = list;
    list.clear();
    for (std::size_t i = 0; i < *times; ++i) list.insert(list.end(), once.begin(), once.end());
  }
  return list;
}

List Sum(Cursor* in, int depth) {
  List list = Unit(in, depth);
  while (list && in->Take('+')) {
    const List next = Unit(in, depth);
    if (!next || list->size() + next->size() > kMost) return std::nullopt;
    list->insert(list->end(), next->begin(), next->end());
  }
  return list;
}

// Letters and bars up to the end or to ')'.
std::optional<std::string> Letters(Cursor* in, int depth) {
  std::string all;
  while (!in->done() && in->Peek() != ')') {
    std::string once;
    if (in->Take('(')) {
      if (depth >= kDeepest) return std::nullopt;
      const auto inner = Letters(in, depth + 1);
      if (!inner || !in->Take(')')) return std::nullopt;
      once = *inner;
    } else {
      const char c = in->Take();
      if (c == ',') continue;  // for the eye
      if (c != 'E' && c != 't' && c != 'm' && c != 'L' && c != '|') return std::nullopt;
      once = c;
    }
    const auto times = in->Times();
    if (!times || all.size() + once.size() * *times > kMost) return std::nullopt;
    for (std::size_t i = 0; i < *times; ++i) all += once;
  }
  return all;
}

}  // namespace

List EvaluateList(const std::string& text) {
  Cursor in(text);
  List list = Sum(&in, 0);
  return in.done() ? list : std::nullopt;
}

std::optional<std::vector<std::string>> ExpandPipelineLayout(const std::string& text) {
  Cursor in(text);
  const auto letters = Letters(&in, 0);
  if (!letters || !in.done()) return std::nullopt;
  std::vector<std::string> pieces(1);
  for (const char c : *letters) {
    if (c == '|') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

}  // namespace scenarios
