#include "tests/tidy/sources.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tidy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolders[] = {".ci", "hardware", "models",     "proto", "scenarios",
                                    "sim", "tests",    "topologies", "tools"};

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks text[from, to) but for its line ends.
void Blank(std::string* text, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, text->size()); ++i) {
    if ((*text)[i] != '\n') (*text)[i] = ' ';
  }
}

// Where a string or character that opens at `open` closes: the index of its
// last quote, or of the line end if it is never closed.
std::size_t ClosingQuote(const std::string& text, std::size_t open) {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open] || text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

// R"x( ... )x" that opens at `open`, the index of its quote.
std::size_t ClosingRawQuote(const std::string& text, std::size_t open) {
  const std::size_t bracket = text.find('(', open);
  if (bracket == std::string::npos) return text.size();
  const std::string end = ")" + text.substr(open + 1, bracket - open - 1) + "\"";
  const std::size_t close = text.find(end, bracket);
  return close == std::string::npos ? text.size() : close + end.size() - 1;
}

// Blanks what starts at `at`, if anything does; returns where to go on.
std::size_t SkipOne(std::string* text, std::size_t at) {
  const char c = (*text)[at];
  if (text->compare(at, 2, "//") == 0) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    Blank(text, at, end);
    return end;
  }
  if (text->compare(at, 2, "/*") == 0) {
    const std::size_t close = text->find("*/", at + 2);
    const std::size_t end = close == std::string::npos ? text->size() : close + 2;
    Blank(text, at, end);
    return end;
  }
  // 1'000'000 has no characters in it.
  const bool character = c == '\'' && (at == 0 || !IsNamePart((*text)[at - 1]));
  if (c != '"' && !character) return at + 1;
  const bool raw = c == '"' && at > 0 && (*text)[at - 1] == 'R';
  const std::size_t close = raw ? ClosingRawQuote(*text, at) : ClosingQuote(*text, at);
  Blank(text, at + 1, close);
  return close + 1;
}

}  // namespace

Sources ReadRepository(const std::string& root) {
  Sources sources;
  for (const char* folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      const bool installed = path.find("/node_modules/") != std::string::npos;
      const bool picture = EndsWith(path, ".png") || EndsWith(path, ".gz");
      if (entry.is_regular_file() && !installed && !picture) sources.push_back({path, ReadAll(entry.path())});
    }
  }
  sources.push_back({"CMakeLists.txt", ReadAll(fs::path(root) / "CMakeLists.txt")});
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

const Source* Find(const Sources& sources, const std::string& path) {
  for (const Source& source : sources) {
    if (source.path == path) return &source;
  }
  return nullptr;
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool EndsWith(std::string_view text, std::string_view end) { return text.ends_with(end); }
bool IsHeader(const std::string& path) { return EndsWith(path, ".h"); }
bool IsCode(const std::string& path) { return EndsWith(path, ".cc") || IsHeader(path); }
bool IsTest(const std::string& path) { return path.starts_with("tests/"); }

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::string CodeOnly(const std::string& text) {
  std::string code = text;
  std::size_t at = 0;
  while (at < code.size()) {
    const bool line_start = at == 0 || code[at - 1] == '\n';
    if (line_start && code.compare(at, 8, "#include") == 0) {
      at = std::min(code.find('\n', at), code.size());
    } else {
      at = SkipOne(&code, at);
    }
  }
  return code;
}

bool HasWord(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool opens = at == 0 || !IsNamePart(line[at - 1]);
    const bool closes = end == line.size() || !IsNamePart(line[end]);
    if (opens && closes) return true;
  }
  return false;
}

}  // namespace tidy
