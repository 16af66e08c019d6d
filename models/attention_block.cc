#include "models/kernels.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::GemmShape;
using sim::Kernel;
using sim::MemoryClass;

// The attention core, from queries, keys and values to the output's input.
struct Core {
  Core(const Model& m, const Execution& e, std::int64_t layer)
      : model(m), execution(e), sizes(m, e), window(WindowOf(m, layer)) {
    heads = sizes.query / m.head_dim;
    kv_heads = sizes.kv / m.head_dim;
    batch = e.micro_batch * heads;
    length = e.sequence_length;
    scores = batch * length * length;
    query_bytes = sizes.tokens * sizes.query * sizes.element;
    kv_bytes = sizes.tokens * sizes.kv * sizes.element;
    reach = ReachOf(m, layer, length);
  }

  const Model& model;
  const Execution& execution;
  Sizes sizes;
  std::int64_t window;
  std::int64_t heads, kv_heads, batch, length, reach;
  std::int64_t scores;       // numbers
  std::int64_t query_bytes;  // of the queries, and of the output
  std::int64_t kv_bytes;     // of the keys, and of the values

  bool flash() const { return execution.attention != sim::AttentionKind::kUnfused; }
  // Unfused attention multiplies every query head by a key head of its own.
  bool expands() const { return kv_heads < heads; }
};

Kernel Flash(const char* name, sim::KernelKind kind, const Core& core, std::int64_t bytes) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = kind;
  kernel.format = core.execution.format;
  kernel.attention = {.batch = core.execution.micro_batch,
                      .query_heads = core.heads,
                      .kv_heads = core.kv_heads,
                      .query_length = core.length,
                      .kv_length = core.length,
                      .head_dim = core.model.head_dim,
                      .causal = true,
                      .window = core.window,
                      .implementation = core.execution.attention};
  // Two contractions of 2 FLOPs over the pairs that a query sees, the diagonal as
  // half: reach * length - reach^2 / 2 a head. Five contractions in the backward.
  const std::int64_t twice_pairs = core.reach * (2 * core.length - core.reach);
  const std::int64_t contractions = kind == sim::KernelKind::kAttentionForward ? 2 : 5;
  kernel.flops = sim::Flops(contractions * core.batch * core.model.head_dim * twice_pairs);
  kernel.bytes = Bytes(bytes);
  return kernel;
}

std::int64_t StatisticsBytes(const Core& core) { return 4 * core.batch * core.length; }

void AddFlashForward(const Core& core, std::vector<Kernel>* kernels) {
  kernels->push_back(Flash("flash_forward", sim::KernelKind::kAttentionForward, core,
                           2 * core.query_bytes + 2 * core.kv_bytes + StatisticsBytes(core)));
}

void AddUnfusedForward(const Core& core, std::vector<Kernel>* kernels) {
  const std::int64_t s = core.length, d = core.model.head_dim;
  const std::int64_t square = core.scores * core.sizes.element;
  const auto format = core.execution.format;
  if (core.expands()) kernels->push_back(Moves("expand_kv", 2 * (core.kv_bytes + core.query_bytes)));
  kernels->push_back(Gemm("query_key", {s, s, d, core.batch}, format));
  if (core.execution.fused) {
    kernels->push_back(Moves("scale_mask_softmax", 2 * square, MemoryClass::kNorm));
  } else {
    kernels->push_back(Moves("scale", 2 * square));
    kernels->push_back(Moves("mask", 2 * square + s * s));
    kernels->push_back(Moves("softmax", 2 * square, MemoryClass::kNorm));
  }
  if (core.execution.dropout) kernels->push_back(Moves("score_dropout", 2 * square + core.scores));
  kernels->push_back(Gemm("score_value", {s, d, s, core.batch}, format));
}

void AddForward(const Core& core, std::vector<Kernel>* kernels) {
  if (core.flash()) {
    AddFlashForward(core, kernels);
  } else {
    AddUnfusedForward(core, kernels);
  }
}

void AddBackward(const Core& core, std::vector<Kernel>* kernels) {
  if (core.flash()) {
    // Reads queries, output and its gradient, keys and values, the statistics and
    // the rows' dot products; writes three gradients.
    kernels->push_back(Flash("flash_backward", sim::KernelKind::kAttentionBackward, core,
                             4 * core.query_bytes + 4 * core.kv_bytes + 2 * StatisticsBytes(core)));
    return;
  }
  const std::int64_t s = core.length, d = core.model.head_dim;
  const std::int64_t square = core.scores * core.sizes.element;
  const auto format = core.execution.format;
  kernels->push_back(Gemm("score_gradient", {s, s, d, core.batch}, format));
  kernels->push_back(Gemm("value_gradient", {s, d, s, core.batch}, format));
  if (core.execution.dropout) kernels->push_back(Moves("score_dropout_backward", 2 * square + core.scores));
  if (core.execution.fused) {
    kernels->push_back(Moves("scale_mask_softmax_backward", 3 * square, MemoryClass::kNorm));
  } else {
    kernels->push_back(Moves("softmax_backward", 3 * square, MemoryClass::kNorm));
    kernels->push_back(Moves("mask_backward", 2 * square + s * s));
    kernels->push_back(Moves("scale_backward", 2 * square));
  }
  kernels->push_back(Gemm("query_gradient", {s, d, s, core.batch}, format));
  kernels->push_back(Gemm("key_gradient", {s, d, s, core.batch}, format));
  if (core.expands()) kernels->push_back(Moves("expand_kv_backward", 2 * (core.query_bytes + core.kv_bytes)));
}

// Rotary embedding of queries and keys; its backward is a rotation too.
void AddRotary(const Core& core, const char* name, std::vector<Kernel>* kernels) {
  const std::int64_t tensor = core.query_bytes + core.kv_bytes;
  if (core.execution.fused) {
    kernels->push_back(Moves(name, 2 * tensor));
    return;
  }
  kernels->push_back(Moves("rotate_half", 2 * tensor));
  kernels->push_back(Moves("times_cosine", 2 * tensor));
  kernels->push_back(Moves("times_sine", 2 * tensor));
  kernels->push_back(Moves("rotary_sum", 3 * tensor));
}

void AddHeadNorms(const Core& core, bool backward, std::vector<Kernel>* kernels) {
  const std::int64_t width = core.model.head_dim;
  const std::int64_t query_rows = core.sizes.tokens * core.heads,
                     key_rows = core.sizes.tokens * core.kv_heads;
  if (backward) {
    AddNormBackward("key_norm_backward", key_rows, width, core.execution, kernels);
    AddNormBackward("query_norm_backward", query_rows, width, core.execution, kernels);
  } else {
    AddNorm("query_norm", Norm::kRms, query_rows, width, core.execution, kernels);
    AddNorm("key_norm", Norm::kRms, key_rows, width, core.execution, kernels);
  }
}

void AddMain(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  const std::int64_t qkv = sizes.query + 2 * sizes.kv;
  const std::int64_t vector = qkv * sizes.element;
  const bool bias = core.model.biases.qkv, fused = core.execution.fused;
  std::vector<Kernel>* main = &block->main;
  main->push_back(Gemm("qkv", {sizes.tokens, qkv, core.model.hidden, 1}, core.execution.format,
                       bias && fused ? vector : 0));
  if (bias && !fused) main->push_back(Moves("qkv_bias", 2 * sizes.tokens * vector + vector));
  if (core.model.qk_norm) AddHeadNorms(core, false, main);
  if (core.model.rotary) AddRotary(core, "rotary", main);
  AddForward(core, main);
  main->push_back(
      Gemm("attention_output", {sizes.tokens, core.model.hidden, sizes.query, 1}, core.execution.format));
}

void AddBackwardMain(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  const std::int64_t hidden = core.model.hidden, qkv = sizes.query + 2 * sizes.kv;
  std::vector<Kernel>* main = &block->backward_main;
  main->push_back(
      Gemm("attention_output_dgrad", {sizes.tokens, sizes.query, hidden, 1}, core.execution.format));
  AddWeightGradient("attention_output_wgrad", hidden, sizes.query, sizes.tokens, core.execution, main);
  AddBackward(core, main);
  if (core.model.rotary) AddRotary(core, "rotary_backward", main);
  if (core.model.qk_norm) AddHeadNorms(core, true, main);
  if (core.model.biases.qkv) AddBiasGradient("qkv_bias_gradient", sizes.tokens * qkv * sizes.element, main);
  main->push_back(Gemm("qkv_dgrad", {sizes.tokens, hidden, qkv, 1}, core.execution.format));
  AddWeightGradient("qkv_wgrad", qkv, hidden, sizes.tokens, core.execution, &block->backward_weight);
}

void AddActivations(const Core& core, Block* block) {
  const Sizes& sizes = core.sizes;
  std::vector<Activation>* kept = &block->activations;
  const Bytes cut(sizes.cut_h * sizes.element);
  kept->push_back({"norm_input", cut});
  kept->push_back({"qkv_input", cut});
  if (core.model.qk_norm) {
    kept->push_back({"query_norm_input", Bytes(core.query_bytes)});
    kept->push_back({"key_norm_input", Bytes(core.kv_bytes)});
  }
  const bool expanded = !core.flash() && core.expands();
  const Bytes kv(expanded ? core.query_bytes : core.kv_bytes);
  kept->push_back({"query", Bytes(core.query_bytes)});
  kept->push_back({"key", kv});
  kept->push_back({"value", kv});
  if (core.flash()) {
    kept->push_back({"logsumexp", Bytes(StatisticsBytes(core)), true});
  } else {
    const Bytes square(core.scores * sizes.element);
    kept->push_back({"softmax", square, true});
    if (core.execution.dropout) {
      kept->push_back({"score_dropout_mask", Bytes(core.scores), true});
      kept->push_back({"score_dropout", square, true});
    }
  }
  kept->push_back({"attention_output_input", Bytes(core.query_bytes)});
}

}  // namespace

Block AttentionBlock(const Model& model, const Execution& execution, std::int64_t layer) {
  const Core core(model, execution, layer);
  const bool bias = model.biases.attention_output;
  Block block;
  block.name = "attention";
  AddActivations(core, &block);
  AddNorm("norm", model.norm, core.sizes.cut, model.hidden, execution, &block.before_gather);
  AddMain(core, &block);
  AddAfterReduce(model, execution, bias, &block);
  AddBackwardHead(model, execution, bias, &block);
  AddForward(core, &block.selective_recompute);
  AddBackwardMain(core, &block);
  AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, &block);
  return block;
}

}  // namespace models
