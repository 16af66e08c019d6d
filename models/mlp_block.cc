#include "models/kernels.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

// The feed-forward's sizes on one rank.
struct Mlp {
  Mlp(const Model& m, const Execution& e) : model(m), execution(e), sizes(m, e) {
    up = (m.gated ? 2 : 1) * sizes.ffn;
    up_bytes = sizes.tokens * up * sizes.element;
    down_bytes = sizes.tokens * sizes.ffn * sizes.element;
    bias_bytes = m.biases.mlp ? up * sizes.element : 0;
  }
  const Model& model;
  const Execution& execution;
  Sizes sizes;
  std::int64_t up;          // channels that leave the first linear layer: gate and up
  std::int64_t up_bytes;    // of them
  std::int64_t down_bytes;  // of what enters the last linear layer
  std::int64_t bias_bytes;  // of the first layer's bias; 0 without
};

void AddNonlinearity(const Mlp& mlp, std::vector<Kernel>* kernels) {
  if (mlp.execution.fused) {
    const char* name = mlp.model.gated ? "gate" : "bias_nonlinearity";
    kernels->push_back(Moves(name, mlp.up_bytes + mlp.down_bytes + mlp.bias_bytes, MemoryClass::kActivation));
    return;
  }
  if (mlp.model.biases.mlp) kernels->push_back(Moves("up_bias", 2 * mlp.up_bytes + mlp.bias_bytes));
  kernels->push_back(Moves("nonlinearity", 2 * mlp.down_bytes, MemoryClass::kActivation));
  if (mlp.model.gated) kernels->push_back(Moves("gate_product", 3 * mlp.down_bytes));
}

void AddNonlinearityBackward(const Mlp& mlp, std::vector<Kernel>* kernels) {
  if (mlp.execution.fused) {
    // Reads the gradient and the first layer's outputs, writes their gradients.
    const char* name = mlp.model.gated ? "gate_backward" : "bias_nonlinearity_backward";
    kernels->push_back(
        Moves(name, mlp.down_bytes + 2 * mlp.up_bytes + mlp.bias_bytes, MemoryClass::kActivation));
  } else {
    // Two factors, so two products; each reads the gradient and the other factor.
    if (mlp.model.gated) kernels->push_back(Moves("gate_product_backward", 6 * mlp.down_bytes));
    kernels->push_back(Moves("nonlinearity_backward", 3 * mlp.down_bytes, MemoryClass::kActivation));
  }
  if (mlp.model.biases.mlp) AddBiasGradient("up_bias_gradient", mlp.up_bytes, kernels);
}

void AddActivations(const Mlp& mlp, Block* block) {
  const Bytes cut(mlp.sizes.cut_h * mlp.sizes.element), inner(mlp.down_bytes);
  std::vector<Activation>* kept = &block->activations;
  kept->push_back({"norm_input", cut});
  kept->push_back({"up_input", cut});
  if (mlp.model.gated) {
    kept->push_back({"gate_output", inner});
    kept->push_back({"up_output", inner});
    // One kernel for gate and product computes the gate again in its backward.
    if (!mlp.execution.fused) kept->push_back({"nonlinearity_output", inner});
  } else {
    kept->push_back({"nonlinearity_input", inner});
  }
  kept->push_back({"down_input", inner});
}

}  // namespace

Block MlpBlock(const Model& model, const Execution& execution, std::int64_t layer) {
  static_cast<void>(layer);  // every layer of a dense model is alike
  const Mlp mlp(model, execution);
  const Sizes& sizes = mlp.sizes;
  const auto format = execution.format;
  const bool bias = model.biases.mlp;
  Block block;
  block.name = "mlp";
  AddActivations(mlp, &block);

  AddNorm("norm", model.norm, sizes.cut, model.hidden, execution, &block.before_gather);
  block.main.push_back(Gemm(model.gated ? "gate_up" : "up", {sizes.tokens, mlp.up, model.hidden, 1}, format));
  AddNonlinearity(mlp, &block.main);
  block.main.push_back(Gemm("down", {sizes.tokens, model.hidden, sizes.ffn, 1}, format));
  AddAfterReduce(model, execution, bias, &block);

  AddBackwardHead(model, execution, bias, &block);
  block.backward_main.push_back(Gemm("down_dgrad", {sizes.tokens, sizes.ffn, model.hidden, 1}, format));
  AddWeightGradient("down_wgrad", model.hidden, sizes.ffn, sizes.tokens, execution, &block.backward_main);
  AddNonlinearityBackward(mlp, &block.backward_main);
  block.backward_main.push_back(Gemm("up_dgrad", {sizes.tokens, model.hidden, mlp.up, 1}, format));
  AddWeightGradient("up_wgrad", mlp.up, model.hidden, sizes.tokens, execution, &block.backward_weight);
  AddBackwardTail(model, execution, &block);
  AddCommunication(model, execution, &block);
  return block;
}

}  // namespace models
