// Storage: what a save of the training state crosses beside the links that the
// job has anyway: each node's memory, a front-end network, and the servers.
//
//   copy     device -> PCIe switch -> host -> memory
//   NIC      memory -> host -> PCIe switch -> the device's NIC -> leaf (-> spines) -> servers
//   front    memory -> host -> front end -> servers
//
// and the same backwards to read. The servers are cabled alike to the top
// switches of every rail, with ports as fast as they are.
//
// A job that only copies to its hosts has the memories and none of what is behind them.
//
// Leaves out: caches of the servers, their metadata, other users of the storage.

#ifndef TOPOLOGIES_STORAGE_H_
#define TOPOLOGIES_STORAGE_H_

#include <cstdint>
#include <optional>

#include "sim/base/result.h"
#include "sim/base/units.h"
#include "topologies/fabric.h"

namespace topologies {

struct NodePlan;
class PortNetwork;
class FabricBuilder;

struct StorageSpec {
  std::uint32_t servers = 1;  // 0: the nodes' memories alone, and nothing below is looked at
  sim::ByteRate write, read;  // all servers together; > 0
  sim::ByteRate frontend;     // of a node, each way; zero = through the NICs
  // Bytes of host memory that move for a byte of a save on its way out: it is
  // read once, and where the host serialises, read and written before that.
  std::uint32_t memory_passes = 1;
};

// Why the nodes of a plan cannot reach storage like this. `network` is null for a node that
// stands alone.
std::optional<sim::Error> RefuseStorage(const NodePlan& plan, const PortNetwork* network,
                                        const StorageSpec& spec);

// Adds vertices and links behind those that are there, whose ids stay, and says
// how devices reach them. `hosts` are the nodes' host vertices.
// REQUIRES: RefuseStorage has nothing to say
StorageRoutes AttachStorage(const NodePlan& plan, const PortNetwork* network, const StorageSpec& spec,
                            std::span<const VertexId> hosts, FabricBuilder* builder);

}  // namespace topologies

#endif  // TOPOLOGIES_STORAGE_H_
