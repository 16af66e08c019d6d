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
// Where the routed experts of a layer are spread over more ranks than the tensor
// group, tokens travel to them and back (experts_block.h); `main` is then the
// shared experts alone, and the tensor group's communication is theirs:
//
//   forward    before_gather  [outward]  experts.forward   [homeward]  after_reduce
//   backward   backward_head  [outward]  experts.backward  [homeward]  backward_tail
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
#include "sim/collective/collective.h"

namespace models {

// What selective recomputation computes again instead of keeping it; by Megatron-LM's names
// in brackets. Of the first four and `latent_up` outputs are dropped; the others keep their
// input and run again as a whole, with their communication.
struct SelectiveModules {
  bool attention_core = true;        // [core_attn]
  bool norm_output = false;          // [layernorm] what attention and feed-forward read
  bool nonlinearity = false;         // of every feed-forward: what the last matrix reads
  bool expert_nonlinearity = false;  // [moe_act] of routed experts
  bool latent_up = false;     // [mla_up_proj] queries, keys and values from narrow vectors, with their norms
  bool feed_forward = false;  // [mlp] of layers without experts
  bool experts = false;       // [moe] router, dispatch, experts, shared ones too
  bool shared_experts = false;
  // In place of all these, torchtitan's "op": attention's output and every second matrix product
  // of a layer are kept, all else runs again; see operations.h.
  bool operations = false;

  // Whether linear layers of such a layer run again.
  bool MultipliesAgain(bool has_experts) const {
    return operations || latent_up || (has_experts ? experts || shared_experts : feed_forward);
  }
};

// How tokens get to the experts of other ranks.
enum class Dispatcher : std::uint8_t {
  kAllToAll,   // a row for each expert that a token visits, to the rank that has it
  kAllGather,  // every rank of the expert group gets all tokens, and sums come back
  kDeepEp,     // a row for each node and each rank of it that a token visits, once
};

// How the routed experts of each layer are spread over the ranks of a stage.
struct ExpertSpread {
  std::int64_t expert = 1;         // expert groups, each with as many whole experts
  std::int64_t expert_tensor = 0;  // ranks that cut each expert; 0 = as the tensor group cuts a layer
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool fp8_dispatch = false;    // tokens travel outward in FP8, with an FP32 scale every 128 channels
  double capacity_factor = 0;   // see ExpertCapacity(); every expert gets exactly as many. 0 = no limit
  bool one_by_one = false;      // a kernel for each expert's product; else one for all of a rank
  bool overlap_shared = false;  // the shared experts run while the tokens travel
  std::int64_t nodes = 1;       // NVLink domains that the ranks of one dispatch lie on
  std::int64_t node_limit = 0;  // domains that one token's experts lie on, at most; 0 = all of them
  // Choices that each expert group gets, in any unit; empty = all as many.
  std::vector<std::int64_t> loads;
  std::int64_t group = 0;  // the expert group whose rank it is; matters where loads differ
};

// How ranks that share a sequence (context parallelism) get each other's keys and values.
enum class ContextKind : std::uint8_t {
  kRing,       // passed on from rank to rank beside the attention of the block in hand
  kAllGather,  // all of them before the attention
};

// A sequence cut over ranks. Of them, each `ulysses` neighbours exchange tokens for
// heads around the attention, so that together they are one rank of a ring (or of a
// gather) of ranks / ulysses, with more tokens and fewer heads; 1 = no exchange.
struct ContextSpread {
  std::int64_t ranks = 1;
  std::int64_t ulysses = 1;  // divides ranks
  ContextKind kind = ContextKind::kRing;
  // Rank i of the ring has parts i and 2n-1-i of 2n, so that causal work is equal; else part i of n.
  bool zigzag = true;

  std::int64_t ring() const { return ranks / ulysses; }
};

// A sequence that passes the pipeline in equal parts, one after the other (sequence 1F1B).
// Attention of part i sees the keys and values of parts 0 to i, which wait where they were made.
struct SequencePart {
  std::int64_t index = 0, count = 1;
};

// In what linear layers multiply; see quantise.h.
enum class Recipe : std::uint8_t {
  kNone,           // Execution::format
  kTensorDelayed,  // FP8, one scale a tensor, from the largest numbers of earlier steps
  kTensorCurrent,  // the same, from the tensor itself
  kBlock,          // FP8 with FP32 scales: 1 x 128 of inputs and gradients, 128 x 128 of weights
  kMx,             // FP8 with a power of two every 32 numbers
};
struct Matmul {
  Recipe recipe = Recipe::kNone;
  bool one_order = true;           // the matrix units take FP8 in one order of memory only
  bool eight_bit_weights = false;  // weights are held in eight bits; only second copies are made
};

// How one rank executes the model.
struct Execution {
  std::int64_t tensor = 1;           // ranks that share each layer
  bool sequence_parallel = false;    // norms and residuals cut along the sequence
  std::int64_t micro_batch = 1;      // sequences
  std::int64_t sequence_length = 1;  // tokens, over all ranks of `context`
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  sim::AttentionKind attention = sim::AttentionKind::kFlash2;
  std::int64_t vocabulary_divisor = 1;  // the vocabulary is padded to a multiple of divisor * tensor
  bool fused = true;                    // memory-bound kernels fused as in Megatron-LM / TE
  bool fused_norms = true;              // one kernel each way; else as eager PyTorch runs them
  bool fused_loss = false;  // cross-entropy in one kernel each way; Megatron-LM's default is one an operation
  bool dropout = false;
  bool gradient_fp32 = true;  // weight gradients accumulate in FP32
  SelectiveModules selective;
  ExpertSpread experts;
  ContextSpread context;
  SequencePart part;
  Matmul matmul;

  // Tokens of each sequence that this rank works on at once. REQUIRES: both divide sequence_length
  std::int64_t local_length() const { return sequence_length / context.ranks / part.count; }
  std::int64_t expert_tensor() const { return experts.expert_tensor > 0 ? experts.expert_tensor : tensor; }
  // Whether tokens leave the tensor group to visit experts.
  bool spreads_experts() const { return experts.expert > 1 || expert_tensor() != tensor; }
};

// A tensor kept from forward to backward.
struct Activation {
  const char* name = "";
  sim::Bytes bytes;        // on this rank
  bool selective = false;  // dropped by selective recomputation
  bool instead = false;    // kept by it only, in place of such
};

// One collective on the tokens' way to the experts or back.
struct ExpertMove {
  enum class Group : std::uint8_t { kExpert, kExpertTensor, kBoth };
  sim::CollectiveKind kind = sim::CollectiveKind::kAllToAll;
  Group group = Group::kExpert;
  sim::Bytes size = {};    // as the kind counts it
  sim::Bytes inside = {};  // of them inside a domain: for kAllToAllByNode
  bool uneven = false;     // an all-to-all whose parts are as ExpertSpread::loads
  bool outward = true;
};

// Work and moves of routed experts that are spread.
struct SpreadExperts {
  std::vector<sim::Kernel> forward, backward;
  std::vector<sim::Kernel> again;  // of `forward`, by selective recomputation where no token travels again
  std::vector<ExpertMove> outward, homeward;  // the backward's gradients travel likewise
  // Without sequence parallelism the ranks of a tensor group share out their tokens, and
  // gather the results (in the backward, the gradients) again: the whole tensor. Else zero.
  sim::Bytes gather;
  std::int64_t rows = 0;  // that this rank's experts work on
};

// The attention core of a rank whose sequence is cut over ranks; attention's `main`
// then ends in front of it, and `backward_main` as well:
//
//   forward    main  prepare  [heads]  arrive  pieces  leave  [heads]  finish  after
//   backward   backward_main  prepare_back  [heads]  arrive_back  pieces  leave_back  [heads]  backward_after
//
// where [heads] is the Ulysses exchange. Source of rounds, copies and merges: Transformer
// Engine 2.x, context_parallel.py; its forward passes blocks on to the next rank, its
// backward, which begins with the block that came last, passes them and their gradients back.
// Selective recomputation of the core runs prepare to finish again, communication included.
struct ContextCore {
  // Work on one block of keys. Where blocks are passed on: pieces[0] is the rank's own
  // block, [1] one of a rank before it in the ring, [2] one of a rank behind it. Where
  // they are gathered: pieces[i] is all that rank i of the ring does. Else there is one.
  struct Piece {
    std::vector<sim::Kernel> forward, backward;
    std::vector<sim::Kernel> backward_merge;  // once this block's gradients have come from other ranks
  };
  std::vector<Piece> pieces;  // empty: the sequence is whole
  std::vector<sim::Kernel> prepare, arrive, leave, finish, after;
  std::vector<sim::Kernel> prepare_back, arrive_back, leave_back, backward_after;
  bool gathers = false;
  // Ring: keys and values of one block. Their gradients are as many bytes.
  sim::Bytes passed;
  sim::Bytes keys, values;  // gather: of all ranks
  // Ulysses: what one rank sends of each to all members, its own part included.
  sim::Bytes query_heads, key_heads, value_heads, output_heads;
};

// What selective recomputation executes again at the start of backward_main, in the
// phases of a forward; all empty where it has nothing to do.
struct Again {
  std::vector<sim::Kernel> before_gather, main, after_reduce;
  sim::Bytes gather, reduce;  // over the tensor group, as gather_forward and reduce_forward
  bool core = false;          // the core in Block::context, between main and after_reduce
  bool travel = false;        // tokens, to spread experts (all of SpreadExperts::forward) and back
};

struct Block {
  const char* name = "";  // "attention", "mlp", "experts", "embedding", "head"

  std::vector<sim::Kernel> before_gather, main, after_reduce;
  std::vector<sim::Kernel> backward_head, backward_main, backward_weight, backward_tail;
  Again again;

  std::vector<Activation> activations;  // kept when nothing is recomputed

  // Weights of its linear layers, experts included: casts into all the copies that products need, or
  // into one of them (nothing where one copy is the weights); how many numbers and matrices (of them,
  // of spread experts), the copies' bytes. Zero without a recipe.
  std::vector<sim::Kernel> weight_casts, one_copy_casts;
  std::int64_t cast_weights = 0, spread_cast_weights = 0;
  std::int64_t cast_matrices = 0, spread_cast_matrices = 0;
  sim::Bytes cast_weight_bytes;

  // Bytes of the tensor that tensor-parallel communication moves: the whole
  // [sequence, batch, hidden] tensor, before it is cut. Zero where there is none.
  sim::Bytes gather_forward, reduce_forward, gather_backward, reduce_backward;
  sim::Bytes gather_output;  // gathered behind main, where nothing is reduced
  // With sequence parallelism the backward gathers the forward's input again
  // for the weight gradient, beside backward_main. Zero otherwise.
  sim::Bytes gather_again;
  // All-reduces of `small_reduce` bytes each, one after the other at the end of
  // main: the loss's per-token figures over a vocabulary that is cut. Zero otherwise.
  std::int64_t small_reduces = 0;
  sim::Bytes small_reduce;

  ContextCore context;  // attention only

  bool spread = false;  // `experts` is used
  SpreadExperts experts;
};

}  // namespace models

#endif  // MODELS_BLOCK_H_
