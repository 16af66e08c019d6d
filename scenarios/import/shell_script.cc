#include "scenarios/import/shell_script.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "scenarios/import/shell_values.h"
#include "scenarios/import/shell_words.h"

namespace scenarios {
namespace {

// A script that doubles a variable line by line would otherwise fill memory.
constexpr std::size_t kMostWords = 100'000, kMostBytes = 10'000'000;

template <std::size_t n>
bool IsOneOf(const std::array<const char*, n>& words, const std::string& word) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

// The word as written when nothing has to be put in, else "".
std::string Plain(const ShellToken& token) {
  const bool plain = token.kind == ShellToken::Kind::kWord && token.parts.size() == 1 &&
                     token.parts[0].kind == ShellPart::Kind::kText && !token.parts[0].quoted;
  return plain ? token.parts[0].text : "";
}

// The length of "NAME=" or "NAME+=" at the start of a word; 0 when it is no assignment.
std::size_t AssignmentLength(const ShellToken& token) {
  if (token.parts.empty() || token.parts[0].kind != ShellPart::Kind::kText || token.parts[0].quoted) return 0;
  const std::string& text = token.parts[0].text;
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
    ++end;
  if (end == 0 || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return 0;
  if (text.compare(end, 1, "=") == 0) return end + 1;
  return text.compare(end, 2, "+=") == 0 ? end + 2 : 0;
}

bool StartsTraining(const std::vector<ShellWord>& words, std::size_t* program) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool module = i > 0 && words[i - 1].text == "-m" && words[i].text.find("torch.distributed") != 0;
    if (!words[i].text.ends_with(".py") && !module) continue;
    *program = i;
    return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(),
                       [](const ShellWord& word) { return word.text.starts_with("--"); });
  }
  return false;
}

// The words of a command in one word, as for `sh -c` and eval, cut at blanks.
std::vector<ShellWord> CutInside(const std::vector<ShellWord>& words) {
  std::vector<ShellWord> cut;
  for (const ShellWord& word : words) {
    std::size_t at = 0;
    while (at <= word.text.size()) {
      const std::size_t end = std::min(word.text.find_first_of(" \t\n", at), word.text.size());
      if (end > at || word.text.empty()) {
        cut.push_back({word.text.substr(at, end - at), word.line, word.column, word.doubt});
      }
      at = end + 1;
    }
  }
  return cut;
}

struct Candidate {
  LaunchCommand command;
  int line = 1;
};

class Script {
 public:
  explicit Script(const std::vector<ShellToken>& tokens) : tokens_(tokens) {}

  void Run() {
    std::vector<ShellToken> command;
    for (std::size_t i = 0; i < tokens_.size() && !too_large(); ++i) {
      const ShellToken& token = tokens_[i];
      if (token.kind != ShellToken::Kind::kOperator) {
        command.push_back(token);
        continue;
      }
      if (token.text == "<" || token.text == ">") {  // a redirection: without its file and a number before it
        const std::string number = command.empty() ? "" : Plain(command.back());
        if (number == "1" || number == "2") command.pop_back();
        if (i + 1 < tokens_.size() && tokens_[i + 1].kind == ShellToken::Kind::kWord) ++i;
        continue;
      }
      const bool defines =
          token.text == "(" && command.size() == 1 && i + 1 < tokens_.size() && tokens_[i + 1].text == ")";
      if (defines) {
        function_ = true;
        command.clear();
        continue;
      }
      RunCommand(std::move(command));
      command.clear();
      // What follows && or || runs or does not; where a line ends, that is over.
      after_ = token.text == "&&" || token.text == "||" ? token.text : "";
      after_line_ = token.at.line;
    }
    RunCommand(std::move(command));
  }

  bool too_large() const { return words_ > kMostWords || bytes_ > kMostBytes; }
  const std::vector<Candidate>& sure() const { return sure_; }
  const std::vector<Candidate>& maybe() const { return maybe_; }

 private:
  static constexpr std::array kOpens = {"if", "for", "while", "until", "case", "select", "{"};
  static constexpr std::array kCloses = {"fi", "done", "esac", "}"};
  static constexpr std::array kBetween = {"then", "else", "elif", "do", "!", "time"};
  static constexpr std::array kDeclares = {"export", "declare", "local", "readonly", "typeset"};

  std::string doubt() const {
    if (opened_.empty() && after_.empty()) return "";
    const auto& [word, line] = opened_.empty() ? std::pair(after_, after_line_) : opened_[0];
    return "line " + std::to_string(line) + ": `" + word + "` needs a shell";
  }

  // Takes the keywords at the start of a command. Returns whether something is left to run.
  bool TakeKeywords(std::vector<ShellToken>* command) {
    while (!command->empty()) {
      const std::string word = Plain((*command)[0]);
      if (word == "function" && command->size() > 1) {
        function_ = true;
        command->erase(command->begin(), command->begin() + 2);
        continue;
      }
      if (IsOneOf(kOpens, word)) {
        // A lone { groups commands that run all the same.
        const bool group = word == "{" && !function_;
        if (!group) opened_.emplace_back(word == "{" ? "function" : word, (*command)[0].at.line);
        if (group) ++groups_;
        function_ = false;
        if (word != "{" && word != "if" && word != "while" && word != "until") return false;
      } else if (IsOneOf(kCloses, word)) {
        if (word == "}" && groups_ > 0) {
          --groups_;
        } else if (!opened_.empty()) {
          opened_.pop_back();
        }
      } else if (!IsOneOf(kBetween, word)) {
        return true;
      }
      command->erase(command->begin());
    }
    return false;
  }

  void RunCommand(std::vector<ShellToken> command) {
    if (!TakeKeywords(&command)) return;
    std::size_t first = 0;
    const bool declares = IsOneOf(kDeclares, Plain(command[0]));
    if (declares) ++first;
    while (declares && first < command.size() && Plain(command[first]).starts_with('-')) ++first;
    std::size_t end = first;
    while (end < command.size() && AssignmentLength(command[end]) > 0) ++end;
    if (end == command.size() || declares) {
      for (std::size_t i = first; i < end; ++i) Assign(command[i]);
      return;
    }
    std::vector<ShellWord> words;
    for (std::size_t i = end; i < command.size(); ++i) Collect(command[i], &words);
    std::size_t program = 0;
    if (!StartsTraining(words, &program)) {
      words = CutInside(words);
      if (!StartsTraining(words, &program)) return;
    }
    Candidate found;
    found.line = command[end].at.line;
    const auto middle = words.begin() + static_cast<std::ptrdiff_t>(program) + 1;
    found.command.launcher.assign(words.begin(), middle);
    found.command.flags.assign(middle, words.end());
    (opened_.empty() ? sure_ : maybe_).push_back(std::move(found));
  }

  void Collect(const ShellToken& token, std::vector<ShellWord>* words) {
    for (ShellWord& word : Expand(token, variables_)) {
      ++words_;
      bytes_ += word.text.size();
      words->push_back(std::move(word));
    }
  }

  void Assign(const ShellToken& token) {
    const std::size_t length = AssignmentLength(token);
    const std::string& head = token.parts[0].text;
    const bool adds = head[length - 2] == '+';
    const std::string name = head.substr(0, length - (adds ? 2 : 1));
    std::vector<ShellWord> words;
    if (token.kind == ShellToken::Kind::kArray) {
      for (const ShellToken& element : token.elements) Collect(element, &words);
    } else {
      ShellToken value = token;  // in quotes: what is assigned is not cut
      value.parts[0].text.erase(0, length);
      for (ShellPart& part : value.parts) part.quoted = true;
      Collect(value, &words);
      if (words.empty()) words.push_back({"", token.at.line, token.at.column, ""});
    }
    for (ShellWord& word : words) {
      if (word.doubt.empty()) word.doubt = doubt();
    }
    std::vector<ShellWord>& variable = variables_[name];
    if (!adds) {
      variable = std::move(words);
    } else if (token.kind == ShellToken::Kind::kArray || variable.empty()) {
      variable.insert(variable.end(), words.begin(), words.end());
    } else {
      variable[0].text += words[0].text;
      if (variable[0].doubt.empty()) variable[0].doubt = words[0].doubt;
      bytes_ += variable[0].text.size();
    }
  }

  const std::vector<ShellToken>& tokens_;
  ShellVariables variables_;
  std::vector<std::pair<std::string, int>> opened_;  // keywords, and their lines
  std::string after_;
  int after_line_ = 0;
  int groups_ = 0;
  bool function_ = false;
  std::size_t words_ = 0, bytes_ = 0;
  std::vector<Candidate> sure_, maybe_;
};

// Whether the text is a bare list of flags.
bool IsFlags(const std::vector<ShellToken>& tokens) {
  const auto first = std::find_if(tokens.begin(), tokens.end(), [](const ShellToken& token) {
    return token.kind != ShellToken::Kind::kOperator;
  });
  return first != tokens.end() && !first->parts.empty() && first->parts[0].text.starts_with("--");
}

}  // namespace

std::optional<LaunchCommand> ReadLaunchScript(const std::string& file, std::string_view text,
                                              proto::Diagnostics* diagnostics) {
  std::vector<proto::SyntaxError> errors;
  const std::vector<ShellToken> tokens = ReadShellTokens(text, &errors);
  for (const proto::SyntaxError& error : errors) {
    diagnostics->Error(file + ':' + std::to_string(error.at.line) + ':' + std::to_string(error.at.column),
                       error.what);
  }
  if (!errors.empty()) return std::nullopt;
  if (IsFlags(tokens)) {
    LaunchCommand all;
    for (const ShellToken& token : tokens) {
      if (token.kind == ShellToken::Kind::kOperator && token.text != "\n") {
        diagnostics->Error(
            file + ':' + std::to_string(token.at.line) + ':' + std::to_string(token.at.column),
            '"' + token.text + "\" outside quotes; a value with such signs is wanted in quotes");
        return std::nullopt;
      }
      for (ShellWord& word : Expand(token, {})) all.flags.push_back(std::move(word));
    }
    return all;
  }
  Script script(tokens);
  script.Run();
  if (script.too_large()) {
    diagnostics->Error(file, "its variables hold more than 100,000 words; fewer are wanted");
    return std::nullopt;
  }
  const std::vector<Candidate>& found = script.sure().empty() ? script.maybe() : script.sure();
  if (found.size() == 1) return found[0].command;
  std::string lines;
  for (const Candidate& candidate : found)
    lines += (lines.empty() ? "" : ", ") + std::to_string(candidate.line);
  diagnostics->Error(
      file, found.empty() ? "no command with a .py and --flags, and no bare list of --flags; one is wanted"
                          : "commands that start training at lines " + lines + "; one is wanted");
  return std::nullopt;
}

}  // namespace scenarios
