#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "scenarios/import/trees.h"

namespace scenarios {
namespace {

using proto::Node;

proto::Position PositionOf(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Node Convert(const toml::node& in);

// Scalars as TOML writes them; strings as they are.
Node ConvertScalar(const toml::node& in) {
  Node out;
  if (const auto* text = in.as_string()) {
    out.kind = Node::Kind::kString;
    out.text = text->get();
  } else if (const auto* flag = in.as_boolean()) {
    out.kind = Node::Kind::kWord;
    out.text = flag->get() ? "true" : "false";
  } else {
    out.kind = in.is_number() ? Node::Kind::kNumber : Node::Kind::kString;
    std::ostringstream written;
    if (const auto* whole = in.as_integer()) {
      written << whole->get();
    } else {
      in.visit([&](const auto& value) {
        if constexpr (toml::is_value<decltype(value)>) written << value;
      });
    }
    out.text = written.str();
  }
  return out;
}

Node Convert(const toml::node& in) {
  Node out;
  if (const toml::table* table = in.as_table()) {
    out.kind = Node::Kind::kMessage;
    for (const auto& [key, value] : *table) {
      Node child = Convert(value);
      child.name = std::string(key.str());
      child.at = PositionOf(key.source());
      out.children.push_back(std::move(child));
    }
    // In the order of the file, not of the alphabet.
    std::stable_sort(out.children.begin(), out.children.end(), [](const Node& a, const Node& b) {
      return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
  } else if (const toml::array* list = in.as_array()) {
    out.kind = Node::Kind::kList;
    for (const toml::node& element : *list) out.children.push_back(Convert(element));
  } else {
    out = ConvertScalar(in);
  }
  out.at = PositionOf(in.source());
  return out;
}

}  // namespace

// The library refuses what nests deeper than 256.
std::optional<Node> ParseToml(const std::string& file, std::string_view text,
                              proto::Diagnostics* diagnostics) {
  try {
    return Convert(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const proto::Position at = PositionOf(error.source());
    diagnostics->Error(file + ':' + std::to_string(at.line) + ':' + std::to_string(at.column),
                       "no TOML: " + std::string(error.description()));
    return std::nullopt;
  }
}

}  // namespace scenarios
