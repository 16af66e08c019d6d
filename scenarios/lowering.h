// Lowering: a collective over named devices becomes traffic on links.
//
// NCCL's tuner says by which algorithm and protocol (sim/collective/nccl_tuner.h). The algorithm says which
// member loads which edge how often; the router says which links an edge crosses. Their product,
// summed per link, is one coupled flow. Latency and wire overhead come from the device's
// figures for that algorithm and protocol.
//
// The fill of what moves in loops (broadcast, trees, NVLS) is what the last loop takes to its
// end, behind all others on the edge of its way that holds it up longest, beyond what the slowest edge needs
// anyway; each edge at the rate that it has while all channels are busy, so that fast edges inside a node are
// not charged at the rate of the slow ones between nodes. It is spread over the flow, which is as much
// thinner as it is longer: when other traffic slows the flow down, its fill takes longer too.

#ifndef SCENARIOS_LOWERING_H_
#define SCENARIOS_LOWERING_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hardware/device.h"
#include "sim/collective/collective.h"
#include "sim/collective/nccl_tuner.h"
#include "sim/program/program_builder.h"
#include "topologies/fabric.h"

namespace scenarios {

// What one step of NCCL's Simple protocol moves on one edge at a time.
// Source: NCCL 2.30, src/include/device.h: 4 MiB buffer in 8 steps, 4 steps a chunk.
inline constexpr sim::Bytes kNcclChunk{std::int64_t{2} << 20};

// What collectives cost on one kind of device, and who chooses how they are done.
struct CollectiveCosts {
  CollectiveCosts(const hardware::Device& device)  // NOLINT: implicit on purpose
      : timing(device.collective_timing),
        nccl(&device.nccl),
        sms(device.interference.communication_sms),
        memory_of_rate(device.interference.memory_bytes_per_wire_byte /
                       device.memory_rate.bytes_per_second()) {}
  // Without a tuner: what is fastest on the idle fabric.
  template <typename Timings>
  requires std::convertible_to<Timings, std::span<const hardware::CollectiveTiming>> CollectiveCosts(
      const Timings& timings)
      : timing(timings) {}  // NOLINT: implicit on purpose

  std::span<const hardware::CollectiveTiming> timing;  // RING's serve sends and receives too, if P2P has none
  const sim::NcclSetup* nccl = nullptr;
  // SMs of each member, where NCCL's tuner does not count channels; 0: none, whatever it counts.
  std::int32_t sms = 1;
  double memory_of_rate = 0;  // of the memory's rate, for a byte per second of bus bandwidth
};

// One way to do a collective.
struct CollectiveWay {
  sim::Algorithm algorithm = sim::Algorithm::kRing;
  sim::Protocol protocol = sim::Protocol::kSimple;
  std::optional<double> nccl_us;  // what NCCL's own model says; none for sends and receives
  sim::Duration idle;             // what it takes here on the idle fabric
  int channels = 0;               // thread blocks, one SM each; 0 = not known
  bool taken = false;             // by NCCL, or the fastest where nobody chooses
};

// All ways to do it that the fabric and the environment allow; one of them is taken. Empty where there is
// nothing to send.
std::vector<CollectiveWay> WaysOf(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                  sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                                  sim::Bytes chunk = kNcclChunk);

// The one that is taken; nothing where there is nothing to send.
std::optional<CollectiveWay> WayOf(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                   sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                                   sim::Bytes chunk = kNcclChunk);

// A collective's traffic, and the way that it is; none where there is nothing to send.
struct WayAndTraffic {
  std::optional<CollectiveWay> way;
  sim::TrafficDescription traffic;
  sim::Duration spread_fill = {};  // what of the time of its flows alone is fill
};
WayAndTraffic LowerByWay(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                         sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                         sim::Bytes chunk = kNcclChunk);

// The members' domains, rails and places in rings. REQUIRES: every device is in the fabric
sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices);

// Traffic of one collective over `devices` (positions of the group). One member
// or zero bytes give traffic without flows or latency.
sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices,
                                        sim::Bytes chunk = kNcclChunk);

// The same with all that a request says but its group, which `devices` give. A request that names an
// algorithm gets that one, by its fastest protocol.
sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                                        sim::CollectiveRequest request,
                                        std::span<const std::uint32_t> devices,
                                        sim::Bytes chunk = kNcclChunk);

// The same collective transfer by transfer; entry i is transfer i of
// ExpandIntoChunks, whose `after` it keeps. `rendezvous` has the latency, once.
struct ChunkedTraffic {
  struct Transfer {
    sim::TrafficDescription traffic;
    std::uint32_t from = 0, to = 0;    // positions in the group, or one of them sim::kNvSwitch
    std::uint32_t channel = 0;         // of one channel, an edge carries one transfer after the other
    std::vector<std::uint32_t> after;  // earlier entries
  };
  sim::TrafficDescription rendezvous;
  std::vector<Transfer> transfers;
};
ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                               sim::CollectiveKind kind, sim::Bytes size,
                               std::span<const std::uint32_t> devices, sim::Bytes chunk = kNcclChunk);
ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric, const CollectiveCosts& costs,
                               sim::CollectiveRequest request, std::span<const std::uint32_t> devices,
                               sim::Bytes chunk = kNcclChunk);

// How long a traffic takes when nothing else is on its links: its latency, and
// the bytes of all its flows on its busiest link (rings share NVLink ports), or
// its slowest flow where that has a limit. The closed form that stands beside
// the simulation: exact where flows are alike, as they are in all collectives
// here up to a byte, and never more than it.
sim::Duration IdleTime(const topologies::Fabric& fabric, const sim::TrafficDescription& traffic);

}  // namespace scenarios

#endif  // SCENARIOS_LOWERING_H_
