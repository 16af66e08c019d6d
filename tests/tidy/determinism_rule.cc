#include <cctype>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

// The C standard leaves their last digits open, and C libraries differ in them;
// + - * / and sqrt are exact to the last digit by IEEE 754.
constexpr const char* kInexact[] = {"pow",   "powf",  "exp",    "exp2",  "expm1", "log",  "log2",
                                    "log10", "log1p", "cbrt",   "sin",   "cos",   "tan",  "asin",
                                    "acos",  "atan",  "atan2",  "hypot", "tanh",  "sinh", "cosh",
                                    "erf",   "erfc",  "tgamma", "lgamma"};

// Where they are read, the same input gives another result.
constexpr const char* kOutside[] = {"rand",         "srand",  "random_device", "mt19937",
                                    "system_clock", "getenv", "gettimeofday",  "clock_gettime"};
constexpr const char* kClocks[] = {"steady_clock", "high_resolution_clock"};

// Whether `name` is called in `line` as a function of its own or of std:
// "pow(x", "std::pow(x", not "x.pow(", "Foo::pow(" or "powder(".
bool Calls(const std::string& line, const std::string& name) {
  for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    if (!HasWord(line.substr(at == 0 ? 0 : at - 1, name.size() + 2), name)) continue;
    if (line.compare(at + name.size(), 1, "(") != 0) continue;
    const std::string before = line.substr(0, at);
    if (EndsWith(before, ".") || EndsWith(before, "->")) continue;
    if (EndsWith(before, "::") && !EndsWith(before, "std::")) continue;
    return true;
  }
  return false;
}

// The text of the declaration that starts in lines[i], up to what tells a
// variable from a function.
std::string Declaration(const std::vector<std::string>& lines, std::size_t i) {
  std::string text;
  for (; i < lines.size(); ++i) {
    const std::size_t end = lines[i].find_first_of("=;{(");
    text += lines[i].substr(0, end == std::string::npos ? end : end + 1) + ' ';
    if (end != std::string::npos) break;
  }
  return text;
}

// A static or thread-local that can change. `static int Next(` is a function.
bool IsMutableStatic(const std::vector<std::string>& lines, std::size_t i) {
  if (!HasWord(lines[i], "static") && !HasWord(lines[i], "thread_local")) return false;
  const std::string text = Declaration(lines, i);
  if (HasWord(text, "constexpr") || HasWord(text, "static_assert")) return false;
  if (text.find('(') != std::string::npos) return false;
  // "const T x" cannot change; "const T* x" can.
  const std::size_t star = text.rfind('*');
  return !HasWord(star == std::string::npos ? text : text.substr(star), "const");
}

// What in lines[i] may differ from run to run; "" for nothing.
std::string Wavers(const std::vector<std::string>& lines, std::size_t i, bool clocks_allowed) {
  for (const char* name : kInexact) {
    if (Calls(lines[i], name)) return std::string(name) + "() differs between C libraries";
  }
  for (const char* name : kOutside) {
    if (HasWord(lines[i], name)) return std::string(name) + " is not part of the input";
  }
  for (const char* name : kClocks) {
    if (!clocks_allowed && HasWord(lines[i], name)) return std::string(name) + " is not part of the input";
  }
  if (IsMutableStatic(lines, i)) return "a static variable outlives the run";
  return "";
}

}  // namespace

Complaints Determinism(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!IsCode(source.path) || IsTest(source.path)) continue;
    const std::vector<std::string> lines = LinesOf(CodeOnly(source.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string wrong = Wavers(lines, i, source.path.starts_with("tools/"));
      if (!wrong.empty()) complaints.push_back(source.path + ":" + std::to_string(i + 1) + ": " + wrong);
    }
  }
  return complaints;
}

}  // namespace tidy
