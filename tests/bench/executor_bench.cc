// Tasks a second of the executor, against the least that any event-driven
// simulator does: a loop around a binary heap.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"

namespace sim {
namespace {

using namespace literals;

constexpr std::uint32_t kTasksOfRank = 1'000;

// How long task `i` of every rank takes; ranks that do the same do it at one time.
std::vector<Duration> Lengths() {
  Random random(1, "bench");
  std::vector<Duration> lengths(kTasksOfRank);
  for (Duration& d : lengths) d = Duration::Picoseconds(1 + random.Below(1'000'000'000));
  return lengths;
}

// The plain loop: pop the earliest end, and push the end of what follows.
void BinaryHeapLoop(benchmark::State& state) {
  struct End {
    Time when;
    std::uint32_t rank, task;
  };
  const auto later = [](const End& a, const End& b) {
    return a.when != b.when ? a.when > b.when : a.rank > b.rank;
  };
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const std::vector<Duration> lengths = Lengths();
  for (auto _ : state) {
    std::vector<End> heap;
    std::vector<Time> ends(std::size_t{ranks} * kTasksOfRank);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) heap.push_back({Time::Start() + lengths[0], rank, 0});
    std::make_heap(heap.begin(), heap.end(), later);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      End& end = heap.back();
      ends[std::size_t{end.rank} * kTasksOfRank + end.task] = end.when;
      if (++end.task < kTasksOfRank) {
        end.when = end.when + lengths[end.task];
        std::push_heap(heap.begin(), heap.end(), later);
      } else {
        heap.pop_back();
      }
    }
    benchmark::DoNotOptimize(ends.data());
  }
  state.SetItemsProcessed(state.iterations() * ranks * kTasksOfRank);
}

// The same as a program: one stream a rank, no communication.
Program Chains(std::uint32_t ranks, bool share) {
  ProgramBuilder builder(ranks, {});
  const Label label{builder.Name("work")};
  const std::vector<Duration> lengths = Lengths();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const StreamId stream = builder.AddStream(Rank(rank), StreamKind::kCompute);
    for (const Duration d : lengths)
      builder.Work(stream, builder.AddWork({d, d}), TaskClass::kForward, label);
    if (share) builder.CloseScript();
  }
  return std::move(builder).Build().value();
}

void Play(benchmark::State& state, const Program& program) {
  for (auto _ : state) benchmark::DoNotOptimize(Simulate(program).value());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(program.tasks()));
}

void ExecutorUncontended(benchmark::State& state) {
  Play(state, Chains(static_cast<std::uint32_t>(state.range(0)), true));
}
void ExecutorUncontendedNothingShared(benchmark::State& state) {
  Play(state, Chains(static_cast<std::uint32_t>(state.range(0)), false));
}

// Groups of eight compute and reduce in turn, each group over 16 links of its own:
// half of the tasks are seats.
Program Groups(std::uint32_t ranks) {
  ProgramBuilder builder(ranks, std::vector<ByteRate>(2 * ranks, 450_GB_per_s));
  const Label label{builder.Name("work")};
  const std::vector<Duration> lengths = Lengths();
  std::vector<CommunicationId> reductions;  // of the group in hand
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const StreamId compute = builder.AddStream(Rank(rank), StreamKind::kCompute);
    const StreamId tensor = builder.AddStream(Rank(rank), StreamKind::kTensor);
    if (rank % 8 == 0) {
      TrafficDescription traffic{.name = "reduce", .size = 64_MiB, .latency = 5_us};
      FlowDescription flow{.volume = Volume::Of(64_MiB)};
      for (std::uint32_t l = 0; l < 16; ++l) flow.uses.push_back({LinkId(2 * rank + l), 1});
      traffic.flows.push_back(flow);
      const TrafficId id = builder.AddTraffic(traffic);
      reductions.clear();
      for (std::uint32_t i = 0; i < kTasksOfRank / 2; ++i) reductions.push_back(builder.AddCommunication(id));
    }
    TaskId seat;
    for (std::uint32_t i = 0; i < kTasksOfRank / 2; ++i) {
      const TaskId work =
          builder.Work(compute, builder.AddWork({lengths[i], lengths[i]}), TaskClass::kForward, label);
      if (seat.valid()) builder.After(work, seat);
      seat = builder.Seat(tensor, reductions[i], TaskClass::kTensor, label);
      builder.After(seat, work);
    }
    builder.CloseScript();
  }
  return std::move(builder).Build().value();
}
void ExecutorGroupsOfEight(benchmark::State& state) {
  Play(state, Groups(static_cast<std::uint32_t>(state.range(0))));
}

BENCHMARK(BinaryHeapLoop)->Arg(64)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);
BENCHMARK(ExecutorUncontended)->Arg(64)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);
BENCHMARK(ExecutorUncontendedNothingShared)->Arg(64)->Arg(1'024)->Unit(benchmark::kMillisecond);
BENCHMARK(ExecutorGroupsOfEight)->Arg(64)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sim
