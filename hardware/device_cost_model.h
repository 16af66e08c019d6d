// DeviceCostModel: the kernel times of one Device; pure closed forms.

#ifndef HARDWARE_DEVICE_COST_MODEL_H_
#define HARDWARE_DEVICE_COST_MODEL_H_

#include "hardware/cost_model.h"
#include "hardware/device.h"
#include "hardware/tile_model.h"

namespace hardware {

struct CostOptions {
  // Operands are as random as weights and activations are: applies the
  // device's power derate. Off to compare with benchmarks on constant data.
  bool random_data = true;
  sim::Duration launch = {};  // of a kernel, on the host; zero: launches are free
};

// All of a device, for one kernel.
Share WholeDevice(const Device& device);

// What the model's time of a kernel is made of, for tables: its start, what multiplying takes by itself, and
// moving from memory and L2 by itself; they overlap. Not of a measurement that stands in its place.
struct KernelParts {
  double start_s = 0, compute_s = 0, memory_s = 0;
  double bytes = 0;    // that it moves at least
  GemmTiming product;  // of a product
};

// Every kernel takes at least the device's minimum time, but for a product that was measured
// (Device::measured_products), which takes the measured one. Products that run one by one fill
// the device each by itself. While communication
// kernels hold SMs, matrix products and attention have the SMs that are left,
// in new waves; memory-bound kernels need only the memory rate that is left.
class DeviceCostModel final : public CostModel {
 public:
  explicit DeviceCostModel(const Device& device, CostOptions options = {});

  // REQUIRES: the device supports the kernel's format and attention; extents
  // of the kernel's shape >= 1 (bytes may be 0)
  KernelTimes TimeOf(const sim::Kernel& kernel) const override;
  sim::Duration LaunchTimeOf(const sim::Kernel& kernel) const override;
  sim::Duration FurtherLaunch() const override;

  // As TimeOf, of the kernel alone.
  KernelParts PartsOf(const sim::Kernel& kernel) const;

 private:
  double Seconds(const sim::Kernel& kernel, const Share& share) const;
  GemmTiming Timing(const sim::Kernel& kernel, const Share& share) const;
  double AttentionTime(const sim::Kernel& kernel, const Share& share) const;
  double ElementwiseEfficiency() const;
  const std::vector<AttentionModel>& AttentionModels(const sim::Kernel& kernel) const;

  Device device_;
  CostOptions options_;
  Share alone_;
};

}  // namespace hardware

#endif  // HARDWARE_DEVICE_COST_MODEL_H_
