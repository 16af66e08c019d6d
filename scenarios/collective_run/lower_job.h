// One collective of a command line, and the one place where it becomes traffic.

#ifndef SCENARIOS_COLLECTIVE_RUN_LOWER_JOB_H_
#define SCENARIOS_COLLECTIVE_RUN_LOWER_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/collective_run/nccl_tests.h"
#include "scenarios/expert_exchange.h"
#include "scenarios/lowering.h"
#include "topologies/fabric.h"

namespace scenarios {

// What collectives run on.
struct Cluster {
  hardware::Device device;
  topologies::Fabric fabric;

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(fabric.devices.size()); }
};

struct CollectiveJob {
  const NcclTest* test = nullptr;
  sim::Bytes size;                               // as nccl-tests counts it
  std::vector<std::uint32_t> ranks;              // the members, as devices of the fabric; each once
  std::uint32_t root = 0;                        // position in `ranks`, where the test has a root
  std::optional<sim::Algorithm> algorithm = {};  // a framework's own; else NCCL chooses
  std::optional<ExpertExchange> exchange = {};   // of kDispatch and kCombine; `size` is what VolumeOf says
  // Not as NCCL does it, but dimension by dimension: the members as a grid, dimension 0 counting fastest.
  std::vector<sim::Dimension> dimensions = {};
};

// "all_reduce 0-7 1G"
std::string ToText(const CollectiveJob& job);

// Why a job cannot be lowered: too many pairs; what a framework's own all-reduce does not take. Empty: it
// can.
std::optional<sim::Error> WhyNotLower(const Cluster& cluster, const CollectiveJob& job);

// Why NCCL would fail to do it: its environment leaves nothing. Empty: it would not, or it is not NCCL's.
std::optional<sim::Error> WhyNotNccl(const Cluster& cluster, const CollectiveJob& job);

// How it is done, and all ways that there are; see lowering.h.
std::optional<CollectiveWay> WayOf(const Cluster& cluster, const CollectiveJob& job);
std::vector<CollectiveWay> WaysOf(const Cluster& cluster, const CollectiveJob& job);

sim::TrafficDescription LowerJob(const Cluster& cluster, const CollectiveJob& job);
WayAndTraffic LowerJobByWay(const Cluster& cluster, const CollectiveJob& job);

// The same transfer by transfer, and how many transfers that are at the most:
// known without making them.
ChunkedTraffic LowerJobIntoChunks(const Cluster& cluster, const CollectiveJob& job);
std::int64_t MostTransfersOf(const Cluster& cluster, const CollectiveJob& job);

// The members as the lowering takes them: the root first.
std::vector<std::uint32_t> MembersOf(const CollectiveJob& job);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_LOWER_JOB_H_
