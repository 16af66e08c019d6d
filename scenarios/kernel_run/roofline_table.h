// The rooflines of a device: what its data sheet promises and what its kernels reach of it, with the ridge
// between memory and matrix units, each with where it is from.

#ifndef SCENARIOS_KERNEL_RUN_ROOFLINE_TABLE_H_
#define SCENARIOS_KERNEL_RUN_ROOFLINE_TABLE_H_

#include <cstdint>
#include <vector>

#include "hardware/device_cost_model.h"

namespace scenarios {

// Of products in one number format.
struct FormatRoof {
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  double peak_flops_per_s = 0;
  double ridge = 0;             // of the data sheet, FLOPs a byte
  double best_flops_per_s = 0;  // of cubes of 1,024, 2,048, ... 16,384 rows
  std::int64_t best_cube = 0;   // whose m, n and k that is
  double best_ridge = 0;        // of that, and of the memory rate that products reach
  const hardware::Figure *peak = nullptr, *model = nullptr;  // of the device
};

// Of kernels bound by memory, at 1 GiB.
struct MemoryRoof {
  sim::MemoryClass memory_class = sim::MemoryClass::kElementwise;
  double bytes_per_s = 0;
  const hardware::Figure* model = nullptr;
};

// Of attention of 16 heads, 4 sequences of 16,384 tokens, forward and backward.
struct AttentionRoof {
  sim::AttentionKind implementation = sim::AttentionKind::kFlash2;
  std::int64_t head_dim = 0;
  double causal_flops_per_s = 0, full_flops_per_s = 0, causal_backward_flops_per_s = 0;
  const hardware::Figure* model = nullptr;
};

struct RooflineTable {
  double memory_bytes_per_s = 0;
  const hardware::Figure* memory = nullptr;
  std::vector<FormatRoof> formats;
  std::vector<MemoryRoof> classes;
  std::vector<AttentionRoof> attention;
};

// `cost` is of `device`, which the table points into.
RooflineTable RooflinesOf(const hardware::Device& device, const hardware::DeviceCostModel& cost);

// All of them, as `orrery kernel memory --class` names them.
struct NamedMemoryClass {
  const char* name;
  sim::MemoryClass memory_class;
};
inline constexpr NamedMemoryClass kMemoryClassNames[] = {{"elementwise", sim::MemoryClass::kElementwise},
                                                         {"norm", sim::MemoryClass::kNorm},
                                                         {"gather", sim::MemoryClass::kGather},
                                                         {"optimizer", sim::MemoryClass::kOptimizer},
                                                         {"activation", sim::MemoryClass::kActivation}};
const char* NameOf(sim::MemoryClass memory_class);

// In which attention runs: BF16, or FP16 where there is none.
sim::NumberFormat AttentionFormat(const hardware::Device& device);

}  // namespace scenarios

#endif  // SCENARIOS_KERNEL_RUN_ROOFLINE_TABLE_H_
