#include "topologies/ring_search.h"

#include <algorithm>
#include <map>

#include "sim/base/check.h"

namespace topologies {
namespace {

using sim::Wide;

// What a hop puts on a link: the time of a byte, in units that keep it whole.
constexpr std::int64_t kUnit = 1'000'000'000'000'000'000;
struct LinkCost {
  std::size_t link = 0;  // among those that some hop uses
  Wide cost = 0;
};

class RingSearch {
 public:
  RingSearch(const Fabric& fabric, std::span<const std::uint32_t> devices)
      : n_(devices.size()), hops_(n_ * n_), seen_(n_) {
    std::map<sim::LinkId, std::size_t> links;
    for (std::size_t from = 0; from < n_; ++from) {
      for (std::size_t to = 0; to < n_; ++to) {
        if (from == to) continue;
        const Route route = fabric.router->Between(devices[from], devices[to]);
        for (const RouteUse& use : route.uses) {
          const auto at = links.try_emplace(use.link, links.size()).first->second;
          const Wide rate = fabric.links[use.link.pos()].capacity.milli();
          hops_[from * n_ + to].push_back({at, Wide{kUnit} * kUnit / route.denominator / rate * use.parts});
        }
      }
    }
    busy_.resize(links.size());
  }

  // Positions in the list.
  std::vector<std::size_t> Best() {
    for (std::size_t i = 0; i < n_; ++i) best_.push_back(i);
    best_cost_ = CostOf(best_);
    if (best_cost_ == LeastOfAny()) return best_;
    ring_ = {0};
    seen_[0] = true;
    Extend(0);
    return best_;
  }

 private:
  const std::vector<LinkCost>& Hop(std::size_t from, std::size_t to) const { return hops_[from * n_ + to]; }

  Wide CostOf(const std::vector<std::size_t>& ring) {
    Wide cost = 0;
    for (std::size_t i = 0; i < n_; ++i) cost = std::max(cost, Add(Hop(ring[i], ring[(i + 1) % n_])));
    for (std::size_t i = 0; i < n_; ++i) Remove(Hop(ring[i], ring[(i + 1) % n_]));
    return cost;
  }

  // No ring is better: everybody sends to somebody.
  Wide LeastOfAny() const {
    Wide least = 0;
    for (std::size_t from = 0; from < n_; ++from) {
      Wide fastest = -1;
      for (std::size_t to = 0; to < n_; ++to) {
        Wide hop = 0;
        for (const LinkCost& use : Hop(from, to)) hop = std::max(hop, use.cost);
        if (from != to && (fastest < 0 || hop < fastest)) fastest = hop;
      }
      least = std::max(least, fastest);
    }
    return least;
  }

  // Returns how long the busiest of the hop's links is busy then.
  Wide Add(const std::vector<LinkCost>& hop) {
    Wide most = 0;
    for (const LinkCost& use : hop) most = std::max(most, busy_[use.link] += use.cost);
    return most;
  }
  void Remove(const std::vector<LinkCost>& hop) {
    for (const LinkCost& use : hop) busy_[use.link] -= use.cost;
  }

  // Tries all that can follow the ring so far, whose busiest link is busy for `cost`.
  void Extend(Wide cost) {
    const std::size_t last = ring_.back();
    if (ring_.size() == n_) {
      const Wide closed = std::max(cost, Add(Hop(last, 0)));
      if (closed < best_cost_) {
        best_cost_ = closed;
        best_ = ring_;
      }
      return Remove(Hop(last, 0));
    }
    for (std::size_t next = 1; next < n_ && tries_ < kMostRingTries; ++next) {
      if (seen_[next]) continue;
      ++tries_;
      const Wide with = std::max(cost, Add(Hop(last, next)));
      if (with < best_cost_) {
        seen_[next] = true;
        ring_.push_back(next);
        Extend(with);
        ring_.pop_back();
        seen_[next] = false;
      }
      Remove(Hop(last, next));
    }
  }

  std::size_t n_;
  std::vector<std::vector<LinkCost>> hops_;  // from * n + to
  std::vector<Wide> busy_;                   // by link
  std::vector<std::size_t> ring_, best_;
  std::vector<bool> seen_;
  Wide best_cost_ = 0;
  std::int64_t tries_ = 0;
};

}  // namespace

std::vector<std::uint32_t> BestRing(const Fabric& fabric, std::span<const std::uint32_t> devices) {
  std::vector<std::uint32_t> ring(devices.begin(), devices.end());
  if (devices.size() < 3 || devices.size() > kMostInSearchedRing) return ring;
  const std::vector<std::size_t> best = RingSearch(fabric, devices).Best();
  for (std::size_t i = 0; i < best.size(); ++i) ring[i] = devices[best[i]];
  return ring;
}

}  // namespace topologies
