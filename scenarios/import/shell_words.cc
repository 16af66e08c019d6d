#include "scenarios/import/shell_words.h"

#include <cctype>

namespace scenarios {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsOperator(char c) {
  return c != '\0' && std::string_view(";&|()<>\n").find(c) != std::string_view::npos;
}

class Reader {
 public:
  Reader(std::string_view text, std::vector<proto::SyntaxError>* errors) : text_(text), errors_(errors) {}

  std::vector<ShellToken> ReadAll() {
    std::vector<ShellToken> tokens;
    while (!done()) {
      SkipBlanks();
      if (done()) break;
      if (IsOperator(Peek())) {
        tokens.push_back(ReadOperator());
      } else {
        tokens.push_back(ReadWord());
      }
    }
    return tokens;
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool Starts(std::string_view with) const { return text_.substr(at_, with.size()) == with; }
  char Take() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if ((c & 0xC0) != 0x80) {  // a character of UTF-8, not a byte
      ++place_.column;
    }
    return c;
  }
  void Take(std::size_t n) {
    for (; n > 0 && !done(); --n) Take();
  }
  void Error(proto::Position at, const std::string& what) { errors_->push_back({at, what}); }

  // Blanks, continued lines and, before a word, comments.
  void SkipBlanks() {
    while (!done()) {
      if (IsBlank(Peek())) {
        Take();
      } else if (Starts("\\\n")) {
        Take(2);
      } else if (Starts("\\\r\n")) {
        Take(3);
      } else if (Peek() == '#') {
        while (!done() && Peek() != '\n') Take();
      } else {
        return;
      }
    }
  }

  ShellToken ReadOperator() {
    ShellToken token;
    token.kind = ShellToken::Kind::kOperator;
    token.at = place_;
    const char c = Take();
    token.text = c;
    if ((c == '&' || c == '|') && Peek() == c) token.text += Take();
    if (c == '<' && Peek() == '<') SkipHereDocument();
    if ((c == '<' || c == '>') && (Peek() == '>' || Peek() == '&' || Peek() == '|')) Take();
    return token;
  }

  // From the second '<' of <<WORD to the line that is WORD; the rest of the first line is
  // lost, which ends a command anyway in all but odd scripts.
  void SkipHereDocument() {
    Take();
    if (Peek() == '<') return;  // <<< is one word
    if (Peek() == '-') Take();
    while (!done() && IsBlank(Peek())) Take();
    std::string end;
    while (!done() && !IsBlank(Peek()) && Peek() != '\n') {
      const char c = Take();
      if (c != '\'' && c != '"' && c != '\\') end += c;
    }
    while (!done()) {
      while (!done() && Peek() != '\n') Take();
      if (!done()) Take();
      std::size_t start = at_;
      while (start < text_.size() && text_[start] == '\t') ++start;
      const std::size_t stop = std::min(text_.find('\n', start), text_.size());
      if (text_.substr(start, stop - start) == end) {
        Take(stop - at_);
        return;
      }
    }
  }

  ShellToken ReadWord() {
    ShellToken token;
    token.at = place_;
    while (!done() && !IsBlank(Peek()) && !IsOperator(Peek())) ReadPart(&token.parts);
    const ShellPart* last = token.parts.empty() ? nullptr : &token.parts.back();
    const bool assigns = token.parts.size() == 1 && last->kind == ShellPart::Kind::kText && !last->quoted &&
                         last->text.ends_with('=');
    if (assigns && Peek() == '(') ReadArray(&token);
    return token;
  }

  void ReadArray(ShellToken* token) {
    token->kind = ShellToken::Kind::kArray;
    Take();
    while (true) {
      SkipBlanks();
      if (done()) return Error(token->at, "an array ( that is never closed");
      if (Peek() == ')') {
        Take();
        return;
      }
      if (Peek() == '\n') {
        Take();
        continue;
      }
      if (IsOperator(Peek())) {
        Error(place_, std::string("'") + Peek() + "' in an array; words are wanted");
        Take();
        continue;
      }
      ShellToken element;
      element.at = place_;
      while (!done() && !IsBlank(Peek()) && !IsOperator(Peek())) ReadPart(&element.parts);
      token->elements.push_back(std::move(element));
    }
  }

  static void AddText(std::vector<ShellPart>* parts, const std::string& text, bool quoted) {
    if (!parts->empty() && parts->back().kind == ShellPart::Kind::kText && parts->back().quoted == quoted) {
      parts->back().text += text;
    } else {
      parts->push_back({ShellPart::Kind::kText, text, quoted});
    }
  }

  void ReadPart(std::vector<ShellPart>* parts) {
    const proto::Position start = place_;
    switch (Peek()) {
      case '\'': {
        Take();
        std::string text;
        while (!done() && Peek() != '\'') text += Take();
        if (done()) return Error(start, "a quote ' that is never closed");
        Take();
        return AddText(parts, text, true);
      }
      case '"':
        return ReadDoubleQuotes(parts);
      case '\\':
        Take();
        if (Peek() == '\n') {
          Take();
        } else if (!done()) {
          AddText(parts, std::string(1, Take()), true);
        }
        return;
      case '$':
      case '`':
        return ReadExpansion(parts, false);
      default:
        return AddText(parts, std::string(1, Take()), false);
    }
  }

  void ReadDoubleQuotes(std::vector<ShellPart>* parts) {
    const proto::Position start = place_;
    Take();
    const std::size_t before = parts->size();
    while (!done() && Peek() != '"') {
      if (Peek() == '\\' && at_ + 1 < text_.size()) {
        Take();
        if (Peek() == '\n') {
          Take();
          continue;
        }
        const bool escape = std::string_view("$`\"\\").find(Peek()) != std::string_view::npos;
        AddText(parts, (escape ? "" : "\\") + std::string(1, Take()), true);
      } else if (Peek() == '$' || Peek() == '`') {
        ReadExpansion(parts, true);
      } else {
        AddText(parts, std::string(1, Take()), true);
      }
    }
    if (done()) return Error(start, "a quote \" that is never closed");
    Take();
    if (parts->size() == before) AddText(parts, "", true);  // "" is a word too
  }

  // What stands between `open`, which is taken, and its `close`, also inside quotes.
  std::string ReadBracketed(char open, char close, const char* what) {
    constexpr int kDeepest = 64;
    const proto::Position start = place_;
    std::string text;
    int depth = 1;
    char quote = '\0';
    while (!done()) {
      const char c = Take();
      if (quote == '\0' && c == close && --depth == 0) return text;
      if (quote == '\0' && c == open && ++depth > kDeepest) break;
      text += c;
      if (c == '\\' && !done()) {
        text += Take();
      } else if (c == quote) {
        quote = '\0';
      } else if (quote == '\0' && (c == '\'' || c == '"')) {
        quote = c;
      }
    }
    Error(start, std::string(what) + " that is never closed");
    return text;
  }

  void ReadExpansion(std::vector<ShellPart>* parts, bool quoted) {
    using Kind = ShellPart::Kind;
    if (Peek() == '`') {
      const proto::Position start = place_;
      Take();
      while (!done() && Peek() != '`') Take(Peek() == '\\' ? 2 : 1);
      if (done()) return Error(start, "a quote ` that is never closed");
      Take();
      return parts->push_back({Kind::kCommand, "`...`", quoted});
    }
    Take();
    if (Starts("((")) {
      Take(1);
      Take(1);
      std::string text = ReadBracketed('(', ')', "$((");
      if (Peek() == ')') {
        Take();
        return parts->push_back({Kind::kArithmetic, text, quoted});
      }
      ReadBracketed('(', ')', "$(");
      return parts->push_back({Kind::kCommand, "$( ... )", quoted});
    }
    if (Peek() == '(') {
      Take();
      ReadBracketed('(', ')', "$(");
      return parts->push_back({Kind::kCommand, "$( ... )", quoted});
    }
    if (Peek() == '{') {
      Take();
      return parts->push_back({Kind::kVariable, ReadBracketed('{', '}', "${"), quoted});
    }
    if (!quoted && Peek() == '\'') {
      Take();
      while (!done() && Peek() != '\'') Take(Peek() == '\\' ? 2 : 1);
      if (!done()) Take();
      return parts->push_back({Kind::kCommand, "$'...'", quoted});
    }
    std::string name;
    if (std::isdigit(static_cast<unsigned char>(Peek())) != 0) {
      name = Take();
    } else if (IsNamePart(Peek())) {
      while (!done() && IsNamePart(Peek())) name += Take();
    } else if (Peek() != '\0' && std::string_view("@*#?$!-").find(Peek()) != std::string_view::npos) {
      name = Take();
    }
    if (name.empty()) return AddText(parts, "$", quoted);
    parts->push_back({Kind::kVariable, name, quoted});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  proto::Position place_;
  std::vector<proto::SyntaxError>* errors_;
};

}  // namespace

std::vector<ShellToken> ReadShellTokens(std::string_view text, std::vector<proto::SyntaxError>* errors) {
  return Reader(text, errors).ReadAll();
}

}  // namespace scenarios
