// Block: the work of one half of a transformer layer (attention or feed-
// forward), of the embedding or of the head, on one rank of a tensor group,
// cut where tensor-parallel communication happens:
//
//   forward    before_gather  [gather]  main  [reduce]  after_reduce
//   backward   backward_head  [gather]  backward_main  [reduce || weight]  backward_tail
//
// Without sequence parallelism gather is nothing and reduce is an all-reduce;
// with it gather is an all-gather and reduce a reduce-scatter (in the backward
// the roles swap, so the cuts stay). With tensor = 1 neither exists and the
// phases run on. `backward_weight` runs beside the backward reduce, as in
// Megatron-LM.
//
// Source: Korthikanti et al., "Reducing activation recomputation in large
// transformer models", 2022, figures 5 and 6.

#ifndef MODELS_BLOCK_H_
#define MODELS_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"

namespace models {

// What selective recomputation computes again instead of keeping it.
struct SelectiveModules {
  bool attention_core = true;  // Megatron-LM's core_attn
  bool norm_output = false;    // its layernorm: what attention and feed-forward read
  bool nonlinearity = false;   // its moe_act, here of every feed-forward: what the last matrix reads
};

// How one rank executes the model.
struct Execution {
  std::int64_t tensor = 1;           // ranks that share each layer
  bool sequence_parallel = false;    // norms and residuals cut along the sequence
  std::int64_t micro_batch = 1;      // sequences
  std::int64_t sequence_length = 1;  // tokens
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  sim::AttentionKind attention = sim::AttentionKind::kFlash2;
  std::int64_t vocabulary_divisor = 1;  // the vocabulary is padded to a multiple of divisor * tensor
  bool fused = true;                    // memory-bound kernels fused as in Megatron-LM / TE
  bool fused_loss = false;  // cross-entropy in one kernel each way; Megatron-LM's default is one an operation
  bool dropout = false;
  bool gradient_fp32 = true;  // weight gradients accumulate in FP32
  SelectiveModules selective;
};

// A tensor kept from forward to backward.
struct Activation {
  const char* name = "";
  sim::Bytes bytes;        // on this rank
  bool selective = false;  // dropped by selective recomputation
};

struct Block {
  const char* name = "";  // "attention", "mlp", "experts", "embedding", "head"

  std::vector<sim::Kernel> before_gather, main, after_reduce;
  std::vector<sim::Kernel> backward_head, backward_main, backward_weight, backward_tail;
  // What selective recomputation executes again at the start of backward_main;
  // empty where it has nothing to do.
  std::vector<sim::Kernel> selective_recompute;

  std::vector<Activation> activations;  // kept when nothing is recomputed

  // Bytes of the tensor that tensor-parallel communication moves: the whole
  // [sequence, batch, hidden] tensor, before it is cut. Zero where there is none.
  sim::Bytes gather_forward, reduce_forward, gather_backward, reduce_backward;
  // With sequence parallelism the backward gathers the forward's input again
  // for the weight gradient, beside backward_main. Zero otherwise.
  sim::Bytes gather_again;
  // All-reduces of `small_reduce` bytes each, one after the other at the end of
  // main: the loss's per-token figures over a vocabulary that is cut. Zero otherwise.
  std::int64_t small_reduces = 0;
  sim::Bytes small_reduce;
};

}  // namespace models

#endif  // MODELS_BLOCK_H_
