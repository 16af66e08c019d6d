#include "models/optimizer.h"

namespace models {
namespace {

sim::Kernel Streaming(const char* name, std::int64_t bytes) {
  return {.name = name,
          .kind = sim::KernelKind::kMemory,
          .format = sim::NumberFormat::kFp32,
          .memory_class = sim::MemoryClass::kOptimizer,
          .bytes = sim::Bytes(bytes)};
}

}  // namespace

std::vector<sim::Kernel> OptimizerKernels(std::int64_t held, std::int64_t owned, sim::NumberFormat format,
                                          sim::NumberFormat gradient_format) {
  constexpr std::int64_t kFp32 = 4;
  const std::int64_t gradient = sim::ByteWidth(gradient_format);
  const bool has_master = sim::ByteWidth(format) < kFp32;
  // Master (or the weight itself) and two moments, read and written.
  std::int64_t adam = 6 * kFp32 + gradient;
  if (has_master) adam += sim::ByteWidth(format);
  return {Streaming("gradient norm", owned * gradient), Streaming("adam", owned * adam),
          Streaming("clear gradients", held * gradient)};
}

}  // namespace models
