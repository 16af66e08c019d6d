#include "proto/syntax.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "proto/lexer.h"

namespace proto {
namespace {

constexpr std::size_t kMaxSyntaxErrors = 20;

std::string Describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the text";
  if (token.kind == Token::Kind::kUnclosedString) return "a string without its closing quote";
  std::string text(token.text.substr(0, 40));
  if (token.text.size() > 40) text += "...";
  if (!IsUtf8(text) || static_cast<unsigned char>(text[0]) < 0x20) return "a byte that is not text";
  return '"' + text + '"';
}

// Recursive descent over one text; after a mistake it goes on at the next line
// that starts with a word, or after the block.
class Parser {
 public:
  Parser(std::string_view text, Notation notation, Syntax* syntax)
      : lexer_(text, notation), notation_(notation), syntax_(syntax) {}

  void Textproto() {
    syntax_->root.at = {1, 1};
    Fields(std::nullopt, &syntax_->root);
  }

  void Json() {
    syntax_->root.at = token().at;
    if (token().kind == Token::Kind::kEnd) return;  // empty; the reader says so
    if (!token().Is('{')) return Refuse("{ ... }");
    Value(&syntax_->root);
    if (token().kind != Token::Kind::kEnd) Refuse("nothing after the closing \"}\"");
  }

  void OneValue() {
    syntax_->root.at = token().at;
    Value(&syntax_->root);
    if (token().kind != Token::Kind::kEnd) Refuse("one value");
  }

 private:
  const Token& token() const { return lexer_.current(); }
  bool json() const { return notation_ == Notation::kJson; }
  bool stopped() const { return too_deep_ || syntax_->errors.size() >= kMaxSyntaxErrors; }

  // Nothing after this is read.
  void RefuseDepth() {
    Refuse("blocks and lists nested at most " + std::to_string(kMaxDepth) + " deep");
    too_deep_ = true;
    while (token().kind != Token::Kind::kEnd) lexer_.Next();
  }

  void Refuse(const std::string& wanted) {
    // A text that was cut ends every open block at once; the innermost says it.
    if (token().kind == Token::Kind::kEnd && std::exchange(ended_, true)) return;
    if (!stopped())
      syntax_->errors.push_back({token().at, "found " + Describe(token()) + "; wanted " + wanted});
  }

  void SkipToNextField() {
    while (token().kind != Token::Kind::kEnd && !token().Is('}') && !token().Is('>')) {
      if (token().first_of_line &&
          (token().kind == Token::Kind::kWord || token().kind == Token::Kind::kString))
        return;
      lexer_.Next();
    }
  }

  // The fields of a block, from its opening bracket to `close`; without `close` those of the whole text.
  void Fields(std::optional<char> close, Node* message) {
    const Position open = token().at;
    if (close) lexer_.Next();
    if (++depth_ > kMaxDepth) RefuseDepth();
    std::set<std::string> names;
    while (!stopped()) {
      if (close && token().Is(*close)) {
        lexer_.Next();
        break;
      }
      if (token().kind == Token::Kind::kEnd) {
        if (close)
          Refuse(std::string("\"") + *close + "\" for the block of line " + std::to_string(open.line));
        break;
      }
      Node field;
      field.at = token().at;
      if (!(json() ? JsonField(&field, &names) : TextField(&field))) {
        SkipToNextField();
        if (!close && (token().Is('}') || token().Is('>'))) lexer_.Next();  // closes nothing
        if (close && !token().Is(*close) && (token().Is('}') || token().Is('>'))) lexer_.Next();
      }
      if (!field.name.empty()) message->children.push_back(std::move(field));
    }
    --depth_;
  }

  bool TextField(Node* field) {
    if (token().kind != Token::Kind::kWord) {
      Refuse("the name of a field");
      if (!token().Is('}') && !token().Is('>')) lexer_.Next();
      return false;
    }
    const std::string name(token().text);
    lexer_.Next();
    const bool block = token().Is('{') || token().Is('<');
    if (token().Is(':')) {
      lexer_.Next();
    } else if (!block) {
      Refuse("\":\" after \"" + name + "\"");
      return false;
    }
    if (!Value(field)) return false;
    field->name = name;
    if (token().Is(',') || token().Is(';')) lexer_.Next();
    return true;
  }

  bool JsonField(Node* field, std::set<std::string>* names) {
    const auto name = token().kind == Token::Kind::kString ? Unescape(token(), notation_) : std::nullopt;
    if (!name || name->empty()) {
      Refuse("the name of a field in double quotes");
      if (!token().Is('}')) lexer_.Next();
      return false;
    }
    if (!names->insert(*name).second && !stopped()) {
      syntax_->errors.push_back({token().at, *name + ": given twice in the same block; once is wanted"});
    }
    lexer_.Next();
    if (!token().Is(':')) {
      Refuse("\":\" after \"" + *name + "\"");
      return false;
    }
    lexer_.Next();
    if (!Value(field)) return false;
    field->name = *name;
    if (token().Is('}')) return true;
    if (!token().Is(',')) {
      Refuse("\",\" or \"}\" after the value of \"" + *name + "\"");
      return false;
    }
    lexer_.Next();
    if (token().Is('}')) {
      Refuse("another field after \",\"");
      return false;
    }
    return true;
  }

  bool Value(Node* value) {
    switch (token().kind) {
      case Token::Kind::kString:
        return String(value);
      case Token::Kind::kNumber:
        return Scalar(value, Node::Kind::kNumber, "");
      case Token::Kind::kWord:
        return Scalar(value, Node::Kind::kWord, "");
      default:
        break;
    }
    if (token().Is('-')) {
      lexer_.Next();
      if (token().kind == Token::Kind::kNumber) return Scalar(value, Node::Kind::kNumber, "-");
      if (token().kind == Token::Kind::kWord) return Scalar(value, Node::Kind::kWord, "-");
      Refuse("a number after \"-\"");
      return false;
    }
    if (token().Is('[')) return List(value);
    if (token().Is('{') || (token().Is('<') && !json())) {
      const char close = token().Is('{') ? '}' : '>';
      value->kind = Node::Kind::kMessage;
      Fields(close, value);
      return true;
    }
    Refuse("a value");
    return false;
  }

  bool Scalar(Node* value, Node::Kind kind, const char* sign) {
    value->kind = kind;
    value->text = sign + std::string(token().text);
    lexer_.Next();
    return true;
  }

  bool String(Node* value) {
    value->kind = Node::Kind::kString;
    do {  // in textproto neighbours are one string
      const auto text = Unescape(token(), notation_);
      if (!text) {
        Refuse("a string of known escapes and UTF-8 characters");
        return false;
      }
      value->text += *text;
      lexer_.Next();
    } while (!json() && token().kind == Token::Kind::kString);
    return true;
  }

  bool List(Node* value) {
    value->kind = Node::Kind::kList;
    lexer_.Next();
    if (token().Is(']')) {
      lexer_.Next();
      return true;
    }
    if (++depth_ > kMaxDepth) RefuseDepth();
    bool good = true;
    while (true) {
      Node element;
      element.at = token().at;
      good = Value(&element);
      if (!good) break;
      value->children.push_back(std::move(element));
      if (token().Is(']')) break;
      if (!token().Is(',')) {
        Refuse("\",\" or \"]\"");
        good = false;
        break;
      }
      lexer_.Next();
    }
    if (good) lexer_.Next();
    --depth_;
    return good;
  }

  Lexer lexer_;
  Notation notation_;
  Syntax* syntax_;
  int depth_ = 0;
  bool too_deep_ = false;
  bool ended_ = false;
};

// Only says where nlohmann's parser stopped, if it did.
struct JsonGuard : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t where, const std::string&, const nlohmann::json::exception&) override {
    byte = where;
    return false;
  }
  std::size_t byte = 0;
};

}  // namespace

std::optional<SyntaxError> RefuseJson(std::string_view text) {
  JsonGuard guard;
  if (nlohmann::json::sax_parse(text, &guard)) return std::nullopt;
  Position at;
  for (const char c : text.substr(0, guard.byte == 0 ? 0 : guard.byte - 1)) {
    ++at.column;
    if (c == '\n') at = {at.line + 1, 1};
  }
  return SyntaxError{at, "not JSON; wanted numbers, strings and escapes as in RFC 8259"};
}

Syntax ParseText(std::string_view text, Notation notation) {
  Syntax syntax;
  Parser parser(text, notation, &syntax);
  if (notation == Notation::kTextproto) {
    parser.Textproto();
  } else {
    parser.Json();
  }
  return syntax;
}

Syntax ParseValue(std::string_view text) {
  Syntax syntax;
  Parser(text, Notation::kTextproto, &syntax).OneValue();
  return syntax;
}

}  // namespace proto
