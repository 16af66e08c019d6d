#include "models/model_reader.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "models/catalogue.h"
#include "proto/model.pb.h"

namespace models {
namespace {

namespace config = orrery::config;

// 1234567 -> "1,234,567".
std::string Grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::size_t sign = n < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > sign + 3;) text.insert(i -= 3, 1, ',');
  return text;
}

// Takes fields from a message and says which are missing or out of range. What
// is wrong reads as 0, so that later checks can tell.
class Checker {
 public:
  Checker(proto::Field root, proto::Diagnostics* diagnostics)
      : root_(std::move(root)), diagnostics_(diagnostics) {}

  std::int64_t Required(const char* name, bool has, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (!has) {
      Missing(name, "give a number from " + Grouped(low) + " to " + Grouped(high));
      return 0;
    }
    return InRange(name, value, low, high);
  }

  std::int64_t Optional(const char* name, bool has, std::int64_t value, std::int64_t low, std::int64_t high,
                        std::int64_t otherwise) {
    return has ? InRange(name, value, low, high) : otherwise;
  }

  void Missing(const char* name, const std::string& want) {
    const proto::Field field = root_.At(name);
    if (!field.given()) diagnostics_->Error(field.place(), "missing; " + want);  // else refused already
  }

  void Error(const char* name, const std::string& what) { diagnostics_->Error(root_.At(name).place(), what); }

 private:
  std::int64_t InRange(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value >= low && value <= high) return value;
    Error(name,
          Grouped(value) + " is out of range; give a number from " + Grouped(low) + " to " + Grouped(high));
    return 0;
  }

  proto::Field root_;
  proto::Diagnostics* diagnostics_;
};

void ReadSizes(const config::Model& in, Checker* check, Model* out) {
  out->layers = check->Required("layers", in.has_layers(), in.layers(), 1, 10'000);
  out->hidden = check->Required("hidden", in.has_hidden(), in.hidden(), 1, 1'000'000);
  out->ffn = check->Required("ffn", in.has_ffn(), in.ffn(), 1, 10'000'000);
  out->heads = check->Required("heads", in.has_heads(), in.heads(), 1, 100'000);
  out->kv_heads = check->Required("kv_heads", in.has_kv_heads(), in.kv_heads(), 1, 100'000);
  out->head_dim = check->Required("head_dim", in.has_head_dim(), in.head_dim(), 1, 100'000);
  out->vocabulary = check->Required("vocabulary", in.has_vocabulary(), in.vocabulary(), 1, 10'000'000);
  out->max_positions = check->Required("max_sequence_tokens", in.has_max_sequence_tokens(),
                                       in.max_sequence_tokens(), 1, 100'000'000);
  out->learned_positions = check->Optional("learned_positions", in.has_learned_positions(),
                                           in.learned_positions(), 0, 100'000'000, 0);
  out->norms_per_layer =
      check->Optional("norms_per_layer", in.has_norms_per_layer(), in.norms_per_layer(), 2, 4, 2);
  out->sliding_window = check->Optional("sliding_window_tokens", in.has_sliding_window_tokens(),
                                        in.sliding_window_tokens(), 1, 100'000'000, 0);
  out->full_attention_every_layers =
      check->Optional("full_attention_every_layers", in.has_full_attention_every_layers(),
                      in.full_attention_every_layers(), 1, 10'000, 0);
}

void ReadKinds(const config::Model& in, Checker* check, Model* out) {
  if (!in.has_gated()) check->Missing("gated", "give true (three matrices) or false (two)");
  if (!in.has_tied_embedding()) check->Missing("tied_embedding", "give true or false");
  out->gated = in.gated();
  out->tied_embedding = in.tied_embedding();
  switch (in.nonlinearity()) {
    case config::Model::GELU:
      out->nonlinearity = Nonlinearity::kGelu;
      break;
    case config::Model::RELU:
      out->nonlinearity = Nonlinearity::kRelu;
      break;
    case config::Model::SILU:
      out->nonlinearity = Nonlinearity::kSilu;
      break;
    default:
      if (in.has_nonlinearity()) {
        check->Error("nonlinearity", "is not one of GELU, RELU and SILU");
      } else {
        check->Missing("nonlinearity", "give GELU, RELU or SILU");
      }
  }
  switch (in.norm()) {
    case config::Model::RMS:
      out->norm = Norm::kRms;
      break;
    case config::Model::LAYER:
      out->norm = Norm::kLayer;
      break;
    default:
      if (in.has_norm()) {
        check->Error("norm", "is not one of RMS and LAYER");
      } else {
        check->Missing("norm", "give RMS or LAYER");
      }
  }
  out->biases = {in.qkv_bias(), in.attention_output_bias(), in.mlp_bias()};
  out->rotary = in.has_rotary() ? in.rotary() : out->learned_positions == 0;
  out->final_norm = !in.has_final_norm() || in.final_norm();
  out->embedding_norm = in.embedding_norm();
  out->qk_norm = in.qk_norm();
}

// Divisors of n that are at most `limit`, joined for a message; the eight largest.
std::string Divisors(std::int64_t n) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = n; d >= 1 && divisors.size() < 8; --d) {
    if (n % d == 0) divisors.push_back(d);
  }
  std::string text;
  for (std::size_t i = divisors.size(); i-- > 0;) {
    text += std::to_string(divisors[i]);
    if (i > 0) text += i == 1 ? " and " : ", ";
  }
  return text;
}

void CheckTogether(const Model& m, Checker* check) {
  if (m.heads > 0 && m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
    check->Error("kv_heads", std::to_string(m.kv_heads) + " does not divide the " + std::to_string(m.heads) +
                                 " query heads; " + Divisors(m.heads) + " do");
  }
  if (m.heads * m.head_dim > 10'000'000) {
    check->Error("head_dim", Grouped(m.heads * m.head_dim) +
                                 " channels in all heads together are out of range; at most 10,000,000");
  }
  if (m.rotary && m.head_dim % 2 != 0) {
    check->Error("head_dim",
                 std::to_string(m.head_dim) +
                     " is odd, but a rotary embedding turns pairs of channels; give an even number");
  }
  if (m.learned_positions > 0 && m.learned_positions < m.max_positions) {
    check->Error("learned_positions", Grouped(m.learned_positions) + " are too few for sequences of " +
                                          Grouped(m.max_positions) + " tokens (max_sequence_tokens)");
  }
  if (m.norms_per_layer == 3) check->Error("norms_per_layer", "3 is not supported; 2 and 4 are");
  if (m.full_attention_every_layers > 0 && m.sliding_window == 0) {
    check->Error("full_attention_every_layers", "has no meaning without sliding_window_tokens");
  }
}

bool IsPath(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".textproto") || name.ends_with(".json");
}

bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// The file that `name` means, or nothing where the catalogue has to be asked.
std::optional<std::string> FileOf(const std::string& name, const std::string& beside_folder) {
  const std::filesystem::path folder(beside_folder);
  if (IsPath(name)) {
    if (!beside_folder.empty() && Exists(folder / name)) return (folder / name).string();
    return name;
  }
  if (beside_folder.empty() || name.empty()) return std::nullopt;
  for (const char* ending : {".textproto", ".json"}) {
    const std::filesystem::path path = folder / (name + ending);
    if (Exists(path)) return path.string();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Model> ReadModelText(const std::string& file, std::string_view text,
                                   const std::vector<proto::Override>& overrides,
                                   proto::Diagnostics* diagnostics) {
  const std::size_t errors_before = diagnostics->errors().size();
  config::Model in;
  proto::Document document;
  proto::Read(file, text, overrides, &in, &document, diagnostics);
  if (!document.complete()) return std::nullopt;
  Checker check(document.root(), diagnostics);

  Model out;
  out.name = in.name();
  out.source = in.source().title();
  if (in.name().empty()) check.Missing("name", "give the model's name");
  ReadSizes(in, &check, &out);
  ReadKinds(in, &check, &out);
  CheckTogether(out, &check);
  if (!in.has_source() || in.source().title().empty()) {
    diagnostics->Warning(document.root().At("source").place(), "no title; say where the shapes come from");
  }
  if (diagnostics->errors().size() > errors_before) return std::nullopt;
  return out;
}

std::optional<Model> ReadModel(const std::string& name_or_path, const std::vector<proto::Override>& overrides,
                               const std::string& beside_folder, proto::Diagnostics* diagnostics,
                               const std::string& place) {
  if (const std::optional<std::string> file = FileOf(name_or_path, beside_folder)) {
    std::string text;
    if (!proto::ReadFile(*file, &text, diagnostics)) return std::nullopt;
    return ReadModelText(*file, text, overrides, diagnostics);
  }
  std::vector<std::string> known;
  for (const proto::CatalogueFile& entry : Catalogue()) {
    if (entry.name == name_or_path) {
      return ReadModelText(std::string(entry.file), entry.text, overrides, diagnostics);
    }
    known.emplace_back(entry.name);
  }
  std::string what = "no model is called \"" + name_or_path + "\"";
  const std::vector<std::string> near = proto::Nearest(name_or_path, known);
  for (std::size_t i = 0; i < near.size(); ++i) {
    what += (i == 0 ? "; did you mean \"" : i + 1 == near.size() ? " or \"" : ", \"") + near[i] + "\"";
  }
  diagnostics->Error(place, what + (near.empty() ? "" : "?"));
  return std::nullopt;
}

}  // namespace models
