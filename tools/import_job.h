// The part of orrery import that reads training jobs: a scenario and its model out.

#ifndef TOOLS_IMPORT_JOB_H_
#define TOOLS_IMPORT_JOB_H_

#include <iosfwd>
#include <string>

#include "tools/command_line.h"

namespace tools {

// Whether a job of this format can be read ("megatron").
bool IsJobFormat(const std::string& format);
// "megatron, deepspeed and torchtitan", and a line for each in the help.
std::string JobFormats();
std::string JobFormatLines();

// REQUIRES: IsJobFormat(arguments.positional[0])
int ImportJob(const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_IMPORT_JOB_H_
