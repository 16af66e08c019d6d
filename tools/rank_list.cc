#include "tools/rank_list.h"

#include <algorithm>
#include <cstdlib>

namespace tools {

sim::Result<std::vector<sim::Rank>> ParseRanks(const std::string& flag, const std::string& text,
                                               std::int64_t ranks) {
  const sim::Error error{flag + " " + text + ": give ranks from 0 to " + std::to_string(ranks - 1) +
                         ", as in 0,8,16-23"};
  std::vector<sim::Rank> list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string item = text.substr(at, comma - at);
    const std::size_t dash = item.find('-');
    const std::string first = item.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : item.substr(dash + 1);
    for (const std::string& number : {first, last}) {
      if (number.empty() || number.size() > 9 ||
          number.find_first_not_of("0123456789") != std::string::npos) {
        return error;
      }
    }
    const std::int64_t from = std::atoll(first.c_str()), to = std::atoll(last.c_str());
    if (from > to || to >= ranks) return error;
    for (std::int64_t r = from; r <= to; ++r) list.emplace_back(static_cast<std::uint32_t>(r));
    at = comma + 1;
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

}  // namespace tools
