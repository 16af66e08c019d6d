#include "scenarios/import/shell_values.h"

#include <cctype>
#include <charconv>
#include <utility>

#include "sim/base/units.h"

namespace scenarios {
namespace {

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string Line(int line) { return "line " + std::to_string(line) + ": "; }

// Each level of a tower of brackets or of defaults is a call of its own.
constexpr int kDeepest = 32;

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const ShellVariables& variables) : text_(text), variables_(variables) {}

  std::optional<std::int64_t> Evaluate() {
    const auto value = Sum(0);
    Skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  using Value = std::optional<std::int64_t>;

  void Skip() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  static Value Apply(char sign, Value a, Value b) {
    if (!a || !b) return std::nullopt;
    const sim::Wide left = *a, right = *b;
    if ((sign == '/' || sign == '%') && right == 0) return std::nullopt;
    const sim::Wide result = sign == '+'   ? left + right
                             : sign == '-' ? left - right
                             : sign == '*' ? left * right
                             : sign == '/' ? left / right
                                           : left % right;
    if (result > INT64_MAX || result < INT64_MIN) return std::nullopt;
    return static_cast<std::int64_t>(result);
  }

  Value Sum(int depth) {
    Value value = Product(depth);
    while (value) {
      if (Take('+')) {
        value = Apply('+', value, Product(depth));
      } else if (Take('-')) {
        value = Apply('-', value, Product(depth));
      } else {
        break;
      }
    }
    return value;
  }

  Value Product(int depth) {
    Value value = Unit(depth);
    while (value) {
      if (Take('*')) {
        value = Apply('*', value, Unit(depth));
      } else if (Take('/')) {
        value = Apply('/', value, Unit(depth));
      } else if (Take('%')) {
        value = Apply('%', value, Unit(depth));
      } else {
        break;
      }
    }
    return value;
  }

  Value Unit(int depth) {
    if (depth > kDeepest) return std::nullopt;
    if (Take('(')) {
      const Value value = Sum(depth + 1);
      return Take(')') ? value : std::nullopt;
    }
    if (Take('-')) return Apply('-', 0, Unit(depth + 1));
    const bool braces = Take('$') && Take('{');
    Skip();
    std::string name;
    while (at_ < text_.size() && IsNamePart(text_[at_])) name += text_[at_++];
    if (braces && !Take('}')) return std::nullopt;
    if (name.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) return Number(name);
    const auto found = variables_.find(name);
    const bool known =
        found != variables_.end() && found->second.size() == 1 && found->second[0].doubt.empty();
    return known ? Number(found->second[0].text) : std::nullopt;
  }

  static Value Number(const std::string& text) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
    return value;
  }

  std::string_view text_;
  const ShellVariables& variables_;
  std::size_t at_ = 0;
};

class Expander {
 public:
  Expander(const ShellToken& word, const ShellVariables& variables, int depth)
      : token_(word), variables_(variables), depth_(depth) {}

  std::vector<ShellWord> Run() {
    for (const ShellPart& part : token_.parts) Add(part);
    Close();
    return std::move(words_);
  }

 private:
  // A word that begins with a variable's value is where that value was written.
  void Open(const ShellWord* element) {
    if (!open_ && element != nullptr) words_.push_back({"", element->line, element->column, ""});
    if (!open_ && element == nullptr) words_.push_back({"", token_.at.line, token_.at.column, ""});
    open_ = true;
  }
  void Close() { open_ = false; }
  void Append(const std::string& text, const std::string& doubt, const ShellWord* element = nullptr) {
    Open(element);
    words_.back().text += text;
    if (words_.back().doubt.empty()) words_.back().doubt = doubt;
  }
  void Doubt(const std::string& why) { Append("", Line(token_.at.line) + why); }

  void Add(const ShellPart& part) {
    switch (part.kind) {
      case ShellPart::Kind::kText:
        return Append(part.text, "");
      case ShellPart::Kind::kCommand:
        return Doubt(part.text + " needs a shell");
      case ShellPart::Kind::kArithmetic: {
        const auto value = EvaluateArithmetic(part.text, variables_);
        if (!value) return Doubt("$((" + part.text.substr(0, 40) + ")) needs a shell");
        return Append(std::to_string(*value), "");
      }
      case ShellPart::Kind::kVariable:
        return AddVariable(part);
    }
  }

  // Elements of a variable, each a word where the shell makes words of them.
  void AddElements(const std::vector<ShellWord>& elements, bool quoted, bool each) {
    if (quoted && !each) Append("", "");
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i > 0 && quoted && !each) Append(" ", "");
      if (i > 0 && (!quoted || each)) Close();
      if (quoted) {
        Append(elements[i].text, elements[i].doubt, &elements[i]);
      } else {
        AddSplit(elements[i]);
      }
    }
  }

  void AddSplit(const ShellWord& element) {
    if (element.text.empty() && !element.doubt.empty()) return Append("", element.doubt, &element);
    for (std::size_t i = 0; i < element.text.size();) {
      if (IsBlank(element.text[i])) {
        Close();
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < element.text.size() && !IsBlank(element.text[end])) ++end;
      Append(element.text.substr(i, end - i), element.doubt, &element);
      i = end;
    }
  }

  // ${NAME}, ${NAME[@]}, ${NAME:-default}, ${NAME-default}, ${NAME:=default}.
  void AddVariable(const ShellPart& part) {
    std::size_t end = 0;
    while (end < part.text.size() && IsNamePart(part.text[end])) ++end;
    const std::string name = part.text.substr(0, end);
    std::string rest = part.text.substr(end);
    const bool each = rest.starts_with("[@]");
    if (each || rest.starts_with("[*]")) rest.erase(0, 3);
    if (part.text == "@" || part.text == "*") return;  // arguments that nobody gave
    const bool is_default = rest.starts_with(":-") || rest.starts_with(":=") || rest.starts_with("-");
    const auto found = variables_.find(name);
    if (name.empty() || (!rest.empty() && !is_default)) {
      return Doubt("${" + part.text.substr(0, 40) + "} needs a shell");
    }
    const bool set =
        found != variables_.end() && !(rest.starts_with(':') && found->second.size() == 1 &&
                                       found->second[0].text.empty() && found->second[0].doubt.empty());
    if (set) return AddElements(found->second, part.quoted, each);
    if (!is_default) return Doubt("$" + name + " is not set in this file");
    if (depth_ >= kDeepest) return Doubt("${" + part.text.substr(0, 40) + "} needs a shell");
    std::vector<proto::SyntaxError> errors;
    const std::vector<ShellToken> tokens =
        ReadShellTokens(rest.substr(rest.starts_with(':') ? 2 : 1), &errors);
    std::vector<ShellWord> elements;
    for (ShellToken token : tokens) {
      token.at = token_.at;
      if (token.kind != ShellToken::Kind::kWord)
        return Doubt("${" + part.text.substr(0, 40) + "} needs a shell");
      for (ShellWord& word : Expander(token, variables_, depth_ + 1).Run())
        elements.push_back(std::move(word));
    }
    // Its words are made already: quotes inside a default count.
    AddElements(elements, true, each || !part.quoted);
  }

  const ShellToken& token_;
  const ShellVariables& variables_;
  int depth_;
  std::vector<ShellWord> words_;
  bool open_ = false;
};

}  // namespace

std::optional<std::int64_t> EvaluateArithmetic(std::string_view text, const ShellVariables& variables) {
  return Arithmetic(text, variables).Evaluate();
}

std::vector<ShellWord> Expand(const ShellToken& word, const ShellVariables& variables) {
  return Expander(word, variables, 0).Run();
}

}  // namespace scenarios
