// Sizes of messages as nccl-tests writes and steps them: "8", "64K", "1.5M", "16G".

#ifndef SCENARIOS_COLLECTIVE_RUN_SIZES_H_
#define SCENARIOS_COLLECTIVE_RUN_SIZES_H_

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace scenarios {

inline constexpr sim::Bytes kLargestMessage{std::int64_t{1} << 40};  // 1T

// K, M, G and T are powers of 1024, in either case; what is left of a byte is dropped. Error: what is no
// size, and what is not within 0 and 1T.
sim::Result<sim::Bytes> ParseSize(std::string_view text);

// "16G", "1536K", "100": the largest unit that leaves a whole number.
std::string SizeText(sim::Bytes size);

// -b, -e, -i and -f. A factor above 1 multiplies; else `step` is added.
struct SizeSteps {
  sim::Bytes first{std::int64_t{32} << 20};
  sim::Bytes last{std::int64_t{32} << 20};
  sim::Bytes step{std::int64_t{1} << 20};
  std::int64_t factor = 1;
};

inline constexpr std::int64_t kMostSizes = 10'000;

// From first to last, both included if they are met. After 0, which no factor
// makes larger, comes 1. Error: last before first, no step, more than kMostSizes.
sim::Result<std::vector<sim::Bytes>> SizesOf(const SizeSteps& steps);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_SIZES_H_
