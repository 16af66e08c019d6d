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

// Every kernel takes at least the device's minimum time. While communication
// kernels hold SMs, matrix products and attention have the SMs that are left,
// in new waves; memory-bound kernels need only the memory rate that is left.
class DeviceCostModel final : public CostModel {
 public:
  explicit DeviceCostModel(const Device& device, CostOptions options = {});

  // REQUIRES: the device supports the kernel's format and attention; extents
  // of the kernel's shape >= 1 (bytes may be 0)
  KernelTimes TimeOf(const sim::Kernel& kernel) const override;
  sim::Duration LaunchTimeOf(const sim::Kernel& kernel) const override;

 private:
  double Seconds(const sim::Kernel& kernel, const Share& share) const;
  double GemmTime(const sim::Kernel& kernel, const Share& share) const;
  double AttentionTime(const sim::Kernel& kernel, const Share& share) const;

  Device device_;
  CostOptions options_;
  Share alone_;
};

}  // namespace hardware

#endif  // HARDWARE_DEVICE_COST_MODEL_H_
