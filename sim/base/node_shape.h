// NodeShape: what a node has: devices, ports and their rates. Filled by
// hardware from its catalogue, used by topologies to build a graph.

#ifndef SIM_BASE_NODE_SHAPE_H_
#define SIM_BASE_NODE_SHAPE_H_

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace sim {

// All rates are one direction, and what collectives achieve of the wire.
struct NodeShape {
  std::string name;
  std::int32_t devices = 0;  // 1 ... 1024
  ByteRate nvlink;           // device <-> switch, each way; zero = no NVLink
  Duration nvlink_latency;
  ByteRate pcie;  // device <-> PCIe switch, each way
  Duration pcie_latency;
  std::int32_t nics = 0;  // 0 = the node stands alone
  ByteRate nic;           // NIC <-> fabric, each way
  Duration nic_latency;
  ByteRate host_memory;  // CPU DRAM, per node
  // Between devices below different PCIe switches, without NVLink: of a switch, and of all between two
  // processors; zero = as fast as PCIe.
  ByteRate host_bridge;
  Duration host_bridge_latency;
  ByteRate between_sockets;
  Duration between_sockets_latency;
};

}  // namespace sim

#endif  // SIM_BASE_NODE_SHAPE_H_
