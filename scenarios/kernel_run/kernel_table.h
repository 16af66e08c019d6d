// Single kernels of a device: what a step is charged for them, what bounds them, and how well that is known.

#ifndef SCENARIOS_KERNEL_RUN_KERNEL_TABLE_H_
#define SCENARIOS_KERNEL_RUN_KERNEL_TABLE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/device_cost_model.h"
#include "hardware/kernel_basis.h"
#include "sim/base/kernel.h"

namespace scenarios {

// What a kernel waits for longest: its start (or the least time of any kernel), the matrix units, the memory.
enum class KernelBound : std::uint8_t { kLaunch, kTensor, kMemory };
const char* ToText(KernelBound bound);  // "launch", ...

struct KernelRow {
  sim::Kernel kernel;
  hardware::KernelTimes times;
  sim::Duration beside;         // while communication holds the SMs of Interference::communication_sms
  double flops = 0;             // multiply-adds count two; of attention those that the mask leaves
  double peak_flops_per_s = 0;  // data sheet; 0 of kernels without products
  double bytes = 0;             // read and written at least, each tensor once
  KernelBound bound = KernelBound::kMemory;
  hardware::KernelBasis basis = hardware::KernelBasis::kAssumed;
  hardware::GemmTiming product;  // of a product: the tile; not of one that was measured

  double flops_per_s() const { return flops / times.alone.seconds(); }
  double bytes_per_s() const { return bytes / times.alone.seconds(); }
  double part_of_peak() const { return peak_flops_per_s > 0 ? flops_per_s() / peak_flops_per_s : 0; }
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }  // FLOPs a byte
};

// A product by itself. `accumulates`: its result is added to an FP32 sum, as Megatron's weight gradients are.
sim::Kernel ProductKernel(const sim::GemmShape& shape, sim::NumberFormat format, bool accumulates = false);

// Fused attention on 16 bits: reads queries, keys and values once and writes outputs, with FP32 statistics of
// rows; backward their gradients beside.
sim::Kernel AttentionKernel(const sim::AttentionShape& shape, sim::NumberFormat format, bool backward);

sim::Kernel MemoryKernel(sim::Bytes bytes, sim::MemoryClass memory_class);

// REQUIRES: as DeviceCostModel::TimeOf; `cost` is of `device`
std::vector<KernelRow> KernelTable(const hardware::Device& device, const hardware::DeviceCostModel& cost,
                                   std::span<const sim::Kernel> kernels);

}  // namespace scenarios

#endif  // SCENARIOS_KERNEL_RUN_KERNEL_TABLE_H_
