// The arithmetic of layouts: which numbers go together. Pure functions; what is
// wrong comes back as a sentence with all the numbers in it and what would do.

#ifndef SCENARIOS_LAYOUT_RULES_H_
#define SCENARIOS_LAYOUT_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "scenarios/layout.h"
#include "sim/base/result.h"

namespace scenarios {

// "1, 2, 4 and 8": the divisors of n, the dozen nearest to `near` of many. REQUIRES: n > 0
std::string DivisorsText(std::int64_t n, std::int64_t near);

// `part` must divide `whole`: nothing, or "12 does not divide the 32 attention
// heads of model "llama_7b"; 1, 2, 4, 8, 16 and 32 do". REQUIRES: both > 0
std::optional<sim::Error> RefuseDivision(std::int64_t part, std::int64_t whole, const std::string& what);

// The data-parallel ranks that are left of `devices`: devices / (tensor x
// context x pipeline). REQUIRES: all > 0
sim::Result<std::int64_t> DataRanks(std::int64_t devices, std::int64_t tensor, std::int64_t context,
                                    std::int64_t pipeline);

// A given number of data ranks that does not multiply to `devices`.
std::optional<sim::Error> RefuseDataRanks(std::int64_t data, std::int64_t devices, std::int64_t tensor,
                                          std::int64_t context, std::int64_t pipeline);

// Micro-batches that each pipeline runs a step: global / (micro x data). REQUIRES: all > 0
sim::Result<std::int64_t> Accumulation(std::int64_t global, std::int64_t micro, std::int64_t data);

// A given accumulation with which "global = micro x accumulation x data" does not hold.
std::optional<sim::Error> RefuseAccumulation(std::int64_t accumulation, std::int64_t global,
                                             std::int64_t micro, std::int64_t data);

// The ranks of a stage that expert x expert_tensor do not divide, and which numbers of
// expert groups would do. REQUIRES: all of the layout > 0
std::optional<sim::Error> RefuseExpertRanks(const Layout& layout);

// What the sequence length must be a multiple of. Context parallelism gives
// each rank two pieces of the sequence, one from each end, so that causal work
// is equal; sequence parallelism cuts a rank's tokens once more by tensor.
// Source: Megatron-LM, get_batch_on_this_cp_rank and its padding rule, lcm(2 cp, cp tp).
std::int64_t SequenceFactor(std::int64_t context, std::int64_t tensor, bool sequence_parallel);

// Whether `tokens` can be shared by `ranks` so that each has as many as the others, and one at least.
std::optional<sim::Error> RefuseTokens(std::int64_t tokens, std::int64_t ranks);

// Ulysses exchanges a sequence shard for a head shard, so its degree must
// divide the query heads; and divide the key/value heads, or be a multiple of
// them when these may be replicated.
// Source: Jacobs et al., "DeepSpeed Ulysses", 2023.
std::optional<sim::Error> RefuseUlysses(std::int64_t degree, std::int64_t heads, std::int64_t kv_heads,
                                        bool may_replicate);

// "tensor-context-data-pipeline" or "tp-cp-dp-pp", fastest first; "ep"
// (experts), which has no ranks of its own, may stand anywhere.
sim::Result<Layout> WithOrder(Layout layout, const std::string& order);

}  // namespace scenarios

#endif  // SCENARIOS_LAYOUT_RULES_H_
