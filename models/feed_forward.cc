#include "models/feed_forward.h"

#include "models/quantise.h"

namespace models {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

const FeedForwardNames kDenseNames = {
    .up = "up",
    .gate_up = "gate_up",
    .up_dgrad = "up_dgrad",
    .up_wgrad = "up_wgrad",
    .up_bias_gradient = "up_bias_gradient",
    .down = "down",
    .down_dgrad = "down_dgrad",
    .down_wgrad = "down_wgrad",
    .nonlinearity = "bias_nonlinearity",
    .gate = "gate",
    .nonlinearity_backward = "bias_nonlinearity_backward",
    .gate_backward = "gate_backward",
    .gate_output = "gate_output",
    .up_output = "up_output",
    .nonlinearity_input = "nonlinearity_input",
    .nonlinearity_output = "nonlinearity_output",
    .down_input = "down_input",
};

const FeedForwardNames kSharedNames = {
    .up = "shared_up",
    .gate_up = "shared_gate_up",
    .up_dgrad = "shared_up_dgrad",
    .up_wgrad = "shared_up_wgrad",
    .up_bias_gradient = "shared_up_bias_gradient",
    .down = "shared_down",
    .down_dgrad = "shared_down_dgrad",
    .down_wgrad = "shared_down_wgrad",
    .nonlinearity = "shared_nonlinearity",
    .gate = "shared_gate",
    .nonlinearity_backward = "shared_nonlinearity_backward",
    .gate_backward = "shared_gate_backward",
    .gate_output = "shared_gate_output",
    .up_output = "shared_up_output",
    .nonlinearity_input = "shared_nonlinearity_input",
    .nonlinearity_output = "shared_nonlinearity_output",
    .down_input = "shared_down_input",
};

const FeedForwardNames kRoutedNames = {
    .up = "expert_up",
    .gate_up = "expert_gate_up",
    .up_dgrad = "expert_up_dgrad",
    .up_wgrad = "expert_up_wgrad",
    .up_bias_gradient = "expert_up_bias_gradient",
    .down = "expert_down",
    .down_dgrad = "expert_down_dgrad",
    .down_wgrad = "expert_down_wgrad",
    .nonlinearity = "expert_nonlinearity",
    .gate = "expert_gate",
    .nonlinearity_backward = "expert_nonlinearity_backward",
    .gate_backward = "expert_gate_backward",
    .gate_output = "expert_gate_output",
    .up_output = "expert_up_output",
    .nonlinearity_input = "expert_nonlinearity_input",
    .nonlinearity_output = "expert_nonlinearity_output",
    .down_input = "expert_down_input",
};

FeedForward::FeedForward(const Model& m, const Execution& e, const FeedForwardNames& n, std::int64_t r,
                         std::int64_t f, std::int64_t x)
    : model(m), execution(e), names(n), rows(r), ffn(f), experts(x) {
  const std::int64_t element = ElementWidth(e.format);
  up = (m.gated ? 2 : 1) * ffn;
  up_bytes = rows * up * element;
  down_bytes = rows * ffn * element;
  bias_bytes = m.biases.mlp ? experts * up * element : 0;
  nonlinearity_again = e.selective.nonlinearity;
}

namespace {

void AddNonlinearity(const FeedForward& ff, std::vector<Kernel>* kernels) {
  if (ff.execution.fused) {
    const char* name = ff.model.gated ? ff.names.gate : ff.names.nonlinearity;
    kernels->push_back(Moves(name, ff.up_bytes + ff.down_bytes + ff.bias_bytes, MemoryClass::kActivation));
    return;
  }
  if (ff.model.biases.mlp) kernels->push_back(Moves("up_bias", 2 * ff.up_bytes + ff.bias_bytes));
  kernels->push_back(Moves("nonlinearity", 2 * ff.down_bytes, MemoryClass::kActivation));
  if (ff.model.gated) kernels->push_back(Moves("gate_product", 3 * ff.down_bytes));
}

void AddNonlinearityBackward(const FeedForward& ff, std::vector<Kernel>* kernels) {
  if (ff.execution.fused) {
    // Reads the gradient and the first layer's outputs, writes their gradients.
    const char* name = ff.model.gated ? ff.names.gate_backward : ff.names.nonlinearity_backward;
    kernels->push_back(
        Moves(name, ff.down_bytes + 2 * ff.up_bytes + ff.bias_bytes, MemoryClass::kActivation));
  } else {
    // Two factors, so two products; each reads the gradient and the other factor.
    if (ff.model.gated) kernels->push_back(Moves("gate_product_backward", 6 * ff.down_bytes));
    kernels->push_back(Moves("nonlinearity_backward", 3 * ff.down_bytes, MemoryClass::kActivation));
  }
  if (ff.model.biases.mlp) AddBiasGradient(ff.names.up_bias_gradient, ff.up_bytes, kernels);
}

}  // namespace

void AddNonlinearityAgain(const FeedForward& ff, std::vector<Kernel>* kernels) {
  if (ff.nonlinearity_again && !ff.runs_again) AddNonlinearity(ff, kernels);
}

void AddFeedForward(const FeedForward& ff, std::vector<Kernel>* kernels) {
  const std::int64_t hidden = ff.model.hidden;
  const char* first = ff.model.gated ? ff.names.gate_up : ff.names.up;
  kernels->push_back(GroupedGemm(first, ff.rows, ff.up, hidden, ff.experts, ff.execution));
  AddNonlinearity(ff, kernels);
  AddCast("cast_input", ff.execution, ff.rows * ff.ffn, kernels);
  kernels->push_back(GroupedGemm(ff.names.down, ff.rows, hidden, ff.ffn, ff.experts, ff.execution));
}

void AddFeedForwardWeightCasts(const FeedForward& ff, Block* block) {
  AddWeightCast(ff.execution, ff.up, ff.model.hidden, ff.experts, block);
  AddWeightCast(ff.execution, ff.model.hidden, ff.ffn, ff.experts, block);
}

void AddFeedForwardBackward(const FeedForward& ff, std::vector<Kernel>* kernels) {
  const std::int64_t hidden = ff.model.hidden;
  kernels->push_back(GroupedGemm(ff.names.down_dgrad, ff.rows, ff.ffn, hidden, ff.experts, ff.execution));
  AddGroupedWeightGradient(ff.names.down_wgrad, hidden, ff.ffn, ff.rows, ff.experts, ff.execution, kernels);
  AddNonlinearityBackward(ff, kernels);
  AddCast("cast_gradient", ff.execution, ff.rows * ff.up, kernels);
  kernels->push_back(GroupedGemm(ff.names.up_dgrad, ff.rows, hidden, ff.up, ff.experts, ff.execution));
}

void AddUpWeightGradient(const FeedForward& ff, std::vector<Kernel>* kernels) {
  AddGroupedWeightGradient(ff.names.up_wgrad, ff.up, ff.model.hidden, ff.rows, ff.experts, ff.execution,
                           kernels);
}

void AddFeedForwardActivations(const FeedForward& ff, std::vector<Activation>* kept) {
  const Bytes inner(ff.down_bytes);
  const bool all = ff.runs_again, others = all || ff.execution.selective.operations;
  if (ff.model.gated) {
    kept->push_back({ff.names.gate_output, inner, all});
    kept->push_back({ff.names.up_output, inner, others});
    // One kernel for gate and product computes the gate again in its backward.
    if (!ff.execution.fused) kept->push_back({ff.names.nonlinearity_output, inner, others});
  } else {
    kept->push_back({ff.names.nonlinearity_input, inner, all});
  }
  kept->push_back({ff.names.down_input, Bytes(LinearInputBytes(ff.execution, ff.rows * ff.ffn)),
                   others || ff.nonlinearity_again});
}

}  // namespace models
