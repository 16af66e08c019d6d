// Ring shift: every member sends its message to the next one of the group, the
// last to the first, all at once, as ring attention passes keys and values on.
//
// Source: Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers
// for near-infinite context", 2023, section 3.

#include <algorithm>

#include "sim/collective/algorithms.h"

namespace sim {

CollectivePlan PlanRingShift(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  CollectivePlan plan;
  CoupledFlow flow{.size = request.size, .edges = {}};
  bool crosses = false;
  for (std::uint32_t at = 0; at < n; ++at) {
    const std::uint32_t next = (at + 1) % n;
    flow.edges.push_back({at, next});
    crosses = crosses || request.group.domain[at] != request.group.domain[next];
  }
  plan.flows.push_back(std::move(flow));
  // All edges start together, so the longest step counts.
  (crosses ? plan.steps_between : plan.steps_inside) = 1;
  return plan;
}

std::vector<Transfer> ExpandRingShift(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  std::vector<Transfer> transfers;
  for (std::int64_t left = request.size.count(); left > 0; left -= chunk.count()) {
    for (std::uint32_t at = 0; at < n; ++at) {
      const auto index = static_cast<std::uint32_t>(transfers.size());
      Transfer transfer{at, (at + 1) % n, std::min(Bytes(left), chunk), {}, index, false};
      if (index >= n) transfer.after.push_back(index - n);  // the chunk before on this edge
      transfers.push_back(std::move(transfer));
    }
  }
  return transfers;
}

}  // namespace sim
