// The attention core, from queries, keys and values to the output's input: fused
// (flash) or not, with as many key heads as query heads or fewer, and with values
// as wide as keys or not. Internal to this folder.

#ifndef MODELS_ATTENTION_CORE_H_
#define MODELS_ATTENTION_CORE_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "models/kernels.h"
#include "models/model.h"

namespace models {

struct Core {
  Core(const Model& model, const Execution& execution, std::int64_t layer);

  const Model& model;
  const Execution& execution;
  Sizes sizes;
  std::int64_t heads, kv_heads, length;
  std::int64_t seen;    // tokens of keys and values: `length`, and those of parts before it
  std::int64_t batch;   // heads of all sequences
  std::int64_t window;  // 0 = none
  std::int64_t reach;   // tokens that a query sees back
  std::int64_t scores;  // numbers
  std::int64_t query_bytes, key_bytes, value_bytes, output_bytes;

  // Bytes of all keys and values that it sees.
  std::int64_t seen_bytes() const { return seen / length * (key_bytes + value_bytes); }

  bool flash() const { return execution.attention != sim::AttentionKind::kUnfused; }
  // Unfused attention multiplies every query head by a key head of its own.
  bool expands() const { return !flash() && kv_heads < heads; }
};

void AddCoreForward(const Core& core, std::vector<sim::Kernel>* kernels);
void AddCoreBackward(const Core& core, std::vector<sim::Kernel>* kernels);

// What the core keeps, and the input of the output's linear layer after it.
void AddCoreActivations(const Core& core, std::vector<Activation>* kept);

// Rotary embedding of a tensor of `bytes`; its backward is a rotation too.
void AddRotary(const Core& core, const char* name, std::int64_t bytes, std::vector<sim::Kernel>* kernels);

// Attention whose keys and values come from a narrow vector; AttentionBlock() asks
// for it where the model has that.
Block LatentAttentionBlock(const Core& core);

}  // namespace models

#endif  // MODELS_ATTENTION_CORE_H_
