// All-to-all: every member sends a part of its buffer to every other one.
//
// NCCL writes it as n-1 sends and receives a member, one a round (to the member
// k further on in round k). A single node gives every round a channel of its
// own, several nodes put 8 rounds on a channel, and channels run side by side;
// so all peers are served at once, up to 8 times the number of p2p channels
// (128 or more). That decides both forms here:
//
//  - the chunk expansion starts all pairs at once, and only the chunks of one
//    pair wait for each other;
//  - the coupled flow counts what one member sends to one peer. That is the
//    rate of one active connection, so its share is 1: where n-1 of its
//    connections and one bystander's meet on a port, each gets 1/n of it, as
//    under a NIC that takes its connections in turn.
//
// Latency is that of one step, since the rounds do not wait for each other.
//
// One coupled flow stops for the slowest of all ports, while in the expansion no
// pair waits for another. Where the slowest port is always the same, both end
// together. Where background traffic moves it from port to port, the coupled flow
// ends later, whatever the size; a flow for each sender would only halve that.
//
// Uneven parts (experts that get more tokens than others) weigh the edges; the
// busiest one is the unit of progress. So all end when the busiest port has, as in
// the expansion.
//
// Leaves out: groups so large that NCCL queues rounds. The edges are n(n-1): 4,032
// for 64 members, lowered once a group and size;
// of groups beyond 256 they are not listed (CoupledFlow::all_pairs).
//
// Source: NCCL, src/enqueue.cc, src/include/channel.h
// (ncclP2pChannelBaseForRound), src/include/device.h
// (NCCL_MAX_DEV_WORK_P2P_PER_BATCH).

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {

namespace {

// What member `from` sends to `to`, relative to other pairs.
std::uint32_t WeightOf(const CollectiveRequest& request, std::uint32_t from, std::uint32_t to) {
  switch (request.uneven) {
    case Uneven::kNo:
      return 1;
    case Uneven::kByReceiver:
      return request.parts[to];
    case Uneven::kBySender:
      return request.parts[from];
  }
  return 1;
}

// Spare bytes of even parts go to the first rounds, not to the first members: so
// every member sends and receives as much, and keeps the smallest part itself.
Bytes MessageSize(const CollectiveRequest& request, std::uint32_t round, std::uint32_t from,
                  std::uint32_t to) {
  if (request.uneven == Uneven::kNo) return PartSize(request.size, request.group.size(), round - 1);
  const std::uint32_t part = request.uneven == Uneven::kByReceiver ? to : from;
  Wide before = 0, all = 0;
  for (std::uint32_t i = 0; i < request.parts.size(); ++i) {
    if (i < part) before += request.parts[i];
    all += request.parts[i];
  }
  const Wide size = request.size.count();
  return Bytes(static_cast<std::int64_t>(size * (before + request.parts[part]) / all - size * before / all));
}

// Groups up to this size have their pairs listed.
constexpr std::uint32_t kMostListed = 256;

std::vector<EdgeLoad> ListedPairs(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  std::vector<EdgeLoad> edges;
  edges.reserve(std::size_t{n} * (n - 1));
  for (std::uint32_t round = 1; round < n; ++round) {
    std::uint32_t to = round;
    for (std::uint32_t from = 0; from < n; ++from) {
      const std::uint32_t weight = WeightOf(request, from, to);
      if (weight > 0) edges.push_back({from, to, weight});
      if (++to == n) to = 0;
    }
  }
  return edges;
}

}  // namespace

CollectivePlan PlanAllToAll(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  CoupledFlow flow{.size = request.size, .numerator = 1, .denominator = n, .edges = {}};
  if (request.uneven != Uneven::kNo) {
    flow.weight_denominator = *std::max_element(request.parts.begin(), request.parts.end());
    flow.numerator = flow.weight_denominator;
    flow.denominator = std::accumulate(request.parts.begin(), request.parts.end(), std::int64_t{0});
    CHECK(flow.numerator > 0);
  }
  if (request.uneven == Uneven::kNo && n > kMostListed) {
    flow.all_pairs = n;
  } else {
    flow.edges = ListedPairs(request);
  }
  CollectivePlan plan;
  if (flow.edges.empty() && flow.all_pairs == 0) return plan;
  plan.flows.push_back(std::move(flow));
  const auto& domain = request.group.domain;
  const bool crosses = std::any_of(domain.begin(), domain.end(), [&](auto d) { return d != domain[0]; });
  (crosses ? plan.steps_between : plan.steps_inside) = 1;
  return plan;
}

std::vector<Transfer> ExpandAllToAll(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  std::vector<Transfer> transfers;
  for (std::uint32_t round = 1; round < n; ++round) {
    for (std::uint32_t from = 0; from < n; ++from) {
      const std::uint32_t to = (from + round) % n;
      const Bytes message = MessageSize(request, round, from, to);
      for (std::int64_t left = message.count(); left > 0; left -= chunk.count()) {
        const auto index = static_cast<std::uint32_t>(transfers.size());
        Transfer transfer{from, to, std::min(Bytes(left), chunk), {}, index, false};
        if (left < message.count()) transfer.after.push_back(index - 1);
        transfers.push_back(std::move(transfer));
      }
    }
  }
  return transfers;
}

}  // namespace sim
