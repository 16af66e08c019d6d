// How running flows share. The rates equal those of MaxMinRates over all
// running flows, but only what a change reaches is solved.
//
// Which links can be left out. Let alone(f) = min(limit, min capacity / weight)
// be the rate that flow f has by itself, a rational. No rate is ever above it.
// Suppose that on link l
//
//     sum of weight * ceil(alone)  <=  capacity.                          (1)
//
// If filling ever finds l full at the lowest level, its frozen flows use at
// most weight * alone each, and so do the rising ones (a rising flow's share *
// level is at most its alone, for the link that makes it so would be full
// first). By (1) all of them then are exactly at alone: the frozen ones stay as
// they are, and each rising one stops at this very level even without l, for its
// narrowest link is full too, or its limit is reached. So the same flows freeze
// at the same level with l and without it, provided that every flow also stops
// at alone(f), and that is what `capped_` is for. A link with one flow can be
// left out for the same reason. The others are those that CanBind().
//
// The flows that are connected by links that CanBind() form a component. Rates
// in one component do not depend on another.

#include <algorithm>

#include "sim/base/check.h"
#include "sim/network/flow_network.h"

namespace sim {

void FlowNetwork::ShareLinks(Time now) {
  share_pending_ = false;
  ++solves_;
  for (const std::uint32_t f : started_) ShareComponent(now, f);
  started_.clear();
  for (const LinkId l : dirty_) {
    Link& link = links_[l.pos()];
    link.dirty = false;
    for (std::uint32_t m = link.first; m != kNone; m = members_[m].next) {
      ShareComponent(now, members_[m].flow);
    }
  }
  dirty_.clear();
}

// Solves the component of a flow, unless this solve has done it.
void FlowNetwork::ShareComponent(Time now, std::uint32_t seed) {
  if (flows_[seed].visited == solves_) return;
  Gather(seed);
  if (rising_.empty()) {
    flows_[seed].solved = flows_[seed].alone_rate;
  } else {
    Fill();
  }
  for (const std::uint32_t f : component_) SetRate(now, f);
  flows_solved_ += component_.size();
}

// Collects the component of `seed`: its flows in component_, its links in
// rising_, and in capped_ those flows that can stop at `alone` when none of
// these links is full.
void FlowNetwork::Gather(std::uint32_t seed) {
  component_.clear();
  rising_.clear();
  capped_.clear();
  flows_[seed].visited = solves_;
  component_.push_back(seed);
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const Flow& flow = flows_[component_[i]];
    for (const Use& use : flow.uses) {
      Link& link = links_[use.link.pos()];
      if (link.visited == solves_ || !link.CanBind()) continue;
      link.visited = solves_;
      link.left = link.capacity;
      link.demand = 0;
      rising_.push_back(use.link);
      for (std::uint32_t m = link.first; m != kNone; m = members_[m].next) {
        Flow& other = flows_[members_[m].flow];
        link.demand += static_cast<Wide>(members_[m].weight) * other.share;
        if (other.visited == solves_) continue;
        other.visited = solves_;
        component_.push_back(members_[m].flow);
      }
    }
    if (!flow.narrowest.valid() || !links_[flow.narrowest.pos()].CanBind()) capped_.push_back(component_[i]);
  }
}

// Progressive filling of the component.
void FlowNetwork::Fill() {
  const auto stops_before = [this](std::uint32_t a, std::uint32_t b) {
    return flows_[a].alone < flows_[b].alone;
  };
  if (!std::is_sorted(capped_.begin(), capped_.end(), stops_before)) {
    std::sort(capped_.begin(), capped_.end(), stops_before);  // ties in any order: they stop at one level
  }
  auto capped = capped_.begin();
  unfrozen_ = component_.size();
  for (int round = 0; unfrozen_ > 0; ++round) {
    const std::size_t unfrozen = unfrozen_;
    if (round == kScans) SortRisingLinks();
    const Level level = round < kScans ? ScanForLowestLinks() : PopLowestLinks();

    // Flows that stop below that level do not wait for it: levels of links only
    // rise, so they stop where they are alone, each as if it were the next.
    // Flows that stop at it are left for the links, or for the next round.
    for (; capped != capped_.end(); ++capped) {
      if (flows_[*capped].frozen == solves_) continue;
      if (!lowest_.empty() && flows_[*capped].alone >= level) break;
      Freeze(*capped, flows_[*capped].alone_rate);
    }

    // All links that are full at this level stop their flows together. But if
    // flows stopped below it, their links have more room now: look again.
    if (unfrozen_ == unfrozen) {
      FreezeLowestLinks(level);
    } else if (round >= kScans) {
      for (const LinkId l : lowest_) PushLink(l);
    }
    CHECK(unfrozen_ < unfrozen);
  }
}

void FlowNetwork::FreezeLowestLinks(const Level& level) {
  std::uint32_t share = 0;  // of `rate`; flows of equal share often follow one another
  ByteRate rate;
  for (const LinkId l : lowest_) {
    for (std::uint32_t m = links_[l.pos()].first; m != kNone; m = members_[m].next) {
      const std::uint32_t f = members_[m].flow;
      if (flows_[f].frozen == solves_) continue;
      if (flows_[f].share != share) {
        share = flows_[f].share;
        rate = RateAt(level, share);
      }
      Freeze(f, rate);
    }
  }
}

// Leaves the links that have unfrozen flows in rising_ and, of these, those at
// the lowest level in lowest_. Returns that level.
Level FlowNetwork::ScanForLowestLinks() {
  lowest_.clear();
  Level lowest;
  std::size_t kept = 0;
  for (const LinkId l : rising_) {
    const Link& link = links_[l.pos()];
    if (link.demand == 0) continue;
    rising_[kept++] = l;
    const auto order = lowest_.empty() ? std::strong_ordering::less : link.level() <=> lowest;
    if (order > 0) continue;
    if (order < 0) {
      lowest = link.level();
      lowest_.clear();
    }
    lowest_.push_back(l);
  }
  rising_.resize(kept);
  return lowest;
}

// After a few scans the component is irregular: from here on the links wait in
// a heap, each with a level that it had. Levels only rise, so a link whose
// level has not changed when it comes to the top is one of the lowest.
void FlowNetwork::SortRisingLinks() {
  heap_.clear();
  for (const LinkId l : rising_) PushLink(l);
}

void FlowNetwork::PushLink(LinkId l) {
  const Link& link = links_[l.pos()];
  if (link.demand == 0) return;
  heap_.push_back({link.level(), l});
  std::push_heap(heap_.begin(), heap_.end(), IsHigher);
}

// The same as ScanForLowestLinks. Takes these links from the heap.
Level FlowNetwork::PopLowestLinks() {
  lowest_.clear();
  Level lowest;
  while (!heap_.empty() && (lowest_.empty() || heap_.front().level == lowest)) {
    const LinkAtLevel top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), IsHigher);
    heap_.pop_back();
    const Link& link = links_[top.link.pos()];
    if (link.left != top.level.numerator || link.demand != top.level.denominator) {
      PushLink(top.link);  // has changed
      continue;
    }
    lowest = top.level;
    lowest_.push_back(top.link);
  }
  return lowest;
}

void FlowNetwork::Freeze(std::uint32_t f, ByteRate rate) {
  Flow& flow = flows_[f];
  flow.frozen = solves_;
  flow.solved = rate;
  --unfrozen_;
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link.pos()];
    if (link.visited != solves_) continue;  // cannot bind
    link.left -= static_cast<Wide>(use.weight) * rate.milli();
    link.demand -= static_cast<Wide>(use.weight) * flow.share;
  }
}

// Brings the flow up to date and lets it go on at the rate that was solved.
void FlowNetwork::SetRate(Time now, std::uint32_t f) {
  Flow& flow = flows_[f];
  // Zero would mean weights above a whole link's 10^-3 B/s: a flow that never
  // ends. Checks on input keep capacities at 1 kB/s and more.
  CHECK(flow.solved > ByteRate());
  if (flow.solved == flow.rate) return;
  flow.remaining -= static_cast<Wide>(flow.rate.milli()) * (now - flow.since).ps();
  flow.since = now;
  flow.rate = flow.solved;
  // 10^-15 B over 10^-3 B/s gives ps. Nothing ends before all of it is through.
  const Wide rate = flow.rate.milli();
  const Wide ps = (flow.remaining + rate - 1) / rate;
  const bool in_time = ps < (Time::Never() - now).ps();
  ends_.Set(
      {in_time ? now + Duration::Picoseconds(static_cast<std::int64_t>(ps)) : Time::Never(), flow.order, f});
  if (log_ != nullptr) log_->push_back({now, flow.token, flow.rate});
}

}  // namespace sim
