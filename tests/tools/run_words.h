// The orrery program as a user runs it: words in, what it printed out.

#ifndef TESTS_TOOLS_RUN_WORDS_H_
#define TESTS_TOOLS_RUN_WORDS_H_

#include <sstream>
#include <string>
#include <vector>

#include "tools/command_line.h"

namespace tools {

struct Result {
  int status = 0;
  std::string out, err;
};

inline Result RunWords(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int status = Run(words, out, err);
  return {status, out.str(), err.str()};
}

inline std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace tools

#endif  // TESTS_TOOLS_RUN_WORDS_H_
