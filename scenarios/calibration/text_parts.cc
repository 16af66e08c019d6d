#include "scenarios/calibration/text_parts.h"

#include <algorithm>
#include <cstdio>

namespace scenarios {

std::string FigureText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Padded(const std::string& text, int width) {
  char padded[160];
  std::snprintf(padded, sizeof padded, width < 0 ? "%-*s" : "%*s", width < 0 ? -width : width, text.c_str());
  return padded;
}

std::string PerCent(double part, bool with_sign) {
  if (100 * part >= 9999.5) return ">9999";
  char text[32];
  const int digits = 100 * part >= (with_sign ? 99.95 : 999.95) ? 0 : 1;
  std::snprintf(text, sizeof text, with_sign ? "%+.*f" : "%.*f", digits, 100 * part);
  return text;
}

std::string Counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

std::string FirstOf(const std::vector<std::string>& causes) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, causes.size()); ++i) text += (i == 0 ? "" : "; ") + causes[i];
  return causes.size() <= kMost ? text : text + "; and " + std::to_string(causes.size() - kMost) + " more";
}

std::string Line(const std::string& key, const std::string& value) {
  return "  " + key + ": " + value + '\n';
}

std::string QuotedText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + '"';
}

}  // namespace scenarios
