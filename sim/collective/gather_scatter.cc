// Gather and scatter: every member sends its part to the root, member 0, or gets it from there; all at
// once, as NCCL does it with sends and receives. The root's port carries all parts
// but its own, so it decides; the flow counts what one peer sends, one connection.

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

EdgeLoad EdgeOf(const CollectiveRequest& request, std::uint32_t peer) {
  return request.kind == CollectiveKind::kGather ? EdgeLoad{peer, 0} : EdgeLoad{0, peer};
}

}  // namespace

CollectivePlan PlanGatherScatter(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  CoupledFlow flow{.size = request.size, .numerator = 1, .denominator = n, .edges = {}};
  CollectivePlan plan;
  for (std::uint32_t peer = 1; peer < n; ++peer) {
    flow.edges.push_back(EdgeOf(request, peer));
    const bool crosses = request.group.domain[peer] != request.group.domain[0];
    (crosses ? plan.steps_between : plan.steps_inside) = 1;
  }
  if (plan.steps_between > 0) plan.steps_inside = 0;  // all start together, so the longest step counts
  plan.flows.push_back(std::move(flow));
  return plan;
}

std::vector<Transfer> ExpandGatherScatter(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  std::vector<Transfer> transfers;
  for (std::uint32_t peer = 1; peer < n; ++peer) {
    const EdgeLoad edge = EdgeOf(request, peer);
    // Spare bytes go to the peers: the root keeps the smallest part itself.
    const Bytes message = PartSize(request.size, n, peer - 1);
    for (std::int64_t left = message.count(); left > 0; left -= chunk.count()) {
      const auto index = static_cast<std::uint32_t>(transfers.size());
      Transfer transfer{edge.from, edge.to, std::min(Bytes(left), chunk), {}, index, false};
      if (left < message.count()) transfer.after.push_back(index - 1);
      transfers.push_back(std::move(transfer));
    }
  }
  return transfers;
}

}  // namespace sim
