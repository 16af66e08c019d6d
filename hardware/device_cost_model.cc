#include "hardware/device_cost_model.h"

#include <algorithm>

#include "hardware/attention_model.h"
#include "hardware/kernel_basis.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

double Positive(std::int64_t n) { return static_cast<double>(std::max<std::int64_t>(n, 0)); }

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
  const MeasuredProduct* measured = FindMeasured(device_, kernel);
  const double told = Seconds(kernel, alone_);
  // A measured product is slowed down as the model would be.
  const double scale = measured != nullptr ? measured->seconds / told : 1;
  const double alone = told * scale;
  const auto whole = [](double seconds) {
    return sim::Duration::FromSeconds(std::min(seconds, kLongestKernel.seconds()));
  };
  KernelTimes times(whole(alone), whole(alone));
  Share share = alone_;
  share.memory_bytes_per_s = alone_.memory_bytes_per_s / 2;
  times.memory = whole(std::max(alone, scale * Seconds(kernel, share))) - times.alone;
  if (kernel.kind == sim::KernelKind::kMemory) return times;
  times.memory = std::max(times.memory, whole(device_.interference.stalled_part * alone));
  share = alone_;
  double longest = alone;
  for (std::size_t level = 0; level < sim::kSmsTaken.size(); ++level) {
    share.sms = std::max(device_.sms - sim::kSmsTaken[level], 1);
    longest = std::max(longest, scale * Seconds(kernel, share));
    times.beside[level] = whole(longest);
  }
  return times;
}

KernelParts DeviceCostModel::PartsOf(const sim::Kernel& kernel) const {
  const double bytes = Positive(kernel.bytes.count());
  switch (kernel.kind) {
    case sim::KernelKind::kGemm: {
      const GemmTiming timing = Timing(kernel, alone_);
      return {.start_s = timing.start_s,
              .compute_s = timing.multiply_s,
              .memory_s = std::max(timing.memory_s, timing.load_s),
              .bytes = WorkOf(kernel).bytes(),
              .product = timing};
    }
    case sim::KernelKind::kAttentionForward:
    case sim::KernelKind::kAttentionBackward: {
      const bool backward = kernel.kind == sim::KernelKind::kAttentionBackward;
      const auto around = ModelsAround(AttentionModels(kernel), kernel.attention, backward);
      sim::Kernel bare = kernel;
      bare.bytes = {};
      KernelParts parts{.start_s = (around.below != nullptr ? around.below : around.above)->fixed_s,
                        .bytes = bytes};
      parts.compute_s = AttentionTime(bare, alone_) - parts.start_s;
      parts.memory_s = bytes / (ElementwiseEfficiency() * alone_.memory_bytes_per_s);
      return parts;
    }
    case sim::KernelKind::kMemory:
      break;
  }
  KernelParts parts{.start_s = device_.memory_bound.fixed_s, .bytes = bytes};
  parts.memory_s = Seconds(kernel, alone_) - parts.start_s;
  return parts;
}

// A library launches products that run one by one from one operation of the framework.
sim::Duration DeviceCostModel::LaunchTimeOf(const sim::Kernel& kernel) const {
  return kernel.one_by_one ? options_.launch + (kernel.gemm.batch - 1) * FurtherLaunch() : options_.launch;
}

sim::Duration DeviceCostModel::FurtherLaunch() const {
  if (options_.launch == sim::Duration()) return {};
  return sim::Duration::FromSeconds(device_.host.kernel_launch_s);
}

double DeviceCostModel::Seconds(const sim::Kernel& kernel, const Share& share) const {
  if (kernel.one_by_one && kernel.gemm.batch > 1) {
    sim::Kernel one = kernel;
    one.gemm.batch = 1;
    one.bytes = sim::Bytes(kernel.bytes.count() / kernel.gemm.batch);
    return static_cast<double>(kernel.gemm.batch) * Seconds(one, share);
  }
  double seconds = 0;
  switch (kernel.kind) {
    case sim::KernelKind::kGemm:
      seconds = Timing(kernel, share).seconds;
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

GemmTiming DeviceCostModel::Timing(const sim::Kernel& kernel, const Share& share) const {
  CHECK(SupportsFormat(device_, kernel.format));
  const double derate = options_.random_data ? device_.random_data_derate : 1;
  return TimingOf(device_.gemm[static_cast<std::size_t>(kernel.format)], WorkOf(kernel), derate, share);
}

double DeviceCostModel::ElementwiseEfficiency() const {
  return device_.memory_bound.efficiency[static_cast<std::size_t>(sim::MemoryClass::kElementwise)];
}

const std::vector<AttentionModel>& DeviceCostModel::AttentionModels(const sim::Kernel& kernel) const {
  return kernel.attention.paged ? device_.paged_attention : device_.attention;
}

double DeviceCostModel::AttentionTime(const sim::Kernel& kernel, const Share& share) const {
  return AttentionSeconds(AttentionModels(kernel), kernel.attention,
                          kernel.kind == sim::KernelKind::kAttentionBackward, Positive(kernel.bytes.count()),
                          ElementwiseEfficiency(), share);
}

}  // namespace hardware
