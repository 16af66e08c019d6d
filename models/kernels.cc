#include "models/kernels.h"

#include <algorithm>

#include "models/parameters.h"
#include "models/quantise.h"
#include "models/transformer.h"
#include "sim/base/check.h"

namespace models {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

std::int64_t ElementWidth(sim::NumberFormat format) {
  return std::max<std::int64_t>(2, sim::ByteWidth(format));
}

Sizes::Sizes(const Model& model, const Execution& execution) {
  const std::int64_t tensor = execution.tensor;
  CHECK(CanShare(model, tensor));
  CHECK(!execution.sequence_parallel || execution.local_length() % tensor == 0);
  CHECK(execution.sequence_length % (execution.context.ranks * execution.part.count) == 0);
  element = ElementWidth(execution.format);
  tokens = execution.micro_batch * execution.local_length();
  cut = execution.sequence_parallel ? tokens / tensor : tokens;
  whole_h = tokens * model.hidden;
  cut_h = cut * model.hidden;
  query = QueryHeadsOfRank(model, tensor) * model.head_dim;
  kv = KvHeadsOfRank(model, tensor) * model.head_dim;
  output = QueryHeadsOfRank(model, tensor) * model.value_dim();
  vocabulary = PadVocabulary(model.vocabulary, execution.vocabulary_divisor, tensor) / tensor;
}

Bytes WholeTensor(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  return Bytes(sizes.whole_h * sizes.element);
}

Bytes CutTensor(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  return Bytes(sizes.cut_h * sizes.element);
}

Kernel Moves(const char* name, std::int64_t bytes, MemoryClass memory_class) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = sim::KernelKind::kMemory;
  kernel.memory_class = memory_class;
  kernel.bytes = Bytes(bytes);
  return kernel;
}

Kernel Gemm(const char* name, sim::GemmShape shape, sim::NumberFormat format, std::int64_t more_bytes) {
  const auto [m, n, k, batch] = shape;
  const sim::Wide flops = static_cast<sim::Wide>(2) * m * n * k * batch;
  CHECK(flops <= INT64_MAX);
  Kernel kernel;
  kernel.name = name;
  kernel.kind = sim::KernelKind::kGemm;
  kernel.format = format;
  kernel.gemm = shape;
  kernel.flops = sim::Flops(static_cast<std::int64_t>(flops));
  kernel.bytes =
      Bytes(batch * (sim::ByteWidth(format) * (m * k + k * n) + ElementWidth(format) * m * n) + more_bytes);
  return kernel;
}

Kernel GroupedGemm(const char* name, std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t groups,
                   const Execution& execution) {
  const sim::NumberFormat format = LinearFormat(execution);
  const std::int64_t busy = std::min(groups, rows);  // fewer tokens than experts leave some without
  Kernel kernel = Gemm(name, {rows, n, k, 1}, format);
  kernel.gemm = {(rows + busy - 1) / busy, n, k, busy};
  kernel.bytes = kernel.bytes + Bytes((busy - 1) * sim::ByteWidth(format) * k * n);
  kernel.one_by_one = execution.experts.one_by_one && busy > 1;
  return kernel;
}

void AddWeightGradient(const char* name, std::int64_t out, std::int64_t in, std::int64_t tokens,
                       const Execution& execution, std::vector<Kernel>* kernels) {
  AddGroupedWeightGradient(name, out, in, tokens, 1, execution, kernels);
}

void AddGroupedWeightGradient(const char* name, std::int64_t out, std::int64_t in, std::int64_t rows,
                              std::int64_t groups, const Execution& execution, std::vector<Kernel>* kernels) {
  const std::int64_t busy = std::min(groups, rows);
  const std::int64_t weights = busy * out * in;
  const std::int64_t element = ElementWidth(execution.format);
  const std::int64_t sum = execution.gradient_fp32 ? 4 : element;
  // The epilogue reads and writes the sum; it does not write the GEMM's own output.
  const std::int64_t epilogue = execution.fused ? (2 * sum - element) * weights : 0;
  Kernel kernel = Gemm(name, {out, in, rows, 1}, LinearFormat(execution), epilogue);
  kernel.gemm = {out, in, (rows + busy - 1) / busy, busy};
  kernel.bytes = kernel.bytes + Bytes((busy - 1) * element * out * in);
  kernel.one_by_one = execution.experts.one_by_one && busy > 1;
  kernel.weight_gradient = true;
  kernels->push_back(kernel);
  if (execution.fused) return;
  kernels->push_back(Moves("gradient_accumulation", (element + 2 * sum) * weights));
  kernels->back().weight_gradient = true;
}

void AddBiasGradient(const char* name, std::int64_t bytes_of_input, std::vector<Kernel>* kernels) {
  kernels->push_back(Moves(name, bytes_of_input, MemoryClass::kNorm));
}

void AddNorm(const char* name, Norm norm, std::int64_t rows, std::int64_t width, const Execution& execution,
             std::vector<Kernel>* kernels) {
  const std::int64_t element = ElementWidth(execution.format);
  const std::int64_t tensor = rows * width * element;
  const std::int64_t scale = width * element;
  // PyTorch has a kernel of its own for layer norms only.
  if (execution.fused_norms || norm == Norm::kLayer) {
    const std::int64_t parameters = norm == Norm::kLayer ? 2 * scale : scale;
    kernels->push_back(Moves(name, 2 * tensor + parameters, MemoryClass::kNorm));
    return;
  }
  const std::int64_t wide = 4 * rows * width;  // what follows runs in FP32
  kernels->push_back(Moves("norm_widen", tensor + wide));
  kernels->push_back(Moves("norm_square", 2 * wide));
  kernels->push_back(Moves("norm_mean", wide, MemoryClass::kNorm));
  kernels->push_back(Moves("norm_root", 8 * rows));  // with epsilon, and one over it
  kernels->push_back(Moves("norm_divide", 2 * wide));
  kernels->push_back(Moves("norm_narrow", wide + tensor));
  kernels->push_back(Moves("norm_scale", 2 * tensor + scale));
}

void AddNormBackward(const char* name, Norm norm, std::int64_t rows, std::int64_t width,
                     const Execution& execution, std::vector<Kernel>* kernels) {
  const std::int64_t element = ElementWidth(execution.format);
  const std::int64_t tensor = rows * width * element;
  const std::int64_t scale = width * element;
  if (execution.fused_norms || norm == Norm::kLayer) {
    // Reads the output's gradient, the input and the scale; writes the input's gradient.
    kernels->push_back(Moves(name, 3 * tensor + scale, MemoryClass::kNorm));
    if (!execution.fused_norms) {
      kernels->push_back(Moves("norm_scale_gradient", 2 * tensor, MemoryClass::kNorm));
    }
    return;
  }
  const std::int64_t wide = 4 * rows * width;
  // Each product has two factors, and a gradient for either.
  kernels->push_back(Moves("norm_scale_backward", 2 * tensor + scale));
  kernels->push_back(Moves("norm_scale_product", 3 * tensor));
  kernels->push_back(Moves("norm_scale_gradient", tensor, MemoryClass::kNorm));
  kernels->push_back(Moves("norm_narrow_backward", tensor + wide));
  kernels->push_back(Moves("norm_divide_backward", 2 * wide));
  kernels->push_back(Moves("norm_divide_product", 3 * wide));
  kernels->push_back(Moves("norm_root_gradient", wide, MemoryClass::kNorm));
  kernels->push_back(Moves("norm_mean_backward", wide));  // spread over the row again
  kernels->push_back(Moves("norm_double", 2 * wide));
  kernels->push_back(Moves("norm_square_backward", 3 * wide));
  kernels->push_back(Moves("norm_sum_gradients", 3 * wide));
  kernels->push_back(Moves("norm_widen_backward", wide + tensor));
}

void KeepNorm(const char* name, Norm norm, std::int64_t numbers, const Execution& execution, bool dropped,
              std::vector<Activation>* kept) {
  const std::int64_t tensor = numbers * ElementWidth(execution.format);
  kept->push_back({name, Bytes(tensor), dropped});
  if (execution.fused_norms || norm == Norm::kLayer) return;
  const bool again = execution.selective.operations || execution.selective.norm_output;
  kept->push_back({"norm_widened", Bytes(4 * numbers), dropped || again});
  kept->push_back({"norm_divided", Bytes(tensor), dropped || again});
}

void AddNormAgain(const Model& model, const Execution& execution, Block* block) {
  if (!execution.selective.norm_output) return;
  AddNorm("norm", model.norm, Sizes(model, execution).cut, model.hidden, execution,
          &block->again.before_gather);
}

void AddAfterReduce(const Model& model, const Execution& execution, bool bias, Block* block) {
  const Sizes sizes(model, execution);
  const std::int64_t tensor = sizes.cut_h * sizes.element;
  const std::int64_t vector = model.hidden * sizes.element;
  std::vector<Kernel>* kernels = &block->after_reduce;
  if (model.post_norms()) {
    if (bias) kernels->push_back(Moves("output_bias", 2 * tensor + vector));
    AddNorm("post_norm", model.norm, sizes.cut, model.hidden, execution, kernels);
    KeepNorm("post_norm_input", model.norm, sizes.cut_h, execution, false, &block->activations);
    bias = false;
  }
  if (execution.dropout) block->activations.push_back({"dropout_mask", Bytes(sizes.cut_h)});
  if (execution.fused) {
    // Reads the block's output and the residual, writes their sum and the mask.
    const char* name = execution.dropout ? "bias_dropout_residual" : "residual";
    const std::int64_t mask = execution.dropout ? sizes.cut_h : 0;
    kernels->push_back(Moves(name, 3 * tensor + mask + (bias ? vector : 0)));
    return;
  }
  if (bias) kernels->push_back(Moves("output_bias", 2 * tensor + vector));
  if (execution.dropout) kernels->push_back(Moves("dropout", 2 * tensor + sizes.cut_h));
  kernels->push_back(Moves("residual", 3 * tensor));
}

void AddBackwardHead(const Model& model, const Execution& execution, bool bias, Block* block) {
  const Sizes sizes(model, execution);
  const std::int64_t tensor = sizes.cut_h * sizes.element;
  std::vector<Kernel>* kernels = &block->backward_head;
  if (execution.dropout) kernels->push_back(Moves("dropout_backward", 2 * tensor + sizes.cut_h));
  if (model.post_norms()) {
    AddNormBackward("post_norm_backward", model.norm, sizes.cut, model.hidden, execution, kernels);
  }
  if (bias) AddBiasGradient("output_bias_gradient", tensor, kernels);
}

void AddBackwardTail(const Model& model, const Execution& execution, Block* block) {
  const Sizes sizes(model, execution);
  AddNormBackward("norm_backward", model.norm, sizes.cut, model.hidden, execution, &block->backward_tail);
  block->backward_tail.push_back(Moves("residual_backward", 3 * sizes.cut_h * sizes.element));
}

void AddCommunication(const Model& model, const Execution& execution, Half half, Block* block) {
  if (execution.tensor == 1) return;
  const Bytes tensor = WholeTensor(model, execution);
  const bool first = half == Half::kAttention, parallel = model.parallel_residual;
  const bool ends = !first || !parallel;            // its output is summed over the group
  const bool begins = first || !SharesNorm(model);  // its input's gradient is
  if (ends) block->reduce_forward = tensor;
  if (begins) block->reduce_backward = tensor;
  if (!execution.sequence_parallel) return;
  if (begins) block->gather_forward = GatheredInput(execution, tensor);
  if (ends) block->gather_backward = GatheredGradient(execution, tensor);
  // One input for both is gathered again once, by the half whose backward comes first.
  if (!first || !SharesNorm(model)) block->gather_again = GatheredInput(execution, tensor);
}

sim::Wide TotalFlops(const std::vector<Kernel>& kernels) {
  sim::Wide sum = 0;
  for (const Kernel& kernel : kernels) sum += kernel.flops.count();
  return sum;
}

namespace {

// Rows at one rank's experts for each token of the micro-batch, at most.
sim::Wide RoutedRows(const Model& model, const Execution& execution) {
  const Experts& experts = model.experts;
  const ExpertSpread& spread = execution.experts;
  if (experts.routed == 0) return 0;
  if (!execution.spreads_experts()) return experts.per_token;
  // With capacities a token counts as all experts at most; without them all ranks of
  // the group may send all their rows to one.
  const sim::Wide rows = spread.capacity_factor > 0 ? experts.routed : experts.per_token;
  const sim::Wide busy = spread.loads.empty() || spread.capacity_factor > 0 ? 1 : spread.expert;
  return rows * busy * execution.expert_tensor();
}

}  // namespace

// Widens before it multiplies: it is asked about sizes that may not fit.
sim::Wide LargestKernelFlops(const Model& model, const Execution& execution) {
  const std::int64_t tensor = execution.tensor;
  CHECK(CanShare(model, tensor));
  const std::int64_t heads = QueryHeadsOfRank(model, tensor);
  const std::int64_t query = heads * model.head_dim;
  const std::int64_t kv = KvHeadsOfRank(model, tensor) * model.head_dim;
  const std::int64_t matrices = model.gated ? 2 : 1;
  const Experts& experts = model.experts;
  const std::int64_t rows = PadVocabulary(model.vocabulary, execution.vocabulary_divisor, tensor) / tensor;
  const sim::Wide tokens = static_cast<sim::Wide>(execution.micro_batch) * execution.local_length();
  // Channels that one GEMM makes of hidden ones, or of narrow vectors.
  const sim::Wide widest =
      std::max({static_cast<sim::Wide>(query + 2 * kv), static_cast<sim::Wide>(matrices * model.ffn / tensor),
                static_cast<sim::Wide>(rows), static_cast<sim::Wide>(experts.routed + 1),
                static_cast<sim::Wide>(model.prediction_modules > 0 ? 2 * model.hidden / tensor : 0),
                static_cast<sim::Wide>(matrices) * experts.all_shared_ffn() / tensor,
                RoutedRows(model, execution) * matrices * experts.ffn / execution.expert_tensor()});
  sim::Wide linear = 2 * tokens * widest * model.hidden;
  if (model.has_latent()) {
    const Latent& latent = model.latent;
    const std::int64_t value = heads * (latent.nope_dim + latent.value_dim);
    linear = std::max({linear, 2 * tokens * latent.query_rank * std::max(query, model.hidden),
                       2 * tokens * latent.kv_rank * std::max(value, model.hidden),
                       2 * tokens * (latent.kv_rank + latent.rope_dim) * model.hidden});
  }
  const std::int64_t core = heads * std::max(model.head_dim, model.value_dim());
  // A causal piece that ends the sequence sees nearly all keys; whole sequences see half of them.
  const std::int64_t seen = execution.context.ranks * execution.part.count > 1 ? 2 : 1;
  return std::max(linear, 5 * seen * tokens * execution.sequence_length * core);
}

sim::Wide WidestTensor(const Model& model, const Execution& execution) {
  const Experts& experts = model.experts;
  const Latent& latent = model.latent;
  const sim::Wide routed = RoutedRows(model, execution) * std::max(experts.ffn, model.hidden);
  return std::max({routed, static_cast<sim::Wide>(experts.all_shared_ffn()),
                   static_cast<sim::Wide>(std::max({model.hidden, model.ffn, model.vocabulary, experts.routed,
                                                    latent.query_rank, latent.kv_rank}))});
}

}  // namespace models
