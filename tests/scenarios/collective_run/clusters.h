// Small clusters with round figures, and jobs on them.

#ifndef TESTS_SCENARIOS_COLLECTIVE_RUN_CLUSTERS_H_
#define TESTS_SCENARIOS_COLLECTIVE_RUN_CLUSTERS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scenarios/collective_run/job_text.h"
#include "tests/scenarios/collective_testing.h"

namespace scenarios {

// Nothing takes time but bytes, or a step of Simple over the network.
inline Cluster ClusterOn(topologies::Fabric fabric, sim::Duration step = {}) {
  Cluster cluster;
  cluster.fabric = WithoutLatency({"", std::move(fabric), {}}).fabric;
  cluster.device.collective_timing = {{.step_between = step}};
  return cluster;
}

// A port of 50 GB/s each, full duplex.
inline Cluster SwitchOf(std::uint32_t ranks, sim::Duration step = {},
                        sim::ByteRate port = sim::ByteRate::BytesPerSecond(50'000'000'000)) {
  return ClusterOn(topologies::MustBuild(topologies::OneSwitch(port), topologies::TestNode(1, 1), ranks),
                   step);
}

// Nodes of eight: NVLink of 450 GB/s, a NIC of 50 GB/s for each device.
inline Cluster NodesOf(std::uint32_t ranks) {
  return ClusterOn(topologies::MustBuild(topologies::SmallRails(), topologies::TestNode(8, 8), ranks));
}

inline CollectiveJob Job(const Cluster& cluster, const std::string& text) {
  sim::Result<CollectiveJob> job = ParseJob(text, cluster.ranks());
  EXPECT_TRUE(job.ok()) << job.error().message;
  return std::move(job).value();
}

// A job of any number of bytes.
inline CollectiveJob Job(const Cluster& cluster, const std::string& name_and_ranks, std::int64_t bytes) {
  return Job(cluster, name_and_ranks + ' ' + std::to_string(bytes));
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_COLLECTIVE_RUN_CLUSTERS_H_
