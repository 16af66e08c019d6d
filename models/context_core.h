// The attention core where a sequence is cut over ranks: by ring, all-gather or
// Ulysses exchange (context parallelism). Internal to this folder.
//
// Leaves out: putting keys and values into one buffer before they are passed on.

#ifndef MODELS_CONTEXT_CORE_H_
#define MODELS_CONTEXT_CORE_H_

#include "models/attention_core.h"

namespace models {

// Everything of ContextCore but `after` and `backward_after`, which are the block's.
// REQUIRES: context.ranks > 1; fused attention; a window only where ulysses == ranks
void AddContextCore(const Core& core, ContextCore* context);

// The core in its place: in the block's main phases where sequences are whole, else in
// Block::context. Both return where the kernels behind the core go. REQUIRES: forward first
std::vector<sim::Kernel>* AddCoreForwardTo(const Core& core, Block* block);
std::vector<sim::Kernel>* AddCoreBackwardTo(const Core& core, Block* block);
// The core as selective recomputation runs it again, with its communication where it has some.
void AddCoreAgain(const Core& core, Block* block);

// Key and value heads that each head of this rank becomes in the Ulysses exchange: more
// ranks than heads copy them. 1 without.
std::int64_t KeyCopies(const Core& core);

}  // namespace models

#endif  // MODELS_CONTEXT_CORE_H_
