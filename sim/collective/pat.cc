// PAT, parallel aggregated trees: all-gather and reduce-scatter in log2(n) steps, for one rank a node.
//
// Each member's part goes out over a binomial tree of its own: to the member half way round first, then a
// quarter, and so on, until neighbours pass on half of all parts in the last step. All members do so at once,
// so every port sends n-1 parts, as in a ring. Reduce-scatter is the same backwards.
//
// Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025;
// NCCL, src/include/collectives.h.

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

// Of a receiver's buffer, a part each. Source: NCCL, src/include/device.h (NCCL_STEPS).
constexpr std::uint32_t kSlots = 8;

std::uint32_t StepsOf(std::uint32_t n) { return static_cast<std::uint32_t>(std::bit_width(n - 1)); }

// How many parts cross the distance 2^step: those whose last hop it is.
std::uint32_t PartsOver(std::uint32_t step, std::uint32_t n) {
  return (n - 1 - (1u << step)) / (2u << step) + 1;
}

// How far from their owners the parts are that cross a distance, in the order in which they do, which is the
// same for all members: what was gathered first, and what is wanted first to be scattered.
std::vector<std::uint32_t> OrderOf(std::uint32_t distance, std::uint32_t n, bool gathers) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t away = 0; away + distance < n; away += 2 * distance) order.push_back(away);
  const auto soon = [](std::uint32_t away) { return away == 0 ? 32 : std::countr_zero(away); };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return gathers ? soon(a) > soon(b) : soon(a) < soon(b);
  });
  return order;
}

}  // namespace

CollectivePlan PlanPat(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  // Progress is a byte between neighbours, who have most parts to pass on and so are busy at all times; on a
  // port the others are connections beside it, for as long as they have something to send.
  CoupledFlow flow{.size = request.size,
                   .numerator = PartsOver(0, n),
                   .denominator = n,
                   .weight_denominator = PartsOver(0, n),
                   .edges = {},
                   .chunks_a_loop = n};
  for (std::uint32_t step = 0; step < StepsOf(n); ++step) {
    const std::uint32_t distance = 1u << step;
    for (std::uint32_t member = 0; member < n; ++member) {
      const std::uint32_t other = (member + distance) % n;
      const bool gathers = request.kind == CollectiveKind::kAllGather;
      flow.edges.push_back({gathers ? member : other, gathers ? other : member, PartsOver(step, n)});
    }
  }
  CollectivePlan plan{.flows = {}, .steps_between = StepsOf(n)};
  plan.flows.push_back(std::move(flow));
  return plan;
}

std::vector<Transfer> ExpandPat(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  const std::uint32_t loops = LoopsOf(request.size, chunk, n);
  const bool gathers = request.kind == CollectiveKind::kAllGather;
  std::vector<Transfer> transfers;
  std::vector<std::vector<std::uint32_t>> passed_on;  // by transfer: which ones took what it brought
  // By the part's nearer end and step: what went over the edge.
  std::vector<std::vector<std::uint32_t>> sent(std::size_t{n} * StepsOf(n));
  for (std::uint32_t loop = 0; loop < loops; ++loop) {
    const Bytes size = PartSize(request.size, loops, loop);
    // By member and part: what brought it there, all that was added there.
    std::vector<std::vector<std::uint32_t>> arrived(std::size_t{n} * n);
    for (std::uint32_t turn = 0; turn < StepsOf(n); ++turn) {
      const std::uint32_t step = gathers ? StepsOf(n) - 1 - turn : turn;
      const std::uint32_t distance = 1u << step;
      for (const std::uint32_t away : OrderOf(distance, n, gathers)) {
        for (std::uint32_t part = 0; part < n; ++part) {
          const Bytes bytes = PartSize(size, n, part);
          if (bytes == Bytes(0)) continue;
          const std::uint32_t near = (part + away) % n, far = (near + distance) % n;
          const std::uint32_t from = gathers ? near : far, to = gathers ? far : near;
          Transfer transfer{from,    to, bytes, arrived[std::size_t{from} * n + part], loop * n + part,
                            !gathers};
          std::vector<std::uint32_t>& before = sent[std::size_t{near} * StepsOf(n) + step];
          if (!before.empty()) transfer.after.push_back(before.back());
          for (const std::uint32_t earlier : arrived[std::size_t{from} * n + part]) {
            passed_on[earlier].push_back(static_cast<std::uint32_t>(transfers.size()));
          }
          passed_on.emplace_back();
          if (before.size() >= kSlots) {
            const std::size_t number = before.size() - kSlots;
            const std::vector<std::uint32_t>& users = passed_on[before[number]];
            transfer.after.insert(transfer.after.end(), users.begin(), users.end());
            if (gathers && users.empty()) {
              transfer.after.push_back(sent[std::size_t{to} * StepsOf(n) + step][number]);
            }
          }
          arrived[std::size_t{to} * n + part].push_back(static_cast<std::uint32_t>(transfers.size()));
          before.push_back(static_cast<std::uint32_t>(transfers.size()));
          transfers.push_back(std::move(transfer));
        }
      }
    }
  }
  return transfers;
}

}  // namespace sim
