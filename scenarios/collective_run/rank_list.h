// Lists of ranks as people write them: "0-7", "0,8,16", "0-63:8".

#ifndef SCENARIOS_COLLECTIVE_RUN_RANK_LIST_H_
#define SCENARIOS_COLLECTIVE_RUN_RANK_LIST_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace scenarios {

// In the order given; "0-63:8" is every eighth. Error: what is no list, a rank
// that is not below `ranks`, one that is there twice.
sim::Result<std::vector<std::uint32_t>> ParseRankList(std::string_view text, std::uint32_t ranks);

// The shortest such text for ranks in their order.
std::string RankListText(std::span<const std::uint32_t> ranks);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_RANK_LIST_H_
