// What variables of a launch script hold, and what a word becomes with them.

#ifndef SCENARIOS_IMPORT_SHELL_VALUES_H_
#define SCENARIOS_IMPORT_SHELL_VALUES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/shell_script.h"
#include "scenarios/import/shell_words.h"

namespace scenarios {

using ShellVariables = std::map<std::string, std::vector<ShellWord>>;

// The words that one word expands to: none, one or more. An unknown part leaves
// nothing in the text and its reason in `doubt`.
std::vector<ShellWord> Expand(const ShellToken& word, const ShellVariables& variables);

// The value of an expression of whole numbers, variables, + - * / % and brackets, or nothing.
std::optional<std::int64_t> EvaluateArithmetic(std::string_view text, const ShellVariables& variables);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_SHELL_VALUES_H_
