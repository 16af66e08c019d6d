#include "sim/network/max_min.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"
#include "sim/network/level.h"

namespace sim {
namespace {

struct Link {
  Wide left = 0;    // capacity that frozen flows do not use, in 10^-3 B/s / weight_denominator
  Wide demand = 0;  // sum of weight * share of its unfrozen flows

  bool contended() const { return demand > 0; }
  Level level() const { return {left, demand}; }
};

Level LimitLevel(const FlowSpec& flow) {
  const ByteRate limit = flow.limit > ByteRate() ? flow.limit : kFastest;
  return {limit.milli(), flow.share};
}

bool StopsAt(const Level& level, const FlowSpec& flow, std::span<const Link> links) {
  if (LimitLevel(flow) == level) return true;
  return std::any_of(flow.uses.begin(), flow.uses.end(),
                     [&](const Use& use) { return links[use.link.pos()].level() == level; });
}

}  // namespace

std::vector<ByteRate> MaxMinRates(std::span<const ByteRate> capacities, std::uint32_t weight_denominator,
                                  std::span<const FlowSpec> flows) {
  CHECK(weight_denominator >= 1);
  std::vector<Link> links;
  for (const ByteRate capacity : capacities) {
    CHECK(capacity > ByteRate());
    links.push_back({.left = static_cast<Wide>(capacity.milli()) * weight_denominator});
  }
  std::vector<std::size_t> rising;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    CHECK(flows[f].share >= 1);
    rising.push_back(f);
    for (const Use& use : flows[f].uses) {
      CHECK(use.weight >= 1);
      links[use.link.pos()].demand += static_cast<Wide>(use.weight) * flows[f].share;
    }
  }

  std::vector<ByteRate> rates(flows.size());
  while (!rising.empty()) {
    Level lowest = LimitLevel(flows[rising.front()]);
    for (const std::size_t f : rising) lowest = std::min(lowest, LimitLevel(flows[f]));
    for (const Link& link : links) {
      if (link.contended()) lowest = std::min(lowest, link.level());
    }

    // First decide who stops, then take it from the links: taking moves levels.
    const auto stopped = std::partition(rising.begin(), rising.end(),
                                        [&](std::size_t f) { return !StopsAt(lowest, flows[f], links); });
    for (auto f = stopped; f != rising.end(); ++f) {
      rates[*f] = RateAt(lowest, flows[*f].share);
      for (const Use& use : flows[*f].uses) {
        Link& link = links[use.link.pos()];
        link.left -= static_cast<Wide>(use.weight) * rates[*f].milli();
        link.demand -= static_cast<Wide>(use.weight) * flows[*f].share;
      }
    }
    rising.erase(stopped, rising.end());
  }
  return rates;
}

}  // namespace sim
