#include "models/quantise.h"

#include "models/kernels.h"
#include "sim/base/check.h"

namespace models {
namespace {

bool ScalesBlocks(const Matmul& matmul) {
  return matmul.recipe == Recipe::kBlock || matmul.recipe == Recipe::kMx;
}

// Copies before a gather, behind which a second one can be made.
std::int64_t CopiesThatTravel(const Matmul& matmul) { return ScalesBlocks(matmul) ? 2 : 1; }

bool Gathers(const Execution& execution) { return execution.sequence_parallel && execution.tensor > 1; }

sim::Kernel Cast(const char* name, const Execution& execution, std::int64_t numbers, std::int64_t copies) {
  const std::int64_t reads = execution.matmul.recipe == Recipe::kTensorCurrent ? 2 : 1;
  const std::int64_t read = reads * numbers * ElementWidth(execution.format);
  return Moves(name, read + CastBytes(execution.matmul, numbers, copies));
}

// A copy read and its transpose written.
void AddTranspose(const Execution& execution, std::int64_t numbers, std::vector<sim::Kernel>* kernels) {
  if (Copies(execution.matmul) == CopiesThatTravel(execution.matmul)) return;
  kernels->push_back(Moves("transpose_fp8", 2 * CastBytes(execution.matmul, numbers, 1)));
}

sim::Bytes Travelling(const Execution& execution, sim::Bytes bytes, std::int64_t copies) {
  if (execution.matmul.recipe == Recipe::kNone) return bytes;
  const std::int64_t numbers = bytes.count() / ElementWidth(execution.format);
  return sim::Bytes(CastBytes(execution.matmul, numbers, copies));
}

}  // namespace

sim::NumberFormat FormatOf(Recipe recipe, sim::NumberFormat otherwise) {
  switch (recipe) {
    case Recipe::kNone:
      return otherwise;
    case Recipe::kTensorDelayed:
    case Recipe::kTensorCurrent:
      return sim::NumberFormat::kFp8;
    case Recipe::kBlock:
      return sim::NumberFormat::kFp8Block;
    case Recipe::kMx:
      return sim::NumberFormat::kMxFp8;
  }
  return otherwise;
}

sim::NumberFormat LinearFormat(const Execution& execution) {
  return FormatOf(execution.matmul.recipe, execution.format);
}

std::int64_t Copies(const Matmul& matmul) { return ScalesBlocks(matmul) || matmul.one_order ? 2 : 1; }

const char* ToText(Recipe recipe) {
  switch (recipe) {
    case Recipe::kNone:
      return "";
    case Recipe::kTensorDelayed:
      return "FP8_TENSOR_DELAYED";
    case Recipe::kTensorCurrent:
      return "FP8_TENSOR_CURRENT";
    case Recipe::kBlock:
      return "FP8_BLOCK";
    case Recipe::kMx:
      return "MXFP8";
  }
  return "";
}

// FP32 for 128 numbers, or 8 bits for 32.
std::int64_t CastBytes(const Matmul& matmul, std::int64_t numbers, std::int64_t copies) {
  constexpr std::int64_t kNumbersPerScaleByte = 32;
  CHECK(matmul.recipe != Recipe::kNone);
  const std::int64_t scales =
      ScalesBlocks(matmul) ? (numbers + kNumbersPerScaleByte - 1) / kNumbersPerScaleByte : 0;
  return copies * (numbers + scales);
}

std::int64_t LinearInputBytes(const Execution& execution, std::int64_t numbers) {
  if (execution.matmul.recipe == Recipe::kNone) return numbers * ElementWidth(execution.format);
  return CastBytes(execution.matmul, numbers, 1);
}

void AddCast(const char* name, const Execution& execution, std::int64_t numbers,
             std::vector<sim::Kernel>* kernels) {
  if (execution.matmul.recipe == Recipe::kNone) return;
  kernels->push_back(Cast(name, execution, numbers, Copies(execution.matmul)));
}

void AddTravelCast(const char* name, const Execution& execution, std::int64_t numbers,
                   std::vector<sim::Kernel>* kernels) {
  if (execution.matmul.recipe == Recipe::kNone) return;
  kernels->push_back(Cast(name, execution, numbers, 1));
}

void AddSecondCopy(const Execution& execution, std::int64_t numbers, std::vector<sim::Kernel>* kernels) {
  if (execution.matmul.recipe == Recipe::kNone || Copies(execution.matmul) == 1) return;
  kernels->push_back(Moves("second_copy_fp8", 2 * CastBytes(execution.matmul, numbers, 1)));
}

void AddWeightCast(const Execution& execution, std::int64_t out, std::int64_t in, std::int64_t experts,
                   Block* block) {
  if (execution.matmul.recipe == Recipe::kNone) return;
  const Matmul& matmul = execution.matmul;
  const std::int64_t numbers = out * in * experts, copies = Copies(matmul);
  block->cast_weights += numbers;
  block->cast_matrices += experts;
  if (matmul.eight_bit_weights) {
    AddSecondCopy(execution, numbers, &block->weight_casts);
  } else {
    block->weight_casts.push_back(Cast("cast_weights", execution, numbers, copies));
    block->one_copy_casts.push_back(Cast("cast_weights", execution, numbers, 1));
  }
  // Blocks of 128 x 128 have next to no scales.
  const std::int64_t kept = matmul.eight_bit_weights ? copies - 1 : copies;
  const bool scales = matmul.recipe == Recipe::kMx;
  block->cast_weight_bytes += sim::Bytes(scales ? CastBytes(matmul, numbers, kept) : kept * numbers);
}

void AddGatheredInputCast(const Model& model, const Execution& execution, Block* block) {
  if (execution.matmul.recipe == Recipe::kNone) return;
  const Sizes sizes(model, execution);
  if (!Gathers(execution)) return AddCast("cast_input", execution, sizes.cut_h, &block->before_gather);
  block->before_gather.push_back(
      Cast("cast_input", execution, sizes.cut_h, CopiesThatTravel(execution.matmul)));
  AddTranspose(execution, sizes.whole_h, &block->backward_weight);  // of what is gathered again
}

void AddGatheredGradientCast(const Model& model, const Execution& execution, Block* block) {
  if (execution.matmul.recipe == Recipe::kNone) return;
  const Sizes sizes(model, execution);
  if (!Gathers(execution)) return AddCast("cast_gradient", execution, sizes.cut_h, &block->backward_head);
  block->backward_head.push_back(
      Cast("cast_gradient", execution, sizes.cut_h, CopiesThatTravel(execution.matmul)));
  AddTranspose(execution, sizes.whole_h, &block->backward_main);
}

// The forward needs one copy, and so does the weight gradient later.
sim::Bytes GatheredInput(const Execution& execution, sim::Bytes bytes) {
  return Travelling(execution, bytes, 1);
}

sim::Bytes GatheredGradient(const Execution& execution, sim::Bytes bytes) {
  return Travelling(execution, bytes, CopiesThatTravel(execution.matmul));
}

}  // namespace models
