#include "tools/flag_reader.h"

#include <algorithm>

#include "proto/syntax.h"

namespace tools {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Arguments WithChoices(const Arguments& arguments, const std::vector<std::string>& names,
                      const std::string& hint, std::vector<std::string>* errors) {
  Arguments all = arguments;
  if (!arguments.has("with")) return all;
  for (const std::string& given : arguments.values.at("with")) {
    const std::size_t equals = given.find('=');
    const std::string name = given.substr(0, equals);
    if (equals == std::string::npos) {
      errors->push_back("--with: \"" + given + "\" has no value; CHOICE=VALUE is wanted");
    } else if (!Has(names, name)) {
      const std::vector<std::string> near = proto::Nearest(name, names);
      errors->push_back("--with: no choice is called \"" + name + "\"; " +
                        (near.empty() ? hint : "did you mean \"" + near[0] + "\"?"));
    } else if (!all.values.emplace(name, std::vector<std::string>{given.substr(equals + 1)}).second) {
      errors->push_back("--with: " + name + " is given twice; once is wanted");
    }
  }
  return all;
}

std::string FlagReader::Written(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

void FlagReader::Complain(const char* flag, const std::string& what) {
  errors_->push_back((Has(choices_, flag) ? before_ : "--") + flag + ": \"" + arguments_.value(flag) +
                     "\" is " + what);
}

}  // namespace tools
