// Flows that start and end. How they share is in flow_network_share.cc.

#include "sim/network/flow_network.h"

#include <utility>

#include "sim/base/check.h"

namespace sim {

FlowNetwork::FlowNetwork(Simulator& simulator, std::vector<ByteRate> capacities,
                         std::uint32_t weight_denominator)
    : simulator_(simulator), links_(capacities.size()) {
  CHECK(weight_denominator >= 1);
  for (std::size_t l = 0; l < capacities.size(); ++l) {
    CHECK(capacities[l] > ByteRate());
    links_[l].capacity = static_cast<Wide>(capacities[l].milli()) * weight_denominator;
  }
  for (auto* list : {&dirty_, &reached_, &rising_, &lowest_, &tied_}) list->reserve(links_.size());
  heap_.reserve(links_.size());
  stops_.reserve(links_.size());
}

void FlowNetwork::Reserve(std::size_t flows, std::size_t uses) {
  flows_.reserve(flows);
  members_.reserve(uses);
  ends_.Reserve(flows);
  end_wakeups_.reserve(flows);
  for (auto* list : {&started_, &ended_, &touched_}) list->reserve(flows);
  stops_.reserve(links_.size() + 2 * flows);  // two of a flow at most, one of a link
}

FlowId FlowNetwork::Start(const FlowSpec& spec, Actor& owner, std::uint32_t token) {
  CHECK(spec.volume >= Volume() && spec.limit >= ByteRate() && spec.share >= 1);
  const std::uint32_t f = NewFlow();
  Flow& flow = flows_[f];
  flow = Flow();
  flow.uses = spec.uses;
  flow.owner = &owner;
  flow.token = token;
  flow.share = spec.share;
  flow.order = next_order_++;
  flow.since = simulator_.now();

  const bool needs_time = spec.volume > Volume() && (!spec.uses.empty() || spec.limit > ByteRate());
  if (!needs_time) {
    flow.uses = {};
    ends_.Set({simulator_.now(), flow.order, f});
    WakeForNextEnd();
    return FlowId(f);
  }
  flow.remaining = spec.volume.femto_bytes();
  SetAlone(flow, spec.limit > ByteRate() ? spec.limit : kFastest);
  Join(f);
  started_.push_back(f);
  WakeForShare();
  return FlowId(f);
}

std::uint32_t FlowNetwork::NewFlow() {
  if (free_flow_ == kNone) {
    CHECK(flows_.size() < kNone);
    flows_.emplace_back();
    return static_cast<std::uint32_t>(flows_.size() - 1);
  }
  return std::exchange(free_flow_, flows_[free_flow_].first_member);
}

void FlowNetwork::SetAlone(Flow& flow, ByteRate limit) const {
  Wide least = limit.milli();  // least / weight is the smallest rate so far
  std::uint32_t weight = 1;
  for (const Use& use : flow.uses) {
    CHECK(use.weight >= 1 && use.link.pos() < links_.size());
    const Wide capacity = links_[use.link.pos()].capacity;
    if (capacity == least && use.weight == weight) continue;  // as most links of a ring
    // Below 2^95 * 2^32 on both sides.
    if (capacity * weight < least * use.weight) {
      least = capacity;
      weight = use.weight;
      flow.narrowest = use.link;
    }
  }
  const Wide rate = least / weight;  // <= kFastest
  flow.alone = {least, static_cast<Wide>(weight) * flow.share};
  flow.alone_rate = ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(rate));
  flow.most = static_cast<std::int64_t>(rate) + (rate * weight < least ? 1 : 0);
}

// Enters the flow into the lists of its links. From the last use to the first,
// so that its own list of members is in the order of its uses.
void FlowNetwork::Join(std::uint32_t f) {
  Flow& flow = flows_[f];
  for (std::size_t i = flow.uses.size(); i-- > 0;) {
    const Use& use = flow.uses[i];
    Link& link = links_[use.link.pos()];
    CHECK(link.first == kNone || members_[link.first].flow != f);  // each link at most once

    std::uint32_t m = free_member_;
    if (m == kNone) {
      CHECK(members_.size() < kNone);
      m = static_cast<std::uint32_t>(members_.size());
      members_.emplace_back();
    } else {
      free_member_ = members_[m].next_of_flow;
    }
    members_[m] = {f, use.weight, link.first, kNone, flow.first_member};
    if (link.first != kNone) members_[link.first].previous = m;
    link.first = m;
    flow.first_member = m;

    ++link.flows;
    link.claimed += static_cast<Wide>(use.weight) * flow.most;
  }
}

void FlowNetwork::Leave(std::uint32_t f) {
  Flow& flow = flows_[f];
  std::uint32_t m = flow.first_member;
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link.pos()];
    if (link.CanBind()) MarkDirty(use.link);
    --link.flows;
    link.claimed -= static_cast<Wide>(use.weight) * flow.most;

    Member& member = members_[m];
    if (member.next != kNone) members_[member.next].previous = member.previous;
    (member.previous == kNone ? link.first : members_[member.previous].next) = member.next;
    const std::uint32_t next = member.next_of_flow;
    member.next_of_flow = free_member_;
    free_member_ = m;
    m = next;
  }
}

// A link that a flow leaves: its other flows may get more, if it could bind just
// before. Starts mark nothing. Flows that started are solved in any case, and
// if they make a link bind, they lead to its other flows.
void FlowNetwork::MarkDirty(LinkId link) {
  if (links_[link.pos()].dirty) return;
  links_[link.pos()].dirty = true;
  dirty_.push_back(link);
  WakeForShare();
}

void FlowNetwork::WakeForShare() {
  if (share_pending_) return;
  share_pending_ = true;
  simulator_.WakeAt(simulator_.now(), Phase::kShare, *this, kShareLinks);
}

void FlowNetwork::WakeForNextEnd() {
  if (ends_.empty() || ends_.top().when >= NextEndWakeup()) return;
  // New rates will move the ends; only what ends now cannot wait for them.
  if (share_pending_ && ends_.top().when > simulator_.now()) return;
  end_wakeups_.push_back(ends_.top().when);
  simulator_.WakeAt(ends_.top().when, Phase::kFinish, *this, kEndFlows);
}

void FlowNetwork::Wake(Time now, std::uint32_t token) {
  if (token == kShareLinks) {
    ShareLinks(now);
  } else {
    CHECK(now == NextEndWakeup());
    end_wakeups_.pop_back();
    EndFlows(now);
  }
  WakeForNextEnd();
}

// The integral of the flow's rate is its volume: all of it is through, and was
// not a picosecond ago.
void FlowNetwork::CheckCarried(const Flow& flow, Time now) {
  const Wide rate = flow.rate.milli();
  const Wide left = flow.remaining - rate * (now - flow.since).ps();
  CHECK(left <= 0 && (left == 0 || left > -rate));
}

// First all flows leave, then owners learn of it: an owner sees no flow of
// this instant half ended, and what it starts is not ended here.
void FlowNetwork::EndFlows(Time now) {
  ended_.clear();
  while (!ends_.empty() && ends_.top().when <= now) {
    const std::uint32_t f = ends_.top().flow;
    ends_.Pop();
    CheckCarried(flows_[f], now);
    Leave(f);
    if (log_ != nullptr && flows_[f].rate > ByteRate()) log_->push_back({now, flows_[f].token, ByteRate()});
    ended_.push_back(f);
  }
  for (const std::uint32_t f : ended_) {
    Actor& owner = *flows_[f].owner;
    const std::uint32_t token = flows_[f].token;
    flows_[f].first_member = std::exchange(free_flow_, f);
    owner.Wake(now, token);
  }
}

}  // namespace sim
