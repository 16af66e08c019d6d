// The command line of one subcommand: its flags, its help and its mistakes.
//
//   orrery SUBCOMMAND [ARGUMENT]... [--flag[=value]]...
//
// Flags are exact ("--verb" is not "--verbose"), numbers are read as signed and
// range-checked by their reader, and an unknown flag names the nearest one.

#ifndef TOOLS_COMMAND_LINE_H_
#define TOOLS_COMMAND_LINE_H_

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "scenarios/loader.h"
#include "sim/base/result.h"

namespace tools {

// Exit status of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;             // what was asked to hold does not
inline constexpr int kExitUsage = 2;          // wrong command line or input
inline constexpr int kExitInterrupted = 130;  // Ctrl-C

struct Flag {
  std::string name;        // "set", without dashes
  std::string value_name;  // "PATH=VALUE"; empty for a flag that is there or not
  std::string help;        // one line; empty where another flag's line tells of it
  bool repeats = false;
  char letter = '\0';  // "-b" beside "--minbytes"
};

struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::vector<std::string>> values;  // of flags that were given
  bool has(const std::string& flag) const { return values.count(flag) > 0; }
  // The value of a flag that does not repeat, or `otherwise`.
  std::string value(const std::string& flag, const std::string& otherwise = "") const;
};

// A subcommand: flags in, library calls, text out; returns the exit status.
struct Command {
  std::string name;
  std::string summary;  // one line, for the list of commands
  std::string usage;    // "[SCENARIO] [options]"
  std::size_t most_arguments = 0;
  std::vector<Flag> flags;
  std::string examples;  // a line each
  int (*run)(const Arguments& arguments, std::ostream& out, std::ostream& err);
};

// All subcommands, in the order of the help.
std::vector<Command> Commands();

// What the user gave, or what is wrong with it.
sim::Result<Arguments> ParseArguments(const Command& command, const std::vector<std::string>& words);

std::string HelpOf(const Command& command);

// "--set PATH=VALUE", in order, numbered from 1.
sim::Result<std::vector<proto::Override>> OverridesOf(const Arguments& arguments);

// Prints "orrery: error: MESSAGE"; returns kExitUsage.
int Fail(const std::string& message, std::ostream& err);

// Prints "orrery: warning: ..." and "orrery: error: ..." lines.
void Print(const proto::Diagnostics& diagnostics, std::ostream& err);

// The whole program: `words` without its own name.
int Run(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_COMMAND_LINE_H_
