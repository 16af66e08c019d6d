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
// What a change reaches. Every flow keeps the level at which the last solve
// stopped it, every link the level at which it was full. Filling goes up from
// level zero, and looks only at links where something is different: first those
// that flows have joined or left. A flow of such a link stops where it did, for
// as long as some other link that nothing has reached stops it there. If a
// reached link stops it before, or nothing stops it there any more, then its other
// links are reached too, at the level of that moment: below it they are as
// they were. So the cost follows the flows whose rates change and their
// neighbours, not the whole of what is connected.
//
// Nothing is lost by it: of a link that is not reached, all flows stop at their
// old levels, so it is full at its old level or not at all.

#include <algorithm>

#include "sim/base/check.h"
#include "sim/network/flow_network.h"

namespace sim {

void FlowNetwork::ShareLinks(Time now) {
  share_pending_ = false;
  ++solves_;
  touched_.clear();
  reached_.clear();
  rising_.clear();
  heap_.clear();
  sorted_ = false;
  ReachChanges();
  if (!reached_.empty()) Fill();
  for (const std::uint32_t f : touched_) SetRate(now, f);
  for (const LinkId l : reached_) CheckCapacity(links_[l.pos()]);
  flows_solved_ += touched_.size();
}

// The links that flows have left or joined. A link that was not full stopped
// nobody, and does not now that it has lost flows.
void FlowNetwork::ReachChanges() {
  for (const LinkId l : dirty_) {
    Link& link = links_[l.pos()];
    link.dirty = false;
    if (link.full) Reach(l, Level());
  }
  dirty_.clear();
  for (const std::uint32_t f : started_) {
    Flow& flow = flows_[f];
    ReachLinksOf(flow, Level());
    if (flow.visited == solves_) continue;
    flow.visited = flow.frozen = solves_;  // no link that it shares can slow it
    flow.level = flow.alone;
    flow.solved = flow.alone_rate;
    touched_.push_back(f);
  }
  started_.clear();
}

void FlowNetwork::ReachLinksOf(const Flow& flow, const Level& level) {
  for (const Use& use : flow.uses) {
    const Link& link = links_[use.link.pos()];
    if (link.visited != solves_ && link.CanBind()) Reach(use.link, level);
  }
}

// From `level` on, which is where filling is, the link is looked at. Below it
// its flows do what they did.
void FlowNetwork::Reach(LinkId l, const Level& level) {
  Link& link = links_[l.pos()];
  link.visited = solves_;
  reached_.push_back(l);
  link.left = link.capacity;
  link.demand = 0;
  bool some_at_level = false, some_wait = false;
  for (std::uint32_t m = link.first; m != kNone; m = members_[m].next) {
    const Wide weight = members_[m].weight;
    const Flow& flow = flows_[members_[m].flow];
    if (flow.visited != solves_ && flow.HasLevel() && flow.level < level) {
      link.left -= weight * flow.rate.milli();
      continue;
    }
    if (flow.visited != solves_) {
      some_wait |= Touch(members_[m].flow, l);
    } else if (flow.frozen == solves_ && flow.level < level) {
      link.left -= weight * flow.solved.milli();
      continue;
    }
    some_at_level = some_at_level || flow.frozen == solves_;
    link.demand += weight * flow.share;
  }
  if (some_wait) PushStop({link.fill, kNone, l});
  // Links that are full at one level stop their flows together, before any of
  // these flows' rates, rounded down, are taken from them.
  const bool ties = link.demand > 0 && level.numerator > 0 && link.level() == level;
  link.full = ties && link.CanBind();
  if (ties) {
    link.fill = level;
    tied_.push_back(l);
  }
  for (std::uint32_t m = link.first; some_at_level && m != kNone; m = members_[m].next) {
    const Flow& flow = flows_[members_[m].flow];
    if (flow.frozen != solves_ || flow.level != level) continue;
    link.left -= static_cast<Wide>(members_[m].weight) * flow.solved.milli();
    link.demand -= static_cast<Wide>(members_[m].weight) * flow.share;
  }
  if (ties || link.demand == 0) return;
  if (ceiling_.numerator == 0 || link.level() < ceiling_) ceiling_ = link.level();
  if (sorted_) {
    PushLink(l);
  } else {
    rising_.push_back(l);
  }
}

// A flow of a reached link. One that this link stopped waits for a Stop of the
// link, so that a crowd of them costs one; returns whether it does.
bool FlowNetwork::Touch(std::uint32_t f, LinkId by) {
  Flow& flow = flows_[f];
  flow.visited = solves_;
  touched_.push_back(f);
  if (!flow.HasLevel()) {
    PushStopAlone(f);
  } else if (flow.pin != by) {
    PushStop({flow.level, f, LinkId::None()});
  } else {
    return true;
  }
  return false;
}

void FlowNetwork::PushStop(const Stop& stop) {
  stops_.push_back(stop);
  std::push_heap(stops_.begin(), stops_.end(), IsHigher<Stop>);
}

// Where a flow stops at last, if not its narrowest link sees to that.
void FlowNetwork::PushStopAlone(std::uint32_t f) {
  const Flow& flow = flows_[f];
  if (flow.narrowest.valid() && links_[flow.narrowest.pos()].CanBind()) return;
  PushStop({flow.alone, f, LinkId::None()});
}

// Progressive filling.
void FlowNetwork::Fill() {
  for (int round = 0;; ++round) {
    if (round == kScans) SortRisingLinks();
    const Level level = sorted_ ? PopLowestLinks() : ScanForLowestLinks();

    // Flows that stop below that level do not wait for it: levels of links only
    // rise, so they stop where they would, each as if it were the next. Those
    // that stop at it are left for the links, or for the next round. If flows
    // stopped, links have more room; if links were reached, they may be lower.
    if (PassStops(level)) {
      if (sorted_) {
        for (const LinkId l : lowest_) PushLink(l);
      }
      continue;
    }
    if (lowest_.empty()) return;
    FreezeLowestLinks(level);
  }
}

// Passes the stops below `level`, as long as no link is reached that is lower
// than the next of them. Returns whether that changed anything.
bool FlowNetwork::PassStops(const Level& level) {
  ceiling_ = lowest_.empty() ? Level() : level;  // zero = none
  bool passed = false;
  while (!stops_.empty() && (ceiling_.numerator == 0 || stops_.front().level < ceiling_)) {
    const Stop stop = stops_.front();
    std::pop_heap(stops_.begin(), stops_.end(), IsHigher<Stop>);
    stops_.pop_back();
    if (!stop.link.valid()) {
      passed |= PassStop(stop.flow, stop.level);
    } else {
      for (std::uint32_t m = links_[stop.link.pos()].first; m != kNone; m = members_[m].next) {
        const Flow& flow = flows_[members_[m].flow];
        if (flow.pin == stop.link && flow.level == stop.level)
          passed |= PassStop(members_[m].flow, stop.level);
      }
    }
    FreezeTiedLinks(stop.level);
  }
  return passed;
}

// A flow comes to its level of the last solve, or to where it stops alone.
bool FlowNetwork::PassStop(std::uint32_t f, const Level& level) {
  Flow& flow = flows_[f];
  if (flow.frozen == solves_) return false;
  if (!flow.HasLevel()) {
    if (flow.alone != level) return false;  // a second stop, of its old level
    Freeze(f, flow.alone, flow.alone_rate, LinkId::None());
  } else if (IsStillPinned(flow)) {
    Freeze(f, flow.level, flow.rate, flow.pin);
  } else {
    flow.level = Level();
    ReachLinksOf(flow, level);
    PushStopAlone(f);
  }
  return true;
}

// Whether something that this solve has not reached stops the flow where the
// last one did. Keeps what it finds as the flow's pin.
bool FlowNetwork::IsStillPinned(Flow& flow) const {
  if (flow.pin.valid() && links_[flow.pin.pos()].visited != solves_) return true;
  for (const Use& use : flow.uses) {
    const Link& link = links_[use.link.pos()];
    if (link.visited == solves_ || !link.full || link.fill != flow.level) continue;
    flow.pin = use.link;
    return true;
  }
  flow.pin = LinkId::None();
  return flow.alone == flow.level;
}

void FlowNetwork::FreezeLowestLinks(const Level& level) {
  for (const LinkId l : lowest_) {
    Link& link = links_[l.pos()];
    link.full = link.CanBind();  // if it cannot, its flows are alone all the same
    link.fill = level;
  }
  for (const LinkId l : lowest_) FreezeFlowsOf(l, level);
  FreezeTiedLinks(level);
}

// Links that were reached at the very level at which they are full.
void FlowNetwork::FreezeTiedLinks(const Level& level) {
  while (!tied_.empty()) {
    const LinkId l = tied_.back();
    tied_.pop_back();
    FreezeFlowsOf(l, level);
  }
}

void FlowNetwork::FreezeFlowsOf(LinkId l, const Level& level) {
  const LinkId pin = links_[l.pos()].full ? l : LinkId::None();
  std::uint32_t share = 0;  // of `rate`; flows of equal share often follow one another
  ByteRate rate;
  for (std::uint32_t m = links_[l.pos()].first; m != kNone; m = members_[m].next) {
    const std::uint32_t f = members_[m].flow;
    if (flows_[f].visited != solves_ || flows_[f].frozen == solves_) continue;
    if (flows_[f].share != share) {
      share = flows_[f].share;
      rate = RateAt(level, share);
    }
    Freeze(f, level, rate, pin);
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

// After a few scans the what is solved is irregular: from here on the links wait in
// a heap, each with a level that it had. Levels only rise, so a link whose
// level has not changed when it comes to the top is one of the lowest.
void FlowNetwork::SortRisingLinks() {
  sorted_ = true;
  for (const LinkId l : rising_) PushLink(l);
}

void FlowNetwork::PushLink(LinkId l) {
  const Link& link = links_[l.pos()];
  if (link.demand == 0) return;
  heap_.push_back({link.level(), l});
  std::push_heap(heap_.begin(), heap_.end(), IsHigher<LinkAtLevel>);
}

// The same as ScanForLowestLinks. Takes these links from the heap.
Level FlowNetwork::PopLowestLinks() {
  lowest_.clear();
  Level lowest;
  while (!heap_.empty() && (lowest_.empty() || heap_.front().level == lowest)) {
    const LinkAtLevel top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), IsHigher<LinkAtLevel>);
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

void FlowNetwork::Freeze(std::uint32_t f, const Level& level, ByteRate rate, LinkId pin) {
  Flow& flow = flows_[f];
  const bool moved = flow.level != level;
  flow.frozen = solves_;
  flow.solved = rate;
  flow.level = level;
  flow.pin = pin;
  bool reaches = false;
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link.pos()];
    if (link.visited != solves_) {
      reaches = moved && (reaches || link.CanBind());
      continue;
    }
    link.left -= static_cast<Wide>(use.weight) * rate.milli();
    link.demand -= static_cast<Wide>(use.weight) * flow.share;
  }
  if (reaches) ReachLinksOf(flow, level);
}

// Brings the flow up to date and lets it go on at the rate that was solved.
void FlowNetwork::SetRate(Time now, std::uint32_t f) {
  Flow& flow = flows_[f];
  // Zero would mean weights above a whole link's 10^-3 B/s: a flow that never
  // ends. Checks on input keep capacities at 1 kB/s and more.
  CHECK(flow.solved > ByteRate());
  if (flow.solved == flow.rate) return;
  CHECK(flow.solved <= flow.alone_rate);  // see CheckCapacity
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

// The flows of a reached link have all stopped, and what they carry was taken
// from `left`. Other links carry no more than they can either: their flows have
// not changed, or they cannot bind and each flow is at most as fast as alone.
void FlowNetwork::CheckCapacity(const Link& link) { CHECK(link.demand == 0 && link.left >= 0); }

}  // namespace sim
