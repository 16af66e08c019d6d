// Syntax: a textproto or JSON text as a tree of fields, each with its place.
// Both notations give the same tree; what the fields mean is fill.h's business.
// Reading goes on after a mistake, so that one run finds all of them.

#ifndef PROTO_SYNTAX_H_
#define PROTO_SYNTAX_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proto {

// Both count from 1; a column is a UTF-8 character, a tab is one.
struct Position {
  int line = 1;
  int column = 1;
};

enum class Notation { kTextproto, kJson };

// A field, or an element of a list (then without a name).
struct Node {
  enum class Kind { kNumber, kWord, kString, kMessage, kList };
  Kind kind = Kind::kMessage;
  std::string name;
  std::string text;  // a number or word as written, sign included; a string without quotes and escapes
  Position at;       // of the name; of the value where there is no name
  std::vector<Node> children;  // fields of a message, elements of a list
};

struct SyntaxError {
  Position at;
  std::string what;  // "found; wanted"
};

struct Syntax {
  Node root;  // a message
  std::vector<SyntaxError> errors;
};

// Messages nest at most this deep; more is an error, not a crash.
inline constexpr int kMaxDepth = 64;

Syntax ParseText(std::string_view text, Notation notation);

// ParseText is lax about the inside of JSON numbers and strings ("01", a raw
// tab). This is the last word on what is JSON: where it is not, or nothing.
std::optional<SyntaxError> RefuseJson(std::string_view text);

// One value in textproto, as on the right of "--set path=": root is that value.
Syntax ParseValue(std::string_view text);

// Whether every byte belongs to a well-formed UTF-8 character.
bool IsUtf8(std::string_view text);

}  // namespace proto

#endif  // PROTO_SYNTAX_H_
