// Flows a second through the network, start and end.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/network/flow_network.h"
#include "sim/network/max_min.h"

namespace sim {
namespace {

using namespace literals;

// Runs each flow again when it ends, until so many have ended.
class Restarter final : public Actor {
 public:
  Restarter(std::size_t links, std::vector<std::vector<Use>> uses, std::int64_t flows)
      : network_(simulator_, std::vector<ByteRate>(links, 450_GB_per_s), 1),
        uses_(std::move(uses)),
        left_(flows) {
    std::size_t all = 0;
    for (const auto& list : uses_) all += list.size();
    simulator_.Reserve(1024);
    network_.Reserve(uses_.size(), all);
  }

  void Run(Bytes smallest, Bytes step) {
    for (std::uint32_t f = 0; f < uses_.size(); ++f) {
      volumes_.push_back(Volume::Of(smallest + static_cast<std::int64_t>(f) * step));
      network_.Start({volumes_[f], uses_[f], 1, {}}, *this, f);
    }
    simulator_.Run();
  }
  void Wake(Time, std::uint32_t token) override {
    if (left_-- > 0) network_.Start({volumes_[token], uses_[token], 1, {}}, *this, token);
  }

 private:
  Simulator simulator_;
  FlowNetwork network_;
  std::vector<std::vector<Use>> uses_;
  std::vector<Volume> volumes_;
  std::int64_t left_;
};

void Measure(benchmark::State& state, std::size_t links, const std::vector<std::vector<Use>>& uses,
             Bytes smallest, Bytes step, std::int64_t flows) {
  for (auto _ : state) {
    state.PauseTiming();
    Restarter restarter(links, uses, flows);
    state.ResumeTiming();
    restarter.Run(smallest, step);
  }
  state.SetItemsProcessed(state.iterations() * (flows + static_cast<std::int64_t>(uses.size())));
}

// 2,048 tensor-parallel groups of 8, each a ring over 16 links of its own.
std::vector<std::vector<Use>> TensorGroups() {
  std::vector<std::vector<Use>> uses(2048);
  for (std::uint32_t group = 0; group < 2048; ++group) {
    for (std::uint32_t link = 0; link < 16; ++link) uses[group].push_back({LinkId(group * 16 + link), 1});
  }
  return uses;
}
void DisjointGroupsInLockstep(benchmark::State& state) {
  Measure(state, 2048 * 16, TensorGroups(), 1_MiB, 0_B, 200'000);
}
void DisjointGroupsEachAtItsTime(benchmark::State& state) {
  Measure(state, 2048 * 16, TensorGroups(), 1_MiB, 17_B, 200'000);
}
BENCHMARK(DisjointGroupsInLockstep)->Unit(benchmark::kMillisecond);
BENCHMARK(DisjointGroupsEachAtItsTime)->Unit(benchmark::kMillisecond);

// The same groups with two flows each, on the same links.
void DisjointPairs(benchmark::State& state) {
  std::vector<std::vector<Use>> uses = TensorGroups(), twice = uses;
  twice.insert(twice.end(), uses.begin(), uses.end());
  Measure(state, 2048 * 16, twice, 1_MiB, 17_B, 200'000);
}
BENCHMARK(DisjointPairs)->Unit(benchmark::kMillisecond);

// One ring of 1,024 links, alone.
void RingOf1024Links(benchmark::State& state) {
  std::vector<std::vector<Use>> uses(1);
  for (std::uint32_t link = 0; link < 1024; ++link) uses[0].push_back({LinkId(link), 1});
  Measure(state, 1024, uses, 1_GiB, 0_B, 1000);
}
BENCHMARK(RingOf1024Links)->Unit(benchmark::kMillisecond);

// The ring, and 1,024 bystanders that come and go one by one, each on one of its edges.
void RingWithBystanders(benchmark::State& state) {
  std::vector<std::vector<Use>> uses(1);
  for (std::uint32_t link = 0; link < 1024; ++link) uses[0].push_back({LinkId(link), 1});
  for (std::uint32_t link = 0; link < 1024; ++link) uses.push_back({{LinkId(link), 1}});
  Measure(state, 1024, uses, 1_MiB, 1009_B, 10'000);
}
BENCHMARK(RingWithBystanders)->Unit(benchmark::kMillisecond);

// One irregular component: 4,096 flows over 4 random links of 2,048. Many levels; each end reaches everybody.
void OneIrregularComponent(benchmark::State& state) {
  Random random(1, "bench");
  std::vector<std::vector<Use>> uses(4096);
  for (auto& list : uses) {
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter)
      list.push_back({LinkId(quarter * 512 + random.Below(512)), 1});
  }
  Measure(state, 2048, uses, 1_MiB, 1009_B, 100);
}
BENCHMARK(OneIrregularComponent)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sim
