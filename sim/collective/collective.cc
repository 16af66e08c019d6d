#include "sim/collective/collective.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "sim/base/check.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/chunk_slots.h"

namespace sim {
namespace {

constexpr CollectiveKind kRingKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                         CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                         CollectiveKind::kReduce};
constexpr CollectiveKind kTreeKinds[] = {CollectiveKind::kAllReduce};
constexpr CollectiveKind kPartKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                         CollectiveKind::kReduceScatter};
constexpr CollectiveKind kPatKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter};
constexpr CollectiveKind kRootKinds[] = {CollectiveKind::kGather, CollectiveKind::kScatter};
constexpr CollectiveKind kAllToAllKinds[] = {CollectiveKind::kAllToAll};
constexpr CollectiveKind kByNodeKinds[] = {CollectiveKind::kAllToAllByNode};
constexpr CollectiveKind kSendRecvKinds[] = {CollectiveKind::kSendRecv};
constexpr CollectiveKind kRingShiftKinds[] = {CollectiveKind::kRingShift};

constexpr Algorithm kP2p = Algorithm::kPointToPoint;

constexpr CollectiveAlgorithm kAlgorithms[] = {
    {"ring", Algorithm::kRing, kRingKinds, PlanRing, ExpandRing},
    {"tree", Algorithm::kTree, kTreeKinds, PlanTree, ExpandTree},
    {"NVLS", Algorithm::kNvls, kPartKinds, PlanNvls, ExpandNvls},
    {"NVLS tree", Algorithm::kNvlsTree, kTreeKinds, PlanNvlsTree, ExpandNvlsTree},
    {"PAT", Algorithm::kPat, kPatKinds, PlanPat, ExpandPat},
    {"by dimension", Algorithm::kByDimension, kPartKinds, PlanByDimension, ExpandByDimension},
    {"one shot", Algorithm::kOneShot, kTreeKinds, PlanOneShot, ExpandOneShot},
    {"two shots", Algorithm::kTwoShot, kTreeKinds, PlanTwoShot, ExpandTwoShot},
    {"all-to-all", kP2p, kAllToAllKinds, PlanAllToAll, ExpandAllToAll},
    {"all-to-all by node", kP2p, kByNodeKinds, PlanAllToAllByNode, ExpandAllToAllByNode},
    {"gather and scatter", kP2p, kRootKinds, PlanGatherScatter, ExpandGatherScatter},
    {"send/recv", kP2p, kSendRecvKinds, PlanSendRecv, ExpandSendRecv},
    {"ring shift", kP2p, kRingShiftKinds, PlanRingShift, ExpandRingShift},
};

bool ServesKind(const CollectiveAlgorithm& algorithm, CollectiveKind kind) {
  return std::find(algorithm.kinds.begin(), algorithm.kinds.end(), kind) != algorithm.kinds.end();
}

const CollectiveAlgorithm& AlgorithmFor(const CollectiveRequest& request) {
  for (const CollectiveAlgorithm& algorithm : kAlgorithms) {
    if (request.algorithm && *request.algorithm != algorithm.algorithm) continue;
    if (ServesKind(algorithm, request.kind)) return algorithm;
  }
  CHECK(false && "a kind that no algorithm serves");
  return kAlgorithms[0];
}

// Whether there is anything to send.
bool Sends(const CollectiveRequest& request) {
  CHECK(request.size.count() >= 0);
  CHECK(request.group.size() >= 1 && request.group.rail.size() == request.group.domain.size());
  CHECK(request.kind != CollectiveKind::kSendRecv || request.group.size() == 2);
  CHECK(!request.algorithm || Serves(*request.algorithm, request.kind, request.group));
  CHECK(request.dimensions.empty() || request.algorithm == Algorithm::kByDimension);
  CHECK(request.uneven == Uneven::kNo || request.parts.size() == request.group.size());
  return request.group.size() >= 2 && request.size.count() > 0;
}

// Chunks that a receiver's buffer of 8 steps holds: a ring's are 4 steps each, others' are one.
// Those that are not NCCL's read or write their peers' memory itself: none.
// PAT's expansion knows its own.
// Source: NCCL, src/include/device.h (NCCL_STEPS), src/include/collectives.h (chunk steps).
std::optional<std::uint32_t> SlotsOf(Algorithm algorithm) {
  if (IsCustom(algorithm) || algorithm == Algorithm::kByDimension || algorithm == Algorithm::kPat) {
    return std::nullopt;
  }
  return algorithm == Algorithm::kRing ? 2 : 8;
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
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kScatter:
      return "scatter";
  }
  return "?";
}

std::span<const CollectiveAlgorithm> CollectiveAlgorithms() { return kAlgorithms; }

bool Serves(Algorithm algorithm, CollectiveKind kind, const Communicator& group) {
  const bool known = std::any_of(std::begin(kAlgorithms), std::end(kAlgorithms), [&](const auto& candidate) {
    return candidate.algorithm == algorithm && ServesKind(candidate, kind);
  });
  const bool any_group = algorithm != Algorithm::kNvls && algorithm != Algorithm::kNvlsTree &&
                         algorithm != Algorithm::kPat && !IsCustom(algorithm);
  if (!known || any_group) return known;
  std::map<std::uint32_t, std::uint32_t> members;  // by domain
  for (const std::uint32_t domain : group.domain) ++members[domain];
  switch (algorithm) {
    case Algorithm::kNvls:
      return members.size() == 1 && group.size() >= 3;
    case Algorithm::kNvlsTree: {
      const std::uint32_t first = members.begin()->second;
      return members.size() > 1 && first >= 3 &&
             std::all_of(members.begin(), members.end(), [&](const auto& of) { return of.second == first; });
    }
    case Algorithm::kPat:
      return members.size() == group.size();
    case Algorithm::kOneShot:
    case Algorithm::kTwoShot:
      return members.size() == 1;
    default:
      return known;
  }
}

CollectivePlan PlanCollective(const CollectiveRequest& request) {
  if (!Sends(request)) return {};
  return AlgorithmFor(request).plan(request);
}

std::vector<Transfer> ExpandIntoChunks(const CollectiveRequest& request, Bytes chunk) {
  CHECK(chunk.count() > 0);
  if (!Sends(request)) return {};
  const CollectiveAlgorithm& algorithm = AlgorithmFor(request);
  std::vector<Transfer> transfers = algorithm.expand(request, chunk);
  if (const auto slots = SlotsOf(algorithm.algorithm)) {
    BoundBySlots(*slots, algorithm.plan(request).flows.front().chunks_a_loop, &transfers);
  }
  return transfers;
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
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return {n - 1, n};
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kAllToAllByNode:
    case CollectiveKind::kRingShift:
      return {1, 1};
  }
  return {1, 1};
}

}  // namespace sim
