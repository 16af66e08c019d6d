// The tuner: which algorithm and protocol NCCL would take, by its own model.
//
// The model is NCCL's, with its constants: a time for each algorithm and
// protocol, latency + bytes / bandwidth, and the smallest wins. It is not what a
// collective costs here: that comes from flows on the fabric. Users see both, as
// the model is often wrong by a factor (nccl#1154).
//
// What NCCL finds by searching the node's graph is a rule here (GraphOf): so many
// channels of one of its speeds. The rule gives what published logs show for
// NVSwitch nodes; for others it is an assumption.
//
// Source: NCCL 2.18 to 2.30, src/graph/tuning.cc (constants and formulas by version),
// src/graph/search.cc (speeds). Times in us, rates in GB/s, as there.

#ifndef SIM_COLLECTIVE_NCCL_TUNER_H_
#define SIM_COLLECTIVE_NCCL_TUNER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/collective/algorithm.h"
#include "sim/collective/collective.h"
#include "sim/collective/nccl_environment.h"

namespace sim {

enum class CpuVendor : std::uint8_t { kIntel, kAmd, kOther };

// What NCCL sees of a cluster, besides the group.
struct NcclSetup {
  int capability = 90;       // CUDA compute capability, major * 10 + minor
  int nvlinks = 0;           // of a device; 0 = none, so PCIe
  bool nvswitch = false;     // all devices of a domain are on one switch
  double pcie_gb_per_s = 0;  // of a device
  double nic_gb_per_s = 0;   // of one NIC
  CpuVendor cpu = CpuVendor::kIntel;
  NcclVersion version;
  NcclEnvironment environment;
};

// The group as NCCL counts it.
struct NcclGroup {
  std::uint32_t ranks = 1, nodes = 1;  // a node is an NVLink domain
  std::uint32_t nics = 1;              // NICs that rings can enter a node by: members of the smallest one
};
NcclGroup GroupOf(const Communicator& group);

// What a search of the graph would find: channels, and the rate of each.
struct NcclGraph {
  int channels = 0;
  double inside = 0, between = 0;  // GB/s a channel, inside a node and between nodes
};
NcclGraph GraphOf(const NcclSetup& setup, const NcclGroup& group, Algorithm algorithm);

struct NcclPrediction {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double latency_us = 0, bandwidth_gb_per_s = 0;  // of `size`: algorithm bandwidth
  double time_us = 0;
};

// The function that a kind is to NCCL; none for sends and receives.
std::optional<NcclFunction> FunctionOf(CollectiveKind kind);

// Everything that NCCL would consider, in its order: algorithm by algorithm, each
// with LL, LL128, Simple. Empty where the environment leaves nothing.
// REQUIRES: FunctionOf(kind) has a value; 2 ranks or more; size > 0
std::vector<NcclPrediction> PredictAll(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind,
                                       Bytes size);

// The fastest of them. Before 2.24 NCCL took rings for all functions but all-reduce, whatever
// NCCL_ALGO said; from then on it fails, and so does this (no value).
std::optional<NcclPrediction> Predict(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind,
                                      Bytes size);

// Channels (thread blocks, so SMs) that it runs on: what the graph has, doubled, less where
// there is too little to do for all their threads.
int ChannelsUsed(const NcclSetup& setup, const NcclGroup& group, Algorithm algorithm, Protocol protocol,
                 Bytes size);

// The protocol of sends and receives: LL up to a threshold for each peer.
Protocol PointToPointProtocol(const NcclSetup& setup, Bytes to_one_peer);

}  // namespace sim

#endif  // SIM_COLLECTIVE_NCCL_TUNER_H_
