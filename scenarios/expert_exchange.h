// Tokens on their way to experts and home, as DeepEP moves them: how many bytes, over which links, and what
// its kernels take beside them.
//
// NORMAL and V2 send a token once to each node that has an expert of it, to the rank of the same rail there,
// and from there over NVLink to the ranks; sums come home the same way. What moves over the network and over
// NVLink is therefore how many nodes and ranks a token visits (models/expert_visits.h). Both move at once, a
// chunk after the other, so the slower one counts. LOW_LATENCY sends a row to every expert by itself, by RDMA
// or, inside a node, over NVLink.
//
// DeepEP prints bytes over time: those to nodes (RDMA) or to ranks (NVLink), a token's own among them. So
// with 2 nodes, of 90 GB/s "RDMA" 45 cross the network.
//
// Leaves out: notifications and layouts before the first dispatch (DeepEP's tests reuse them), indices and
// weights that travel along, uneven routing.
// Sources: DeepEP, tests/test_internode.py and test_low_latency.py (what is counted), docs/legacy.md, README.

#ifndef SCENARIOS_EXPERT_EXCHANGE_H_
#define SCENARIOS_EXPERT_EXCHANGE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "hardware/device.h"
#include "scenarios/lowering.h"
#include "sim/collective/collective.h"

namespace scenarios {

struct ExpertExchange {
  hardware::Exchange::Kernels kernels = hardware::Exchange::Kernels::kNormal;
  bool combine = false;
  std::int64_t tokens = 0;  // of each rank
  std::int64_t hidden = 7168;
  std::int64_t per_token = 8;
  std::int64_t experts = 256;
  std::int64_t node_limit = 0;  // nodes that a token's experts lie on at most; 0 = all
  bool fp8 = true;              // dispatch: a byte a channel and an FP32 scale every 128; else BF16
  std::int64_t sms = 24;        // not of LOW_LATENCY
};

// Where its ranks are. Every node has as many.
struct ExchangeGroup {
  std::int64_t ranks = 1, nodes = 1;
};

struct ExchangeVolume {
  double nodes = 0, ranks = 0;          // that a token visits; LOW_LATENCY: rows a token in place of ranks
  double row = 0;                       // bytes of one token on its way
  double to_nodes = 0, to_ranks = 0;    // bytes of one rank as DeepEP counts them
  double out_of_node = 0;               // bytes of one rank that cross the network
  sim::CollectiveRequest request = {};  // the same as a collective, without its group
};

// Bytes of one token. Source: DeepEP, csrc/kernels: scales as above; LOW_LATENCY has 16 bytes more.
double RowBytes(const ExpertExchange& exchange);

// REQUIRES: what models::VisitedByBest does
ExchangeVolume VolumeOf(const ExpertExchange& exchange, ExchangeGroup group);

// The device's figures for one all-to-all of such a group: by node for NORMAL and V2, else of pairs.
hardware::CollectiveTiming ExchangeTiming(const hardware::Exchange& figures, const sim::NodeShape& node,
                                          std::int64_t sms, const sim::CollectiveRequest& request,
                                          ExchangeGroup group);

// REQUIRES: the device has figures of these kernels; every node has as many of the devices
sim::TrafficDescription LowerExchange(const topologies::Fabric& fabric, const hardware::Device& device,
                                      const ExpertExchange& exchange, std::span<const std::uint32_t> devices);

// Nothing where domains have different numbers of them.
std::optional<ExchangeGroup> ExchangeGroupOf(const topologies::Fabric& fabric,
                                             std::span<const std::uint32_t> devices);

const char* ToText(hardware::Exchange::Kernels kernels);  // "normal", "low_latency", "v2"

}  // namespace scenarios

#endif  // SCENARIOS_EXPERT_EXCHANGE_H_
