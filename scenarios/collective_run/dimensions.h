// Algorithms by dimension as people write them: "ring,ring,direct", or with sizes "ring:8,ring:16".

#ifndef SCENARIOS_COLLECTIVE_RUN_DIMENSIONS_H_
#define SCENARIOS_COLLECTIVE_RUN_DIMENSIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/collective/collective.h"

namespace scenarios {

// `sizes` are the fabric's own dimensions, the fastest first; empty: it has none, and the text says them.
// Error: what is no algorithm; sizes of some; as many algorithms as dimensions are not there; sizes that
// do not multiply to `members`.
sim::Result<std::vector<sim::Dimension>> ParseDimensions(std::string_view text,
                                                         std::span<const std::uint32_t> sizes,
                                                         std::uint32_t members);

// "ring of 4, direct of 8"
std::string DimensionsText(std::span<const sim::Dimension> dimensions);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_DIMENSIONS_H_
