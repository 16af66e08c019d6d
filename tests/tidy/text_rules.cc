#include <algorithm>
#include <cctype>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

constexpr std::size_t kMostColumns = 110;
constexpr std::size_t kMostLines = 400;

void Add(Complaints* complaints, const Source& source, std::size_t index, const std::string& what) {
  complaints->push_back(source.path + ":" + std::to_string(index + 1) + ": " + what);
}

// Calls visit(index, line) for every line.
template <typename Visit>
void EachLine(const std::string& text, Visit visit) {
  const std::vector<std::string> lines = LinesOf(text);
  for (std::size_t i = 0; i < lines.size(); ++i) visit(i, lines[i]);
}

// Characters, not bytes: those that do not continue a UTF-8 sequence.
std::size_t Columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// "SIM_BASE_UNITS_H_" of "sim/base/units.h".
std::string GuardOf(const std::string& path) {
  std::string guard;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    guard += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return guard + "_";
}

void CheckGuard(const Source& source, Complaints* complaints) {
  const std::string guard = GuardOf(source.path);
  const std::string open = "#ifndef " + guard + "\n#define " + guard + "\n";
  const std::string close = "\n#endif  // " + guard + "\n";
  if (source.text.find(open) == std::string::npos || !EndsWith(source.text, close)) {
    Add(complaints, source, 0, "the include guard is not " + guard);
  }
}

// Data is not wrapped: a note with a source is one string.
bool IsData(const std::string& path) {
  return EndsWith(path, ".textproto") || EndsWith(path, ".csv") || EndsWith(path, ".json") ||
         EndsWith(path, ".order") || EndsWith(path, "embed.cmake");
}

}  // namespace

Complaints HeavyHeaders(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!IsCode(source.path)) continue;
    // Tests' own headers serve one folder, and may hold a message or a document.
    const bool light = IsHeader(source.path) && !IsTest(source.path);
    EachLine(CodeOnly(source.text), [&](std::size_t i, const std::string& line) {
      if (!line.starts_with("#include")) return;
      const auto has = [&](const char* part) { return line.find(part) != std::string::npos; };
      const bool graph = has("<boost/graph/");
      if (light &&
          (graph || has("<Eigen/") || has(".pb.h") || has("<google/protobuf/") || has("nlohmann/json.hpp"))) {
        Add(&complaints, source, i, "too heavy for a header: " + line);
      }
      if (graph && !source.path.starts_with("topologies/") && !IsTest(source.path)) {
        Add(&complaints, source, i, "Boost.Graph is for topologies only");
      }
    });
  }
  return complaints;
}

Complaints Form(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (IsHeader(source.path)) CheckGuard(source, &complaints);
    if (source.text.empty() || source.text.back() != '\n' || EndsWith(source.text, "\n\n")) {
      Add(&complaints, source, LinesOf(source.text).size(), "a file ends with one line end");
    }
    EachLine(source.text, [&](std::size_t i, const std::string& line) {
      if (line.find('\t') != std::string::npos) Add(&complaints, source, i, "a tab");
      if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
        Add(&complaints, source, i, "a blank at the end of the line");
      }
      if (Columns(line) > kMostColumns && !IsData(source.path)) {
        Add(&complaints, source, i,
            std::to_string(Columns(line)) + " columns; " + std::to_string(kMostColumns) + " are allowed");
      }
    });
  }
  return complaints;
}

Complaints Size(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!IsCode(source.path)) continue;
    const std::size_t lines = LinesOf(source.text).size();
    if (lines > kMostLines) {
      Add(&complaints, source, lines - 1,
          std::to_string(lines) + " lines; a file of more than " + std::to_string(kMostLines) +
              " does more than one thing");
    }
  }
  return complaints;
}

Complaints Marks(const Sources& sources) {
  // In two halves, so that this file keeps the rule.
  const auto joined = [](const char* a, const char* b) { return std::string(a) + b; };
  const std::string unfinished[] = {joined("TO", "DO"), joined("FIX", "ME"), joined("XX", "X"),
                                    joined("HA", "CK")};
  const std::string places[] = {joined("/wo", "rk/"),  joined("/ho", "me/"), joined("/ro", "ot/"),
                                joined("/Us", "ers/"), joined("/tm", "p/"),  joined("C:", "\\")};
  Complaints complaints;
  for (const Source& source : sources) {
    EachLine(source.text, [&](std::size_t i, const std::string& line) {
      for (const std::string& mark : unfinished) {
        if (HasWord(line, mark)) Add(&complaints, source, i, "unfinished: " + mark);
      }
      for (const std::string& place : places) {
        if (line.find(place) != std::string::npos) Add(&complaints, source, i, "a machine's path: " + place);
      }
    });
  }
  return complaints;
}

}  // namespace tidy
