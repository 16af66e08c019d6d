#include "hardware/device_cost_model.h"

#include <algorithm>

#include "hardware/attention_model.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

double Positive(std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(n, 0)); }

// A kernel that also adds to its result, reads a bias, or has experts of several sizes, says
// so in `bytes`.
GemmWork WorkOf(const sim::Kernel& kernel) {
  GemmWork work = WorkOfProduct(kernel.gemm, kernel.format);
  work.more_bytes = std::max(Positive(kernel.bytes.count()) - work.bytes(), 0.0);
  return work;
}

}  // namespace

Share WholeDevice(const Device& device) {
  return {.sms = device.sms,
          .memory_bytes_per_s = device.memory_rate.bytes_per_second(),
          .sms_of_whole_device = static_cast<double>(device.sms),
          .l2_bytes = static_cast<double>(device.l2.count()),
          .persistent_products = device.interference.persistent_products};
}

DeviceCostModel::DeviceCostModel(const Device& device, CostOptions options)
    : device_(device), options_(options), alone_(WholeDevice(device)) {}

KernelTimes DeviceCostModel::TimeOf(const sim::Kernel& kernel) const {
  const double alone = Seconds(kernel, alone_);
  const auto whole = [](double seconds) {
    return sim::Duration::FromSeconds(std::min(seconds, kLongestKernel.seconds()));
  };
  KernelTimes times(whole(alone), whole(alone));
  Share share = alone_;
  share.memory_bytes_per_s = alone_.memory_bytes_per_s / 2;
  times.memory = whole(std::max(alone, Seconds(kernel, share))) - times.alone;
  if (kernel.kind == sim::KernelKind::kMemory) return times;
  times.memory = std::max(times.memory, whole(device_.interference.stalled_part * alone));
  share = alone_;
  double longest = alone;
  for (std::size_t level = 0; level < sim::kSmsTaken.size(); ++level) {
    share.sms = std::max(device_.sms - sim::kSmsTaken[level], 1);
    longest = std::max(longest, Seconds(kernel, share));
    times.beside[level] = whole(longest);
  }
  return times;
}

sim::Duration DeviceCostModel::LaunchTimeOf(const sim::Kernel&) const { return options_.launch; }

double DeviceCostModel::Seconds(const sim::Kernel& kernel, const Share& share) const {
  double seconds = 0;
  switch (kernel.kind) {
    case sim::KernelKind::kGemm:
      seconds = GemmTime(kernel, share);
      break;
    case sim::KernelKind::kAttentionForward:
    case sim::KernelKind::kAttentionBackward:
      seconds = AttentionTime(kernel, share);
      break;
    case sim::KernelKind::kMemory: {
      const double efficiency =
          device_.memory_bound.efficiency[static_cast<std::size_t>(kernel.memory_class)];
      seconds = device_.memory_bound.fixed_s +
                Positive(kernel.bytes.count()) / (efficiency * share.memory_bytes_per_s);
      break;
    }
  }
  return std::max(seconds, device_.minimum_kernel_s);
}

double DeviceCostModel::GemmTime(const sim::Kernel& kernel, const Share& share) const {
  CHECK(SupportsFormat(device_, kernel.format));
  const double derate = options_.random_data ? device_.random_data_derate : 1;
  return GemmSeconds(device_.gemm[static_cast<std::size_t>(kernel.format)], WorkOf(kernel), derate, share);
}

double DeviceCostModel::AttentionTime(const sim::Kernel& kernel, const Share& share) const {
  const double efficiency =
      device_.memory_bound.efficiency[static_cast<std::size_t>(sim::MemoryClass::kElementwise)];
  return AttentionSeconds(kernel.attention.paged ? device_.paged_attention : device_.attention,
                          kernel.attention, kernel.kind == sim::KernelKind::kAttentionBackward,
                          Positive(kernel.bytes.count()), efficiency, share);
}

}  // namespace hardware
