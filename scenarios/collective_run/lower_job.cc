#include "scenarios/collective_run/lower_job.h"

#include <algorithm>
#include <cmath>

#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"
#include "scenarios/custom_all_reduce.h"

namespace scenarios {
namespace {

// Every pair of an all-to-all has an edge and a route while it is lowered, some 200 bytes.
constexpr std::size_t kMostMembersAllToAll = 4096;

sim::CollectiveRequest RequestOf(const Cluster& cluster, const CollectiveJob& job) {
  if (job.exchange) {
    const auto group = ExchangeGroupOf(cluster.fabric, job.ranks);
    CHECK(group.has_value());
    return VolumeOf(*job.exchange, *group).request;
  }
  sim::CollectiveRequest request{
      .kind = job.test->kind, .size = job.size, .algorithm = job.algorithm, .dimensions = job.dimensions};
  if (!job.dimensions.empty()) request.algorithm = sim::Algorithm::kByDimension;
  return request;
}

}  // namespace

std::string ToText(const CollectiveJob& job) {
  std::string text = std::string(job.test->name) + ' ' + RankListText(job.ranks) + ' ' + SizeText(job.size);
  if (job.test->has_root) text += " root " + std::to_string(job.ranks[job.root]);
  return text;
}

std::optional<sim::Error> WhyNotLower(const Cluster& cluster, const CollectiveJob& job) {
  if (job.algorithm) {
    const auto why = WhyNotCustom(cluster.fabric, cluster.device, *job.algorithm, job.size, job.ranks);
    if (why) return sim::Error{ToText(job) + ": " + why->message};
  }
  if (RequestOf(cluster, job).kind != sim::CollectiveKind::kAllToAll ||
      job.ranks.size() <= kMostMembersAllToAll) {
    return std::nullopt;
  }
  return sim::Error{std::string(job.test->name) + " of " + std::to_string(job.ranks.size()) +
                    " ranks has too many pairs; at most " + std::to_string(kMostMembersAllToAll) +
                    " ranks would do"};
}

std::optional<sim::Error> WhyNotNccl(const Cluster& cluster, const CollectiveJob& job) {
  if (job.algorithm || job.exchange || !job.dimensions.empty() || !sim::FunctionOf(job.test->kind)) {
    return std::nullopt;
  }
  const sim::NcclGroup group = sim::GroupOf(CommunicatorOf(cluster.fabric, job.ranks));
  if (group.ranks < 2 ||
      sim::Predict(cluster.device.nccl, group, job.test->kind, std::max(job.size, sim::Bytes(1)))) {
    return std::nullopt;
  }
  return sim::Error{
      "nccl.environment: leaves " + ToText(job) +
      " no algorithm and protocol, as NCCL would fail; Ring and one of LL and Simple serve all"};
}

// Rings keep their order when they are turned.
std::vector<std::uint32_t> MembersOf(const CollectiveJob& job) {
  std::vector<std::uint32_t> members = job.ranks;
  if (job.test->has_root) std::rotate(members.begin(), members.begin() + job.root, members.end());
  return members;
}

sim::TrafficDescription LowerJob(const Cluster& cluster, const CollectiveJob& job) {
  return LowerJobByWay(cluster, job).traffic;
}

WayAndTraffic LowerJobByWay(const Cluster& cluster, const CollectiveJob& job) {
  if (job.exchange) {
    return {std::nullopt, LowerExchange(cluster.fabric, cluster.device, *job.exchange, job.ranks)};
  }
  return LowerByWay(cluster.fabric, cluster.device, RequestOf(cluster, job), MembersOf(job));
}

ChunkedTraffic LowerJobIntoChunks(const Cluster& cluster, const CollectiveJob& job) {
  if (job.exchange) return LowerExchangeIntoChunks(cluster.fabric, cluster.device, *job.exchange, job.ranks);
  return LowerIntoChunks(cluster.fabric, cluster.device, RequestOf(cluster, job), MembersOf(job));
}

std::optional<CollectiveWay> WayOf(const Cluster& cluster, const CollectiveJob& job) {
  if (job.exchange) return std::nullopt;
  return WayOf(cluster.fabric, cluster.device, RequestOf(cluster, job), MembersOf(job));
}

// What the job's own choice is compared with: NCCL's too, where it is a framework's.
std::vector<CollectiveWay> WaysOf(const Cluster& cluster, const CollectiveJob& job) {
  if (job.exchange) return {};
  sim::CollectiveRequest request = RequestOf(cluster, job);
  if (job.dimensions.empty()) request.algorithm = std::nullopt;
  return WaysOf(cluster.fabric, cluster.device, request, MembersOf(job));
}

// An edge carries its part of its flow's volume in chunks, with a smaller one at each step of the last loop.
std::int64_t MostTransfersOf(const Cluster& cluster, const CollectiveJob& job) {
  const std::vector<std::uint32_t> members = MembersOf(job);
  sim::CollectiveRequest request = RequestOf(cluster, job);
  request.group = CommunicatorOf(cluster.fabric, members);
  if (!job.dimensions.empty() && members.size() > 1 && job.size.count() > 0) {
    // Each member sends each other's part once in either half, cut in two; see by_dimension.cc.
    const auto n = static_cast<std::int64_t>(members.size());
    return sim::LoopsOf(job.size, kNcclChunk, job.dimensions[0].size) * 4 * n * n;
  }
  if (const auto way = WayOf(cluster, job); way && sim::FunctionOf(request.kind))
    request.algorithm = way->algorithm;
  const sim::CollectivePlan plan = sim::PlanCollective(request);
  double transfers = 0;
  for (const sim::CoupledFlow& flow : plan.flows) {
    const double volume = static_cast<double>(flow.size.count()) *
                          (static_cast<double>(flow.numerator) / static_cast<double>(flow.denominator));
    const double chunks = volume / static_cast<double>(kNcclChunk.count());
    const double steps = flow.path.empty() ? plan.steps_inside + plan.steps_between : 1;
    transfers += std::ceil(chunks + steps) * flow.all_pairs * flow.all_pairs;
    for (const sim::EdgeLoad& edge : flow.edges) {
      const double part = static_cast<double>(edge.weight) / flow.weight_denominator;
      // A loop's slices are chunks of their own, and the last loop's are smaller.
      transfers += std::ceil(chunks * part) + steps + (flow.chunks_a_loop > 1 ? flow.chunks_a_loop + 1 : 0);
    }
  }
  return static_cast<std::int64_t>(std::min(transfers, 1e18));
}

}  // namespace scenarios
