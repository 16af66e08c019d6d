#include "scenarios/budget/serving.h"

#include <algorithm>
#include <string>

#include "models/kv_cache.h"
#include "models/parameters.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using sim::Number;

// Forward of so many tokens: linear layers of all, logits of `with_logits`.
double LinearFlops(const models::Model& model, std::int64_t tokens, std::int64_t with_logits) {
  const models::FlopsOf of_token = models::ForwardFlops(model, 1, 1);
  return Number(of_token.linear * tokens + of_token.logits * with_logits);
}

// Of one token that attends to `tokens` in every layer that reaches so far.
double AttentionOfToken(const models::Model& model, std::int64_t tokens) {
  sim::Wide seen = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) seen += models::ReachOf(model, layer, tokens);
  return Number(seen * 2 * model.heads * (model.head_dim + model.value_dim()));
}

// Attention of a prompt's first tokens.
double CausalFlops(const models::Model& model, std::int64_t tokens) {
  if (tokens == 0) return 0;
  return Number(models::ForwardFlops(model, 1, tokens, models::AttentionCount::kCausal).attention);
}

double BytesOf(const Server& s, double parameters) {
  return parameters * s.weight_bits / 8 / static_cast<double>(s.tensor);
}

// By squaring, so that all compilers give the same bits.
double Power(double base, std::int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

}  // namespace

double WeightBytes(const Server& s) { return BytesOf(s, Number(models::ParametersOf(s.model).total())); }

double ExpertsVisited(const models::Experts& experts, std::int64_t tokens) {
  CHECK(experts.routed > 0 && experts.per_token <= experts.routed && tokens > 0);
  const double all = Number(experts.routed);
  return all * (1 - Power(Number(experts.routed - experts.per_token) / all, tokens));
}

double WeightBytesRead(const Server& s, std::int64_t tokens) {
  const models::ModelParameters p = models::ParametersOf(s.model);
  const models::Experts& experts = s.model.experts;
  if (experts.routed == 0) return WeightBytes(s);
  const double visited = ExpertsVisited(experts, tokens) / Number(experts.routed);
  return BytesOf(s, Number(p.total() - p.layers.experts) + Number(p.layers.experts) * visited);
}

double KvBytes(const Server& s, std::int64_t tokens) {
  // One byte a number, then as many as it has.
  return Number(models::KvCacheBytes(s.model, tokens, 1, s.tensor).count()) * s.kv_width;
}

double PrefillSeconds(const Server& s, std::int64_t tokens, models::AttentionCount count) {
  const double attention = Number(models::ForwardFlops(s.model, 1, tokens, count).attention);
  const double flops = (LinearFlops(s.model, tokens, 1) + attention) / static_cast<double>(s.tensor);
  return s.roof.time(flops, WeightBytesRead(s, tokens) + KvBytes(s, tokens));
}

double PiecesSeconds(const Server& s, std::span<const PromptPiece> pieces) {
  double flops = 0, bytes = 0;
  std::int64_t tokens = 0;
  for (const PromptPiece& piece : pieces) {
    CHECK(piece.before >= 0 && piece.tokens > 0);
    const std::int64_t after = piece.before + piece.tokens;
    flops += LinearFlops(s.model, piece.tokens, 1) + CausalFlops(s.model, after) -
             CausalFlops(s.model, piece.before);
    bytes += KvBytes(s, after);
    tokens += piece.tokens;
  }
  return s.roof.time(flops / static_cast<double>(s.tensor), WeightBytesRead(s, tokens) + bytes);
}

double LastChunkSeconds(const Server& s, std::int64_t tokens, std::int64_t chunk) {
  CHECK(chunk > 0 && chunk <= tokens);
  const PromptPiece last{.before = tokens - chunk, .tokens = chunk};
  return PiecesSeconds(s, {&last, 1});
}

double DecodeSeconds(const Server& s, std::int64_t batch, std::int64_t tokens) {
  CHECK(batch > 0 && tokens > 0);
  const double flops = static_cast<double>(batch) *
                       (LinearFlops(s.model, 1, 1) + AttentionOfToken(s.model, tokens)) /
                       static_cast<double>(s.tensor);
  return s.roof.time(flops, WeightBytesRead(s, batch) + static_cast<double>(batch) * KvBytes(s, tokens));
}

std::int64_t MostBatchWithin(const Server& s, std::int64_t tokens, double step_s, std::int64_t most) {
  // Steps only get longer with the batch, so the bound is found by halving.
  std::int64_t fits = 0, too_long = most + 1;
  while (too_long - fits > 1) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    (DecodeSeconds(s, middle, tokens) <= step_s ? fits : too_long) = middle;
  }
  return fits;
}

std::int64_t RequestsThatFit(const Server& s, double memory, double overhead, std::int64_t tokens) {
  const double left = memory - WeightBytes(s) - overhead;
  return left <= 0 ? 0 : static_cast<std::int64_t>(left / KvBytes(s, tokens));
}

sim::Result<Copies> CopiesOn(std::int64_t devices, std::optional<std::int64_t> tensor,
                             std::optional<std::int64_t> data) {
  CHECK(devices > 0);
  Copies copies{.tensor = tensor.value_or(1)};
  copies.data = data.value_or(devices / copies.tensor);
  const sim::Wide taken = sim::Wide{copies.tensor} * copies.data;
  if (taken > devices || copies.data == 0) {
    const std::string data_text = data ? " x data " + std::to_string(*data) : std::string();
    return sim::Error{"tensor " + std::to_string(copies.tensor) + data_text + " is more than the " +
                      std::to_string(devices) + " devices there are; fewer are wanted"};
  }
  copies.idle = devices - static_cast<std::int64_t>(taken);
  return copies;
}

double SpeculatedTokens(double acceptance, std::int64_t drafted) {
  CHECK(acceptance >= 0 && acceptance <= 1 && drafted >= 0);
  double sum = 0, power = 1;  // 1 + a + ... + a^k
  for (std::int64_t i = 0; i <= drafted; ++i, power *= acceptance) sum += power;
  return sum;
}

double SpeculationSpeedup(double acceptance, std::int64_t drafted, double cost) {
  return SpeculatedTokens(acceptance, drafted) / (1 + static_cast<double>(drafted) * cost);
}

double StaticBatchUse(const std::int64_t* lengths, std::int64_t count) {
  CHECK(count > 0);
  std::int64_t longest = 0, sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    longest = std::max(longest, lengths[i]);
    sum += lengths[i];
  }
  return longest == 0 ? 1 : Number(sum) / Number(sim::Wide{longest} * count);
}

}  // namespace scenarios
