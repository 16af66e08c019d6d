// Lists of numbers on the command line: --devices 64,128,256.

#ifndef TOOLS_NUMBER_LIST_H_
#define TOOLS_NUMBER_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command_line.h"

namespace tools {

// What commas separate; empty where the flag is not given.
std::vector<std::string> ListOf(const Arguments& arguments, const std::string& flag);

// The same as whole numbers from 1 to 1,000,000,000; an error for each that is none.
std::vector<std::int64_t> NumbersOf(const Arguments& arguments, const std::string& flag,
                                    std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_NUMBER_LIST_H_
