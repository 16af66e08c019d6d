#include "models/model_message.h"
#include "models/parameters.h"
#include "sim/base/units.h"

namespace models {
namespace {

// The eight largest divisors of n, joined for a message.
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

void CheckHeads(const Model& m, Checker* check) {
  if (m.heads > 0 && m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
    check->Error("kv_heads", std::to_string(m.kv_heads) + " does not divide the " + std::to_string(m.heads) +
                                 " query heads; " + Divisors(m.heads) + " do");
  }
  const std::int64_t widest = std::max(m.head_dim, m.latent.nope_dim + m.latent.value_dim);
  if (m.heads * widest > 10'000'000) {
    check->Error(
        m.has_latent() ? "heads" : "head_dim",
        Grouped(m.heads * widest) + " channels in all heads together are out of range; at most 10,000,000");
  }
  if (m.rotary && !m.has_latent() && m.head_dim % 2 != 0) {
    check->Error("head_dim",
                 std::to_string(m.head_dim) +
                     " is odd, but a rotary embedding turns pairs of channels; give an even number");
  }
  if (!m.has_latent()) return;
  for (const auto& [name, has] : {std::pair{"qk_norm", m.qk_norm},
                                  {"relative_positions", m.relative_positions},
                                  {"alibi", m.alibi},
                                  {"qkv_bias", m.biases.qkv},
                                  {"parallel_residual", m.parallel_residual}}) {
    if (has) check->Error(name, "is not supported with latent attention");
  }
  if (!m.rotary) check->Error("latent", "needs rotary positions: rope_dim channels of a head are turned");
}

void CheckLayer(const Model& m, Checker* check) {
  if (m.learned_positions > 0 && m.learned_positions < m.max_positions) {
    check->Error("learned_positions", Grouped(m.learned_positions) + " are too few for sequences of " +
                                          Grouped(m.max_positions) + " tokens (max_sequence_tokens)");
  }
  if (m.norms_per_layer == 3) check->Error("norms_per_layer", "3 is not supported; 1, 2 and 4 are");
  if (m.norms_per_layer == 1 && !m.parallel_residual) {
    check->Error("norms_per_layer", "1 is for both halves of a layer, which needs parallel_residual; give 2");
  }
  if (m.norms_per_layer == 4 && m.parallel_residual) {
    check->Error("norms_per_layer", "4 is not supported with parallel_residual; 1 and 2 are");
  }
  if (m.rotary && m.alibi) check->Error("alibi", "and rotary are both given; a model has one of them");
  if (!m.attention_pattern.empty() && m.sliding_window == 0 && !check->given("sliding_window_tokens")) {
    const bool every = check->given("full_attention_every_layers");
    check->Error(every ? "full_attention_every_layers" : "attention_pattern",
                 "has no meaning without sliding_window_tokens");
  }
  if (check->given("attention_pattern") && m.layers > 0 &&
      static_cast<std::int64_t>(m.attention_pattern.size()) > m.layers) {
    check->Error("attention_pattern", "has " +
                                          Grouped(static_cast<std::int64_t>(m.attention_pattern.size())) +
                                          " entries for " + Grouped(m.layers) + " layers");
  }
}

void CheckExperts(const Model& m, Checker* model) {
  const Experts& e = m.experts;
  Checker check = model->Of("experts");
  if (e.routed > 0 && e.per_token > e.routed) {
    check.Error("per_token",
                Grouped(e.per_token) + " are more than the " + Grouped(e.routed) + " routed experts");
  }
  if (e.offset >= e.every_layers) {
    check.Error("offset", Grouped(e.offset) + " is never left by a division by every_layers, " +
                              Grouped(e.every_layers) + "; give 0 to " + Grouped(e.every_layers - 1));
  }
  for (std::size_t i = 0; i < e.dense_layers.size(); ++i) {
    const std::int64_t layer = e.dense_layers[i];
    if (m.layers > 0 && (layer < 0 || layer >= m.layers)) {
      check.ErrorAt("dense_layers", static_cast<int>(i),
                    Grouped(layer) + " is no layer; give 0 to " + Grouped(m.layers - 1));
    } else if (i > 0 && layer <= e.dense_layers[i - 1]) {
      check.ErrorAt("dense_layers", static_cast<int>(i),
                    Grouped(layer) + " does not rise; give them in order");
    }
  }
  if (e.shared == 0) {
    for (const char* name : {"shared_ffn", "shared_gate"}) {
      if (check.given(name)) check.Error(name, "has no meaning without shared experts");
    }
  }
}

// Which layers are dense decides whether `ffn` is wanted.
void CheckFfn(const Model& m, Checker* check) {
  if (check->refused("experts")) return;
  if (check->given("experts")) {
    const Checker experts = check->Of("experts");
    for (const char* name : {"routed", "first_dense_layers", "every_layers", "offset"}) {
      if (experts.refused(name)) return;
    }
  }
  bool dense = false, experts = false;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    (HasExperts(m, layer) ? experts : dense) = true;
  }
  if (m.experts.routed > 0 && m.layers > 0 && !experts) {
    check->Error("experts", "are in none of the " + Grouped(m.layers) + " layers");
  }
  if (dense && m.ffn == 0) check->Missing("ffn", "give a number from 1 to 10,000,000");
  if (experts && !dense && m.ffn > 0) {
    check->Error("ffn", "has no meaning where every layer has experts; experts.ffn is their width");
  }
}

// Sizes may each be in range and too large together: experts multiply.
void CheckTotal(const Model& m, Checker* check) {
  constexpr sim::Wide kMost = 100'000'000'000'000'000;
  const Experts& e = m.experts;
  const sim::Wide expert = static_cast<sim::Wide>(3 * (m.hidden + 1)) * (e.ffn + 1);
  const sim::Wide shared = static_cast<sim::Wide>(3 * (m.hidden + 1)) * (e.shared_ffn + 1);
  const sim::Wide experts = (m.layers + m.prediction_modules) * (e.routed * expert + e.shared * shared);
  if (experts > kMost) {
    check->Of("experts").Error("routed", "experts of more than 1e17 parameters in all are out of range");
  }
}

}  // namespace

void CheckModel(const Model& model, Checker* check) {
  CheckHeads(model, check);
  CheckLayer(model, check);
  if (check->given("experts") && !check->refused("experts")) CheckExperts(model, check);
  CheckFfn(model, check);
  CheckTotal(model, check);
}

}  // namespace models
