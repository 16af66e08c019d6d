// The event queue and the loop that drains it.

#ifndef SIM_ENGINE_EVENT_QUEUE_H_
#define SIM_ENGINE_EVENT_QUEUE_H_

#include <algorithm>
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

// A min-heap of wakeups in one total order: time, then phase, then the order
// of insertion. No two wakeups are equal, so every run pops the same sequence.
// Wakeups are plain values; after Reserve() nothing here allocates.
class EventQueue {
 public:
  struct Wakeup {
    Time when;
    std::uint64_t rank;  // phase, then order of insertion
    Actor* target;
    std::uint32_t token;
  };

  void Reserve(std::size_t n) { heap_.reserve(n); }
  bool empty() const { return heap_.empty(); }

  void Push(Time when, Phase phase, Actor& target, std::uint32_t token) {
    const std::uint64_t rank = (static_cast<std::uint64_t>(phase) << 60) | next_order_++;
    heap_.push_back({when, rank, &target, token});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }

  // Removes and returns the earliest wakeup. REQUIRES: !empty()
  Wakeup Pop() {
    CHECK(!empty());
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    const Wakeup next = heap_.back();
    heap_.pop_back();
    return next;
  }

 private:
  struct Later {
    bool operator()(const Wakeup& a, const Wakeup& b) const {
      if (a.when != b.when) return a.when > b.when;
      return a.rank > b.rank;
    }
  };

  std::vector<Wakeup> heap_;
  std::uint64_t next_order_ = 0;
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

  // Runs until nothing is left to happen.
  void Run() {
    while (!queue_.empty()) {
      const EventQueue::Wakeup next = queue_.Pop();
      now_ = next.when;
      ++events_;
      next.target->Wake(now_, next.token);
    }
  }

  std::uint64_t events() const { return events_; }  // wakeups so far

 private:
  Time now_;
  std::uint64_t events_ = 0;
  EventQueue queue_;
};

}  // namespace sim

#endif  // SIM_ENGINE_EVENT_QUEUE_H_
