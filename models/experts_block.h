// The feed-forward of a layer with experts, all of which every rank of the tensor
// group holds a part of (no expert parallelism): router, a permuted copy of the
// tokens for the experts each visits, grouped products, and the way back; beside
// them the shared experts. MlpBlock() asks for it where a layer has experts.
//
//   before_gather   norm, router logits, scores and choice of the top per_token
//   main            permute, routed experts, unpermute and sum; shared experts
//
// Load is uniform: each expert gets tokens per_token / routed, rounded up for some.
// A token's score weighs the experts' inner activation, so what the experts give
// need not be kept. The permuted copy is kept whole, not gathered again.
//
// Leaves out: the balancing loss, indices, capacity limits and dropped tokens.
// Source: Megatron-LM, core/transformer/moe/{router,token_dispatcher,experts}.py.

#ifndef MODELS_EXPERTS_BLOCK_H_
#define MODELS_EXPERTS_BLOCK_H_

#include "models/block.h"
#include "models/model.h"

namespace models {

Block ExpertsBlock(const Model& model, const Execution& execution);

}  // namespace models

#endif  // MODELS_EXPERTS_BLOCK_H_
