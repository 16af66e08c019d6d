// Closed forms of serving: what a prefill and a decode step take at least, how many requests fit, and
// what speculation gains.
//
// A prefill computes on all of its tokens at once; a decode step reads the weights once for the whole batch,
// and every request's own keys and values. Of routed experts it reads those that some token of the batch
// visits. Each is bound by the slower of the two (hardware/roofline.h).
// Leaves out: launches, communication between devices, scheduling; that some experts are chosen more often.
//
// Source: textbook, 17.8.1 to 17.8.11; errata E16, E17, A11, A13.

#ifndef SCENARIOS_BUDGET_SERVING_H_
#define SCENARIOS_BUDGET_SERVING_H_

#include <cstdint>
#include <optional>
#include <span>

#include "hardware/roofline.h"
#include "models/flops.h"
#include "models/model.h"
#include "sim/base/result.h"

namespace scenarios {

// A model on `tensor` devices that share every layer.
struct Server {
  models::Model model;
  hardware::Roof roof;  // of one device, as far as kernels reach it
  std::int64_t tensor = 1;
  double weight_bits = 16;  // scales included
  double kv_width = 2;      // bytes a number
};

// Bytes of weights on one device.
double WeightBytes(const Server& server);
// Experts of a layer that b tokens visit, on average: E (1 - (1 - k/E)^b), when a token visits k of E, each
// as likely, whatever others visit. REQUIRES: there are some; tokens > 0
double ExpertsVisited(const models::Experts& experts, std::int64_t tokens);
// Of the weights, what one device reads for so many tokens: all but experts that none of them visits. Both
// vocabulary matrices count whole (models/parameters.h, active()).
double WeightBytesRead(const Server& server, std::int64_t tokens);
// Bytes that one request of `tokens` keeps on one device.
double KvBytes(const Server& server, std::int64_t tokens);

// Seconds to the first token: the forward of the prompt, and with it that token. Attention counts only
// what a causal mask leaves, unless `count` says full; the head works on the last token alone.
double PrefillSeconds(const Server& server, std::int64_t tokens,
                      models::AttentionCount count = models::AttentionCount::kCausal);
// Some of a prompt's tokens, which attend to all before them.
struct PromptPiece {
  std::int64_t before = 0, tokens = 1;
};
// Seconds of a step on pieces of several prompts, each with logits of its last token. The weights are read
// once.
double PiecesSeconds(const Server& server, std::span<const PromptPiece> pieces);
// Seconds of the last of a prompt's chunks, which attends to all before it.
double LastChunkSeconds(const Server& server, std::int64_t tokens, std::int64_t chunk);

// Seconds of one step of `batch` requests that hold `tokens` each: the time per output token of each.
double DecodeSeconds(const Server& server, std::int64_t batch, std::int64_t tokens);

// Tokens a second of all requests together, and what one of them gets.
constexpr double Throughput(double batch, double step_s) { return batch / step_s; }
constexpr double RatePerRequest(double step_s) { return 1 / step_s; }
// From the request to its last token: the first comes with the prefill.
constexpr double RequestSeconds(double first_token_s, double output_tokens, double step_s) {
  return first_token_s + (output_tokens - 1) * step_s;
}
// A step whose work `tensor` devices share, with reductions of a fixed time each.
constexpr double StepWithReductions(double alone_s, double tensor, double reductions, double reduction_s) {
  return alone_s / tensor + reductions * reduction_s;
}

// The largest batch whose step stays within `step_s`; 0 where not even one does.
std::int64_t MostBatchWithin(const Server& server, std::int64_t tokens, double step_s, std::int64_t most);

// Requests of `tokens` that fit on one device of `memory` bytes beside weights and `overhead`; as all devices
// of the group hold a part of each, they are the group's.
std::int64_t RequestsThatFit(const Server& server, double memory, double overhead, std::int64_t tokens);

// How devices are shared out to copies of a model, `tensor` each. What is not given follows: one device a
// copy where neither is, and as many copies as there is room for.
struct Copies {
  std::int64_t tensor = 1, data = 1;
  std::int64_t idle = 0;  // devices that no copy has: worth a warning
};
// Fails where they take more devices than there are. REQUIRES: devices > 0; what is given > 0
sim::Result<Copies> CopiesOn(std::int64_t devices, std::optional<std::int64_t> tensor,
                             std::optional<std::int64_t> data);

// Users behind so many requests at once, when one waits for an answer for `busy` of the time.
constexpr double UsersServed(double requests, double busy) { return requests / busy; }

// Tokens that one step of the large model yields when a draft proposes `drafted` and each is taken with
// probability `acceptance`: (1 - a^(k+1)) / (1 - a); k + 1 where all are.
// Source: Leviathan et al., "Fast inference from transformers via speculative decoding", 2023, equation 1.
double SpeculatedTokens(double acceptance, std::int64_t drafted);
// How many times faster, when a draft's step costs `cost` of the large model's. Source: the same,
// theorem 3.8.
double SpeculationSpeedup(double acceptance, std::int64_t drafted, double cost);

// The part of a static batch's slots that work: requests leave, and their places stay empty until the
// last one ends. `lengths` are output tokens. REQUIRES: count > 0
double StaticBatchUse(const std::int64_t* lengths, std::int64_t count);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_SERVING_H_
