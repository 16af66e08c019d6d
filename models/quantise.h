// Linear layers whose matrix products run in eight bits: which products, what is
// cast and when, what is kept.
//
// A linear layer has three products: forward (input x weight), input gradient
// (gradient x weight) and weight gradient (gradient x input). The second operand of
// each of the last two is needed turned round. Where the matrix units take FP8 in one
// order only (compute capability 8.9 and 9.0), or scales belong to rows or columns, a
// cast writes two copies:
//
//   cast       reads 16 bits (twice under CURRENT: first for the largest number), writes
//              one or two copies of 8, and scales of 1/32 byte a number where they are blocks'
//   input      cast before its gather (sequence parallelism), so 8 bits travel; the copy for the
//              weight gradient is kept in place of the 16-bit tensor
//   gradient   cast once for both products, before its gather likewise
//   weights    cast at the first micro-batch of a step; both copies are kept. Where ranks hold shares of
//              them (ZERO_3), behind each gather into the copies that are needed until the weights are
//              given back; or the shares before it, and a copy is turned round behind it
//
// With one scale a tensor a gathered copy is turned round after its gather; blocks'
// copies differ in their scales, so both travel.
//
// In 16 bits stay: attention's core, router, embedding and head, what travels back from
// reductions, norms and what they read. Leaves out: casts in the epilogue of a norm (DELAYED),
// padding of experts' rows to 16 or 32, the scale of a whole tensor.
//
// Sources: NVIDIA Transformer Engine 2, pytorch/module/{linear,layernorm_linear,
// grouped_linear}.py and pytorch/tensor; DeepSeek-AI, DeepSeek-V3 technical report, 2024, 3.3.

#ifndef MODELS_QUANTISE_H_
#define MODELS_QUANTISE_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "models/model.h"
#include "sim/base/kernel.h"

namespace models {

// Of the operands of linear layers.
sim::NumberFormat FormatOf(Recipe recipe, sim::NumberFormat otherwise);
sim::NumberFormat LinearFormat(const Execution& execution);
const char* ToText(Recipe recipe);  // "FP8_BLOCK"; "" for none

// Copies that products both ways need.
std::int64_t Copies(const Matmul& matmul);

// Bytes of `numbers` in `copies` eight-bit copies, scales included. REQUIRES: a recipe
std::int64_t CastBytes(const Matmul& matmul, std::int64_t numbers, std::int64_t copies);

// What a linear layer keeps of an input of so many numbers.
std::int64_t LinearInputBytes(const Execution& execution, std::int64_t numbers);

// One cast for both products that read it; nothing without a recipe.
void AddCast(const char* name, const Execution& execution, std::int64_t numbers,
             std::vector<sim::Kernel>* kernels);

// One copy, of what travels to other ranks in eight bits.
void AddTravelCast(const char* name, const Execution& execution, std::int64_t numbers,
                   std::vector<sim::Kernel>* kernels);
// The copies that the products need beside the one that arrived.
void AddSecondCopy(const Execution& execution, std::int64_t numbers, std::vector<sim::Kernel>* kernels);

// The weights of one linear layer, or of one of each of `experts`.
void AddWeightCast(const Execution& execution, std::int64_t out, std::int64_t in, std::int64_t experts,
                   Block* block);

// The input of a column-parallel layer, which the tensor group's gather brings together.
void AddGatheredInputCast(const Model& model, const Execution& execution, Block* block);
// The gradient of a row-parallel layer's output, likewise.
void AddGatheredGradientCast(const Model& model, const Execution& execution, Block* block);
// What those gathers move, of a whole tensor of `bytes` in 16 bits.
sim::Bytes GatheredInput(const Execution& execution, sim::Bytes bytes);
sim::Bytes GatheredGradient(const Execution& execution, sim::Bytes bytes);

}  // namespace models

#endif  // MODELS_QUANTISE_H_
