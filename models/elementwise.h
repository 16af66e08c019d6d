// FLOPs that the usual counts leave out, by the conventions of the textbook, and those of one
// matrix product with each of its gradients.

#ifndef MODELS_ELEMENTWISE_H_
#define MODELS_ELEMENTWISE_H_

#include <cstdint>

#include "models/model.h"
#include "sim/base/units.h"

namespace models {

// Forward of `tokens` tokens. An RMS norm counts 5 operations a channel, a layer norm 10; GELU
// and SiLU 5, ReLU 1; a score's softmax 5. Source: textbook, 17.3.3 to 17.3.5.
struct ElementwiseFlops {
  sim::Wide norms = 0;         // in layers and at the ends
  sim::Wide nonlinearity = 0;  // of the feed-forwards a token visits
  sim::Wide softmax = 0;       // over all pairs, as if full
};
ElementwiseFlops ElementwiseFlopsOf(const Model& model, std::int64_t sequences, std::int64_t sequence_length);

// C = A B with A m x k and B k x n: a multiplication and an addition for each of m n k.
// Source: textbook, 17.1.1, 17.3.1, 27.3.
constexpr sim::Wide ProductFlops(sim::Wide m, sim::Wide n, sim::Wide k) { return 2 * m * n * k; }

// The backward of such a linear layer: two products of the forward's size. Frozen weights
// need no gradient of their own, the first trainable layer none of its input.
// Source: textbook, 17.3.2 and exercise 27.3.
constexpr sim::Wide BackwardFlops(sim::Wide m, sim::Wide n, sim::Wide k, bool of_input, bool of_weights) {
  return ProductFlops(m, n, k) * ((of_input ? 1 : 0) + (of_weights ? 1 : 0));
}

}  // namespace models

#endif  // MODELS_ELEMENTWISE_H_
