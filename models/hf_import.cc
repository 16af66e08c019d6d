#include "models/hf_import.h"

#include <algorithm>
#include <cctype>

#include "models/hf_config.h"
#include "models/hf_families.h"
#include "models/model_reader.h"
#include "models/model_text.h"
#include "proto/syntax.h"

namespace models {
namespace {

// The tree, or nothing where the text is no JSON object.
std::optional<proto::Syntax> Parse(const std::string& file, std::string_view json,
                                   proto::Diagnostics* diagnostics) {
  if (json.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    diagnostics->Error(file, "there is nothing in it; an object { ... } is wanted");
    return std::nullopt;
  }
  proto::Syntax syntax = proto::ParseText(json, proto::Notation::kJson);
  if (syntax.errors.empty()) {
    if (const auto error = proto::RefuseJson(json)) syntax.errors.push_back(*error);
  }
  for (const proto::SyntaxError& error : syntax.errors) {
    diagnostics->Error(file + ':' + std::to_string(error.at.line) + ':' + std::to_string(error.at.column),
                       error.what);
  }
  if (!syntax.errors.empty()) return std::nullopt;
  return syntax;
}

const HfFamily* FindFamily(const std::string& model_type, HfConfig* config) {
  std::vector<std::string> known;
  for (const HfFamily& family : HfFamilies()) {
    if (family.model_type == model_type) return &family;
    known.emplace_back(family.model_type);
  }
  const std::vector<std::string> near = proto::Nearest(model_type, known);
  std::string what = model_type.empty() ? "missing" : '"' + model_type + "\" is no family that can be read";
  if (!near.empty()) what += "; did you mean \"" + near[0] + "\"?";
  what += near.empty() ? "; " : " ";
  for (std::size_t i = 0; i < known.size(); ++i) what += (i == 0 ? "" : ", ") + known[i];
  config->Error("model_type", what + " are");
  return nullptr;
}

// "meta-llama/Llama-3.1-8B" -> "llama_3_1_8b".
std::string NameFrom(const std::string& path, const std::string& otherwise) {
  std::string name;
  const std::size_t end = path.find_last_not_of('/');
  const std::size_t start = end == std::string::npos ? 0 : path.find_last_of('/', end) + 1;
  for (std::size_t i = start; end != std::string::npos && i <= end; ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    if (std::isalnum(c) != 0 && c < 0x80) {
      name += static_cast<char>(std::tolower(c));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? otherwise : name;
}

// "org/name", as models are called there, and no path of a machine.
bool IsHubName(const std::string& path) {
  return std::count(path.begin(), path.end(), '/') == 1 && path.front() != '/' && path.front() != '.' &&
         path.back() != '/' && path.find(' ') == std::string::npos;
}

ModelSource SourceOf(const std::string& file, const std::string& hub_name, const HfImport& import) {
  ModelSource source;
  const bool hub = IsHubName(hub_name);
  source.title = "config.json of " + (hub ? hub_name : import.model.name);
  if (hub) source.url = "https://huggingface.co/" + hub_name + "/blob/main/config.json";
  source.note = "imported from " + file + ", model_type " + import.model_type;
  if (import.nested) source.note += "; the language model alone";
  if (import.model_type.starts_with("llama4") && import.model.sliding_window > 0) {
    source.note += "; its chunks of attention are taken for a window of their length";
  }
  return source;
}

// ":23:1: experts: ..." without the place, which is one of a text that nobody has seen.
std::string Placeless(const std::string& error) {
  const std::size_t end = error.find(": ");
  return end == std::string::npos ? error : error.substr(end + 2);
}

}  // namespace

std::optional<HfImport> ImportHf(const std::string& file, std::string_view json, const std::string& name,
                                 proto::Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  const std::optional<proto::Syntax> syntax = Parse(file, json, diagnostics);
  if (!syntax) return std::nullopt;
  HfConfig outer(syntax->root, file, "", diagnostics);
  HfImport import;
  import.model_type = outer.Text("model_type", "");
  const std::string hub_name = outer.Text("_name_or_path", "");

  // A model that sees or hears holds its language model's keys in an object of their own.
  std::optional<HfConfig> inner = outer.Object("text_config");
  if (!inner) inner = outer.Object("language_config");
  import.nested = inner.has_value();
  HfConfig* config = import.nested ? &*inner : &outer;
  if (import.nested) import.model_type = config->Text("model_type", import.model_type);
  const bool tied_outside =
      import.nested && !config->has("tie_word_embeddings") && outer.has("tie_word_embeddings");

  if (outer.refused({"model_type"}) || config->refused({"model_type"})) return std::nullopt;
  const HfFamily* family = FindFamily(import.model_type, config);
  if (family == nullptr) return std::nullopt;
  family->read(config, &import.model);
  if (tied_outside) import.model.tied_embedding = outer.Flag("tie_word_embeddings", false);
  if (diagnostics->errors().size() > before) return std::nullopt;

  import.unknown = config->Unknown();
  import.model.name = name.empty() ? NameFrom(hub_name, import.model_type) : name;
  const ModelSource source = SourceOf(file, hub_name, import);
  import.text = ModelText(import.model, source);
  // The reader has the last word on what is legal, and its Model is the one to count.
  proto::Diagnostics of_text;
  const std::optional<Model> read = ReadModelText("", import.text, {}, &of_text);
  for (const std::string& error : of_text.errors())
    diagnostics->Error(file, "as a model, " + Placeless(error));
  if (!read) return std::nullopt;
  import.model = *read;
  return import;
}

}  // namespace models
