#include "scenarios/lowering.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scenarios/link_loads.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;

// One algorithm's plan on the links; what does not depend on the protocol.
struct Planned {
  sim::CollectivePlan collective;
  std::vector<LinkLoads> loads;  // by flow
  std::vector<std::vector<LinkLoads>>
      edges;  // by flow: each edge by itself, of what moves in loops; else empty
  std::uint32_t nodes = 1;
};

Planned PlanOn(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
               std::span<const std::uint32_t> devices) {
  Planned plan{sim::PlanCollective(request), {}, {}, sim::GroupOf(request.group).nodes};
  for (const sim::CoupledFlow& flow : plan.collective.flows) {
    plan.loads.push_back(LoadsOf(fabric, devices, flow.edges));
    std::vector<LinkLoads>& edges = plan.edges.emplace_back();
    if (flow.path.empty()) continue;
    for (const sim::EdgeLoad& edge : flow.edges) {
      edges.push_back(LoadsOf(fabric, devices, std::span(&edge, 1)));
    }
  }
  return plan;
}

// What a device counts as the bytes of a flow: those of bus bandwidth, and where parts are of
// different sizes what the busiest member sends.
double BusBytes(const sim::CollectiveRequest& request, const sim::CoupledFlow& flow) {
  const bool uniform =
      request.uneven == sim::Uneven::kNo && request.kind != sim::CollectiveKind::kAllToAllByNode;
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

// The fastest progress of a flow that the device allows; zero = as fast as the links.
sim::ByteRate LimitOf(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
                      const Planned& plan, std::size_t i, const CollectiveTiming& timing) {
  const sim::CoupledFlow& flow = plan.collective.flows[i];
  const sim::ByteRate most = plan.nodes == 1   ? timing.limit_inside
                             : plan.nodes == 2 ? timing.limit_two_nodes
                                               : timing.limit_more_nodes;
  const sim::ByteRate copy = plan.nodes == 1 ? OwnCopyOf(request.kind, timing) : sim::ByteRate();
  if (most == sim::ByteRate() && copy == sim::ByteRate()) return {};
  // All flows share the device's rate in proportion to their bytes.
  const double all = static_cast<double>(request.size.count()) / static_cast<double>(flow.size.count());
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

// One way's traffic, and the parts that the chunk expansion needs too.
struct Lowered {
  sim::TrafficDescription traffic;
  const CollectiveTiming* timing = nullptr;  // null: nothing to send
  std::vector<sim::ByteRate> limits;         // by flow; zero = none
  EdgeRates rates;                           // by flow and edge; empty where nothing moves in loops
  sim::Duration fill;                        // what of the latency is fill
};

// A flow is filled when one loop has gone its longest way, but for the time that its slowest edge
// needs for a loop anyway. Of several flows the last one to end counts.
sim::Duration FillTime(const Planned& plan, const EdgeRates& rates, const Lowered& lowered,
                       sim::Bytes chunk) {
  sim::Duration last, slowest;
  for (std::size_t i = 0; i < plan.collective.flows.size(); ++i) {
    const sim::CoupledFlow& flow = plan.collective.flows[i];
    const std::uint32_t loops = sim::LoopsOf(flow.size, chunk, flow.chunks_a_loop);
    sim::Duration way;
    for (const sim::PathStep& step : flow.path) {
      const sim::Volume part =
          sim::Volume::OfFraction(flow.size, step.numerator, std::int64_t{loops} * step.denominator);
      way += TimeAt(part, rates[i][step.edge].milli());
    }
    const sim::Wide rate = lowered.traffic.flows[i].limit.milli();
    const sim::Duration whole = TimeAt(lowered.traffic.flows[i].volume, rate);
    const sim::Duration a_loop = TimeAt(
        sim::Volume::OfFraction(flow.size, flow.numerator, flow.denominator * std::int64_t{loops}), rate);
    last = std::max(last, way - a_loop + whole);
    slowest = std::max(slowest, whole);
  }
  return std::max(last - slowest, sim::Duration());
}

// The fastest progress of a flow whose edges are as fast as `rates`.
sim::ByteRate ProgressAt(const sim::CoupledFlow& flow, const std::vector<sim::ByteRate>& rates) {
  sim::Wide least = INT64_MAX;
  for (std::size_t e = 0; e < rates.size(); ++e) {
    if (flow.edges[e].weight == 0) continue;
    least = std::min(least, sim::Wide{rates[e].milli()} * flow.weight_denominator / flow.edges[e].weight);
  }
  return sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(std::max<sim::Wide>(least, 1)));
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
  if (loops) lowered.fill = FillTime(plan, lowered.rates, lowered, chunk);
  lowered.traffic.latency = LatencyOf(request, plan, timing) + lowered.fill;
  lowered.traffic.name = sim::ToText(request.kind);
  lowered.traffic.size = request.size;
  return lowered;
}

// One way, and its traffic.
struct Candidate {
  CollectiveWay way;
  Lowered lowered;
};

// Plans of a request by algorithm, made once each.
class Planner {
 public:
  Planner(const topologies::Fabric& fabric, const CollectiveCosts& costs, sim::CollectiveRequest request,
          std::span<const std::uint32_t> devices, sim::Bytes chunk)
      : fabric_(fabric), costs_(costs), request_(std::move(request)), devices_(devices), chunk_(chunk) {
    request_.group = CommunicatorOf(fabric, devices);
    group_ = sim::GroupOf(request_.group);
    if (costs.nccl != nullptr) {
      setup_ = *costs.nccl;
      setup_->nvswitch = setup_->nvswitch && HasNvSwitch();
    }
  }

  const sim::CollectiveRequest& request() const { return request_; }
  bool Sends() const { return group_.ranks > 1 && request_.size.count() > 0; }

  // The one that is taken.
  Candidate Take() {
    if (setup_ && sim::FunctionOf(request_.kind) && !request_.algorithm) {
      std::vector<sim::NcclPrediction> predictions = Predictions();
      std::stable_sort(predictions.begin(), predictions.end(),
                       [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
      for (const sim::NcclPrediction& prediction : predictions) {
        const CollectiveTiming* timing = TimingOf(prediction.algorithm, prediction.protocol);
        if (timing != nullptr) return Lower(*timing, prediction.time_us);
      }
    }
    std::optional<Candidate> best;
    for (const CollectiveTiming* timing : TimingsToTry()) {
      Candidate candidate = Lower(*timing, std::nullopt);
      if (!best || candidate.way.idle < best->way.idle) best = std::move(candidate);
    }
    CHECK(best.has_value());
    return *std::move(best);
  }

  std::vector<CollectiveWay> All() {
    std::vector<sim::NcclPrediction> predictions;
    if (setup_ && sim::FunctionOf(request_.kind)) predictions = Predictions();
    const CollectiveWay taken = Take().way;
    std::vector<CollectiveWay> ways;
    for (const CollectiveTiming& timing : costs_.timing) {
      if (!CanUse(timing)) continue;
      std::optional<double> us;
      for (const sim::NcclPrediction& prediction : predictions) {
        if (prediction.algorithm == timing.algorithm && prediction.protocol == timing.protocol)
          us = prediction.time_us;
      }
      if (!predictions.empty() && !us) continue;  // NCCL would not do it
      ways.push_back(Lower(timing, us).way);
      ways.back().taken = taken.algorithm == ways.back().algorithm && taken.protocol == ways.back().protocol;
    }
    return ways;
  }

 private:
  bool HasNvSwitch() const {
    return std::all_of(devices_.begin(), devices_.end(),
                       [&](std::uint32_t device) { return fabric_.router->ToNvSwitch(device).has_value(); });
  }

  std::vector<sim::NcclPrediction> Predictions() const {
    return sim::PredictAll(*setup_, group_, request_.kind, request_.size);
  }

  // Sends and receives have figures of their own, or the ring's.
  bool CanUse(const CollectiveTiming& timing) const {
    if (sim::FunctionOf(request_.kind)) {
      if (request_.algorithm && *request_.algorithm != timing.algorithm) return false;
      const bool switched =
          timing.algorithm == sim::Algorithm::kNvls || timing.algorithm == sim::Algorithm::kNvlsTree;
      return sim::Serves(timing.algorithm, request_.kind, request_.group) && (!switched || HasNvSwitch());
    }
    const bool has_own = std::any_of(costs_.timing.begin(), costs_.timing.end(), [](const auto& other) {
      return other.algorithm == sim::Algorithm::kPointToPoint;
    });
    return timing.algorithm == (has_own ? sim::Algorithm::kPointToPoint : sim::Algorithm::kRing);
  }

  const CollectiveTiming* TimingOf(sim::Algorithm algorithm, sim::Protocol protocol) const {
    for (const CollectiveTiming& timing : costs_.timing) {
      if (timing.algorithm == algorithm && timing.protocol == protocol && CanUse(timing)) return &timing;
    }
    return nullptr;
  }

  std::vector<const CollectiveTiming*> TimingsToTry() const {
    std::vector<const CollectiveTiming*> timings;
    for (const CollectiveTiming& timing : costs_.timing) {
      if (CanUse(timing)) timings.push_back(&timing);
    }
    // NCCL takes LL for small messages, whatever is faster.
    const bool own = !timings.empty() && timings.front()->algorithm == sim::Algorithm::kPointToPoint;
    if (!setup_ || !own || sim::FunctionOf(request_.kind)) return timings;
    const bool one =
        request_.kind == sim::CollectiveKind::kSendRecv || request_.kind == sim::CollectiveKind::kRingShift;
    const sim::Bytes to_a_peer(request_.size.count() / (one ? 1 : group_.ranks));
    const sim::Protocol protocol = sim::PointToPointProtocol(*setup_, to_a_peer);
    for (const CollectiveTiming* timing : timings) {
      if (timing->protocol == protocol) return {timing};
    }
    return timings;
  }

  Candidate Lower(const CollectiveTiming& timing, std::optional<double> nccl_us) {
    sim::CollectiveRequest request = request_;
    // Without a choice it is the kind's own algorithm, also where the ring's figures stand in for it.
    if (sim::FunctionOf(request.kind)) request.algorithm = timing.algorithm;
    auto plan = plans_.find(timing.algorithm);
    if (plan == plans_.end()) {
      plan = plans_.emplace(timing.algorithm, PlanOn(fabric_, request, devices_)).first;
    }
    Candidate candidate{{.algorithm = request.algorithm.value_or(sim::Algorithm::kPointToPoint),
                         .protocol = timing.protocol,
                         .nccl_us = nccl_us,
                         .taken = true},
                        WithTiming(fabric_, request, plan->second, timing, chunk_)};
    candidate.way.idle = IdleTime(fabric_, candidate.lowered.traffic);
    if (setup_ && sim::FunctionOf(request.kind)) {
      candidate.way.channels =
          sim::ChannelsUsed(*setup_, group_, timing.algorithm, timing.protocol, request.size);
    }
    return candidate;
  }

  const topologies::Fabric& fabric_;
  const CollectiveCosts& costs_;
  sim::CollectiveRequest request_;
  std::span<const std::uint32_t> devices_;
  sim::Bytes chunk_;
  sim::NcclGroup group_;
  std::optional<sim::NcclSetup> setup_;
  std::map<sim::Algorithm, Planned> plans_;
};

}  // namespace

sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices) {
  sim::Communicator group;
  for (const std::uint32_t device : devices) {
    CHECK(device < fabric.domain.size());
    group.domain.push_back(fabric.domain[device]);
    group.rail.push_back(fabric.rail[device]);
  }
  return group;
}

sim::Duration IdleTime(const topologies::Fabric& fabric, const sim::TrafficDescription& traffic) {
  sim::Duration flows;
  std::map<sim::LinkId, sim::Duration> busy;  // all flows together
  for (const sim::FlowDescription& flow : traffic.flows) {
    flows = std::max(flows, IdleTimeOfFlow(fabric, flow));
    if (traffic.flows.size() == 1) break;
    for (const sim::Use& use : flow.uses) {
      const sim::Wide rate =
          sim::Wide{fabric.links[use.link.pos()].capacity.milli()} * flow.weight_denominator / use.weight;
      // Two of the longest that TimeAt gives are still a Duration.
      busy[use.link] =
          std::min(busy[use.link] + TimeAt(flow.volume, rate), sim::Duration::Picoseconds(INT64_MAX / 4));
    }
  }
  for (const auto& [link, time] : busy) flows = std::max(flows, time);
  return traffic.latency + flows;
}

std::vector<CollectiveWay> WaysOf(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                  sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                                  sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  return planner.Sends() ? planner.All() : std::vector<CollectiveWay>();
}

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerCollective(fabric, costs, {.kind = kind, .size = size}, devices, chunk);
}

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveRequest request,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  if (planner.Sends()) return planner.Take().lowered.traffic;
  return {.name = sim::ToText(planner.request().kind), .size = planner.request().size};
}

ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                               sim::CollectiveKind kind, sim::Bytes size,
                               std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerIntoChunks(fabric, costs, {.kind = kind, .size = size}, devices, chunk);
}

ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                               sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                               sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  ChunkedTraffic chunked;
  chunked.rendezvous = {.name = sim::ToText(planner.request().kind), .size = planner.request().size};
  if (!planner.Sends()) return chunked;
  const Candidate taken = planner.Take();
  const Lowered& whole = taken.lowered;
  chunked.rendezvous.latency = whole.traffic.latency - whole.fill;  // the transfers fill by themselves
  sim::CollectiveRequest same = planner.request();
  if (sim::FunctionOf(same.kind)) same.algorithm = taken.way.algorithm;

  using Edge = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Edge, LinkLoads> loads_of;
  std::vector<std::map<Edge, std::size_t>> edge_of;  // by channel
  for (const sim::CoupledFlow& flow : sim::PlanCollective(same).flows) {
    std::map<Edge, std::size_t>& edges = edge_of.emplace_back();
    for (std::size_t i = 0; i < flow.edges.size(); ++i) {
      edges.emplace(Edge{flow.edges[i].from, flow.edges[i].to}, i);
    }
  }
  for (sim::Transfer& transfer : sim::ExpandIntoChunks(same, chunk)) {
    const auto [loads, is_new] = loads_of.try_emplace({transfer.from, transfer.to});
    const sim::EdgeLoad edge{transfer.from, transfer.to, 1};
    if (is_new) loads->second = LoadsOf(fabric, devices, std::span(&edge, 1));
    sim::TrafficDescription traffic{.name = "chunk", .size = transfer.size};
    const std::uint32_t channel = transfer.channel;
    const sim::ByteRate limit = whole.rates.empty()
                                    ? whole.limits.front()
                                    : whole.rates[channel][edge_of[channel].at({transfer.from, transfer.to})];
    traffic.flows.push_back(FlowOf({.size = transfer.size}, loads->second, *whole.timing, limit));
    chunked.transfers.push_back({std::move(traffic), transfer.from, transfer.to, 2 * channel + transfer.lane,
                                 std::move(transfer.after)});
  }
  return chunked;
}

}  // namespace scenarios
