#include "sim/engine/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "sim/base/random.h"
#include "tests/sim/engine/allocations.h"

namespace sim {
namespace {

using namespace literals;
using testing::ElementsAre;

Time At(std::int64_t ps) { return Time::Start() + Duration::Picoseconds(ps); }

class Nobody final : public Actor {
 public:
  void Wake(Time, std::uint32_t) override {}
};

TEST(EventQueue, PopsByTimeThenPhaseThenInsertion) {
  Nobody nobody;
  EventQueue queue;
  queue.Push(At(2), Phase::kStart, nobody, 0);
  queue.Push(At(1), Phase::kObserve, nobody, 1);
  queue.Push(At(2), Phase::kFinish, nobody, 2);
  queue.Push(At(2), Phase::kStart, nobody, 3);
  queue.Push(At(0), Phase::kShare, nobody, 4);
  std::vector<std::uint32_t> tokens;
  while (!queue.empty()) tokens.push_back(queue.Pop().token);
  EXPECT_THAT(tokens, ElementsAre(4, 1, 2, 0, 3));
}

TEST(EventQueue, WhatIsPushedAtThisInstantWithAnEarlierPhaseIsNext) {
  Nobody nobody;
  EventQueue queue;
  queue.Push(At(5), Phase::kShare, nobody, 0);
  queue.Push(At(5), Phase::kObserve, nobody, 1);
  queue.Push(At(6), Phase::kFinish, nobody, 2);
  EXPECT_EQ(queue.Pop().token, 0u);
  queue.Push(At(5), Phase::kFinish, nobody, 3);
  EXPECT_EQ(queue.Pop().token, 3u);
  EXPECT_EQ(queue.Pop().token, 1u);
  EXPECT_EQ(queue.Pop().token, 2u);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, HoldsTheFirstAndTheLastInstant) {
  Nobody nobody;
  EventQueue queue;
  queue.Push(Time::Never(), Phase::kFinish, nobody, 0);
  queue.Push(Time::Start(), Phase::kFinish, nobody, 1);
  EXPECT_EQ(queue.Pop().when, Time::Start());
  EXPECT_EQ(queue.Pop().when, Time::Never());
}

// How far ahead a random push lies: at this instant, near, or at any scale.
std::int64_t RandomAhead(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return 0;
    case 1:
      return random.Below(4);
    case 2:
      return random.Below(1000);
    default:
      return static_cast<std::int64_t>(random.Next() >> (2 + random.Below(61)));
  }
}

// The slow queue: a sorted map with the three parts of the order as its key.
TEST(EventQueue, EqualsASortedMapOnRandomSequences) {
  for (std::uint64_t run = 0; run < 2000; ++run) {
    Random random(1, "event queue", run);
    Nobody nobody;
    EventQueue queue;
    std::map<std::tuple<Time, Phase, std::uint32_t>, std::uint32_t> sorted;
    Time now;
    std::uint32_t pushed = 0;
    const std::uint32_t chance_of_push = 1 + random.Below(9);  // of 10
    for (int step = 0; step < 300 || !sorted.empty(); ++step) {
      if (step < 300 && random.Below(10) < chance_of_push) {
        const std::int64_t room = std::numeric_limits<std::int64_t>::max() - now.since_start().ps();
        const Time when = now + Duration::Picoseconds(std::min(room, RandomAhead(random)));
        const auto phase = static_cast<Phase>(random.Below(4));
        queue.Push(when, phase, nobody, pushed);
        sorted.emplace(std::make_tuple(when, phase, pushed), pushed);
        ++pushed;
      } else if (!sorted.empty()) {
        ASSERT_FALSE(queue.empty());
        const EventQueue::Wakeup next = queue.Pop();
        const auto& [key, token] = *sorted.begin();
        ASSERT_EQ(next.token, token) << "run " << run << ", step " << step;
        ASSERT_EQ(next.when, std::get<Time>(key));
        ASSERT_EQ(next.phase, std::get<Phase>(key));
        ASSERT_EQ(next.target, &nobody);
        now = next.when;
        sorted.erase(sorted.begin());
      }
    }
    ASSERT_TRUE(queue.empty());
  }
}

TEST(EventQueue, AllocatesNothingAfterReserve) {
  Nobody nobody;
  EventQueue queue;
  queue.Reserve(1000);
  Random random(1, "event queue");
  Time now;
  const std::uint64_t before = Allocations();
  for (std::uint32_t i = 0; i < 1000; ++i) queue.Push(At(random.Below(1'000'000)), Phase::kStart, nobody, i);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    now = queue.Pop().when;
    queue.Push(now + Duration::Picoseconds(random.Below(1'000'000)), Phase::kFinish, nobody, i);
  }
  while (!queue.empty()) queue.Pop();
  EXPECT_EQ(Allocations(), before);
}

TEST(EventQueueDeathTest, RefusesThePast) {
  Nobody nobody;
  EventQueue queue;
  queue.Push(At(2), Phase::kStart, nobody, 0);
  queue.Pop();
  EXPECT_EXIT(queue.Push(At(1), Phase::kStart, nobody, 0), testing::ExitedWithCode(kExitBug),
              "does not hold");
}

// Wakes itself a number of times, one nanosecond apart.
class Ticker final : public Actor {
 public:
  Ticker(Simulator& simulator, std::uint32_t ticks) : simulator_(simulator) {
    simulator_.WakeAt(At(0), Phase::kStart, *this, ticks);
  }
  void Wake(Time now, std::uint32_t token) override {
    EXPECT_EQ(simulator_.now(), now);
    last = now;
    if (token > 1) simulator_.WakeAt(now + 1_ns, Phase::kStart, *this, token - 1);
  }
  Time last;

 private:
  Simulator& simulator_;
};

TEST(Simulator, RunsUntilNothingIsLeftAndCountsWakeups) {
  Simulator simulator;
  Ticker ten(simulator, 10), three(simulator, 3);
  simulator.Run();
  EXPECT_EQ(ten.last, At(0) + 9_ns);
  EXPECT_EQ(three.last, At(0) + 2_ns);
  EXPECT_EQ(simulator.events(), 13u);
  EXPECT_EQ(simulator.now(), ten.last);
}

TEST(Simulator, TwoSideBySideDoNotKnowEachOther) {
  Simulator a, b;
  Ticker in_a(a, 10), in_b(b, 20);
  a.Run();
  EXPECT_EQ(b.now(), Time::Start());
  b.Run();
  EXPECT_EQ(a.now(), At(0) + 9_ns);
}

}  // namespace
}  // namespace sim
