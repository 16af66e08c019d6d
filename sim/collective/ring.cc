// Ring algorithms. In a ring of n every member sends the least that any
// algorithm can: 2(n-1)/n of the buffer for all-reduce, (n-1)/n for all-gather
// and reduce-scatter; all edges work from the first step to the last.
//
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
// clusters of workstations", JPDC 69(2), 2009; NCCL, src/device/all_reduce.h,
// all_gather.h, reduce_scatter.h, broadcast.h and reduce.h (ring parts); steps as in its
// src/graph/tuning.cc.

#include <algorithm>
#include <optional>

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"
#include "sim/collective/ring_order.h"

namespace sim {
namespace {

using Ring = std::vector<std::uint32_t>;

// Broadcast cuts the ring open before the root, which is member 0, and reduce behind it.
Ring ChainOf(CollectiveKind kind, Ring ring) {
  const auto root = std::find(ring.begin(), ring.end(), 0u);
  std::rotate(ring.begin(), kind == CollectiveKind::kReduce ? root + 1 : root, ring.end());
  return ring;
}

bool IsChain(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

// Edges of the chain that cross from one domain into another.
std::uint32_t CrossingsOf(const Ring& chain, const Communicator& group) {
  std::uint32_t crossings = 0;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (group.domain[chain[i - 1]] != group.domain[chain[i]]) ++crossings;
  }
  return crossings;
}

// One flow a channel; channels that get no byte of a tiny message do not run.
CollectivePlan PlanChains(const CollectiveRequest& request) {
  const RingOrder order = OrderRings(request.group);
  const auto channels = static_cast<std::uint32_t>(order.rings.size());
  CollectivePlan plan;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Ring chain = ChainOf(request.kind, order.rings[channel]);
    CoupledFlow flow{.size = PartSize(request.size, channels, channel), .edges = {}};
    if (flow.size == Bytes(0)) break;
    for (std::uint32_t i = 1; i < chain.size(); ++i) {
      flow.edges.push_back({chain[i - 1], chain[i]});
      flow.path.push_back({i - 1, i - 1, i});
    }
    plan.flows.push_back(std::move(flow));
    // The slowest channel's: the root enters its own domain on one of them only.
    plan.steps_between = std::max(plan.steps_between, CrossingsOf(chain, request.group));
  }
  plan.steps_inside = request.group.size() - 1 - plan.steps_between;
  return plan;
}

// Which part of a loop the member at ring position `at` sends in a step, and
// whether its receiver adds it up. In each step a part moves on by one edge.
struct Move {
  std::uint32_t part;
  bool reduces;
};

std::uint32_t StepsOf(CollectiveKind kind, std::uint32_t n) {
  return kind == CollectiveKind::kAllReduce ? 2 * (n - 1) : n - 1;
}

Move MoveAt(CollectiveKind kind, std::uint32_t n, std::uint32_t at, std::uint32_t step) {
  // Reduce-scatter ends with part i on position i, so it starts one further on.
  const std::uint32_t first = kind == CollectiveKind::kReduceScatter ? at + n - 1 : at;
  const bool reduces =
      kind == CollectiveKind::kReduceScatter || (kind == CollectiveKind::kAllReduce && step < n - 1);
  return {(first + 2 * n - step) % n, reduces};
}

// Appends what one channel sends of `size` bytes: loops of n parts of one chunk
// each; the last loop has smaller parts.
void ExpandChannel(CollectiveKind kind, const Ring& ring, Bytes size, Bytes chunk, std::uint32_t channel,
                   std::uint32_t& next_piece, std::vector<Transfer>& transfers) {
  const auto n = static_cast<std::uint32_t>(ring.size());
  std::vector<std::optional<std::uint32_t>> last_on_edge(n);  // by the sender's position
  for (std::int64_t left = size.count(); left > 0;) {
    const Bytes loop(static_cast<std::int64_t>(std::min<Wide>(left, static_cast<Wide>(n) * chunk.count())));
    std::vector<std::optional<std::uint32_t>> brought(n);  // by part: the transfer that moved it last
    for (std::uint32_t step = 0; step < StepsOf(kind, n); ++step) {
      for (std::uint32_t at = 0; at < n; ++at) {
        const Move move = MoveAt(kind, n, at, step);
        const Bytes part = PartSize(loop, n, move.part);
        if (part == Bytes(0)) continue;
        Transfer transfer{ring[at], ring[(at + 1) % n], part, {}, next_piece + move.part, move.reduces,
                          channel};
        if (brought[move.part]) transfer.after.push_back(*brought[move.part]);
        if (last_on_edge[at]) transfer.after.push_back(*last_on_edge[at]);
        brought[move.part] = last_on_edge[at] = static_cast<std::uint32_t>(transfers.size());
        transfers.push_back(std::move(transfer));
      }
    }
    next_piece += n;
    left -= loop.count();
  }
}

// Appends a chain's chunks, each passed on as soon as it is whole. NCCL sends
// whole chunks and a smaller last one, which would end the chain earlier, or not,
// depending on where its slowest edge is.
void ExpandChain(const Ring& chain, bool reduces, Bytes size, Bytes chunk, std::uint32_t channel,
                 std::uint32_t& next_piece, std::vector<Transfer>& transfers) {
  std::vector<std::optional<std::uint32_t>> last_on_edge(chain.size() - 1);
  const std::uint32_t chunks = LoopsOf(size, chunk);
  for (std::uint32_t c = 0; c < chunks; ++c) {
    std::optional<std::uint32_t> brought;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      Transfer transfer{chain[i], chain[i + 1], PartSize(size, chunks, c), {}, next_piece, reduces, channel};
      if (brought) transfer.after.push_back(*brought);
      if (last_on_edge[i]) transfer.after.push_back(*last_on_edge[i]);
      brought = last_on_edge[i] = static_cast<std::uint32_t>(transfers.size());
      transfers.push_back(std::move(transfer));
    }
    ++next_piece;
  }
}

}  // namespace

CollectivePlan PlanRing(const CollectiveRequest& request) {
  if (IsChain(request.kind)) return PlanChains(request);
  const RingOrder order = OrderRings(request.group);
  const auto channels = static_cast<std::uint32_t>(order.rings.size());
  const std::uint32_t n = request.group.size();
  const Fraction of_size = BusBandwidthFactor(request.kind, n);

  CollectivePlan plan;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Ring& ring = order.rings[channel];
    CoupledFlow flow{.size = PartSize(request.size, channels, channel),
                     .numerator = of_size.numerator,
                     .denominator = of_size.denominator,
                     .edges = {}};
    if (flow.size == Bytes(0)) break;
    for (std::uint32_t at = 0; at < n; ++at) flow.edges.push_back({ring[at], ring[(at + 1) % n]});
    plan.flows.push_back(std::move(flow));
  }
  // Each trip round the ring crosses from domain to domain, but once less, as
  // the last part need not come home.
  const std::uint32_t trips = request.kind == CollectiveKind::kAllReduce ? 2 : 1;
  plan.steps_between = trips * (order.domains - 1);
  plan.steps_inside = StepsOf(request.kind, n) - plan.steps_between;
  return plan;
}

std::vector<Transfer> ExpandRing(const CollectiveRequest& request, Bytes chunk) {
  const RingOrder order = OrderRings(request.group);
  const auto channels = static_cast<std::uint32_t>(order.rings.size());
  std::vector<Transfer> transfers;
  std::uint32_t next_piece = 0;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const Ring& ring = order.rings[channel];
    const Bytes size = PartSize(request.size, channels, channel);
    if (IsChain(request.kind)) {
      if (size == Bytes(0)) break;
      ExpandChain(ChainOf(request.kind, ring), request.kind == CollectiveKind::kReduce, size, chunk, channel,
                  next_piece, transfers);
    } else {
      ExpandChannel(request.kind, ring, size, chunk, channel, next_piece, transfers);
    }
  }
  return transfers;
}

}  // namespace sim
