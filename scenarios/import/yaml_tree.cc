#include <yaml-cpp/yaml.h>

#include "scenarios/import/settings.h"
#include "scenarios/import/trees.h"

namespace scenarios {
namespace {

using proto::Node;

std::string At(const std::string& file, const YAML::Mark& mark) {
  if (mark.is_null()) return file;
  return file + ':' + std::to_string(mark.line + 1) + ':' + std::to_string(mark.column + 1);
}

class Converter {
 public:
  Converter(const std::string& file, proto::Diagnostics* diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  bool Convert(const YAML::Node& in, int depth, Node* out) {
    constexpr int kMostNodes = 100'000;
    if (++nodes_ > kMostNodes) return Refuse(in, "more than 100,000 values; fewer are wanted");
    if (depth > proto::kMaxDepth) return Refuse(in, "nested deeper than 64; less is wanted");
    switch (in.Type()) {
      case YAML::NodeType::Map:
        return ConvertMap(in, depth, out);
      case YAML::NodeType::Sequence:
        out->kind = Node::Kind::kList;
        for (const YAML::Node& element : in) {
          Node child = PlaceOf(element);
          if (!Convert(element, depth + 1, &child)) return false;
          out->children.push_back(std::move(child));
        }
        return true;
      case YAML::NodeType::Scalar:
        return ConvertScalar(in, out);
      default:
        out->kind = Node::Kind::kWord;
        out->text = "null";
        return true;
    }
  }

 private:
  static Node PlaceOf(const YAML::Node& in) {
    Node node;
    if (!in.Mark().is_null()) node.at = {in.Mark().line + 1, in.Mark().column + 1};
    return node;
  }

  bool ConvertMap(const YAML::Node& in, int depth, Node* out) {
    out->kind = Node::Kind::kMessage;
    for (const auto& field : in) {
      if (!field.first.IsScalar()) return Refuse(field.first, "a key that is no word; a word is wanted");
      if (field.first.Scalar() == "<<") return Refuse(field.first, "merging with << is not supported");
      Node child = PlaceOf(field.first);
      child.name = field.first.Scalar();
      if (!Convert(field.second, depth + 1, &child)) return false;
      out->children.push_back(std::move(child));
    }
    return true;
  }

  // "!" is the tag of what stands in quotes.
  static bool ConvertScalar(const YAML::Node& in, Node* out) {
    const Node scalar = ScalarNode(in.Scalar());
    const bool quoted = in.Tag() == "!";
    out->kind = quoted ? Node::Kind::kString : scalar.kind;
    out->text = quoted ? in.Scalar() : scalar.text;
    return true;
  }

  bool Refuse(const YAML::Node& in, const std::string& what) {
    diagnostics_->Error(At(file_, in.Mark()), what);
    return false;
  }

  const std::string& file_;
  proto::Diagnostics* diagnostics_;
  int nodes_ = 0;
};

}  // namespace

std::optional<Node> ParseYaml(const std::string& file, std::string_view text,
                              proto::Diagnostics* diagnostics) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1 || !documents[0].IsMap()) {
      diagnostics->Error(file, documents.size() > 1 ? "several documents; one is wanted"
                                                    : "no keys; \"key: value\" lines are wanted");
      return std::nullopt;
    }
    Node root;
    if (!Converter(file, diagnostics).Convert(documents[0], 0, &root)) return std::nullopt;
    return root;
  } catch (const YAML::Exception& error) {
    diagnostics->Error(At(file, error.mark), "no YAML: " + error.msg);
    return std::nullopt;
  }
}

}  // namespace scenarios
