// Kernel classes: what the compute of a rank's step is made of, and how much of it there is to do.

#ifndef SCENARIOS_COMPARE_KERNEL_CLASSES_H_
#define SCENARIOS_COMPARE_KERNEL_CLASSES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/base/index.h"
#include "sim/base/kernel.h"
#include "sim/base/units.h"

namespace scenarios {

enum class KernelClass : std::uint8_t {
  kProducts,   // matrix products, those of unfused attention too
  kAttention,  // fused
  kMemory,     // what the memory's rate bounds: norms, activations, residuals, the loss
};
inline constexpr std::array kKernelClasses = {KernelClass::kProducts, KernelClass::kAttention,
                                              KernelClass::kMemory};
KernelClass ClassOf(const sim::Kernel& kernel);
const char* ToText(KernelClass kernel_class);  // "matrix products", ...
const char* IdOf(KernelClass kernel_class);    // "products", ...

// Kernels of one class that a rank runs.
struct KernelWork {
  KernelClass kernel_class = KernelClass::kProducts;
  sim::Duration time;      // together, each alone on the device
  double kilo_amount = 0;  // 10^3 FLOP; of kMemory 10^3 bytes; each kernel's rounded down
};

// Of forward and backward in one step, without what runs again; in the order of kKernelClasses, only what
// occurs. Leaves out what WorkOfRank does.
std::vector<KernelWork> ComputeByClass(const Scenario& scenario, sim::Rank rank);

}  // namespace scenarios

#endif  // SCENARIOS_COMPARE_KERNEL_CLASSES_H_
