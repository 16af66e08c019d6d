// One solve of the rates: so many flows start at one instant and are shared.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "sim/base/random.h"
#include "sim/network/flow_network.h"

namespace sim {
namespace {

using namespace literals;

using Flows = std::vector<std::vector<Use>>;

// Each flow has four links of its own.
Flows Disjoint(std::uint32_t flows) {
  Flows uses(flows);
  for (std::uint32_t f = 0; f < flows; ++f) {
    for (std::uint32_t l = 0; l < 4; ++l) uses[f].push_back({LinkId(4 * f + l), 1});
  }
  return uses;
}

// Each flow has four links at random of as many as there are flows: one component, many levels.
Flows Shared(std::uint32_t flows) {
  Random random(1, "bench");
  Flows uses(flows);
  for (auto& list : uses) {
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter)
      list.push_back({LinkId(quarter * (flows / 4) + random.Below(flows / 4)), 1});
  }
  return uses;
}

class Nobody final : public Actor {
 public:
  void Wake(Time, std::uint32_t) override {}
};

void Solve(benchmark::State& state, Flows (*make)(std::uint32_t), std::size_t links_a_flow) {
  const auto flows = static_cast<std::uint32_t>(state.range(0));
  const Flows uses = make(flows);
  for (auto _ : state) {
    state.PauseTiming();
    Nobody nobody;
    Simulator simulator;
    FlowNetwork network(simulator, std::vector<ByteRate>(links_a_flow * flows, 50_GB_per_s), 1);
    network.Reserve(flows, 4 * std::size_t{flows});
    for (std::uint32_t f = 0; f < flows; ++f) network.Start({Volume::Of(1_GiB), uses[f], 1, {}}, nobody, f);
    state.ResumeTiming();
    simulator.Run(1);  // the wakeup that shares
    benchmark::DoNotOptimize(network.rate(FlowId(std::uint32_t{0})));
  }
  state.SetItemsProcessed(state.iterations() * flows);
}
void SolveDisjoint(benchmark::State& state) { Solve(state, Disjoint, 4); }
void SolveShared(benchmark::State& state) { Solve(state, Shared, 1); }

BENCHMARK(SolveDisjoint)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(SolveShared)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sim
