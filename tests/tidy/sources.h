// The repository's own text, for rules that read it.

#ifndef TESTS_TIDY_SOURCES_H_
#define TESTS_TIDY_SOURCES_H_

#include <string>
#include <string_view>
#include <vector>

namespace tidy {

struct Source {
  std::string path;  // from the root, "sim/base/units.h"
  std::string text;
};

// Ordered by path.
using Sources = std::vector<Source>;

// Every text file of the eight folders, CMakeLists.txt of the root, and .ci.
Sources ReadRepository(const std::string& root);

// Null when there is no such file.
const Source* Find(const Sources& sources, const std::string& path);

// "sim/base" of "sim/base/units.h"; "" of a file in the root.
std::string FolderOf(const std::string& path);
bool EndsWith(std::string_view text, std::string_view end);

// .cc and .h.
bool IsCode(const std::string& path);
bool IsHeader(const std::string& path);
bool IsTest(const std::string& path);  // below tests/

std::vector<std::string> LinesOf(const std::string& text);

// C++ with the contents of comments, strings and characters blanked; every line
// stays on its number, and quotes stay. #include lines are left alone.
std::string CodeOnly(const std::string& text);

// Whether `word` stands in `line` with no letter, digit or underscore beside it.
bool HasWord(std::string_view line, std::string_view word);

}  // namespace tidy

#endif  // TESTS_TIDY_SOURCES_H_
