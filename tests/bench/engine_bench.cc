// Events a second of the queue, with so many pending: the hold model (each pop
// pushes one), against a binary heap of the standard library.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/engine/event_queue.h"

namespace sim {
namespace {

class Nobody final : public Actor {
 public:
  void Wake(Time, std::uint32_t) override {}
};

// A binary heap with the order of insertion in each entry.
class BinaryHeap {
 public:
  struct Wakeup {
    Time when;
    std::uint64_t rank;
    Actor* target;
    std::uint32_t token;
  };
  void Reserve(std::size_t n) { heap_.reserve(n); }
  void Push(Time when, Phase phase, Actor& target, std::uint32_t token) {
    heap_.push_back({when, (static_cast<std::uint64_t>(phase) << 60) | next_order_++, &target, token});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  Wakeup Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const Wakeup next = heap_.back();
    heap_.pop_back();
    return next;
  }

 private:
  static bool Later(const Wakeup& a, const Wakeup& b) {
    return a.when != b.when ? a.when > b.when : a.rank > b.rank;
  }
  std::vector<Wakeup> heap_;
  std::uint64_t next_order_ = 0;
};

// Durations up to 1 ms in ps; all different, or one of eight values, so that many fall on one instant.
template <class Queue>
void Hold(benchmark::State& state, bool few_instants) {
  const auto pending = static_cast<std::uint32_t>(state.range(0));
  Random random(1, "bench");
  std::vector<Duration> ahead(1 << 16);
  for (Duration& d : ahead) {
    d = Duration::Picoseconds(few_instants ? 100'000'000 * (1 + random.Below(8))
                                           : 1 + random.Below(1'000'000'000));
  }
  Nobody nobody;
  Queue queue;
  queue.Reserve(pending);
  for (std::uint32_t i = 0; i < pending; ++i) {
    queue.Push(Time::Start() + ahead[i % ahead.size()], Phase::kFinish, nobody, i);
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const auto next = queue.Pop();
    queue.Push(next.when + ahead[i++ % ahead.size()], Phase::kFinish, nobody, next.token);
  }
  state.SetItemsProcessed(state.iterations());
}

void RadixHeapSpread(benchmark::State& state) { Hold<EventQueue>(state, false); }
void BinaryHeapSpread(benchmark::State& state) { Hold<BinaryHeap>(state, false); }
void RadixHeapBatches(benchmark::State& state) { Hold<EventQueue>(state, true); }
void BinaryHeapBatches(benchmark::State& state) { Hold<BinaryHeap>(state, true); }

BENCHMARK(RadixHeapSpread)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(BinaryHeapSpread)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(RadixHeapBatches)->Arg(1'000)->Arg(100'000);
BENCHMARK(BinaryHeapBatches)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace sim
