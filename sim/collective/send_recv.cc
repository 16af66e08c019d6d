// Send/recv: one message over one edge; the chunks follow each other.

#include <algorithm>

#include "sim/collective/algorithms.h"

namespace sim {

CollectivePlan PlanSendRecv(const CollectiveRequest& request) {
  CollectivePlan plan;
  plan.flows.push_back({.size = request.size, .edges = {{.from = 0, .to = 1}}});
  const bool crosses = request.group.domain[0] != request.group.domain[1];
  (crosses ? plan.steps_between : plan.steps_inside) = 1;
  return plan;
}

std::vector<Transfer> ExpandSendRecv(const CollectiveRequest& request, Bytes chunk) {
  std::vector<Transfer> transfers;
  for (std::int64_t left = request.size.count(); left > 0; left -= chunk.count()) {
    const auto index = static_cast<std::uint32_t>(transfers.size());
    Transfer transfer{0, 1, std::min(Bytes(left), chunk), {}, index, false};
    if (index > 0) transfer.after.push_back(index - 1);
    transfers.push_back(std::move(transfer));
  }
  return transfers;
}

}  // namespace sim
