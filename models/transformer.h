// The blocks of a transformer: what one rank of a tensor group executes, keeps
// and communicates for one micro-batch, from shapes alone. Megatron-LM's cuts:
// the column-parallel linear (QKV; up and gate; logits) comes first, the
// row-parallel one (attention output; down) last. Without sequence parallelism
// the backward's all-reduce, with it the reduce-scatter, runs beside the weight
// gradient of the column-parallel linear, so that gradient alone is in
// Block::backward_weight; everything else of the backward is in backward_main,
// the column-parallel input gradient last.
//
// With Execution::fused: norms in one kernel each way, bias with GELU or gate in
// one, bias with dropout and residual in one, rotary embedding in one, scale with
// mask and softmax in one, biases of QKV and logits and the accumulation of FP32
// weight gradients in the GEMM's epilogue. Without: one kernel an operation.
//
// FLOPs are what a kernel executes: unfused attention computes the whole square,
// flash attention half of it, and no more than the window; its backward computes
// the scores again (2.5 times the forward). Elementwise kernels count none.
// Bytes are each tensor read or written once a kernel, parameters included.
//
// Halves side by side (parallel residual) share their input, and one reduction after
// the feed-forward. Latent attention and experts: see latent_attention_block.cc and
// experts_block.h; linear layers in eight bits: quantise.h.
//
// Leaves out: the two FP32 statistics a row that a norm keeps, the
// scale that some models put on their embedding, the copies of a transpose, the
// bytes of ALiBi's slopes and of attention's sinks, what relative positions add to
// the scores (their keys are made).
//
// Sources: Korthikanti et al. 2022, sections 4.1 to 4.3; Dao, "FlashAttention-2",
// 2023, sections 3.1 and 4.1; Megatron-LM, core/tensor_parallel/layers.py.

#ifndef MODELS_TRANSFORMER_H_
#define MODELS_TRANSFORMER_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "models/model.h"
#include "sim/base/units.h"

namespace models {

// REQUIRES, for all: CanShare(model, tensor); with sequence parallelism tensor divides
// sequence_length; LargestKernelFlops() fits 63 bits; layer < layers

// Norm, QKV, core, output, residual.
Block AttentionBlock(const Model& model, const Execution& execution, std::int64_t layer);

// Keys and values of so many parts of the sequences (or of these, whole), on this rank.
sim::Bytes KeyValueBytes(const Model& model, const Execution& execution, std::int64_t parts);

// Norm, up (and gate), nonlinearity, down, residual; or experts, where the layer has them.
Block MlpBlock(const Model& model, const Execution& execution, std::int64_t layer);

// Look-up in this rank's rows of the table, learned positions, dropout.
Block EmbeddingBlock(const Model& model, const Execution& execution);

// Final norm, logits of this rank's rows of the padded vocabulary, loss in FP32.
Block HeadBlock(const Model& model, const Execution& execution);

// The start of a module that predicts a further token (MTP): norms of the last output and of
// the next token's embedding, and a column-parallel matrix from both to one, whose output the
// tensor group gathers. A layer as the model's last follows, and a head.
// What the hidden norm reads, the head before keeps.
// Sources: DeepSeek-AI, "DeepSeek-V3", 2024, section 2.2; Megatron-LM core 0.14,
// core/transformer/multi_token_prediction.py.
Block JoinBlock(const Model& model, const Execution& execution);

// No kernel of any block executes more; for checking a scenario.
// REQUIRES: CanShare(model, tensor)
sim::Wide LargestKernelFlops(const Model& model, const Execution& execution);

// Numbers a token of the widest tensor that a layer or the head makes on the whole
// group; for checking a scenario.
sim::Wide WidestTensor(const Model& model, const Execution& execution);

// All that these kernels execute.
sim::Wide TotalFlops(const std::vector<sim::Kernel>& kernels);

}  // namespace models

#endif  // MODELS_TRANSFORMER_H_
