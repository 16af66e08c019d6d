// NVLS: the NVLink switch adds up what all members of a domain hold, and copies out what one of them has.
//
// Member i owns slice i of the buffer. To reduce, it reads its slice through the switch, which reads the
// slice from all members; to share, it writes the slice once and the switch writes it to all. So of a buffer
// of S bytes a port carries, each way, S + S/n for all-reduce; S one way and S/n the other for all-gather
// and reduce-scatter. A ring carries 2(n-1)/n S: less than NVLS for two members, as much for three.
//
// Data goes in loops of a chunk a slice. The first loop must come up before anything goes down, and the
// last one goes down when nothing is left to come up: that is the fill, about a loop.
//
// Source: NCCL, src/device/all_reduce.h, all_gather.h, reduce_scatter.h (NVLS parts), src/transport/nvls.cc;
// Klenk et al., "An in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA
// 2020.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

bool Reduces(CollectiveKind kind) { return kind != CollectiveKind::kAllGather; }
bool Shares(CollectiveKind kind) { return kind != CollectiveKind::kReduceScatter; }

}  // namespace

CollectivePlan PlanNvls(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  const bool reduces = Reduces(request.kind), shares = Shares(request.kind);
  // In n-ths of the buffer.
  const std::uint32_t up = (reduces ? n : 0) + (shares ? 1 : 0);
  const std::uint32_t down = (reduces ? 1 : 0) + (shares ? n : 0);
  const std::uint32_t most = std::max(up, down);
  CoupledFlow flow{.size = request.size,
                   .numerator = most,
                   .denominator = n,
                   .weight_denominator = most,
                   .edges = {},
                   .chunks_a_loop = n};
  for (std::uint32_t member = 0; member < n; ++member) {
    flow.edges.push_back({member, kNvSwitch, up});
    flow.edges.push_back({kNvSwitch, member, down});
  }
  if (reduces) {
    flow.path.push_back({0, 1, 1});  // every member's port: all slices of the loop
    flow.path.push_back({1, 1, n});
  }
  if (shares) {
    flow.path.push_back({0, 1, n});
    flow.path.push_back({1, 1, 1});
  }
  CollectivePlan plan{.flows = {}, .steps_inside = 1};
  plan.flows.push_back(std::move(flow));
  return plan;
}

std::vector<Transfer> ExpandNvls(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  const std::uint32_t loops = LoopsOf(request.size, chunk, n);
  std::vector<Transfer> transfers;
  // Different warps reduce and share, so each has edges of its own: lanes.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> last_on_edge;
  const auto add = [&](Transfer transfer) {
    const auto [last, is_new] = last_on_edge.try_emplace({transfer.from, transfer.to, transfer.lane}, 0);
    if (!is_new) transfer.after.push_back(last->second);
    last->second = static_cast<std::uint32_t>(transfers.size());
    transfers.push_back(std::move(transfer));
    return last->second;
  };
  for (std::uint32_t loop = 0; loop < loops; ++loop) {
    const Bytes size = PartSize(request.size, loops, loop);
    for (std::uint32_t owner = 0; owner < n; ++owner) {
      const Bytes slice = PartSize(size, n, owner);
      const std::uint32_t piece = loop * n + owner;
      if (slice == Bytes(0)) continue;
      std::vector<std::uint32_t> at_owner;
      if (Reduces(request.kind)) {
        std::vector<std::uint32_t> up;
        for (std::uint32_t member = 0; member < n; ++member) {
          up.push_back(add({member, kNvSwitch, slice, {}, piece, true}));
        }
        at_owner.push_back(add({kNvSwitch, owner, slice, std::move(up), piece, false}));
      }
      if (!Shares(request.kind)) continue;
      const std::uint32_t written = add({owner, kNvSwitch, slice, std::move(at_owner), piece, false, 0, 1});
      // Its own copy comes down too: the switch writes to every member.
      for (std::uint32_t member = 0; member < n; ++member) {
        add({kNvSwitch, member, slice, {written}, piece, false, 0, 1});
      }
    }
  }
  return transfers;
}

}  // namespace sim
