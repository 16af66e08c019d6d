// Kernel: one piece of work for one device, as a shape. It is the word that
// models (which write it) and hardware (which times it) share, so that they
// need not know each other.

#ifndef SIM_BASE_KERNEL_H_
#define SIM_BASE_KERNEL_H_

#include <cstdint>

#include "sim/base/units.h"

namespace sim {

// The formats of FP8 differ in their scales: one a tensor; FP32 for blocks of 1 x 128 or
// 128 x 128; a power of two for 32 numbers. From kNvFp4 on, formats are of kernels alone:
// nothing trains in them. kInt8Weights and kInt4Weights multiply 16 bits by such weights.
enum class NumberFormat : std::uint8_t {
  kFp32,
  kTf32,
  kBf16,
  kFp16,
  kFp8,
  kFp8Block,
  kMxFp8,
  kNvFp4,
  kInt8,
  kInt8Weights,
  kInt4Weights
};

// Whole bytes that hold one number, of weights where they differ, without its scale.
constexpr std::int64_t ByteWidth(NumberFormat format) {
  switch (format) {
    case NumberFormat::kFp32:
    case NumberFormat::kTf32:
      return 4;
    case NumberFormat::kBf16:
    case NumberFormat::kFp16:
      return 2;
    case NumberFormat::kFp8:
    case NumberFormat::kFp8Block:
    case NumberFormat::kMxFp8:
    case NumberFormat::kNvFp4:
    case NumberFormat::kInt8:
    case NumberFormat::kInt8Weights:
    case NumberFormat::kInt4Weights:
      return 1;
  }
  return 0;
}

enum class KernelKind : std::uint8_t {
  kGemm,              // batch x [m,k] x [k,n]
  kAttentionForward,  // one fused kernel (flash); a GEMM pair when unfused
  kAttentionBackward,
  kMemory,  // bound by the bytes it moves: norms, activations, residuals, optimizer, ...
};

// How well a memory-bound kernel reaches the memory's rate. The device says
// what each class achieves.
enum class MemoryClass : std::uint8_t {
  kElementwise,  // add, copy, cast, dropout
  kNorm,         // reductions over a row: layer norm, RMS norm, softmax
  kGather,       // embedding look-up and its scatter
  kOptimizer,    // streams over parameters and their moments
  kActivation,   // nonlinearity of the feed-forward, with its bias or gate
};

// Which implementation of attention. UNFUSED is written by models as batched
// GEMMs and memory kernels, and never reaches a cost model as attention. TensorRT-LLM's kernels have no
// backward.
enum class AttentionKind : std::uint8_t { kUnfused, kFlash2, kFlash3, kCudnn, kTrtLlm };

// Where rows do not divide by `batch` (experts), m or k is the largest one's, and
// Kernel::flops and bytes are what is really there.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t batch = 1;  // independent products of this shape
};

struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t query_heads = 0, kv_heads = 0;
  std::int64_t query_length = 0, kv_length = 0;  // tokens
  std::int64_t head_dim = 0;                     // of queries and keys
  std::int64_t value_dim = 0;                    // of values and outputs; 0 = as head_dim
  bool causal = true;
  std::int64_t window = 0;  // tokens a query sees back, itself included; 0 = all
  AttentionKind implementation = AttentionKind::kFlash2;
  bool paged = false;  // as serving engines: keys and values are put into a cache first; forward alone
};

// Width of what a query-key pair costs in the forward: two contractions.
constexpr std::int64_t ForwardWidth(const AttentionShape& shape) {
  return shape.head_dim + (shape.value_dim > 0 ? shape.value_dim : shape.head_dim);
}
// And in the backward: scores again, gradients of queries and keys over head_dim;
// gradients of values and of scores over value_dim.
constexpr std::int64_t BackwardWidth(const AttentionShape& shape) {
  return 3 * shape.head_dim + 2 * (shape.value_dim > 0 ? shape.value_dim : shape.head_dim);
}

struct Kernel {
  const char* name = "";  // a string literal: "qkv", "norm", "flash_forward"
  KernelKind kind = KernelKind::kMemory;
  NumberFormat format = NumberFormat::kBf16;
  MemoryClass memory_class = MemoryClass::kElementwise;
  GemmShape gemm;            // when kind is kGemm
  AttentionShape attention;  // when kind is kAttention*
  Flops flops;               // multiply-adds count two; what this kernel executes
  Bytes bytes;               // read and written, each tensor once
  // GEMM: `batch` kernels, one behind the other, and not one for all.
  bool one_by_one = false;
  // Of weights, which nothing of the same backward needs: a pipeline may put it off.
  bool weight_gradient = false;
};

}  // namespace sim

#endif  // SIM_BASE_KERNEL_H_
