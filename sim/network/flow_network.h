// FlowNetwork: flows that start, share links max-min fairly, and end.
//
// At every instant the rates x satisfy  sum(weight * x) <= capacity  on every
// link and are max-min fair in x / share. Ends mark links dirty; rates are
// solved again once per instant, in Phase::kShare, and only for the flows that
// a change reaches. All arithmetic is whole; a link never carries more than
// its rate; what stays unused on a link is less than the sum of the weights of
// its flows, in 10^-3 B/s. Both are checked in every build, at every change:
// see CheckCapacity and CheckCarried.

#ifndef SIM_NETWORK_FLOW_NETWORK_H_
#define SIM_NETWORK_FLOW_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/network/finish_heap.h"
#include "sim/network/flow.h"
#include "sim/network/level.h"

namespace sim {

// A flow's progress rate from `when` on (until its next change; zero at its end).
struct RateChange {
  Time when;
  std::uint32_t token = 0;  // the owner's word for the flow
  ByteRate rate;
};

// The rates are always those of MaxMinRates over all running flows, bit by bit.
//
// Ends: all flows that are through at an instant leave their links together, in
// one wakeup of the network in Phase::kFinish. Then their owners are woken,
// directly, in the order in which the flows started. A flow that an owner
// starts there is shared in the same instant's Phase::kShare. If it needs no
// time, it ends in another Phase::kFinish wakeup of this instant, which comes
// next in the total order of events, never inside Start().
//
// The network asks for one wakeup, at its next end. When the next end moves to
// an earlier time, the older wakeup stays in the queue, and is used again if an
// end is then due; if not, it does nothing.
class FlowNetwork final : public Actor {
 public:
  // `capacities[l]` is what link l carries at most. Weights count in units of
  // 1 / weight_denominator. REQUIRES: every capacity > 0, weight_denominator >= 1
  FlowNetwork(Simulator& simulator, std::vector<ByteRate> capacities, std::uint32_t weight_denominator);

  // Room for this many flows at one time, with so many uses in all, so that
  // nothing allocates while the clock runs.
  void Reserve(std::size_t flows, std::size_t uses);

  // Starts a flow now. When all of it is through, `owner` is woken with
  // `token` in Phase::kFinish, and the id may be given to another flow.
  // A flow of volume zero, or without links and limit, ends at this instant.
  // REQUIRES: owner outlives the flow; what the flow gets is at least 10^-3 B/s
  // (inputs with capacities below 1 kB/s are refused long before). A flow that
  // would end after Time::Never(), at the rate it has, is not woken.
  FlowId Start(const FlowSpec& spec, Actor& owner, std::uint32_t token);

  // The rate of a running flow, as of the last Phase::kShare; zero before.
  ByteRate rate(FlowId flow) const { return flows_[flow.pos()].rate; }

  // Every change of a rate is appended to `log` from now on; null = none.
  void LogRatesTo(std::vector<RateChange>* log) { log_ = log; }

  void Wake(Time now, std::uint32_t token) override;

  std::uint64_t solves() const { return solves_; }              // instants whose rates were solved
  std::uint64_t flows_solved() const { return flows_solved_; }  // flows in them that a change reached

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // What we wake ourselves for.
  enum Token : std::uint32_t { kEndFlows, kShareLinks };

  // Amounts on a link count in 10^-3 B/s / weight_denominator. Two cache lines: what flows
  // that come and go look at, and what only a solve does.
  struct alignas(64) Link {
    Wide capacity = 0;
    Wide claimed = 0;             // sum of weight * Flow::most of its flows
    std::uint32_t first = kNone;  // its flows: a list in members_
    std::uint32_t flows = 0;
    std::uint64_t visited = 0;  // the last solve that reached it
    bool dirty = false;         // flows have left it since
    bool full = false;          // that solve stopped flows here, at level `fill`
    Level fill;
    // While it is solved:
    Wide left = 0;    // what frozen flows do not use
    Wide demand = 0;  // sum of weight * share of unfrozen flows

    // Whether this link can slow a flow that other flows do not slow elsewhere.
    // If not, rates are the same without it, and changes do not spread over it;
    // flow_network.cc has the proof.
    bool CanBind() const { return flows > 1 && claimed > capacity; }
    Level level() const { return {left, demand}; }
  };

  struct Flow {
    std::span<const Use> uses;
    Actor* owner = nullptr;
    std::uint32_t token = 0;
    std::uint32_t share = 1;
    std::uint64_t order = 0;  // of starting
    Wide remaining = 0;       // 10^-15 B, at `since`
    Time since;               // of the last change of rate
    ByteRate rate;
    // What it would get if it were alone:
    Level alone;            // exactly, per share
    ByteRate alone_rate;    // rounded down
    std::int64_t most = 0;  // rounded up, 10^-3 B/s
    LinkId narrowest;       // the link that says so; none = its limit
    // Where the last solve stopped it; numerator zero = it is not known.
    Level level;
    LinkId pin;  // a full link of that level; none = it is alone, or the link cannot bind
    // Where it is:
    std::uint32_t first_member = kNone;  // its places in the lists of its links; the next free flow
    std::uint64_t visited = 0;           // the last solve that reached it
    std::uint64_t frozen = 0;            // the last solve that gave it a rate
    ByteRate solved;

    bool HasLevel() const { return level.numerator > 0; }
  };

  // A flow's place in the list of one of its links.
  struct Member {
    std::uint32_t flow = kNone, weight = 0;
    std::uint32_t next = kNone, previous = kNone;  // in the list of the link
    std::uint32_t next_of_flow = kNone;            // at the flow's next link; the next free place
  };

  // A link and a level that it had in this solve.
  struct LinkAtLevel {
    Level level;
    LinkId link;
  };
  // A flow may stop at this level; or those flows may that a link stopped there in the last solve.
  struct Stop {
    Level level;
    std::uint32_t flow = kNone;
    LinkId link;
  };
  template <class AtLevel>
  static bool IsHigher(const AtLevel& a, const AtLevel& b) {
    return a.level > b.level;
  }

  // So many rounds of filling look at all links; then they go into a heap.
  static constexpr int kScans = 4;

  std::uint32_t NewFlow();
  void SetAlone(Flow& flow, ByteRate limit) const;
  void Join(std::uint32_t f);
  void Leave(std::uint32_t f);
  void MarkDirty(LinkId link);
  void WakeForShare();
  void WakeForNextEnd();
  void EndFlows(Time now);
  static void CheckCarried(const Flow& flow, Time now);
  Time NextEndWakeup() const { return end_wakeups_.empty() ? Time::Never() : end_wakeups_.back(); }

  void ShareLinks(Time now);
  void ReachChanges();
  void Reach(LinkId link, const Level& level);
  void ReachLinksOf(const Flow& flow, const Level& level);
  bool Touch(std::uint32_t f, LinkId by);
  void PushStop(const Stop& stop);
  void PushStopAlone(std::uint32_t f);
  void Fill();
  bool PassStops(const Level& level);
  bool PassStop(std::uint32_t f, const Level& level);
  bool IsStillPinned(Flow& flow) const;
  Level ScanForLowestLinks();
  void SortRisingLinks();
  void PushLink(LinkId link);
  Level PopLowestLinks();
  void FreezeLowestLinks(const Level& level);
  void FreezeTiedLinks(const Level& level);
  void FreezeFlowsOf(LinkId link, const Level& level);
  void Freeze(std::uint32_t f, const Level& level, ByteRate rate, LinkId pin);
  void SetRate(Time now, std::uint32_t f);
  static void CheckCapacity(const Link& link);

  Simulator& simulator_;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Member> members_;
  std::uint32_t free_flow_ = kNone, free_member_ = kNone;
  std::uint64_t next_order_ = 0;
  FinishHeap ends_;
  std::vector<Time> end_wakeups_;  // pending wakeups for an end, the earliest last
  bool share_pending_ = false;
  std::vector<std::uint32_t> started_;  // flows not yet shared
  std::vector<LinkId> dirty_;
  std::vector<std::uint32_t> ended_;  // flows whose owners are yet to be woken
  std::uint64_t solves_ = 0, flows_solved_ = 0;
  std::vector<RateChange>* log_ = nullptr;

  // What is being solved.
  std::vector<std::uint32_t> touched_;  // its flows
  std::vector<LinkId> reached_;         // its links
  std::vector<Stop> stops_;             // heap: where flows stop unless links stop them before
  std::vector<LinkId> rising_;          // its links that are not yet full
  std::vector<LinkId> lowest_;          // those at the lowest level
  std::vector<LinkId> tied_;            // those that were reached where they are full
  Level ceiling_;                       // stops below it may pass; zero = all of them
  bool sorted_ = false;                 // links are in heap_ instead of rising_, as after some rounds
  std::vector<LinkAtLevel> heap_;
};

}  // namespace sim

#endif  // SIM_NETWORK_FLOW_NETWORK_H_
