// How well the time of one kernel is known: measured itself, by a fit, beyond what a fit has seen, or by what
// the device's file has from elsewhere.

#ifndef HARDWARE_KERNEL_BASIS_H_
#define HARDWARE_KERNEL_BASIS_H_

#include <array>
#include <cstdint>

#include "hardware/device.h"
#include "sim/base/kernel.h"

namespace hardware {

// From the best known on.
enum class KernelBasis : std::uint8_t {
  kMeasurement,    // this very shape, on this device
  kFit,            // figures measured on this device, within the shapes that they were fitted to
  kPublished,      // figures of a data sheet or a paper
  kDerived,        // figures of another device or implementation, by a rule
  kExtrapolation,  // measured or derived figures, beyond the shapes that they were fitted to
  kAssumed,        // figures that nobody published
};

inline constexpr std::array kKernelBases = {KernelBasis::kMeasurement,   KernelBasis::kFit,
                                            KernelBasis::kPublished,     KernelBasis::kDerived,
                                            KernelBasis::kExtrapolation, KernelBasis::kAssumed};

const char* ToText(KernelBasis basis);  // "measurement", ...

// Products: several at once (`batch` above 1) are beyond any fit, which is of single ones; a fit whose file
// does not say between which shapes counts for all. Attention: of heads wider or narrower than any in the
// file is beyond; between two widths the less known one counts. How long sequences of a fit were is not in
// the file, so they do not count. REQUIRES: as DeviceCostModel::TimeOf
KernelBasis BasisOf(const Device& device, const sim::Kernel& kernel);

// The measured product that this kernel is; null: none. A kernel that moves more bytes than a product's own
// (an epilogue) is none.
const MeasuredProduct* FindMeasured(const Device& device, const sim::Kernel& kernel);

}  // namespace hardware

#endif  // HARDWARE_KERNEL_BASIS_H_
