// Shell words: the text of a launch script as words and operators, with quotes,
// line continuations, variables and arrays. Nothing is evaluated here; see
// shell_script.h.
//
// Source: POSIX.1-2017, Shell Command Language, 2.2 and 2.3; bash 5.2 for arrays
// and $(( )).

#ifndef SCENARIOS_IMPORT_SHELL_WORDS_H_
#define SCENARIOS_IMPORT_SHELL_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "proto/syntax.h"

namespace scenarios {

struct ShellPart {
  enum class Kind {
    kText,
    kVariable,    // text: what stands between ${ and }, or the name
    kArithmetic,  // text: what stands between $(( and ))
    kCommand      // $( ... ), `...` and $'...': needs a shell
  };
  Kind kind = Kind::kText;
  std::string text;
  bool quoted = false;
};

struct ShellToken {
  enum class Kind { kWord, kArray, kOperator };  // an array is NAME=( words ) or NAME+=( words )
  Kind kind = Kind::kWord;
  proto::Position at;
  std::vector<ShellPart> parts;      // of a word; of an array its NAME= or NAME+=
  std::vector<ShellToken> elements;  // of an array
  std::string text;                  // of an operator: ; & | && || ( ) < > and "\n"
};

// All tokens, comments left out. Bodies of here-documents are skipped. A quote or
// bracket that is never closed, or 64 of them inside each other, is an error.
std::vector<ShellToken> ReadShellTokens(std::string_view text, std::vector<proto::SyntaxError>* errors);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_SHELL_WORDS_H_
