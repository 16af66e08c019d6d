// How models write kernels: GEMMs and memory-bound kernels from sizes. Internal
// to this folder.

#ifndef MODELS_KERNELS_H_
#define MODELS_KERNELS_H_

#include <cstdint>
#include <vector>

#include "models/block.h"
#include "models/model.h"
#include "sim/base/kernel.h"

namespace models {

// Bytes of one number outside of GEMM operands: FP8 is for those only.
std::int64_t ElementWidth(sim::NumberFormat format);

// The sizes that every block needs, on one rank.
struct Sizes {
  Sizes(const Model& model, const Execution& execution);

  std::int64_t element;     // bytes of an activation's number
  std::int64_t tokens;      // of the micro-batch
  std::int64_t cut;         // tokens where sequence parallelism cuts them
  std::int64_t whole_h;     // tokens x hidden
  std::int64_t cut_h;       // cut x hidden
  std::int64_t query;       // channels of this rank's query heads
  std::int64_t kv;          // channels of this rank's key heads; values have as many, but for MLA
  std::int64_t output;      // channels of this rank's heads' outputs
  std::int64_t vocabulary;  // this rank's rows of the padded vocabulary
};

// The whole [sequence, batch, hidden] tensor, and the part of it that a rank has
// where sequence parallelism cuts it.
sim::Bytes WholeTensor(const Model& model, const Execution& execution);
sim::Bytes CutTensor(const Model& model, const Execution& execution);

// A kernel bound by the `bytes` it moves.
sim::Kernel Moves(const char* name, std::int64_t bytes,
                  sim::MemoryClass memory_class = sim::MemoryClass::kElementwise);

// [m,k] x [k,n], `batch` times. `more_bytes` are moved by its epilogue.
sim::Kernel Gemm(const char* name, sim::GemmShape shape, sim::NumberFormat format,
                 std::int64_t more_bytes = 0);

// [m,k] x [k,n] in the format of linear layers for each of `groups` experts, whose rows are `rows` in all: m
// is rows / groups, and one more for some where that is not whole.
sim::Kernel GroupedGemm(const char* name, std::int64_t rows, std::int64_t n, std::int64_t k,
                        std::int64_t groups, const Execution& execution);

// The weight gradient [out, in] of a linear layer over `tokens`, added to what
// earlier micro-batches left: in the GEMM's epilogue when fused, else by a kernel
// of its own.
void AddWeightGradient(const char* name, std::int64_t out, std::int64_t in, std::int64_t tokens,
                       const Execution& execution, std::vector<sim::Kernel>* kernels);
// The same for each of `groups` experts, which have `rows` tokens in all.
void AddGroupedWeightGradient(const char* name, std::int64_t out, std::int64_t in, std::int64_t rows,
                              std::int64_t groups, const Execution& execution,
                              std::vector<sim::Kernel>* kernels);

// `bytes_of_input` are read to add up the gradient of a bias.
void AddBiasGradient(const char* name, std::int64_t bytes_of_input, std::vector<sim::Kernel>* kernels);

// One norm over `rows` rows of `width` numbers, forward and backward.
void AddNorm(const char* name, Norm norm, std::int64_t rows, std::int64_t width, const Execution& execution,
             std::vector<sim::Kernel>* kernels);
void AddNormBackward(const char* name, Norm norm, std::int64_t rows, std::int64_t width,
                     const Execution& execution, std::vector<sim::Kernel>* kernels);
// What its backward needs: the input `name` of so many numbers, which recomputation may drop, and where it is
// not fused the input in FP32 and what the scale multiplies.
void KeepNorm(const char* name, Norm norm, std::int64_t numbers, const Execution& execution, bool dropped,
              std::vector<Activation>* kept);

// What both halves of a layer share.
// Forward end: the row-parallel bias, a norm after the block, dropout, the
// residual. Backward start: the same turned round, down to the gradient that the
// row-parallel linear receives. Backward end: the first norm, and the gradient
// that came by the residual added.
void AddAfterReduce(const Model& model, const Execution& execution, bool bias, Block* block);
void AddBackwardHead(const Model& model, const Execution& execution, bool bias, Block* block);
void AddBackwardTail(const Model& model, const Execution& execution, Block* block);
// The first norm as selective recomputation runs it again; nothing where its output is kept.
void AddNormAgain(const Model& model, const Execution& execution, Block* block);
// What tensor parallelism moves around a half of a layer. Halves side by side
// (parallel residual) reduce their sum once, after the feed-forward.
enum class Half : std::uint8_t { kAttention, kFeedForward };
void AddCommunication(const Model& model, const Execution& execution, Half half, Block* block);

// Whether the feed-forward reads what attention's norm wrote.
inline bool SharesNorm(const Model& model) { return model.norms_per_layer == 1; }

}  // namespace models

#endif  // MODELS_KERNELS_H_
