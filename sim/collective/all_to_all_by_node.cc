// All-to-all by node, as DeepEP dispatches and combines: what a member sends to
// another domain crosses on its own rail, once for all members there that want it,
// and is passed on inside the domain by the one that got it. On the way back the
// members of a domain add up first.
//
// Both kinds of links work at once, row after row, so this is two coupled flows
// side by side: `inside` bytes a member over the edges of its domain, the rest over
// the edges to the same place of each other domain. Every member sends as much.
// How many bytes that are follows from how many nodes and ranks a token visits,
// which the caller knows.
//
// The chunk expansion starts all pairs at once; it does not make what is passed on
// wait for what came in. Leaves out: DeepEP's own channels and buffers.
//
// Source: DeepSeek-AI, "DeepSeek-V3", 2024, section 3.2.2; DeepEP, csrc/kernels/internode.cu.

#include <algorithm>
#include <vector>

#include "sim/base/check.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

struct Edges {
  std::vector<EdgeLoad> inside, between;
};

// By sender, so that the edges of one are next to each other.
Edges EdgesOf(const Communicator& group) {
  std::vector<std::uint32_t> domains = group.domain;
  std::sort(domains.begin(), domains.end());
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  std::vector<std::vector<std::uint32_t>> members(domains.size());
  std::vector<std::size_t> home, place;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    const auto at = std::lower_bound(domains.begin(), domains.end(), group.domain[i]) - domains.begin();
    home.push_back(static_cast<std::size_t>(at));
    place.push_back(members[home.back()].size());
    members[home.back()].push_back(i);
  }
  Edges edges;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    for (std::size_t d = 0; d < domains.size(); ++d) {
      if (d == home[i]) {
        for (const std::uint32_t other : members[d]) {
          if (other != i) edges.inside.push_back({i, other});
        }
      } else {
        edges.between.push_back({i, members[d][place[i] % members[d].size()]});
      }
    }
  }
  return edges;
}

// Edges of the member that has most of them.
std::uint32_t MostOf(const std::vector<EdgeLoad>& edges, std::uint32_t members) {
  std::vector<std::uint32_t> count(members, 0);
  for (const EdgeLoad& edge : edges) ++count[edge.from];
  return *std::max_element(count.begin(), count.end());
}

}  // namespace

CollectivePlan PlanAllToAllByNode(const CollectiveRequest& request) {
  CHECK(request.inside <= request.size);
  Edges edges = EdgesOf(request.group);
  CollectivePlan plan;
  const auto add = [&](std::vector<EdgeLoad>* of, Bytes size, std::uint32_t* steps) {
    if (of->empty() || size == Bytes()) return;
    plan.flows.push_back(
        {.size = size, .denominator = MostOf(*of, request.group.size()), .edges = std::move(*of)});
    *steps = 1;
  };
  add(&edges.between, request.size - request.inside, &plan.steps_between);
  add(&edges.inside, request.inside, &plan.steps_inside);
  return plan;
}

std::vector<Transfer> ExpandAllToAllByNode(const CollectiveRequest& request, Bytes chunk) {
  const Edges edges = EdgesOf(request.group);
  std::vector<Transfer> transfers;
  const auto add = [&](const std::vector<EdgeLoad>& of, Bytes size) {
    if (of.empty()) return;
    const std::uint32_t most = MostOf(of, request.group.size());
    std::uint32_t part = 0;  // of the sender
    for (std::size_t e = 0; e < of.size(); ++e) {
      part = e > 0 && of[e].from == of[e - 1].from ? part + 1 : 0;
      const Bytes message = PartSize(size, most, part);
      for (std::int64_t left = message.count(); left > 0; left -= chunk.count()) {
        const auto index = static_cast<std::uint32_t>(transfers.size());
        Transfer transfer{of[e].from, of[e].to, std::min(Bytes(left), chunk), {}, index, false};
        if (left < message.count()) transfer.after.push_back(index - 1);
        transfers.push_back(std::move(transfer));
      }
    }
  };
  add(edges.between, request.size - request.inside);
  add(edges.inside, request.inside);
  return transfers;
}

}  // namespace sim
