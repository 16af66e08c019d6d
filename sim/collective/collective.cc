#include "sim/collective/collective.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/collective/algorithms.h"

namespace sim {
namespace {

constexpr CollectiveKind kRingKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                         CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast};
constexpr CollectiveKind kAllToAllKinds[] = {CollectiveKind::kAllToAll};
constexpr CollectiveKind kByNodeKinds[] = {CollectiveKind::kAllToAllByNode};
constexpr CollectiveKind kSendRecvKinds[] = {CollectiveKind::kSendRecv};
constexpr CollectiveKind kRingShiftKinds[] = {CollectiveKind::kRingShift};

constexpr CollectiveAlgorithm kAlgorithms[] = {
    {"ring", kRingKinds, PlanRing, ExpandRing},
    {"all-to-all", kAllToAllKinds, PlanAllToAll, ExpandAllToAll},
    {"all-to-all by node", kByNodeKinds, PlanAllToAllByNode, ExpandAllToAllByNode},
    {"send/recv", kSendRecvKinds, PlanSendRecv, ExpandSendRecv},
    {"ring shift", kRingShiftKinds, PlanRingShift, ExpandRingShift},
};

const CollectiveAlgorithm& AlgorithmFor(CollectiveKind kind) {
  for (const CollectiveAlgorithm& algorithm : kAlgorithms) {
    if (std::find(algorithm.kinds.begin(), algorithm.kinds.end(), kind) != algorithm.kinds.end()) {
      return algorithm;
    }
  }
  CHECK(false && "a kind that no algorithm serves");
  return kAlgorithms[0];
}

// Whether there is anything to send.
bool Sends(const CollectiveRequest& request) {
  CHECK(request.size.count() >= 0);
  CHECK(request.group.size() >= 1 && request.group.rail.size() == request.group.domain.size());
  CHECK(request.kind != CollectiveKind::kSendRecv || request.group.size() == 2);
  CHECK(request.uneven == Uneven::kNo || request.parts.size() == request.group.size());
  return request.group.size() >= 2 && request.size.count() > 0;
}

}  // namespace

const char* ToText(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kSendRecv:
      return "send/recv";
    case CollectiveKind::kAllToAllByNode:
      return "all-to-all by node";
    case CollectiveKind::kRingShift:
      return "ring shift";
  }
  return "?";
}

std::span<const CollectiveAlgorithm> CollectiveAlgorithms() { return kAlgorithms; }

CollectivePlan PlanCollective(const CollectiveRequest& request) {
  if (!Sends(request)) return {};
  return AlgorithmFor(request.kind).plan(request);
}

std::vector<Transfer> ExpandIntoChunks(const CollectiveRequest& request, Bytes chunk) {
  CHECK(chunk.count() > 0);
  if (!Sends(request)) return {};
  return AlgorithmFor(request.kind).expand(request, chunk);
}

Fraction BusBandwidthFactor(CollectiveKind kind, std::uint32_t members) {
  CHECK(members >= 1);
  const std::int64_t n = members;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * (n - 1), n};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return {n - 1, n};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kAllToAllByNode:
    case CollectiveKind::kRingShift:
      return {1, 1};
  }
  return {1, 1};
}

}  // namespace sim
