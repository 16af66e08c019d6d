// Layout: which rank has which part. Ranks are numbered tensor fastest, then
// context, data, pipeline (Megatron's order tp-cp-ep-dp-pp) unless the
// scenario says otherwise.

#ifndef SCENARIOS_LAYOUT_H_
#define SCENARIOS_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "sim/base/index.h"

namespace scenarios {

enum class Dimension : std::uint8_t { kTensor, kContext, kData, kPipeline };
inline constexpr int kDimensions = 4;

struct Layout {
  std::int64_t tensor = 1;
  bool sequence = false;  // sequence parallelism of norms and residuals inside the tensor group
  std::int64_t context = 1;
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t virtual_stages = 1;  // chunks of a stage
  Dimension order[kDimensions] = {Dimension::kTensor, Dimension::kContext, Dimension::kData,
                                  Dimension::kPipeline};  // fastest first

  std::int64_t extent(Dimension d) const;
  std::int64_t ranks() const { return tensor * context * data * pipeline; }

  // The rank's position along one dimension. REQUIRES: rank < ranks()
  std::int64_t Coordinate(sim::Rank rank, Dimension d) const;

  // A number below ranks() / pipeline that the ranks of one pipeline share.
  std::int64_t ColumnOf(sim::Rank rank) const;

  // In order.
  std::vector<sim::Rank> AllRanks() const;

  // All ranks that differ from `rank` along `d` only, in coordinate order.
  std::vector<sim::Rank> Group(sim::Rank rank, Dimension d) const;
};

}  // namespace scenarios

#endif  // SCENARIOS_LAYOUT_H_
