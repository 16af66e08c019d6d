// The weight matrices of a model as a list: what sizes anything that depends on the
// shape of a matrix and not only on the number of its elements (optimizers with
// factored states, adapters of low rank).

#ifndef MODELS_MATRICES_H_
#define MODELS_MATRICES_H_

#include <cstdint>
#include <vector>

#include "models/model.h"

namespace models {

enum class MatrixRole : std::uint8_t {
  kEmbedding,  // a row a token, or a position
  kOutput,     // of the head, where it is not tied
  kQuery,
  kKey,
  kValue,
  kLatent,  // the narrow projections of latent attention, down and up
  kAttentionOutput,
  kRelativePositions,
  kGate,
  kUp,
  kDown,
  kRouter,
};

// `count` matrices of the same shape, each `out` x `in` numbers: a token's `in`
// channels become `out`.
struct Matrices {
  MatrixRole role = MatrixRole::kQuery;
  std::int64_t out = 0, in = 0;
  std::int64_t count = 0;
  std::int64_t heads = 0;  // that `out` is made of; 0 where it is not
  bool routed = false;     // of routed experts

  std::int64_t elements() const { return out * in * count; }
};

struct Weights {
  std::vector<Matrices> matrices;
  std::int64_t vectors = 0;  // all numbers that are in no matrix: norms, biases, sinks, gates
};

// All weights of the model: the elements of the matrices and the vectors together
// are ParametersOf(model).total().
Weights WeightsOf(const Model& model);

}  // namespace models

#endif  // MODELS_MATRICES_H_
