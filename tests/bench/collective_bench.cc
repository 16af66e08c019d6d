// From a request to its end: fabric, lowering, program, simulation.

#include <benchmark/benchmark.h>

#include "scenarios/lowering.h"
#include "sim/program/executor.h"
#include "topologies/load_sum.h"
#include "topologies/topology.h"

namespace scenarios {
namespace {

using namespace sim::literals;

topologies::Fabric Switch(std::int64_t devices, std::int32_t per_node, bool latency = true) {
  sim::NodeShape node{"node", per_node, 450_GB_per_s, 300_ns, 60_GB_per_s,
                      400_ns, per_node, 50_GB_per_s,  500_ns};
  topologies::TopologySpec spec;
  spec.name = "switch";
  spec.family = topologies::SingleSwitchSpec{{}, 200_ns, 0};
  if (!latency) {
    node.nvlink_latency = node.pcie_latency = node.nic_latency = {};
    spec.family = topologies::SingleSwitchSpec{{}, {}, 0};
  }
  return topologies::BuildFabric(spec, node, devices).value();
}

std::vector<std::uint32_t> All(std::int64_t devices) {
  std::vector<std::uint32_t> all;
  for (std::int64_t d = 0; d < devices; ++d) all.push_back(static_cast<std::uint32_t>(d));
  return all;
}

const hardware::CollectiveTiming kTiming[3] = {};

// When it ends.
sim::Time RunOnce(const topologies::Fabric& fabric, const std::vector<std::uint32_t>& devices,
                  sim::CollectiveKind kind) {
  std::vector<sim::ByteRate> capacities;
  for (const topologies::Link& link : fabric.links) capacities.push_back(link.capacity);
  sim::ProgramBuilder builder(1, std::move(capacities));
  const sim::StreamId stream = builder.AddStream(sim::Rank(0), sim::StreamKind::kData);
  builder.Seat(
      stream,
      builder.AddCommunication(builder.AddTraffic(LowerCollective(fabric, kTiming, kind, 1_GiB, devices))),
      sim::TaskClass::kData, {});
  const sim::Result<sim::Program> program = std::move(builder).Build();
  return sim::Simulate(program.value()).value().finish;
}

// The whole of it, with the fabric. Arguments: ranks, devices a node.
void BuildLowerAndSimulate(benchmark::State& state, sim::CollectiveKind kind) {
  for (auto _ : state) {
    const topologies::Fabric fabric = Switch(state.range(0), static_cast<std::int32_t>(state.range(1)));
    benchmark::DoNotOptimize(RunOnce(fabric, All(state.range(0)), kind));
  }
}
BENCHMARK_CAPTURE(BuildLowerAndSimulate, all_reduce, sim::CollectiveKind::kAllReduce)
    ->Args({1024, 1})
    ->Args({1024, 8})
    ->Args({16384, 8})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BuildLowerAndSimulate, broadcast, sim::CollectiveKind::kBroadcast)
    ->Args({1024, 8})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BuildLowerAndSimulate, all_to_all, sim::CollectiveKind::kAllToAll)
    ->Args({64, 8})
    ->Args({256, 8})
    ->Args({1024, 8})
    ->Unit(benchmark::kMillisecond);

// What no algorithm beats: the bytes that must leave a node, over all of its NICs. An all-reduce sends twice
// what a member has but its own part, an all-to-all what is for other nodes.
double BoundSeconds(sim::CollectiveKind kind, double ranks, double per_node) {
  const double gib = static_cast<double>((1_GiB).count()), nic = 50e9;
  if (kind == sim::CollectiveKind::kAllReduce) return 2 * gib * (ranks - 1) / ranks / (nic * per_node);
  return gib * (ranks - per_node) / ranks / nic;
}

// The same without latency, beside the bound.
void BesideTheBound(benchmark::State& state, sim::CollectiveKind kind) {
  const auto ranks = static_cast<double>(state.range(0)), per_node = static_cast<double>(state.range(1));
  const topologies::Fabric fabric = Switch(state.range(0), static_cast<std::int32_t>(state.range(1)), false);
  sim::Time end;
  for (auto _ : state) end = RunOnce(fabric, All(state.range(0)), kind);
  state.counters["over_bound_%"] =
      100 * (end.since_start().seconds() / BoundSeconds(kind, ranks, per_node) - 1);
}
BENCHMARK_CAPTURE(BesideTheBound, all_reduce, sim::CollectiveKind::kAllReduce)
    ->Args({1024, 1})
    ->Args({16384, 8})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BesideTheBound, all_to_all, sim::CollectiveKind::kAllToAll)
    ->Args({1024, 8})
    ->Unit(benchmark::kMillisecond);

// What an all-to-all puts on the links, without keeping its routes. Argument: ranks.
void SumAllPairs(benchmark::State& state) {
  const topologies::Fabric fabric = Switch(state.range(0), 8);
  const auto devices = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    topologies::LoadSum sum(fabric);
    for (std::uint32_t from = 0; from < devices; ++from) {
      for (std::uint32_t to = 0; to < devices; ++to) {
        if (to != from) sum.Add(from, to);
      }
    }
    benchmark::DoNotOptimize(sum.loads());
  }
}
BENCHMARK(SumAllPairs)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

// The oracle: transfer by transfer, NCCL's chunks. Argument: ranks of one ring.
void LowerIntoChunksOnly(benchmark::State& state) {
  const topologies::Fabric fabric = Switch(state.range(0), 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        LowerIntoChunks(fabric, kTiming, sim::CollectiveKind::kAllReduce, 1_GiB, All(state.range(0))));
  }
}
BENCHMARK(LowerIntoChunksOnly)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace scenarios
