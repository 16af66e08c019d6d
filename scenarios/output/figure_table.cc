#include "scenarios/output/figure_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 110, kNameWidth = 36, kFigureWidth = 18;

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string pad(width > text.size() ? width - text.size() : 0, ' ');
  return right ? pad + text : text + pad;
}

// Breaks `text` at blanks so that it ends before the last column; later lines are indented as far.
std::string Wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t width = end - at;
    if (column > indent && column + 1 + width > kColumns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(at, width);
    column += width;
    at = end + 1;
  }
  return out;
}

std::string FourDigits(double value, const char* after) {
  char text[64];
  if (value >= 1000 && value < 1e15) return CountText(std::llround(value)) + after;
  std::snprintf(text, sizeof text, "%.4g%s", value, after);
  return text;
}

std::string Explained(const BudgetLine& line) {
  return line.inputs.empty() ? line.formula : line.formula + "; " + line.inputs;
}

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string PlainNumber(const BudgetLine& line) {
  if (!line.known) return "";
  if (line.exact) return std::to_string(*line.exact);
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", line.value);
  return text;
}

// "13.48 GB", "40.44 GFLOP", "6,738,415,616", "59.7 days": four digits, in steps of a thousand.
std::string FigureText(const BudgetLine& line) {
  if (!line.known) return "unknown";
  if (line.unit.empty()) return line.exact ? CountText(*line.exact) : FourDigits(line.value, "");
  const bool prefixed = line.unit == "B" || line.unit == "B/s" || line.unit == "FLOP";
  if (!prefixed) return FourDigits(line.value, (" " + line.unit).c_str());
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y"};
  double value = line.value;
  std::size_t prefix = 0;
  while (value >= 999.95 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return FourDigits(value, (std::string(" ") + kPrefixes[prefix] + line.unit).c_str());
}

}  // namespace

std::string FiguresText(const Figures& figures) {
  std::string out, section;
  for (const BudgetLine& line : figures.lines) {
    if (line.section != section) out += "\n" + line.section + '\n';
    section = line.section;
    out += "  " + Padded(line.name, kNameWidth, false) + Padded(FigureText(line), kFigureWidth, true) + "  " +
           Wrapped(Explained(line), kNameWidth + kFigureWidth + 4) + '\n';
  }
  out += "\nassumptions\n";
  for (const Assumption& a : figures.assumptions) {
    out += "  " + Padded(a.name, kNameWidth, false) + Padded(a.value, kFigureWidth, true) + "  " +
           Wrapped(a.source, kNameWidth + kFigureWidth + 4) + '\n';
  }
  return out;
}

std::string FiguresJson(const Figures& figures, const Json& before) {
  Json json = before;
  json["lines"] = Json::array();
  for (const BudgetLine& line : figures.lines) {
    const Json value = line.exact ? Json(*line.exact) : Json(line.value);
    json["lines"].push_back({{"section", line.section},
                             {"name", line.name},
                             {"value", line.known ? value : Json(nullptr)},
                             {"unit", line.unit},
                             {"formula", line.formula},
                             {"inputs", line.inputs}});
  }
  json["assumptions"] = Json::array();
  for (const Assumption& a : figures.assumptions) {
    json["assumptions"].push_back({{"name", a.name}, {"value", a.value}, {"source", a.source}});
  }
  json["warnings"] = figures.warnings;
  // Names come from files; what is not UTF-8 is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string FiguresCsv(const Figures& figures) {
  std::string out = "section,name,value,unit,formula,inputs\n";
  for (const BudgetLine& line : figures.lines) {
    out += Quoted(line.section) + ',' + Quoted(line.name) + ',' + PlainNumber(line) + ',' +
           Quoted(line.unit) + ',' + Quoted(line.formula) + ',' + Quoted(line.inputs) + '\n';
  }
  for (const Assumption& a : figures.assumptions) {
    out += "assumptions," + Quoted(a.name) + ',' + Quoted(a.value) + ",,," + Quoted(a.source) + '\n';
  }
  return out;
}

}  // namespace scenarios
