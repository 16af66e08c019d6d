#include "scenarios/lowered_way.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/collective/nccl_tuner.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;

// What a device counts as the bytes of a flow: those of bus bandwidth, and where parts are of
// different sizes, or members read each other's memory, what the busiest member sends.
double BusBytes(const sim::CollectiveRequest& request, const sim::CoupledFlow& flow) {
  const bool custom = request.algorithm && sim::IsCustom(*request.algorithm);
  const bool uniform =
      request.uneven == sim::Uneven::kNo && request.kind != sim::CollectiveKind::kAllToAllByNode && !custom;
  if (uniform) {
    const sim::Fraction factor = sim::BusBandwidthFactor(request.kind, request.group.size());
    return static_cast<double>(flow.size.count()) * static_cast<double>(factor.numerator) /
           static_cast<double>(factor.denominator);
  }
  std::map<std::uint32_t, std::int64_t> leaving;  // by member
  std::int64_t most = 1;
  for (const sim::EdgeLoad& edge : flow.edges) most = std::max(most, leaving[edge.from] += edge.weight);
  return sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator).bytes() *
         static_cast<double>(most) / flow.weight_denominator;
}

sim::ByteRate OwnCopyOf(sim::CollectiveKind kind, const CollectiveTiming& timing) {
  switch (kind) {
    case sim::CollectiveKind::kAllReduce:
      return timing.own_copy_all_reduce;
    case sim::CollectiveKind::kAllGather:
      return timing.own_copy_all_gather;
    case sim::CollectiveKind::kReduceScatter:
      return timing.own_copy_reduce_scatter;
    case sim::CollectiveKind::kAllToAll:
      return timing.own_copy_all_to_all;
    default:
      return {};
  }
}

// Of an all-to-all by node: the edges of one flow are all of one kind.
sim::ByteRate LimitByNode(const sim::CollectiveRequest& request, const sim::CoupledFlow& flow,
                          const CollectiveTiming& timing) {
  const std::vector<std::uint32_t>& domain = request.group.domain;
  const bool inside = domain[flow.edges[0].from] == domain[flow.edges[0].to];
  return inside ? timing.limit_by_node_inside : timing.limit_by_node_between;
}

// The fastest progress of a flow that the device allows; zero = as fast as the links.
sim::ByteRate LimitOf(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
                      const Planned& plan, std::size_t i, const CollectiveTiming& timing) {
  const sim::CoupledFlow& flow = plan.collective.flows[i];
  const sim::ByteRate by_node = request.kind == sim::CollectiveKind::kAllToAllByNode
                                    ? LimitByNode(request, flow, timing)
                                    : sim::ByteRate();
  const sim::ByteRate most = by_node > sim::ByteRate() ? by_node
                             : plan.nodes == 1         ? timing.limit_inside
                             : plan.nodes == 2         ? timing.limit_two_nodes
                                                       : timing.limit_more_nodes;
  const sim::ByteRate copy = plan.nodes == 1 ? OwnCopyOf(request.kind, timing) : sim::ByteRate();
  if (most == sim::ByteRate() && copy == sim::ByteRate()) return {};
  // All flows share the device's rate in proportion to their bytes, unless each has one.
  const double all = by_node > sim::ByteRate()
                         ? 1
                         : static_cast<double>(request.size.count()) / static_cast<double>(flow.size.count());
  const sim::FlowDescription free = FlowOf(flow, plan.loads[i], timing, {});
  double seconds = IdleTimeOfFlow(fabric, free).seconds();
  if (most > sim::ByteRate()) {
    seconds = std::max(seconds, BusBytes(request, flow) * all / most.bytes_per_second());
  }
  if (copy > sim::ByteRate()) {
    seconds += static_cast<double>(request.size.count()) / request.group.size() / copy.bytes_per_second();
  }
  const double rate = free.volume.bytes() / std::max(seconds, 1e-12) * 1e3;
  const double within = std::min(std::max(rate, 1.0), 9e18);
  return sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(within));
}

// The fastest progress of a flow whose edge is as fast as `rate`; zero weight = no bound.
sim::Wide ProgressAt(const sim::CoupledFlow& flow, std::size_t edge, sim::ByteRate rate) {
  const std::uint32_t weight = flow.edges[edge].weight;
  return weight == 0 ? INT64_MAX
                     : std::max<sim::Wide>(sim::Wide{rate.milli()} * flow.weight_denominator / weight, 1);
}

// A way through a path, and what of it is over edges inside domains.
struct Way {
  sim::Duration all, inside;
  friend bool operator<(const Way& a, const Way& b) { return a.all < b.all; }
  friend Way operator+(const Way& a, const Way& b) { return {a.all + b.all, a.inside + b.inside}; }
};

// By step of a path: how long a loop is on its way to the beginning of it, over it, and from there to its own
// end, by the longest way.
struct LongestWays {
  std::vector<Way> until, over, beyond;
};

LongestWays LongestWaysOf(const sim::CoupledFlow& flow, const std::vector<sim::ByteRate>& rates,
                          const std::vector<bool>& crosses, std::uint32_t loops) {
  std::uint32_t moments = 0;
  for (const sim::PathStep& step : flow.path) moments = std::max({moments, step.from + 1, step.to + 1});
  std::vector<Way> over(flow.path.size()), reached(moments), left(moments);
  LongestWays ways{over, over, over};
  for (std::size_t i = 0; i < flow.path.size(); ++i) {
    const sim::PathStep& step = flow.path[i];
    const sim::Volume part =
        sim::Volume::OfFraction(flow.size, step.numerator, std::int64_t{loops} * step.denominator);
    const sim::Duration took = TimeAt(part, rates[step.edge].milli());
    ways.over[i] = {took, crosses[step.edge] ? sim::Duration() : took};
    ways.until[i] = reached[step.from];
    reached[step.to] = std::max(reached[step.to], ways.until[i] + ways.over[i]);
  }
  for (std::size_t i = flow.path.size(); i-- > 0;) {
    const sim::PathStep& step = flow.path[i];
    ways.beyond[i] = left[step.to];
    left[step.from] = std::max(left[step.from], ways.over[i] + left[step.to]);
  }
  return ways;
}

// Loops follow each other on each edge, so the last one ends when it has gone its way behind all others on
// one of its edges. The worst edge counts, and of several flows the last one to end.
Fill FillOf(const Planned& plan, const EdgeRates& rates, const Lowered& lowered, sim::Bytes chunk) {
  sim::Duration last, inside, slowest;
  bool any_crosses = false;
  for (std::size_t i = 0; i < plan.collective.flows.size(); ++i) {
    const sim::CoupledFlow& flow = plan.collective.flows[i];
    const std::uint32_t loops = sim::LoopsOf(flow.size, chunk, flow.chunks_a_loop);
    const sim::Volume volume = lowered.traffic.flows[i].volume;
    const sim::Volume of_a_loop =
        sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator * std::int64_t{loops});
    const std::vector<bool>& crosses = plan.crosses[i];
    any_crosses = any_crosses || std::find(crosses.begin(), crosses.end(), true) != crosses.end();
    const LongestWays ways = LongestWaysOf(flow, rates[i], crosses, loops);
    for (std::size_t s = 0; s < flow.path.size(); ++s) {
      const std::uint32_t edge = flow.path[s].edge;
      const sim::Wide progress = ProgressAt(flow, edge, rates[i][edge]);
      const sim::Duration all = TimeAt(volume, progress);
      const auto behind_others = [&](const Way& around, sim::Duration on_edge) {
        if (around.all + on_edge <= last) return;
        last = around.all + on_edge;
        inside = around.inside;
      };
      if (!flow.mixes_loops) {
        behind_others(ways.until[s] + ways.beyond[s], ways.over[s].all + all - TimeAt(of_a_loop, progress));
        continue;
      }
      // The edge is busy from when it can begin with a first loop to when it is through with the last step of
      // the last, and each step by itself must serve all loops.
      behind_others(ways.until[s] + ways.beyond[s], std::int64_t{loops} * ways.over[s].all);
      const auto on_edge = [&](const sim::PathStep& step) { return step.edge == edge; };
      const auto last_step = std::find_if(flow.path.rbegin(), flow.path.rend(), on_edge);
      const auto end = static_cast<std::size_t>(flow.path.rend() - last_step - 1);
      if (std::none_of(flow.path.begin(), flow.path.begin() + static_cast<std::ptrdiff_t>(s), on_edge)) {
        behind_others(ways.until[s] + ways.beyond[end], all);
      }
    }
    slowest = std::max(slowest, TimeAt(volume, lowered.traffic.flows[i].limit.milli()));
  }
  const sim::Duration fill = std::max(last - slowest, sim::Duration());
  inside = any_crosses ? std::min(inside, fill) : sim::Duration();
  return {inside, fill - inside};
}

// The same of all its edges.
sim::ByteRate ProgressAt(const sim::CoupledFlow& flow, const std::vector<sim::ByteRate>& rates) {
  sim::Wide least = INT64_MAX;
  for (std::size_t e = 0; e < rates.size(); ++e) least = std::min(least, ProgressAt(flow, e, rates[e]));
  return sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(least));
}

sim::Duration LatencyOf(const sim::CollectiveRequest& request, const Planned& plan,
                        const CollectiveTiming& timing) {
  sim::Duration inside, between;
  for (const LinkLoads& load : plan.loads) {
    inside = std::max(inside, load.latency_inside);
    between = std::max(between, load.latency_between);
  }
  const sim::Duration step_inside =
      plan.collective.steps_between == 0 ? timing.step_inside : timing.step_inside_multi_node;
  sim::Duration latency = timing.base + std::int64_t{plan.collective.steps_inside} * (step_inside + inside) +
                          std::int64_t{plan.collective.steps_between} * (timing.step_between + between);
  if (plan.nodes == 1 && timing.ramp > sim::Duration()) {
    double bytes = 0;
    for (const sim::CoupledFlow& flow : plan.collective.flows) bytes += BusBytes(request, flow);
    const double part = std::min(1.0, bytes / static_cast<double>(timing.ramp_bytes.count()));
    latency += sim::Duration::Picoseconds(
        static_cast<std::int64_t>(static_cast<double>(timing.ramp.ps()) * part + 0.5));
  }
  return latency;
}

}  // namespace

Planned PlanOn(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
               std::span<const std::uint32_t> devices) {
  Planned plan{sim::PlanCollective(request), {}, {}, {}, sim::GroupOf(request.group).nodes};
  for (const sim::CoupledFlow& flow : plan.collective.flows) {
    plan.loads.push_back(flow.all_pairs > 0 ? LoadsOfAllPairs(fabric, devices)
                                            : LoadsOf(fabric, devices, flow.edges));
    std::vector<LinkLoads>& edges = plan.edges.emplace_back();
    std::vector<bool>& crosses = plan.crosses.emplace_back();
    if (flow.path.empty()) continue;
    const std::vector<std::uint32_t>& domain = request.group.domain;
    for (const sim::EdgeLoad& edge : flow.edges) {
      edges.push_back(LoadsOf(fabric, devices, std::span(&edge, 1)));
      const bool at_switch = edge.from == sim::kNvSwitch || edge.to == sim::kNvSwitch;
      crosses.push_back(!at_switch && domain[edge.from] != domain[edge.to]);
    }
  }
  return plan;
}

Lowered WithTiming(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
                   const Planned& plan, const CollectiveTiming& timing, sim::Bytes chunk) {
  Lowered lowered{.traffic = {}, .timing = &timing, .limits = {}, .rates = {}, .fill = {}};
  const std::vector<sim::CoupledFlow>& flows = plan.collective.flows;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    lowered.limits.push_back(LimitOf(fabric, request, plan, i, timing));
  }
  const bool loops = !flows.front().path.empty();
  if (loops) lowered.rates = RatesOfEdges(fabric, flows, plan.loads, plan.edges, timing, lowered.limits);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    sim::ByteRate limit = lowered.limits[i];
    if (loops) limit = ProgressAt(flows[i], lowered.rates[i]);
    lowered.traffic.flows.push_back(FlowOf(flows[i], plan.loads[i], timing, limit));
  }
  if (loops) lowered.fill = FillOf(plan, lowered.rates, lowered, chunk);
  for (std::size_t i = 0; i < flows.size() && lowered.fill.spread > sim::Duration(); ++i) {
    sim::FlowDescription& flow = lowered.traffic.flows[i];
    const sim::Duration alone = TimeAt(flow.volume, flow.limit.milli());
    flow = WithFill(flows[i], std::move(flow), alone, lowered.fill.spread);
  }
  lowered.traffic.latency = LatencyOf(request, plan, timing) + lowered.fill.inside;
  lowered.traffic.name = sim::ToText(request.kind);
  lowered.traffic.size = request.size;
  return lowered;
}

}  // namespace scenarios
