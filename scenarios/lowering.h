// Lowering: a collective over named devices becomes traffic on links.
//
// The algorithm says which member loads which edge how often; the router says
// which links an edge crosses. Their product, summed per link, is one coupled
// flow. Latency and wire overhead come from the protocol (LL, LL128, Simple)
// that would be fastest on the idle fabric, as NCCL chooses.
//
// The fill of a chain (broadcast) is latency too: one chunk over every edge but
// the slowest, each at the rate that it has while all channels are busy. So it is
// not stretched when other traffic slows the flow down, and fast edges inside a
// node are not charged at the rate of the slow ones between nodes.

#ifndef SCENARIOS_LOWERING_H_
#define SCENARIOS_LOWERING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/device.h"
#include "sim/collective/collective.h"
#include "sim/program/program_builder.h"
#include "topologies/fabric.h"

namespace scenarios {

// What one step of NCCL's Simple protocol moves on one edge at a time.
// Source: NCCL 2.30, src/include/device.h: 4 MiB buffer in 8 steps, 4 steps a chunk.
inline constexpr sim::Bytes kNcclChunk{std::int64_t{2} << 20};

// The members' domains and rails. REQUIRES: every device is in the fabric
sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices);

// Traffic of one collective over `devices` (positions of the group). One member
// or zero bytes give traffic without flows or latency.
sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices,
                                        sim::Bytes chunk = kNcclChunk);

// The same with all that a request says but its group, which `devices` give.
sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveRequest request,
                                        std::span<const std::uint32_t> devices,
                                        sim::Bytes chunk = kNcclChunk);

// The same collective transfer by transfer; entry i is transfer i of
// ExpandIntoChunks, whose `after` it keeps. `rendezvous` has the latency, once.
struct ChunkedTraffic {
  struct Transfer {
    sim::TrafficDescription traffic;
    std::uint32_t from = 0, to = 0;    // positions in the group
    std::uint32_t channel = 0;         // of one channel, an edge carries one transfer after the other
    std::vector<std::uint32_t> after;  // earlier entries
  };
  sim::TrafficDescription rendezvous;
  std::vector<Transfer> transfers;
};
ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing, sim::CollectiveKind kind,
                               sim::Bytes size, std::span<const std::uint32_t> devices,
                               sim::Bytes chunk = kNcclChunk);
ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing,
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
