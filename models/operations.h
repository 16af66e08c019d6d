// Recomputation by operations, torchtitan's selective "op": a layer keeps what attention
// and every second one of its matrix products write, in the order of the forward,
//
//   queries  (keys)  values  attention  (output)  gate  (up)  down        gated
//   queries  (keys)  values  attention  (output)  up  (down)              not gated
//
// and what tensor-parallel reduce-scatters write. All else runs again, those in brackets too:
// norms, rotations, the nonlinearity, the residual between the halves, and the gather of
// each half's input, which then serves the weight gradient as well. The layer's last product
// never runs again, as its output is no tensor of the backward.
//
// Kernels of their own (Execution::fused is false) are PyTorch's eager mode: what is kept is
// kept though nobody reads it, and the output's product runs again though its reduced
// sum was kept. Fused ones are torch.compile's, which drops both.
//
// Sources: torchtitan 0.1, parallelize_llama.py (_save_list, _apply_ac_to_transformer_block);
// PyTorch 2.6, torch/utils/checkpoint.py (early stop) and torch/_functorch/partitioners.py.

#ifndef MODELS_OPERATIONS_H_
#define MODELS_OPERATIONS_H_

#include "models/block.h"
#include "models/model.h"

namespace models {

// What keeps a model from it, for a message; null where nothing does. Products are
// counted for plain layers only: torchtitan's own policy counts those of others otherwise.
const char* WhyNotOperations(const Model& model, const Execution& execution);

// Whether the product behind attention runs again.
bool RunsOutputAgain(const Execution& execution);

// Whether the product of a gated feed-forward that makes `up` runs again; that of one
// which is not gated is kept.
inline bool RunsUpAgain(const Model& model) { return model.gated; }

// Fill Block::again. REQUIRES: the rest of the block is done
void AddAttentionOperationsAgain(const Model& model, const Execution& execution, Block* block);
void AddFeedForwardOperationsAgain(const Model& model, const Execution& execution, Block* block);

}  // namespace models

#endif  // MODELS_OPERATIONS_H_
