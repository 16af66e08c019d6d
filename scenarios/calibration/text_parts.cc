#include "scenarios/calibration/text_parts.h"

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
  char text[32];
  std::snprintf(text, sizeof text, with_sign ? "%+.1f" : "%.1f", 100 * part);
  return text;
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
