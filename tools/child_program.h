// Another program, run to its end.

#ifndef TOOLS_CHILD_PROGRAM_H_
#define TOOLS_CHILD_PROGRAM_H_

#include <string>
#include <vector>

namespace tools {

struct ChildResult {
  int status = 0;      // of its exit; 127 where there is no such program, 128 + n after signal n
  std::string output;  // standard output and error together, as they came
};

// Looked for as a shell does; standard input is empty. REQUIRES: there is a first word
ChildResult RunChild(const std::vector<std::string>& words);

}  // namespace tools

#endif  // TOOLS_CHILD_PROGRAM_H_
