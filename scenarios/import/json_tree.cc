#include "scenarios/import/trees.h"

namespace scenarios {

std::optional<proto::Node> ParseJson(const std::string& file, std::string_view text,
                                     proto::Diagnostics* diagnostics) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    diagnostics->Error(file, "there is nothing in it; an object { ... } is wanted");
    return std::nullopt;
  }
  proto::Syntax syntax = proto::ParseText(text, proto::Notation::kJson);
  if (syntax.errors.empty()) {
    if (const auto error = proto::RefuseJson(text)) syntax.errors.push_back(*error);
  }
  for (const proto::SyntaxError& error : syntax.errors) {
    diagnostics->Error(file + ':' + std::to_string(error.at.line) + ':' + std::to_string(error.at.column),
                       error.what);
  }
  if (!syntax.errors.empty()) return std::nullopt;
  return std::move(syntax.root);
}

}  // namespace scenarios
