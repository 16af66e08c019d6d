#include "scenarios/kernel_run/kernel_table.h"

#include <algorithm>

#include "hardware/attention_model.h"

namespace scenarios {
namespace {

double Real(std::int64_t n) { return static_cast<double>(n); }

double FlopsOf(const sim::Kernel& kernel) {
  switch (kernel.kind) {
    case sim::KernelKind::kGemm:
      return 2 * Real(kernel.gemm.m) * Real(kernel.gemm.n) * Real(kernel.gemm.k) * Real(kernel.gemm.batch);
    case sim::KernelKind::kAttentionForward:
      return hardware::AttentionForwardFlops(kernel.attention);
    case sim::KernelKind::kAttentionBackward:
      return hardware::AttentionForwardFlops(kernel.attention) * Real(sim::BackwardWidth(kernel.attention)) /
             Real(sim::ForwardWidth(kernel.attention));
    case sim::KernelKind::kMemory:
      break;
  }
  return 0;
}

KernelBound BoundOf(const hardware::KernelParts& parts, double minimum_s) {
  const double work = std::max(parts.compute_s, parts.memory_s);
  if (parts.start_s >= work || parts.start_s + work <= minimum_s) return KernelBound::kLaunch;
  return parts.compute_s >= parts.memory_s ? KernelBound::kTensor : KernelBound::kMemory;
}

}  // namespace

const char* ToText(KernelBound bound) {
  switch (bound) {
    case KernelBound::kLaunch:
      return "launch";
    case KernelBound::kTensor:
      return "tensor";
    case KernelBound::kMemory:
      return "memory";
  }
  return "";
}

sim::Kernel ProductKernel(const sim::GemmShape& shape, sim::NumberFormat format, bool accumulates) {
  sim::Kernel kernel;
  kernel.name = "product";
  kernel.kind = sim::KernelKind::kGemm;
  kernel.format = format;
  kernel.gemm = shape;
  kernel.flops = sim::Flops(2 * shape.m * shape.n * shape.k * shape.batch);
  const hardware::GemmWork work = hardware::WorkOfProduct(shape, format);
  // The sum is read and written, and no result of its own.
  const double sum = accumulates ? (8 - work.result_width) * Real(shape.m) * Real(shape.n) : 0;
  kernel.bytes = sim::Bytes(static_cast<std::int64_t>(work.bytes() + sum * Real(shape.batch)));
  return kernel;
}

sim::Kernel AttentionKernel(const sim::AttentionShape& shape, sim::NumberFormat format, bool backward) {
  sim::Kernel kernel;
  kernel.name = backward ? "flash_backward" : "flash_forward";
  kernel.kind = backward ? sim::KernelKind::kAttentionBackward : sim::KernelKind::kAttentionForward;
  kernel.format = format;
  kernel.attention = shape;
  const std::int64_t rows = shape.batch * shape.query_heads * shape.query_length;
  const std::int64_t keys = shape.batch * shape.kv_heads * shape.kv_length;
  const std::int64_t tensors = 2 * (rows + keys) * sim::ForwardWidth(shape);
  const std::int64_t statistics = 4 * rows;
  kernel.bytes = sim::Bytes(backward ? 2 * (tensors + statistics) : tensors + statistics);
  kernel.flops = sim::Flops(static_cast<std::int64_t>(FlopsOf(kernel)));
  return kernel;
}

sim::Kernel MemoryKernel(sim::Bytes bytes, sim::MemoryClass memory_class) {
  sim::Kernel kernel;
  kernel.name = "memory";
  kernel.memory_class = memory_class;
  kernel.bytes = bytes;
  return kernel;
}

std::vector<KernelRow> KernelTable(const hardware::Device& device, const hardware::DeviceCostModel& cost,
                                   std::span<const sim::Kernel> kernels) {
  std::vector<KernelRow> rows;
  for (const sim::Kernel& kernel : kernels) {
    const hardware::KernelParts parts = cost.PartsOf(kernel);
    KernelRow row{.kernel = kernel,
                  .times = cost.TimeOf(kernel),
                  .flops = FlopsOf(kernel),
                  .bytes = parts.bytes,
                  .bound = BoundOf(parts, device.minimum_kernel_s),
                  .basis = hardware::BasisOf(device, kernel)};
    if (row.flops > 0) row.peak_flops_per_s = hardware::PeakFlopsPerSecond(device, kernel.format);
    if (row.basis != hardware::KernelBasis::kMeasurement) row.product = parts.product;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace scenarios
