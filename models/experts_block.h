// The feed-forward of a layer with experts: router, a permuted copy of the tokens
// for the experts each visits, grouped products, and the way back; beside them the
// shared experts. MlpBlock() asks for it where a layer has experts.
//
// Where the tensor group alone cuts the experts (Execution::spreads_experts() is
// false), its ranks gather all tokens first:
//
//   before_gather   norm, router logits, scores and choice of the top per_token
//   main            permute, routed experts, unpermute and sum; shared experts
//
// Else each rank routes its own part of the sequence, and rows travel (kAllToAll):
//
//   before_gather   as above, and permute
//   outward         all-to-all over the expert group; all-gather over expert_tensor
//   experts         rows sorted by expert, routed experts, and sorted back
//   homeward        reduce-scatter over expert_tensor; all-to-all
//   after_reduce    unpermute and sum
//   main            the shared experts, cut by the tensor group
//
// Without sequence parallelism every rank routes all tokens and takes its part of them, and
// the tensor group gathers what came home (as DeepSpeed's drop_tokens and gather_tokens).
//
// kAllGather gathers the tokens of both groups at once and permutes behind it;
// kDeepEp sends by node. The backward's gradients travel the same two ways.
//
// Load is uniform, but for ExpertSpread::loads: then each rank works on the rows
// that its expert group gets, evenly over its experts. A token's score weighs the
// experts' inner activation, so what the experts give need not be kept. The
// permuted copy is kept whole, not sent again.
//
// Leaves out: the balancing loss, indices, the scores that travel with the rows (4
// bytes a row), FP8 casts, and what FP8 dispatch saves of the kept copy.
// Sources: Megatron-LM, core/transformer/moe/{router,token_dispatcher,experts,
// shared_experts}.py; DeepSeek-AI, "DeepSeek-V3", 2024, sections 3.2.2 and 3.3.3.

#ifndef MODELS_EXPERTS_BLOCK_H_
#define MODELS_EXPERTS_BLOCK_H_

#include "models/block.h"
#include "models/model.h"

namespace models {

Block ExpertsBlock(const Model& model, const Execution& execution);

// Rows that every expert takes of `tokens` tokens of one rank, and is padded to (but for kDeepEp,
// which drops what is beyond and pads nothing):
// min(tokens, ceil(tokens per_token / routed * factor)).
// Source: Megatron-LM, core/transformer/moe/moe_utils.py, get_capacity; the bound: a
// token visits an expert once. REQUIRES: all > 0
std::int64_t ExpertCapacity(std::int64_t tokens, std::int64_t routed, std::int64_t per_token, double factor);

// How many of `bins` equal shares of the experts one token visits on average, that
// chooses `per_token` of `experts` evenly: bins (1 - C(experts - own, k) / C(experts, k)).
// Where all its experts lie on `limit` of `nodes` nodes, among which bins are spread
// evenly, only those count. Of the choices `kept` remain, a share of each experts'; the others are
// dropped, and a share that keeps none is not visited. REQUIRES: all > 0; bins and nodes divide experts
double VisitedShares(std::int64_t experts, std::int64_t per_token, std::int64_t bins, std::int64_t nodes,
                     std::int64_t limit, double kept = 1);

}  // namespace models

#endif  // MODELS_EXPERTS_BLOCK_H_
