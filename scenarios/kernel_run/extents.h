// Extents of kernels as `orrery kernel` writes and steps them: "4096", "1:65536", "128:1024:128", and
// products of them, "1:65536x4096x4096".

#ifndef SCENARIOS_KERNEL_RUN_EXTENTS_H_
#define SCENARIOS_KERNEL_RUN_EXTENTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/result.h"
#include "sim/base/units.h"

namespace scenarios {

inline constexpr std::int64_t kLargestExtent = std::int64_t{1} << 30;
inline constexpr std::size_t kMostKernels = 10'000;  // of a table

// "A" is A; "A:B" doubles from A as long as it is no more than B; "A:B:S" adds S. Error: what is no such
// text, 0, more than kLargestExtent, B below A, more than kMostKernels.
sim::Result<std::vector<std::int64_t>> ParseExtents(std::string_view text);

// The same of bytes: "64K:1G" with K, M, G and T, powers of 1024; 0 is a size, and from 0 no steps lead on.
sim::Result<std::vector<sim::Bytes>> ParseByteSteps(std::string_view text);

// "MxNxK", each of them extents: all that they make together, k fastest. Error: what cannot be read, and
// FLOPs of `count` products that are more than a Kernel holds.
sim::Result<std::vector<sim::GemmShape>> ParseGemmShapes(std::string_view text, std::int64_t count);

}  // namespace scenarios

#endif  // SCENARIOS_KERNEL_RUN_EXTENTS_H_
