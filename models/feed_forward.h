// One feed-forward as kernels: up (and gate), nonlinearity, down. The same for a
// dense one, for shared experts and, as grouped products, for all routed experts
// of a rank. Internal to this folder.

#ifndef MODELS_FEED_FORWARD_H_
#define MODELS_FEED_FORWARD_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "models/kernels.h"
#include "models/model.h"

namespace models {

// Kernels and tensors of the three kinds are told apart by name.
struct FeedForwardNames {
  const char *up, *gate_up, *up_dgrad, *up_wgrad, *up_bias_gradient;
  const char *down, *down_dgrad, *down_wgrad;
  const char *nonlinearity, *gate, *nonlinearity_backward, *gate_backward;
  const char *gate_output, *up_output, *nonlinearity_input, *nonlinearity_output, *down_input;
};
extern const FeedForwardNames kDenseNames, kSharedNames, kRoutedNames;

struct FeedForward {
  // `rows` tokens enter, spread evenly over `experts` feed-forwards of width `ffn` on this rank.
  FeedForward(const Model& model, const Execution& execution, const FeedForwardNames& names,
              std::int64_t rows, std::int64_t ffn, std::int64_t experts);

  const Model& model;
  const Execution& execution;
  const FeedForwardNames& names;
  std::int64_t rows, ffn, experts;
  std::int64_t up;          // channels that leave the first linear layer: gate and up
  std::int64_t up_bytes;    // of them
  std::int64_t down_bytes;  // of what enters the last linear layer
  std::int64_t bias_bytes;  // of the first layers' biases; 0 without
  // By selective recomputation: the nonlinearity alone, or all of it from its input.
  bool nonlinearity_again;
  bool runs_again = false;
};

void AddFeedForward(const FeedForward& ff, std::vector<sim::Kernel>* kernels);
void AddFeedForwardWeightCasts(const FeedForward& ff, Block* block);
// From the gradient of the output to that of the input, with the weight gradient of
// the last linear layer; that of the first is AddUpWeightGradient().
void AddFeedForwardBackward(const FeedForward& ff, std::vector<sim::Kernel>* kernels);
// As selective recomputation runs it again; nothing where its output is kept, or all runs again.
void AddNonlinearityAgain(const FeedForward& ff, std::vector<sim::Kernel>* kernels);
void AddUpWeightGradient(const FeedForward& ff, std::vector<sim::Kernel>* kernels);

// Without the input of the first linear layer.
void AddFeedForwardActivations(const FeedForward& ff, std::vector<Activation>* kept);

}  // namespace models

#endif  // MODELS_FEED_FORWARD_H_
