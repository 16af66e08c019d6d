#include "scenarios/output/svg_text.h"

namespace scenarios {

std::string EscapedXml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      // Control characters are not XML; what is not ASCII may not be UTF-8.
      out += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return out;
}

std::string Pixels(std::int64_t hundredths) {
  const std::string part = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (part.size() == 1 ? ".0" : ".") + part;
}

}  // namespace scenarios
