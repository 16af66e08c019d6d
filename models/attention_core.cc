#include "models/attention_core.h"

#include <algorithm>

#include "models/context_core.h"
#include "models/parameters.h"
#include "models/quantise.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

Kernel Flash(const char* name, sim::KernelKind kind, const Core& core, std::int64_t bytes) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = kind;
  kernel.format = core.execution.format;
  kernel.attention = {.batch = core.execution.micro_batch,
                      .query_heads = core.heads,
                      .kv_heads = core.kv_heads,
                      .query_length = core.length,
                      .kv_length = core.seen,
                      .head_dim = core.model.head_dim,
                      .value_dim = core.model.value_dim(),
                      .causal = true,
                      .window = core.window,
                      .implementation = core.execution.attention};
  // Two contractions of 2 FLOPs over the pairs that a query sees, the diagonal as
  // half: reach * length - reach^2 / 2 a head. Five contractions in the backward. The last query
  // of a part sees all that is there.
  const std::int64_t queries = std::min(core.length, core.reach);
  const std::int64_t twice_pairs = queries * (2 * core.seen - queries);
  const std::int64_t width = kind == sim::KernelKind::kAttentionForward
                                 ? sim::ForwardWidth(kernel.attention)
                                 : sim::BackwardWidth(kernel.attention);
  kernel.flops = sim::Flops(core.batch * width * twice_pairs);
  kernel.bytes = Bytes(bytes);
  return kernel;
}

std::int64_t InputBytes(const Core& core) { return core.query_bytes + core.seen_bytes(); }

// Keys and values of every query head: as wide as queries and outputs.
std::int64_t ExpandedBytes(const Core& core) {
  return core.key_bytes + core.value_bytes + core.query_bytes + core.output_bytes;
}

std::int64_t StatisticsBytes(const Core& core) { return 4 * core.batch * core.length; }

void AddFlashForward(const Core& core, std::vector<Kernel>* kernels) {
  kernels->push_back(Flash("flash_forward", sim::KernelKind::kAttentionForward, core,
                           InputBytes(core) + core.output_bytes + StatisticsBytes(core)));
}

void AddUnfusedForward(const Core& core, std::vector<Kernel>* kernels) {
  const std::int64_t s = core.length, d = core.model.head_dim, v = core.model.value_dim();
  const std::int64_t square = core.scores * core.sizes.element;
  const auto format = core.execution.format;
  if (core.expands()) kernels->push_back(Moves("expand_kv", ExpandedBytes(core)));
  kernels->push_back(Gemm("query_key", {s, s, d, core.batch}, format));
  if (core.execution.fused) {
    kernels->push_back(Moves("scale_mask_softmax", 2 * square, MemoryClass::kNorm));
  } else {
    kernels->push_back(Moves("scale", 2 * square));
    kernels->push_back(Moves("mask", 2 * square + s * s));
    kernels->push_back(Moves("softmax", 2 * square, MemoryClass::kNorm));
  }
  if (core.execution.dropout) kernels->push_back(Moves("score_dropout", 2 * square + core.scores));
  kernels->push_back(Gemm("score_value", {s, v, s, core.batch}, format));
}

}  // namespace

Core::Core(const Model& m, const Execution& e, std::int64_t layer)
    : model(m), execution(e), sizes(m, e), window(WindowOf(m, layer)) {
  heads = QueryHeadsOfRank(m, e.tensor);
  kv_heads = KvHeadsOfRank(m, e.tensor);
  batch = e.micro_batch * heads;
  length = e.local_length();
  seen = (e.part.index + 1) * length;
  reach = ReachOf(m, layer, e.sequence_length);
  scores = batch * length * length;
  const std::int64_t tokens = sizes.tokens * sizes.element;
  query_bytes = tokens * heads * m.head_dim;
  key_bytes = tokens * kv_heads * m.head_dim;
  value_bytes = tokens * kv_heads * m.value_dim();
  output_bytes = tokens * heads * m.value_dim();
}

void AddCoreForward(const Core& core, std::vector<Kernel>* kernels) {
  if (core.flash()) {
    AddFlashForward(core, kernels);
  } else {
    AddUnfusedForward(core, kernels);
  }
}

void AddCoreBackward(const Core& core, std::vector<Kernel>* kernels) {
  if (core.flash()) {
    // Reads queries, output and its gradient, keys and values, the statistics and
    // the rows' dot products; writes three gradients.
    kernels->push_back(Flash("flash_backward", sim::KernelKind::kAttentionBackward, core,
                             2 * (InputBytes(core) + core.output_bytes) + 2 * StatisticsBytes(core)));
    // Gradients of keys and values, added to what the parts behind this one made.
    const SequencePart& part = core.execution.part;
    if (part.index + 1 < part.count) {
      kernels->push_back(Moves("add_key_value_gradients", 3 * core.seen_bytes()));
    }
    return;
  }
  const std::int64_t s = core.length, d = core.model.head_dim, v = core.model.value_dim();
  const std::int64_t square = core.scores * core.sizes.element;
  const auto format = core.execution.format;
  kernels->push_back(Gemm("score_gradient", {s, s, v, core.batch}, format));
  kernels->push_back(Gemm("value_gradient", {s, v, s, core.batch}, format));
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
  if (core.expands()) kernels->push_back(Moves("expand_kv_backward", ExpandedBytes(core)));
}

void AddCoreActivations(const Core& core, std::vector<Activation>* kept) {
  const SelectiveModules& modules = core.execution.selective;
  const bool again = modules.attention_core;
  const std::int64_t copies = KeyCopies(core);
  const Bytes key(core.expands() ? core.query_bytes : copies * core.key_bytes);
  const Bytes value(core.expands() ? core.output_bytes : copies * core.value_bytes);
  // By operations the product is kept that queries are made from: here, or as the norm's input.
  const bool up_again = modules.latent_up && core.model.has_latent();
  const bool query_again = up_again || (modules.operations && core.model.qk_norm);
  kept->push_back({"query", Bytes(core.query_bytes), query_again});
  kept->push_back({"key", key, up_again || modules.operations});
  kept->push_back({"value", value, up_again});
  if (core.flash()) {
    kept->push_back({"logsumexp", Bytes(StatisticsBytes(core)), again});
  } else {
    const Bytes square(core.scores * core.sizes.element);
    kept->push_back({"softmax", square, again});
    if (core.execution.dropout) {
      kept->push_back({"score_dropout_mask", Bytes(core.scores), again});
      kept->push_back({"score_dropout", square, again});
    }
  }
  // Flash attention reads its output again in its own backward.
  const std::int64_t outputs = core.output_bytes / core.sizes.element;
  const bool cast = core.execution.matmul.recipe != Recipe::kNone;
  if (cast && core.flash()) kept->push_back({"attention_output", Bytes(core.output_bytes)});
  kept->push_back({"attention_output_input", Bytes(LinearInputBytes(core.execution, outputs)),
                   modules.operations && cast});
}

void AddRotary(const Core& core, const char* name, std::int64_t bytes, std::vector<Kernel>* kernels) {
  if (core.execution.fused) {
    kernels->push_back(Moves(name, 2 * bytes));
    return;
  }
  kernels->push_back(Moves("rotate_half", 2 * bytes));
  kernels->push_back(Moves("times_cosine", 2 * bytes));
  kernels->push_back(Moves("times_sine", 2 * bytes));
  kernels->push_back(Moves("rotary_sum", 3 * bytes));
}

}  // namespace models
