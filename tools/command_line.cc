#include "tools/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <optional>
#include <ostream>

namespace tools {
namespace {

namespace po = boost::program_options;

constexpr const char* kHidden = "argument";  // what boost calls positional words

po::options_description Describe(const Command& command) {
  po::options_description all;
  all.add_options()("help,h", "");
  for (const Flag& flag : command.flags) {
    const std::string name = flag.name + (flag.letter == '\0' ? "" : std::string(",") + flag.letter);
    if (flag.value_name.empty()) {
      all.add_options()(name.c_str(), "");
    } else {
      auto* value = po::value<std::vector<std::string>>();
      if (flag.repeats) value->composing();
      all.add_options()(name.c_str(), value, "");
    }
  }
  all.add_options()(kHidden, po::value<std::vector<std::string>>());
  return all;
}

std::string Unknown(const Command& command, const std::string& word) {
  std::vector<std::string> names;
  for (const Flag& flag : command.flags) names.push_back(flag.name);
  names.emplace_back("help");
  std::string bare = word.substr(0, word.find('='));
  bare.erase(0, bare.find_first_not_of('-'));
  const std::vector<std::string> near = proto::Nearest(bare, names);
  return "unknown option " + word.substr(0, word.find('=')) + "; " +
         (near.empty() ? "`orrery " + command.name + " --help` lists all"
                       : "did you mean --" + near[0] + "?");
}

// Columns of flags and what they are.
std::string FlagLines(const std::vector<Flag>& flags) {
  constexpr std::size_t kColumn = 24;
  std::string text;
  for (const Flag& flag : flags) {
    if (flag.help.empty()) continue;
    const std::string letter = flag.letter == '\0' ? "" : std::string("-") + flag.letter + ", ";
    std::string line =
        "  " + letter + "--" + flag.name + (flag.value_name.empty() ? "" : " " + flag.value_name);
    line +=
        line.size() < kColumn ? std::string(kColumn - line.size(), ' ') : "\n" + std::string(kColumn, ' ');
    text += line + flag.help + '\n';
  }
  return text;
}

std::string Help() {
  std::string text =
      "Orrery simulates training large language models on clusters of GPUs.\n"
      "Usage: orrery COMMAND [ARGUMENT]... [OPTION]...\n\n";
  for (const Command& command : Commands()) {
    constexpr std::size_t kLongest = 11;  // "utilisation"
    text += "  " + command.name + std::string(kLongest + 1 - std::min(kLongest, command.name.size()), ' ') +
            command.summary + '\n';
  }
  text +=
      "\n`orrery COMMAND --help` says more. Example: orrery check llama_70b_64xh800_a --set "
      "layout.pipeline=8\n"
      "Exit status: 0 done; 1 does not hold, or fit; 2 wrong words or input; 70 our bug; 130 "
      "interrupted.\n";
  return text;
}

std::optional<Command> Find(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
  }
  return std::nullopt;
}

int UnknownCommand(const std::string& word, std::ostream& err) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::vector<std::string> near = proto::Nearest(word, names);
  return Fail("unknown command " + word + "; " +
                  (near.empty() ? "`orrery --help` lists all" : "did you mean " + near[0] + "?"),
              err);
}

}  // namespace

std::string Arguments::value(const std::string& flag, const std::string& otherwise) const {
  const auto found = values.find(flag);
  return found == values.end() || found->second.empty() ? otherwise : found->second.back();
}

sim::Result<Arguments> ParseArguments(const Command& command, const std::vector<std::string>& words) {
  // Boost takes "--verb" for "--verbose" unless told otherwise.
  constexpr int kExact = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::positional_options_description positional;
  positional.add(kHidden, -1);
  Arguments arguments;
  try {
    const po::options_description all = Describe(command);
    const po::parsed_options parsed =
        po::command_line_parser(words).options(all).positional(positional).style(kExact).run();
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0) {
        arguments.positional.insert(arguments.positional.end(), option.value.begin(), option.value.end());
        continue;
      }
      if (option.string_key == kHidden) return sim::Error{Unknown(command, "--" + option.string_key)};
      std::vector<std::string>& values = arguments.values[option.string_key];
      const auto flag = std::find_if(command.flags.begin(), command.flags.end(),
                                     [&](const Flag& f) { return f.name == option.string_key; });
      if (flag != command.flags.end() && !flag->repeats && !values.empty()) {
        return sim::Error{"--" + flag->name + " is given twice; once is wanted"};
      }
      if (option.value.empty()) values.emplace_back();
      values.insert(values.end(), option.value.begin(), option.value.end());
    }
  } catch (const po::unknown_option& error) {
    return sim::Error{Unknown(command, error.get_option_name())};
  } catch (const po::error& error) {
    return sim::Error{error.what()};
  }
  if (arguments.positional.size() > command.most_arguments && !arguments.has("help")) {
    return sim::Error{"unexpected argument " + arguments.positional[command.most_arguments] +
                      "; usage: orrery " + command.name + ' ' + command.usage};
  }
  return arguments;
}

std::string HelpOf(const Command& command) {
  return command.summary + "\n\nUsage: orrery " + command.name + ' ' + command.usage + "\n\n" +
         FlagLines(command.flags) + (command.examples.empty() ? "" : "\nExamples:\n\n" + command.examples);
}

sim::Result<std::vector<proto::Override>> OverridesOf(const Arguments& arguments) {
  std::vector<proto::Override> overrides;
  const auto found = arguments.values.find("set");
  if (found == arguments.values.end()) return overrides;
  for (const std::string& text : found->second) {
    const std::size_t equals = text.find('=');
    const int index = static_cast<int>(overrides.size()) + 1;
    if (equals == text.npos || equals == 0) {
      return sim::Error{"--set " + std::to_string(index) + ": \"" + text +
                        "\" is not PATH=VALUE; wanted one like layout.tensor=8"};
    }
    overrides.push_back({index, text.substr(0, equals), text.substr(equals + 1)});
  }
  return overrides;
}

int Fail(const std::string& message, std::ostream& err) {
  err << "orrery: error: " << message << '\n';
  return kExitUsage;
}

void Print(const proto::Diagnostics& diagnostics, std::ostream& err) {
  for (const std::string& line : diagnostics.warnings()) err << "orrery: warning: " << line << '\n';
  for (const std::string& line : diagnostics.errors()) err << "orrery: error: " << line << '\n';
}

int Run(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    out << Help();
    return kExitDone;
  }
  if (words[0] == "--version") {
    out << "orrery " ORRERY_VERSION "\n";
    return kExitDone;
  }
  if (words[0] == "help") {
    if (words.size() == 1) return Run({"--help"}, out, err);
    const std::optional<Command> about = Find(words[1]);
    if (!about) return UnknownCommand(words[1], err);
    out << HelpOf(*about);
    return kExitDone;
  }
  const std::optional<Command> command = Find(words[0]);
  if (!command) return UnknownCommand(words[0], err);
  const auto arguments = ParseArguments(*command, {words.begin() + 1, words.end()});
  if (!arguments.ok()) return Fail(arguments.error().message, err);
  if (arguments.value().has("help")) {
    out << HelpOf(*command);
    return kExitDone;
  }
  return command->run(arguments.value(), out, err);
}

}  // namespace tools
