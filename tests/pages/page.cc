#include "tests/pages/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace pages {

std::string Kept(const std::string& name) {
  std::ostringstream kept;
  kept << std::ifstream(ORRERY_SOURCE_DIR "/docs/" + name).rdbuf();
  return kept.str();
}

std::vector<std::string> Parts(const std::string& page) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t next = std::min(page.find("\n## ", at + 1), page.size());
    parts.push_back(page.substr(at, next - at));
    at = next;
  }
  return parts;
}

bool IsKept(const std::string& name, const std::string& lines, const std::string& section) {
  const std::vector<std::string> parts = Parts(Kept(name));
  return !parts.empty() && parts[0].find('\n' + lines) != std::string::npos &&
         std::count(parts.begin(), parts.end(), section) == 1;
}

std::string WriteNew(const std::string& name, const std::string& page) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::filesystem::create_directories(testing::TempDir());
  std::ofstream(path) << page;
  return path;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Wrapped(const std::string& text) {
  constexpr std::size_t kColumns = 120;  // of a paragraph; it has spaces
  std::string out, rest = OneLine(text);
  while (rest.size() > kColumns) {
    const std::size_t space = rest.rfind(' ', kColumns);
    out += rest.substr(0, space) + '\n';
    rest.erase(0, space + 1);
  }
  return out + rest;
}

std::string TableLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + cell + " |";
  return line + '\n';
}

std::string TableHead(const std::vector<std::string>& heads) {
  std::string out = TableLine(heads) + '|';
  for (std::size_t i = 0; i < heads.size(); ++i) out += "---|";
  return out + '\n';
}

std::string Number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string out = text;
  const std::size_t whole = std::min(out.find('.'), out.size());
  for (std::size_t i = whole; i > 3 + (out[0] == '-' ? 1u : 0u);) out.insert(i -= 3, 1, ',');
  return out;
}

std::string Count(std::int64_t value) { return Number(static_cast<double>(value)); }
std::string Percent(double part, int decimals) { return Number(100 * part, decimals) + " %"; }
std::string Milliseconds(double seconds, int decimals) { return Number(1e3 * seconds, decimals); }

}  // namespace pages
