#include "hardware/device_collectives.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "hardware/file_units.h"
#include "proto/hardware.pb.h"
#include "sim/collective/nccl_constants.h"

namespace hardware {
namespace {

using orrery::config::Hardware;

void CheckCollective(const Hardware::Collective& timing, const proto::Field& place,
                     proto::Diagnostics* diagnostics) {
  if (timing.wire_numerator() < timing.wire_denominator()) {
    diagnostics->Error(place.At("wire_numerator").place(), "fewer bytes on the wire than of data");
  }
  if (timing.has_ramp_us() != timing.has_ramp_mb()) {
    diagnostics->Error(place.At(timing.has_ramp_us() ? "ramp_mb" : "ramp_us").place(),
                       "missing; ramp_us and ramp_mb go together");
  }
  const bool simple_only = timing.has_algorithm() && timing.algorithm() != Hardware::RING &&
                           timing.algorithm() != Hardware::TREE && timing.algorithm() != Hardware::P2P;
  if (simple_only && timing.protocol() != Hardware::SIMPLE) {
    diagnostics->Error(place.At("protocol").place(),
                       Hardware::Algorithm_Name(timing.algorithm()) + " has SIMPLE alone");
  }
}

sim::Protocol ConvertProtocol(Hardware::Protocol protocol) {
  if (protocol == Hardware::LL) return sim::Protocol::kLl;
  return protocol == Hardware::LL128 ? sim::Protocol::kLl128 : sim::Protocol::kSimple;
}

sim::Algorithm ConvertAlgorithm(Hardware::Algorithm algorithm) {
  switch (algorithm) {
    case Hardware::TREE:
      return sim::Algorithm::kTree;
    case Hardware::NVLS:
      return sim::Algorithm::kNvls;
    case Hardware::NVLS_TREE:
      return sim::Algorithm::kNvlsTree;
    case Hardware::PAT:
      return sim::Algorithm::kPat;
    case Hardware::P2P:
      return sim::Algorithm::kPointToPoint;
    default:
      return sim::Algorithm::kRing;
  }
}

CollectiveTiming ConvertCollective(const Hardware::Collective& from) {
  return {
      .protocol = ConvertProtocol(from.protocol()),
      .base = Us(from.base_us()),
      .step_inside = Us(from.step_inside_us()),
      .step_inside_multi_node = Us(from.step_inside_multi_node_us()),
      .step_between = Us(from.step_between_us()),
      .wire_numerator = from.wire_numerator(),
      .wire_denominator = from.wire_denominator(),
      .limit_inside = Gb(from.limit_inside_gb_per_s()),
      .algorithm = ConvertAlgorithm(from.algorithm()),
      .limit_two_nodes = Gb(from.limit_two_nodes_gb_per_s()),
      .limit_more_nodes = Gb(from.limit_more_nodes_gb_per_s()),
      .own_copy_all_reduce = Gb(from.own_copy_all_reduce_gb_per_s()),
      .own_copy_all_gather = Gb(from.own_copy_all_gather_gb_per_s()),
      .own_copy_reduce_scatter = Gb(from.own_copy_reduce_scatter_gb_per_s()),
      .own_copy_all_to_all = Gb(from.own_copy_all_to_all_gb_per_s()),
      .ramp = Us(from.ramp_us()),
      .ramp_bytes = sim::Bytes(std::max<std::int64_t>(1, static_cast<std::int64_t>(from.ramp_mb() * 1e6)))};
}

// Latencies that NCCL itself counts with, for algorithms that the file does not give. The protocols'
// wires and caps are those of its ring.
CollectiveTiming NcclsOwn(sim::Algorithm algorithm, const CollectiveTiming& ring,
                          const sim::NcclSetup& nccl) {
  const auto inside = nccl.nvlinks > 0 ? sim::NcclHardware::kNvlink : sim::NcclHardware::kPci;
  const auto us = [](double value) { return Us(value); };
  CollectiveTiming timing = ring;
  timing.algorithm = algorithm;
  timing.base = us(sim::BaseLatency(algorithm, ring.protocol, sim::kNewestNccl));
  timing.step_inside = us(sim::HardwareLatency(inside, algorithm, ring.protocol, sim::kNewestNccl));
  timing.step_inside_multi_node = timing.step_inside;
  // NVLSTree's is the one of 2.21 to 2.27: with 2.30's, small all-reduces of 16 H20 take half as long again
  // as measured.
  const bool older = algorithm == sim::Algorithm::kNvlsTree;
  timing.step_between = us(sim::HardwareLatency(sim::NcclHardware::kNetwork, algorithm, ring.protocol,
                                                older ? sim::NcclVersion{2, 27} : sim::kNewestNccl));
  // PAT counts a step of its own between nodes, and a part a rank, which is left to the flows.
  if (algorithm == sim::Algorithm::kPat) timing.step_between = us(14.0 / 3.5);
  timing.own_copy_all_reduce = timing.own_copy_all_gather = timing.own_copy_reduce_scatter =
      timing.own_copy_all_to_all = sim::ByteRate();
  timing.ramp = sim::Duration();
  return timing;
}

// A step between nodes has the way through PCIe and NICs in it, which routes add again; a step that is
// said to be shorter than that has none left.
void LeaveToRoutes(const Hardware::Node& node, std::vector<CollectiveTiming>* timings) {
  const sim::Duration way = Us(1e-3 * (4 * node.pcie().latency_ns() + 2 * node.nic().latency_ns()));
  for (CollectiveTiming& timing : *timings) {
    timing.step_between = std::max(timing.step_between - way, sim::Duration());
  }
}

bool HasTiming(const Device& device, sim::Algorithm algorithm, sim::Protocol protocol) {
  return std::any_of(
      device.collective_timing.begin(), device.collective_timing.end(),
      [&](const auto& timing) { return timing.algorithm == algorithm && timing.protocol == protocol; });
}

}  // namespace

void CheckCollectives(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  std::set<std::pair<int, int>> seen;
  std::size_t rings = 0;
  for (int i = 0; i < message.collectives_size(); ++i) {
    const Hardware::Collective& timing = message.collectives(i);
    const proto::Field place = root.At("collectives", i);
    const auto algorithm = timing.has_algorithm() ? timing.algorithm() : Hardware::RING;
    if (!seen.insert({algorithm, timing.protocol()}).second) {
      diagnostics->Error(
          place.At("protocol").place(),
          Hardware::Protocol_Name(timing.protocol()) + " is given twice" +
              (algorithm == Hardware::RING ? "" : " for " + Hardware::Algorithm_Name(algorithm)));
    }
    rings += algorithm == Hardware::RING ? 1 : 0;
    CheckCollective(timing, place, diagnostics);
  }
  if (rings != sim::kProtocolCount) {
    diagnostics->Error(root.At("collectives").place(), "wanted LL, LL128 and SIMPLE, once each");
  }
}

void ConvertCollectives(const Hardware& message, Device* device) {
  device->collective_timing.clear();
  for (const Hardware::Collective& from : message.collectives()) {
    device->collective_timing.push_back(ConvertCollective(from));
  }
  const std::vector<CollectiveTiming> given = device->collective_timing;
  for (const CollectiveTiming& ring : given) {
    if (ring.algorithm != sim::Algorithm::kRing) continue;
    for (const sim::Algorithm algorithm :
         {sim::Algorithm::kTree, sim::Algorithm::kNvls, sim::Algorithm::kNvlsTree, sim::Algorithm::kPat}) {
      const bool simple_only = algorithm != sim::Algorithm::kTree;
      if (simple_only && ring.protocol != sim::Protocol::kSimple) continue;
      if (HasTiming(*device, algorithm, ring.protocol)) continue;
      device->collective_timing.push_back(NcclsOwn(algorithm, ring, device->nccl));
      if (algorithm != sim::Algorithm::kNvlsTree) continue;
      // Inside nodes it does what NVLS does, by the same kernel, which goes no faster there.
      for (const CollectiveTiming& nvls : given) {
        if (nvls.algorithm != sim::Algorithm::kNvls) continue;
        CollectiveTiming& tree = device->collective_timing.back();
        tree.limit_two_nodes = tree.limit_more_nodes = nvls.limit_inside;
      }
    }
  }
  LeaveToRoutes(message.node(), &device->collective_timing);
}

}  // namespace hardware
