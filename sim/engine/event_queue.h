// The event queue and the loop that drains it.

#ifndef SIM_ENGINE_EVENT_QUEUE_H_
#define SIM_ENGINE_EVENT_QUEUE_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace sim {

// What happens first among wakeups at the same instant. This order is part of
// the model: work ends before new work starts, and bandwidth is shared once
// all flows of the instant are known.
enum class Phase : std::uint8_t { kFinish, kStart, kShare, kObserve };

// Something that can be woken. `token` means whatever the actor chose it to
// mean, usually one of its own indices.
class Actor {
 public:
  virtual void Wake(Time now, std::uint32_t token) = 0;

 protected:
  ~Actor() = default;  // the queue never owns an actor
};

// Wakeups in one total order: time, then phase, then the order of insertion.
// No two wakeups are equal, so every run pops the same sequence. A wakeup may
// be pushed at the instant of the last pop with an earlier phase; it is next.
// Wakeups are plain values; after Reserve() nothing here allocates.
//
// A monotone radix heap. What is due at the current instant waits in one list
// for each phase. Of the rest, bucket b holds the wakeups whose time first
// differs from the current instant in bit b, so that all of bucket b come
// before all of bucket b + 1. When the instant is used up, the lowest bucket is
// spread over the ones below it; a wakeup moves down at most 62 times, and two
// or three in practice. Lists keep the order of insertion, for equal times are
// always in the same list; so no number has to be stored to break ties.
//
// Source: Ahuja, Mehlhorn, Orlin and Tarjan, "Faster algorithms for the
// shortest path problem", J. ACM 37(2), 1990, section 2.
class EventQueue {
 public:
  struct Wakeup {
    Time when;
    Actor* target;
    std::uint32_t token;
    Phase phase;
  };

  // Room for `n` wakeups at one time.
  void Reserve(std::size_t n) { nodes_.reserve(n); }
  bool empty() const { return size_ == 0; }

  // REQUIRES: when >= the time of the last pop (zero before the first)
  void Push(Time when, Phase phase, Actor& target, std::uint32_t token) {
    CHECK(when >= current_);
    std::uint32_t node = free_;
    if (node == kNone) {
      CHECK(nodes_.size() < kNone);
      node = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
    } else {
      free_ = nodes_[node].next;
    }
    nodes_[node].wakeup = {when, &target, token, phase};
    ++size_;
    File(node);
  }

  // Removes and returns the earliest wakeup. REQUIRES: !empty()
  Wakeup Pop() {
    CHECK(!empty());
    if (due_now_ == 0) Advance();
    const int phase = std::countr_zero(due_now_);
    List& list = due_[static_cast<std::size_t>(phase)];
    const std::uint32_t node = list.first;
    list.first = nodes_[node].next;
    if (list.first == kNone) due_now_ &= due_now_ - 1;
    nodes_[node].next = free_;
    free_ = node;
    --size_;
    return nodes_[node].wakeup;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kPhases = 4;

  struct Node {
    Wakeup wakeup;
    std::uint32_t next = kNone;
  };
  struct List {
    std::uint32_t first = kNone, last = kNone;
  };

  static std::uint64_t Key(Time t) { return static_cast<std::uint64_t>(t.since_start().ps()); }

  // Appends a node to the list where its time and phase belong.
  void File(std::uint32_t node) {
    const Wakeup& w = nodes_[node].wakeup;
    const std::uint64_t differing = Key(w.when) ^ Key(current_);
    List* list;
    if (differing == 0) {
      list = &due_[static_cast<std::size_t>(w.phase)];
      due_now_ |= 1u << static_cast<unsigned>(w.phase);
    } else {
      const auto bit = static_cast<std::size_t>(std::bit_width(differing)) - 1;
      list = &later_[bit];
      if (list->first == kNone || w.when < earliest_[bit]) earliest_[bit] = w.when;
      occupied_ |= std::uint64_t{1} << bit;
    }
    nodes_[node].next = kNone;
    if (list->first == kNone) {
      list->first = node;
    } else {
      nodes_[list->last].next = node;
    }
    list->last = node;
  }

  // Moves the current instant to the earliest time in the lowest bucket.
  // REQUIRES: nothing is due at the current instant, and something is later
  void Advance() {
    const auto bit = static_cast<std::size_t>(std::countr_zero(occupied_));
    occupied_ &= occupied_ - 1;
    current_ = earliest_[bit];
    std::uint32_t node = later_[bit].first;
    later_[bit] = {};
    while (node != kNone) {
      const std::uint32_t next = nodes_[node].next;
      File(node);
      node = next;
    }
  }

  Time current_;  // of the last pop
  std::size_t size_ = 0;
  std::uint32_t due_now_ = 0;      // bit p: due_[p] is not empty
  std::uint64_t occupied_ = 0;     // bit b: later_[b] is not empty
  std::array<List, kPhases> due_;  // at current_, by phase
  std::array<List, 64> later_;     // by the highest bit that differs from current_
  std::array<Time, 64> earliest_;  // the earliest time in later_[b]
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;  // a list of unused nodes
};

// Simulated time and the loop. One simulator is one thread; many may run side
// by side, for there is no state outside this object.
class Simulator {
 public:
  Time now() const { return now_; }
  void Reserve(std::size_t pending) { queue_.Reserve(pending); }

  // Wakes `target` at `when`. REQUIRES: when >= now()
  void WakeAt(Time when, Phase phase, Actor& target, std::uint32_t token) {
    CHECK(when >= now_);
    queue_.Push(when, phase, target, token);
  }

  // Runs until nothing is left to happen, or for `most` wakeups. Returns whether something is left.
  bool Run(std::uint64_t most = UINT64_MAX) {
    for (; most > 0 && !queue_.empty(); --most) {
      const EventQueue::Wakeup next = queue_.Pop();
      now_ = next.when;
      ++events_;
      next.target->Wake(now_, next.token);
    }
    return !queue_.empty();
  }

  std::uint64_t events() const { return events_; }  // wakeups so far

 private:
  Time now_;
  std::uint64_t events_ = 0;
  EventQueue queue_;
};

}  // namespace sim

#endif  // SIM_ENGINE_EVENT_QUEUE_H_
