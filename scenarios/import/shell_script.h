// A launch script: the words of the one command in it that starts training, as far
// as they are known without a shell.
//
// Variables and arrays that the script sets are put in, with ${NAME:-default} and
// whole-number $(( )). What needs a shell, an environment or arguments, and what
// stands inside if, for, while, case or a function, is not evaluated: its words
// carry the reason, and whoever needs such a word refuses it.

#ifndef SCENARIOS_IMPORT_SHELL_SCRIPT_H_
#define SCENARIOS_IMPORT_SHELL_SCRIPT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"

namespace scenarios {

struct ShellWord {
  std::string text;
  int line = 1, column = 1;
  std::string doubt;  // "line 7: `if` needs a shell"; empty when certain
};

struct LaunchCommand {
  std::vector<ShellWord> launcher;  // up to and with the program: "torchrun", "--nnodes", "2", "train.py"
  std::vector<ShellWord> flags;     // what follows it
};

// The command with a word that ends in .py, or after `python -m`; a text that begins
// with a flag is all flags. Errors: no such command; two; a quote that is never closed.
std::optional<LaunchCommand> ReadLaunchScript(const std::string& file, std::string_view text,
                                              proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_SHELL_SCRIPT_H_
