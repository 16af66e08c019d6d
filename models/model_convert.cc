#include <algorithm>
#include <utility>

#include "models/model_message.h"
#include "proto/model.pb.h"

namespace models {

namespace config = orrery::config;

std::string Grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::size_t sign = n < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > sign + 3;) text.insert(i -= 3, 1, ',');
  return text;
}

Checker::Checker(proto::Field root, proto::Diagnostics* diagnostics)
    : root_(std::move(root)), diagnostics_(diagnostics) {}

Checker Checker::Of(const char* name) const { return {root_.At(name), diagnostics_}; }

std::int64_t Checker::Required(const char* name, bool has, std::int64_t value, std::int64_t low,
                               std::int64_t high) {
  if (!has) {
    Missing(name, "give a number from " + Grouped(low) + " to " + Grouped(high));
    return 0;
  }
  return InRange(name, value, low, high);
}

std::int64_t Checker::Optional(const char* name, bool has, std::int64_t value, std::int64_t low,
                               std::int64_t high, std::int64_t otherwise) {
  return has ? InRange(name, value, low, high) : otherwise;
}

bool Checker::refused(const char* name) const {
  const std::string place = root_.At(name).place() + ": ";
  const std::vector<std::string>& errors = diagnostics_->errors();
  return std::any_of(errors.begin(), errors.end(),
                     [&](const std::string& error) { return error.starts_with(place); });
}

void Checker::Missing(const char* name, const std::string& want) {
  const proto::Field field = root_.At(name);
  if (!field.given()) diagnostics_->Error(field.place(), "missing; " + want);  // else refused already
}

void Checker::Error(const char* name, const std::string& what) {
  diagnostics_->Error(root_.At(name).place(), what);
}

void Checker::ErrorAt(const char* name, int index, const std::string& what) {
  diagnostics_->Error(root_.At(name, index).place(), what);
}

std::int64_t Checker::InRange(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return value;
  Error(name,
        Grouped(value) + " is out of range; give a number from " + Grouped(low) + " to " + Grouped(high));
  return 0;
}

namespace {

constexpr std::int64_t kMostLayers = 10'000, kMostHidden = 1'000'000, kMostFfn = 10'000'000,
                       kMostHeads = 100'000, kMostTokens = 100'000'000;

void ReadSizes(const config::Model& in, Checker* check, Model* out) {
  out->layers = check->Required("layers", in.has_layers(), in.layers(), 1, kMostLayers);
  out->hidden = check->Required("hidden", in.has_hidden(), in.hidden(), 1, kMostHidden);
  out->ffn = check->Optional("ffn", in.has_ffn(), in.ffn(), 1, kMostFfn, 0);
  out->heads = check->Required("heads", in.has_heads(), in.heads(), 1, kMostHeads);
  if (!in.has_latent()) {
    out->kv_heads = check->Required("kv_heads", in.has_kv_heads(), in.kv_heads(), 1, kMostHeads);
    out->head_dim = check->Required("head_dim", in.has_head_dim(), in.head_dim(), 1, kMostHeads);
  }
  out->vocabulary = check->Required("vocabulary", in.has_vocabulary(), in.vocabulary(), 1, kMostFfn);
  out->max_positions = check->Required("max_sequence_tokens", in.has_max_sequence_tokens(),
                                       in.max_sequence_tokens(), 1, kMostTokens);
  out->learned_positions = check->Optional("learned_positions", in.has_learned_positions(),
                                           in.learned_positions(), 0, kMostTokens, 0);
  out->norms_per_layer =
      check->Optional("norms_per_layer", in.has_norms_per_layer(), in.norms_per_layer(), 1, 4, 2);
  out->prediction_modules =
      check->Optional("prediction_modules", in.has_prediction_modules(), in.prediction_modules(), 0, 100, 0);
}

void ReadNonlinearity(const config::Model& in, Checker* check, Model* out) {
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
}

void ReadNorm(const config::Model& in, Checker* check, Model* out) {
  switch (in.norm()) {
    case config::Model::RMS:
      out->norm = Norm::kRms;
      break;
    case config::Model::LAYER:
      out->norm = Norm::kLayer;
      break;
    case config::Model::LAYER_SCALE_ONLY:
      out->norm = Norm::kLayerScaleOnly;
      break;
    default:
      if (in.has_norm()) {
        check->Error("norm", "is not one of RMS, LAYER and LAYER_SCALE_ONLY");
      } else {
        check->Missing("norm", "give RMS or LAYER");
      }
  }
}

void ReadKinds(const config::Model& in, Checker* check, Model* out) {
  if (!in.has_gated()) check->Missing("gated", "give true (three matrices) or false (two)");
  if (!in.has_tied_embedding()) check->Missing("tied_embedding", "give true or false");
  out->gated = in.gated();
  out->tied_embedding = in.tied_embedding();
  ReadNonlinearity(in, check, out);
  ReadNorm(in, check, out);
  out->biases = {in.qkv_bias(), in.attention_output_bias(), in.mlp_bias()};
  out->alibi = in.alibi();
  out->relative_positions = in.relative_positions();
  const bool otherwise = out->learned_positions == 0 && !out->alibi && !out->relative_positions;
  out->rotary = in.has_rotary() ? in.rotary() : otherwise;
  out->final_norm = !in.has_final_norm() || in.final_norm();
  out->embedding_norm = in.embedding_norm();
  out->qk_norm = in.qk_norm();
  out->attention_sinks = in.attention_sinks();
  out->parallel_residual = in.parallel_residual();
}

void ReadPattern(const config::Model& in, Checker* check, Model* out) {
  out->sliding_window = check->Optional("sliding_window_tokens", in.has_sliding_window_tokens(),
                                        in.sliding_window_tokens(), 1, kMostTokens, 0);
  const std::int64_t every =
      check->Optional("full_attention_every_layers", in.has_full_attention_every_layers(),
                      in.full_attention_every_layers(), 1, kMostLayers, 0);
  if (every > 0) {
    out->attention_pattern.assign(static_cast<std::size_t>(every), Attention::kSliding);
    out->attention_pattern.back() = Attention::kFull;
    if (in.attention_pattern_size() > 0) {
      check->Error("full_attention_every_layers", "and attention_pattern say the same; give one");
      return;
    }
  }
  for (int i = 0; i < in.attention_pattern_size(); ++i) {
    const auto value = in.attention_pattern(i);
    if (value != config::Model::FULL && value != config::Model::SLIDING) {
      check->ErrorAt("attention_pattern", i, "is not one of FULL and SLIDING");
    }
    out->attention_pattern.push_back(value == config::Model::FULL ? Attention::kFull : Attention::kSliding);
  }
}

// Heads follow from it: as many keys as queries, both nope_dim + rope_dim wide.
void ReadLatent(const config::Model& message, Checker* model, Model* out) {
  if (!message.has_latent()) return;
  const config::Model::Latent& in = message.latent();
  Checker check = model->Of("latent");
  Latent& latent = out->latent;
  latent.query_rank = check.Optional("query_rank", in.has_query_rank(), in.query_rank(), 1, kMostHidden, 0);
  latent.kv_rank = check.Required("kv_rank", in.has_kv_rank(), in.kv_rank(), 1, kMostHidden);
  latent.nope_dim = check.Required("nope_dim", in.has_nope_dim(), in.nope_dim(), 1, kMostHeads);
  latent.rope_dim = check.Required("rope_dim", in.has_rope_dim(), in.rope_dim(), 1, kMostHeads);
  latent.value_dim = check.Required("value_dim", in.has_value_dim(), in.value_dim(), 1, kMostHeads);
  out->kv_heads = out->heads;
  out->head_dim = latent.nope_dim + latent.rope_dim;
  if (in.has_rope_dim() && in.rope_dim() % 2 != 0) {
    check.Error("rope_dim",
                std::to_string(in.rope_dim()) +
                    " is odd, but a rotary embedding turns pairs of channels; give an even number");
  }
  if (message.has_kv_heads() && out->heads > 0 && message.kv_heads() != out->heads) {
    model->Error("kv_heads", Grouped(message.kv_heads()) + " differs from the " + Grouped(out->heads) +
                                 " heads, each of which has a key under latent attention; leave it out");
  }
  if (message.has_head_dim() && latent.nope_dim > 0 && latent.rope_dim > 0 &&
      message.head_dim() != out->head_dim) {
    model->Error("head_dim", Grouped(message.head_dim()) + " is not nope_dim + rope_dim, " +
                                 Grouped(out->head_dim) + "; leave it out");
  }
}

void ReadExperts(const config::Model& message, Checker* model, Model* out) {
  if (!message.has_experts()) return;
  const config::Model::Experts& in = message.experts();
  Checker check = model->Of("experts");
  Experts& experts = out->experts;
  experts.routed = check.Required("routed", in.has_routed(), in.routed(), 1, 100'000);
  experts.per_token = check.Required("per_token", in.has_per_token(), in.per_token(), 1, 100'000);
  experts.ffn = check.Required("ffn", in.has_ffn(), in.ffn(), 1, kMostFfn);
  experts.shared = check.Optional("shared", in.has_shared(), in.shared(), 0, 100'000, 0);
  experts.shared_ffn = check.Optional("shared_ffn", in.has_shared_ffn(), in.shared_ffn(), 1, kMostFfn,
                                      experts.shared > 0 ? experts.ffn : 0);
  experts.shared_gate = in.shared_gate();
  experts.router_bias = in.router_bias();
  experts.first_dense_layers = check.Optional("first_dense_layers", in.has_first_dense_layers(),
                                              in.first_dense_layers(), 0, kMostLayers, 0);
  experts.every_layers =
      check.Optional("every_layers", in.has_every_layers(), in.every_layers(), 1, kMostLayers, 1);
  experts.offset = check.Optional("offset", in.has_offset(), in.offset(), 0, kMostLayers, 0);
  experts.dense_layers.assign(in.dense_layers().begin(), in.dense_layers().end());
  if (experts.every_layers == 0) experts.every_layers = 1;  // refused already; it divides
}

}  // namespace

Model ConvertModel(const config::Model& in, Checker* check) {
  Model out;
  out.name = in.name();
  out.source = in.source().title();
  if (in.name().empty()) check->Missing("name", "give the model's name");
  ReadSizes(in, check, &out);
  ReadKinds(in, check, &out);
  ReadPattern(in, check, &out);
  ReadLatent(in, check, &out);
  ReadExperts(in, check, &out);
  return out;
}

}  // namespace models
