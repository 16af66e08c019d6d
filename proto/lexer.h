// Lexer: words, numbers, strings and symbols of a textproto or JSON text.

#ifndef PROTO_LEXER_H_
#define PROTO_LEXER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proto/syntax.h"

namespace proto {

struct Token {
  enum class Kind { kEnd, kWord, kNumber, kString, kSymbol, kUnclosedString };
  Kind kind = Kind::kEnd;
  std::string_view text;  // as written; of a string with its quotes
  Position at;
  bool first_of_line = false;

  bool Is(char symbol) const { return kind == Kind::kSymbol && text[0] == symbol; }
};

// Never fails: a byte that starts nothing is a symbol, for the parser to refuse.
class Lexer {
 public:
  Lexer(std::string_view text, Notation notation);
  const Token& current() const { return current_; }
  void Next();

 private:
  void SkipBlanks();
  void Advance();  // one byte
  void ReadString();
  void ReadNumber();

  std::string_view text_;
  Notation notation_;
  std::size_t at_ = 0;
  Position position_;
  Token current_;
  int line_of_last_ = 0;
};

// What a string token means, or nothing when an escape is wrong or the result
// is not UTF-8. REQUIRES: token.kind == kString
std::optional<std::string> Unescape(const Token& token, Notation notation);

}  // namespace proto

#endif  // PROTO_LEXER_H_
