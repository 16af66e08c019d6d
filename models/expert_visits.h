// How many nodes and ranks one token visits, in closed form.

#ifndef MODELS_EXPERT_VISITS_H_
#define MODELS_EXPERT_VISITS_H_

#include <cstdint>

namespace models {

// How many of `bins` equal shares of the experts one token visits on average, that takes the `per_token`
// best of `experts` of equal chance on the `limit` nodes of `nodes` that have the best single experts, as
// DeepEP's own tests route. Bins are spread evenly over nodes: ranks, or the nodes themselves.
//
// Experts are taken from the best down. Until `limit` nodes are touched any expert will do; from then on only
// those of these nodes. So fewer nodes are missed than where the nodes are chosen by themselves, as
// VisitedShares (experts_block.h) has it: of 8 nodes, 4 at most and 8 experts 3.98 are visited, not 3.63.
// With limit == nodes both are bins (1 - C(experts - own, k) / C(experts, k)).
// REQUIRES: all > 0; bins and nodes divide experts, nodes divides bins; limit <= nodes;
// per_token <= experts / nodes * limit
double VisitedByBest(std::int64_t experts, std::int64_t per_token, std::int64_t bins, std::int64_t nodes,
                     std::int64_t limit);

}  // namespace models

#endif  // MODELS_EXPERT_VISITS_H_
