#include "models/optimizer.h"

namespace models {
namespace {

constexpr std::int64_t kFp32 = 4;

sim::Kernel Streaming(const char* name, std::int64_t bytes) {
  return {.name = name,
          .kind = sim::KernelKind::kMemory,
          .format = sim::NumberFormat::kFp32,
          .memory_class = sim::MemoryClass::kOptimizer,
          .bytes = sim::Bytes(bytes)};
}

}  // namespace

std::vector<sim::Kernel> OptimizerKernels(std::int64_t held, std::int64_t owned, sim::NumberFormat format,
                                          sim::NumberFormat gradient_format, std::int64_t cast,
                                          std::int64_t hosts) {
  const std::int64_t gradient = sim::ByteWidth(gradient_format);
  const std::int64_t weight = sim::ByteWidth(format);
  std::vector<sim::Kernel> kernels;
  const std::int64_t here = owned - hosts;
  if (gradient < kFp32) kernels.push_back(Streaming("widen gradients", here * (gradient + kFp32)));
  if (format == sim::NumberFormat::kFp16) kernels.push_back(Streaming("unscale", here * 2 * kFp32));
  kernels.push_back(Streaming("gradient norm", here * kFp32 + hosts * gradient));
  kernels.push_back(Streaming("adam", here * 7 * kFp32));
  if (weight < kFp32) kernels.push_back(Streaming("narrow weights", (here - cast) * (kFp32 + weight)));
  kernels.push_back(Streaming("clear gradients", held * gradient));
  return kernels;
}

std::vector<sim::Kernel> FindLargestKernels(std::int64_t cast) {
  return {Streaming("find largest", cast * kFp32)};
}

std::vector<sim::Kernel> CastKernels(std::int64_t cast) {
  return {Streaming("cast_weights", cast * (kFp32 + 1))};
}

}  // namespace models
