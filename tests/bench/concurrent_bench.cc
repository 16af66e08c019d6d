// Many flows at one time: starts and ends a second while so many run, each at its own time.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/network/flow_network.h"

namespace sim {
namespace {

using namespace literals;

struct Flows {
  std::vector<ByteRate> capacities;
  std::vector<std::vector<Use>> uses;
};

// Each flow has four links of its own.
Flows Disjoint(std::uint32_t flows) {
  Flows all{std::vector<ByteRate>(4 * std::size_t{flows}, 50_GB_per_s), {}};
  for (std::uint32_t f = 0; f < flows; ++f) {
    all.uses.emplace_back();
    for (std::uint32_t l = 0; l < 4; ++l) all.uses.back().push_back({LinkId(4 * f + l), 1});
  }
  return all;
}

// Four links at random, of as many as there are flows: one component with as many levels as it can have.
Flows Shared(std::uint32_t flows) {
  Random random(1, "bench");
  Flows all{std::vector<ByteRate>(flows, 50_GB_per_s), {}};
  for (std::uint32_t f = 0; f < flows; ++f) {
    all.uses.emplace_back();
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter)
      all.uses.back().push_back({LinkId(quarter * (flows / 4) + random.Below(flows / 4)), 1});
  }
  return all;
}

// Rings of 8 NICs under leafs of 32, members anywhere, no NIC in two rings. A leaf's cables to the spines are
// one link each way, `uplink` of them: 16 is 2:1 over-subscribed. So all rings are one component.
Flows RingsOverSpines(std::uint32_t rings, std::uint32_t uplink) {
  constexpr std::uint32_t kMembers = 8, kNics = 32;
  const std::uint32_t nics = rings * kMembers, leafs = (nics + kNics - 1) / kNics;
  Random random(1, "rings");
  std::vector<std::uint32_t> nic(nics);
  for (std::uint32_t i = 0; i < nics; ++i) nic[i] = i;
  for (std::uint32_t i = nics; i > 1; --i) std::swap(nic[i - 1], nic[random.Below(i)]);

  Flows all{std::vector<ByteRate>(2 * std::size_t{nics}, 50_GB_per_s), {}};
  all.capacities.insert(all.capacities.end(), 2 * std::size_t{leafs},
                        ByteRate::BytesPerSecond(std::int64_t{uplink} * 50'000'000'000));
  for (std::uint32_t ring = 0; ring < rings; ++ring) {
    std::vector<std::uint32_t> up(leafs), down(leafs);
    auto& uses = all.uses.emplace_back();
    for (std::uint32_t m = 0; m < kMembers; ++m) {
      const std::uint32_t from = nic[ring * kMembers + m], to = nic[ring * kMembers + (m + 1) % kMembers];
      uses.push_back({LinkId(2 * from), 1});
      uses.push_back({LinkId(2 * to + 1), 1});
      if (from / kNics == to / kNics) continue;
      ++up[from / kNics];
      ++down[to / kNics];
    }
    for (std::uint32_t leaf = 0; leaf < leafs; ++leaf) {
      if (up[leaf] > 0) uses.push_back({LinkId(2 * (nics + leaf)), up[leaf]});
      if (down[leaf] > 0) uses.push_back({LinkId(2 * (nics + leaf) + 1), down[leaf]});
    }
  }
  return all;
}

// Runs each flow again when it ends, until so many have ended.
class Restarter final : public Actor {
 public:
  Restarter(const Flows& flows, std::int64_t more)
      : network_(simulator_, flows.capacities, 1), flows_(flows), left_(more) {
    std::size_t all = 0;
    for (const auto& list : flows.uses) all += list.size();
    simulator_.Reserve(1024);
    network_.Reserve(flows.uses.size(), all);
    for (std::uint32_t f = 0; f < flows.uses.size(); ++f) {
      volumes_.push_back(Volume::Of(Bytes(1'000'000'000 + std::int64_t{f} * 100'003)));
      network_.Start({volumes_[f], flows_.uses[f], 1, {}}, *this, f);
    }
    simulator_.Run(1);  // shared: what is measured begins here
  }
  void Run() {
    while (left_ > 0) simulator_.Run(1);
  }
  void Wake(Time, std::uint32_t token) override {
    if (left_-- > 0) network_.Start({volumes_[token], flows_.uses[token], 1, {}}, *this, token);
  }
  const FlowNetwork& network() const { return network_; }

 private:
  Simulator simulator_;
  FlowNetwork network_;
  const Flows& flows_;
  std::vector<Volume> volumes_;
  std::int64_t left_;
};

void Measure(benchmark::State& state, const Flows& flows, std::int64_t more) {
  std::uint64_t solved = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto restarter = std::make_unique<Restarter>(flows, more);
    const std::uint64_t before = restarter->network().flows_solved();
    state.ResumeTiming();
    restarter->Run();
    state.PauseTiming();
    solved += restarter->network().flows_solved() - before;
    restarter.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * more);
  state.counters["solved_a_change"] =
      static_cast<double>(solved) / static_cast<double>(state.iterations() * more);
}

void ConcurrentDisjoint(benchmark::State& state) {
  Measure(state, Disjoint(static_cast<std::uint32_t>(state.range(0))), 100'000);
}
void ConcurrentShared(benchmark::State& state) {
  Measure(state, Shared(static_cast<std::uint32_t>(state.range(0))), state.range(1));
}
void ConcurrentRings(benchmark::State& state) {
  Measure(
      state,
      RingsOverSpines(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1))),
      state.range(2));
}

BENCHMARK(ConcurrentDisjoint)->Arg(100)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(ConcurrentShared)
    ->Args({100, 10'000})
    ->Args({10'000, 10'000})
    ->Args({100'000, 10'000})
    ->Unit(benchmark::kMillisecond);
// Rings, cables of a leaf with 32 NICs, changes.
BENCHMARK(ConcurrentRings)
    ->Args({2'000, 32, 1'000})
    ->Args({2'000, 16, 1'000})
    ->Args({2'000, 24, 1'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sim
