#include "scenarios/lowering.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "scenarios/link_loads.h"
#include "scenarios/lowered_way.h"
#include "sim/collective/nccl_chunk.h"
#include "topologies/ring_search.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;

// Each member's place in the best ring of its domain; empty where that is the order of rails in each.
std::vector<std::uint32_t> PlacesInRings(const topologies::Fabric& fabric, const sim::Communicator& group,
                                         std::span<const std::uint32_t> devices) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> members;  // by domain
  for (std::uint32_t i = 0; i < group.size(); ++i) members[group.domain[i]].push_back(i);
  std::vector<std::uint32_t> place(group.size());
  bool better = false;
  for (auto& [domain, list] : members) {
    std::stable_sort(list.begin(), list.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return group.rail[a] < group.rail[b]; });
    std::vector<std::uint32_t> by_rail;
    for (const std::uint32_t member : list) by_rail.push_back(devices[member]);
    const std::vector<std::uint32_t> ring = topologies::BestRing(fabric, by_rail);
    better = better || ring != by_rail;
    for (const std::uint32_t member : list) {
      place[member] =
          static_cast<std::uint32_t>(std::find(ring.begin(), ring.end(), devices[member]) - ring.begin());
    }
  }
  return better ? place : std::vector<std::uint32_t>();
}

// One way, and its traffic.
struct Candidate {
  CollectiveWay way;
  Lowered lowered;
  sim::Bytes chunk = kNcclChunk;  // of its loops
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
      // NCCL would not do it.
      if (!predictions.empty() && !us && !sim::IsCustom(timing.algorithm)) continue;
      ways.push_back(Lower(timing, us).way);
      ways.back().taken = taken.algorithm == ways.back().algorithm && taken.protocol == ways.back().protocol;
    }
    return ways;
  }

 private:
  bool ByDimension() const { return request_.algorithm == sim::Algorithm::kByDimension; }

  // Asked for every way, and a route for each member.
  bool HasNvSwitch() const {
    if (!has_nvswitch_) {
      has_nvswitch_ = std::all_of(devices_.begin(), devices_.end(), [&](std::uint32_t device) {
        return fabric_.router->ToNvSwitch(device).has_value();
      });
    }
    return *has_nvswitch_;
  }

  std::vector<sim::NcclPrediction> Predictions() const {
    return sim::PredictAll(*setup_, group_, request_.kind, request_.size);
  }

  // Sends and receives have figures of their own, or the ring's.
  bool CanUse(const CollectiveTiming& timing) const {
    if (ByDimension()) return timing.algorithm == sim::Algorithm::kRing;  // whose figures stand in for it
    if (sim::FunctionOf(request_.kind)) {
      if (request_.algorithm && *request_.algorithm != timing.algorithm) return false;
      if (sim::IsCustom(timing.algorithm) && !request_.algorithm) return false;  // nobody's choice
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
    static const CollectiveTiming kFree;  // of a device without figures: bytes on the wires and nothing else
    if (costs_.timing.empty()) return {&kFree};
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
    if (sim::FunctionOf(request.kind) && !ByDimension()) request.algorithm = timing.algorithm;
    auto plan = plans_.find(timing.algorithm);
    if (plan == plans_.end()) {
      plan = plans_.emplace(timing.algorithm, PlanOn(fabric_, request, devices_)).first;
    }
    const int channels =
        setup_ && sim::FunctionOf(request.kind) && !ByDimension() && !sim::IsCustom(timing.algorithm)
            ? sim::ChannelsUsed(*setup_, group_, timing.algorithm, timing.protocol, request.size)
            : 0;
    const sim::Bytes of_loops =
        ChunkFor(request, plan->second, timing, UsualChannels(request, timing, channels));
    Candidate candidate{{.algorithm = request.algorithm.value_or(sim::Algorithm::kPointToPoint),
                         .protocol = timing.protocol,
                         .nccl_us = nccl_us,
                         .channels = channels,
                         .taken = true},
                        WithTiming(fabric_, request, plan->second, timing, of_loops),
                        of_loops};
    candidate.way.idle = IdleTime(fabric_, candidate.lowered.traffic);
    return candidate;
  }

  // A flow stands for several channels, which move a chunk each.
  // Limits of the environment say how many channels there are, but what fewer ones do to rates is not known
  // here; chunks that are cut for them would make it look as if it were.
  int UsualChannels(const sim::CollectiveRequest& request, const CollectiveTiming& timing,
                    int channels) const {
    if (channels == 0) return channels;
    sim::NcclSetup usual = *setup_;
    usual.environment.min_channels.reset();
    usual.environment.max_channels.reset();
    return sim::ChannelsUsed(usual, group_, timing.algorithm, timing.protocol, request.size);
  }

  sim::Bytes ChunkFor(const sim::CollectiveRequest& request, const Planned& plan,
                      const CollectiveTiming& timing, int channels) const {
    const bool tree =
        timing.algorithm == sim::Algorithm::kTree || timing.algorithm == sim::Algorithm::kNvlsTree;
    if (!setup_ || chunk_ != kNcclChunk) return chunk_;
    if (timing.algorithm == sim::Algorithm::kNvls) {
      return channels * sim::NvlsChunk(group_, request.size, channels);
    }
    if (!tree) return chunk_;
    // Of NVLSTree every channel moves a slice of each head, over one of the two trees.
    const std::size_t shares = timing.algorithm == sim::Algorithm::kTree ? plan.collective.flows.size() : 2;
    const std::int64_t channels_a_flow =
        std::max<std::int64_t>(1, channels / static_cast<std::int64_t>(shares));
    return channels_a_flow *
           sim::TreeChunk(timing.algorithm, timing.protocol, group_, request.size, channels);
  }

  const topologies::Fabric& fabric_;
  const CollectiveCosts& costs_;
  sim::CollectiveRequest request_;
  std::span<const std::uint32_t> devices_;
  sim::Bytes chunk_;
  sim::NcclGroup group_;
  std::optional<sim::NcclSetup> setup_;
  mutable std::optional<bool> has_nvswitch_;
  std::map<sim::Algorithm, Planned> plans_;
};

// What it takes of each member's device: an SM a channel, and of the memory's rate what its bytes move there
// at the rate that they have on the idle fabric.
sim::DeviceTaken TakenBy(const CollectiveCosts& costs, const sim::CollectiveRequest& request,
                         const Candidate& candidate) {
  sim::DeviceTaken taken;
  if (costs.sms > 0) taken.sms = candidate.way.channels > 0 ? candidate.way.channels : costs.sms;
  const sim::Duration moving = candidate.way.idle - candidate.lowered.traffic.latency;
  if (moving <= sim::Duration() || costs.sms == 0) return taken;
  const sim::Fraction bus = sim::BusBandwidthFactor(request.kind, request.group.size());
  const double bytes = static_cast<double>(request.size.count()) * static_cast<double>(bus.numerator) /
                       static_cast<double>(bus.denominator);
  const double part = costs.memory_of_rate * bytes / moving.seconds();
  taken.memory = static_cast<std::int32_t>(std::min(part, 1.0) * sim::kWholeMemory);
  return taken;
}

}  // namespace

sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices) {
  sim::Communicator group;
  for (const std::uint32_t device : devices) {
    CHECK(device < fabric.domain.size());
    group.domain.push_back(fabric.domain[device]);
    group.rail.push_back(fabric.rail[device]);
  }
  if (fabric.meshed) group.place = PlacesInRings(fabric, group, devices);
  return group;
}

sim::Duration IdleTime(const topologies::Fabric& fabric, const sim::TrafficDescription& traffic) {
  sim::Duration longest;
  for (const sim::FlowDescription& flow : traffic.flows) {
    longest = std::max(longest, IdleTimeOfFlow(fabric, flow));
  }
  if (traffic.flows.size() > 1) longest = std::max(longest, BusiestLink(fabric, traffic.flows));
  return traffic.latency + longest;
}

std::vector<CollectiveWay> WaysOf(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                  sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                                  sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  return planner.Sends() ? planner.All() : std::vector<CollectiveWay>();
}

std::optional<CollectiveWay> WayOf(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                   sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                                   sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  if (!planner.Sends()) return std::nullopt;
  return planner.Take().way;
}

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerCollective(fabric, costs, {.kind = kind, .size = size}, devices, chunk);
}

sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveRequest request,
                                        std::span<const std::uint32_t> devices, sim::Bytes chunk) {
  return LowerByWay(fabric, costs, std::move(request), devices, chunk).traffic;
}

WayAndTraffic LowerByWay(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                         sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                         sim::Bytes chunk) {
  Planner planner(fabric, costs, std::move(request), devices, chunk);
  if (!planner.Sends()) {
    return {std::nullopt, {.name = sim::ToText(planner.request().kind), .size = planner.request().size}};
  }
  Candidate taken = planner.Take();
  taken.lowered.traffic.taken = TakenBy(costs, planner.request(), taken);
  return {taken.way, std::move(taken.lowered.traffic), taken.lowered.fill.spread};
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
  chunked.rendezvous.latency = whole.traffic.latency - whole.fill.inside;  // the transfers fill by themselves
  chunked.rendezvous.taken = TakenBy(costs, planner.request(), taken);
  sim::CollectiveRequest same = planner.request();
  if (sim::FunctionOf(same.kind)) same.algorithm = taken.way.algorithm;

  using Edge = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // with its lane
  std::map<Edge, LinkLoads> loads_of;
  std::vector<std::map<Edge, std::size_t>> edge_of;  // by channel
  for (const sim::CoupledFlow& flow : sim::PlanCollective(same).flows) {
    std::map<Edge, std::size_t>& edges = edge_of.emplace_back();
    for (std::size_t i = 0; i < flow.edges.size(); ++i) {
      edges.emplace(Edge{flow.edges[i].from, flow.edges[i].to, flow.edges[i].lane}, i);
    }
  }
  // An edge of an all-to-all by node is of one of its flows.
  const auto limit_of = [&](Edge edge) {
    std::size_t flow = 0;
    if (same.kind == sim::CollectiveKind::kAllToAllByNode) {
      while (flow + 1 < edge_of.size() && !edge_of[flow].contains(edge)) ++flow;
    }
    return whole.limits[flow];
  };
  for (sim::Transfer& transfer : sim::ExpandIntoChunks(same, taken.chunk)) {
    const auto [loads, is_new] = loads_of.try_emplace({transfer.from, transfer.to, 0});
    const sim::EdgeLoad edge{transfer.from, transfer.to, 1};
    if (is_new) loads->second = LoadsOf(fabric, devices, std::span(&edge, 1));
    sim::TrafficDescription traffic{.name = "chunk", .size = transfer.size};
    const std::uint32_t channel = transfer.channel;
    sim::ByteRate limit = limit_of({transfer.from, transfer.to, transfer.lane});
    if (!whole.rates.empty()) {
      const std::map<Edge, std::size_t>& edges = edge_of[channel];
      limit = whole.rates[channel][edges.at({transfer.from, transfer.to, transfer.lane})];
    }
    traffic.flows.push_back(FlowOf({.size = transfer.size}, loads->second, *whole.timing, limit));
    chunked.transfers.push_back({std::move(traffic), transfer.from, transfer.to, 2 * channel + transfer.lane,
                                 std::move(transfer.after)});
  }
  return chunked;
}

}  // namespace scenarios
