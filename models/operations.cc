#include "models/operations.h"

#include <string_view>

#include "models/kernels.h"
#include "models/quantise.h"
#include "sim/base/check.h"

namespace models {
namespace {

using sim::Kernel;
using sim::KernelKind;

// The gather of the forward's input, which the weight gradient then need not repeat.
void GatherOnce(Block* block) {
  block->again.gather = block->gather_forward;
  block->gather_again = {};
}

}  // namespace

const char* WhyNotOperations(const Model& model, const Execution& execution) {
  if (model.experts.routed > 0) return "experts";
  if (model.has_latent()) return "latent attention";
  if (model.biases.qkv || model.biases.attention_output || model.biases.mlp) return "biases";
  if (model.parallel_residual) return "attention and feed-forward side by side";
  if (model.post_norms()) return "norms behind attention and feed-forward";
  if (model.relative_positions) return "relative positions";
  if (execution.attention == sim::AttentionKind::kUnfused) return "UNFUSED attention";
  if (execution.dropout) return "dropout";
  if (execution.context.ranks > 1) return "layout.context > 1";
  if (execution.tensor > 1 && !execution.sequence_parallel) return "tensor ranks without layout.sequence";
  return nullptr;
}

bool RunsOutputAgain(const Execution& execution) { return execution.tensor == 1 || !execution.fused; }

void AddAttentionOperationsAgain(const Model& model, const Execution& execution, Block* block) {
  if (!execution.selective.operations) return;
  CHECK(WhyNotOperations(model, execution) == nullptr);
  const Sizes sizes(model, execution);
  Again* again = &block->again;
  again->before_gather = block->before_gather;
  for (const Kernel& kernel : block->main) {
    if (kernel.kind == KernelKind::kMemory) again->main.push_back(kernel);
    if (kernel.kind != KernelKind::kGemm) continue;
    if (std::string_view(kernel.name) == "qkv") {
      again->main.push_back(Gemm("key", {sizes.tokens, sizes.kv, model.hidden, 1}, LinearFormat(execution)));
    } else if (RunsOutputAgain(execution)) {
      again->main.push_back(kernel);
    }
  }
  again->after_reduce = block->after_reduce;
  GatherOnce(block);
}

void AddFeedForwardOperationsAgain(const Model& model, const Execution& execution, Block* block) {
  if (!execution.selective.operations) return;
  CHECK(WhyNotOperations(model, execution) == nullptr);
  const Sizes sizes(model, execution);
  Again* again = &block->again;
  again->before_gather = block->before_gather;
  if (RunsUpAgain(model)) {
    const std::int64_t ffn = model.ffn / execution.tensor;
    again->main.push_back(Gemm("up", {sizes.tokens, ffn, model.hidden, 1}, LinearFormat(execution)));
  }
  for (const Kernel& kernel : block->main) {
    if (kernel.kind == KernelKind::kMemory) again->main.push_back(kernel);
  }
  GatherOnce(block);
}

}  // namespace models
