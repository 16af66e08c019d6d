#include "scenarios/collective_run/rank_list.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace scenarios {
namespace {

std::optional<std::uint32_t> NumberOf(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Run {
  std::uint32_t first = 0, last = 0, step = 1;
};

// "3", "0-7" or "0-63:8"; what goes down or stands still is told apart in `why`.
std::optional<Run> RunOf(std::string_view item, std::string* why) {
  const std::size_t dash = item.find('-'), colon = item.find(':');
  if (dash == item.npos) {
    const auto one = NumberOf(item);
    return one ? std::optional<Run>({*one, *one, 1}) : std::nullopt;
  }
  const std::size_t end = std::min(colon, item.size());
  if (end < dash) return std::nullopt;
  const auto first = NumberOf(item.substr(0, dash)), last = NumberOf(item.substr(dash + 1, end - dash - 1));
  const auto step = colon == item.npos ? std::optional<std::uint32_t>(1) : NumberOf(item.substr(colon + 1));
  if (!first || !last || !step) return std::nullopt;
  if (*step == 0) {
    *why = '"' + std::string(item) + "\" has a step of 0; 1 or more is wanted";
    return std::nullopt;
  }
  if (*first > *last) {
    *why = '"' + std::string(item) + "\" goes down; from the lower to the higher is wanted, as " +
           std::to_string(*last) + '-' + std::to_string(*first) + ", or ranks one by one, as " +
           std::to_string(*first) + ',' + std::to_string(*first - 1);
    return std::nullopt;
  }
  return Run{*first, *last, *step};
}

}  // namespace

sim::Result<std::vector<std::uint32_t>> ParseRankList(std::string_view text, std::uint32_t ranks) {
  const std::string within = "ranks from 0 to " + std::to_string(ranks - 1);
  std::vector<std::uint32_t> list;
  std::vector<bool> seen(ranks);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string why;
    const std::optional<Run> run = RunOf(text.substr(at, comma - at), &why);
    if (!run && !why.empty()) return sim::Error{why};
    if (!run) {
      return sim::Error{'"' + std::string(text) + "\" is no list of ranks; " + within +
                        " would do, as 0-7, or 0,8,16, or 0-63:8"};
    }
    if (run->last >= ranks) {
      return sim::Error{"rank " + std::to_string(run->last) + " is not there; " + within + " are"};
    }
    for (std::uint64_t rank = run->first; rank <= run->last; rank += run->step) {
      if (seen[rank]) return sim::Error{"rank " + std::to_string(rank) + " is there twice; once is wanted"};
      seen[rank] = true;
      list.push_back(static_cast<std::uint32_t>(rank));
    }
    at = comma + 1;
  }
  return list;
}

std::string RankListText(std::span<const std::uint32_t> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;  // of the run that begins here
    while (end < ranks.size() && ranks[end] > ranks[end - 1] &&
           ranks[end] - ranks[end - 1] == ranks[i + 1] - ranks[i]) {
      ++end;
    }
    const std::uint32_t step = end > i + 1 ? ranks[i + 1] - ranks[i] : 1;
    if (step > 1 && end == i + 2) end = i + 1;  // two are shorter one by one
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end > i + 1) text += '-' + std::to_string(ranks[end - 1]);
    if (end > i + 1 && step > 1) text += ':' + std::to_string(step);
    i = end;
  }
  return text;
}

}  // namespace scenarios
