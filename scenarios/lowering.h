// Lowering: a collective over named devices becomes traffic on links.
//
// The algorithm says which member loads which edge how often; the router says
// which links an edge crosses. Their product, summed per link, is one coupled
// flow. Latency and wire overhead come from the protocol (LL, LL128, Simple)
// that would be fastest on the idle fabric, as NCCL chooses.

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

// The members' domains and rails. REQUIRES: every device is in the fabric
sim::Communicator CommunicatorOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices);

// Traffic of one collective over `devices` (positions of the group). One member
// or zero bytes give traffic without flows or latency.
sim::TrafficDescription LowerCollective(const topologies::Fabric& fabric,
                                        std::span<const hardware::CollectiveTiming> timing,
                                        sim::CollectiveKind kind, sim::Bytes size,
                                        std::span<const std::uint32_t> devices);

// The same collective transfer by transfer; entry i is transfer i of
// ExpandIntoChunks, whose `after` it keeps. `rendezvous` has the latency, once.
struct ChunkedTraffic {
  struct Transfer {
    sim::TrafficDescription traffic;
    std::uint32_t from = 0, to = 0;    // positions in the group
    std::vector<std::uint32_t> after;  // earlier entries
  };
  sim::TrafficDescription rendezvous;
  std::vector<Transfer> transfers;
};
ChunkedTraffic LowerIntoChunks(const topologies::Fabric& fabric,
                               std::span<const hardware::CollectiveTiming> timing, sim::CollectiveKind kind,
                               sim::Bytes size, std::span<const std::uint32_t> devices);

// How long a traffic takes when nothing else is on its links: its latency, and
// its slowest flow at the rate of its tightest link. The closed form that
// stands beside the simulation.
sim::Duration IdleTime(const topologies::Fabric& fabric, const sim::TrafficDescription& traffic);

}  // namespace scenarios

#endif  // SCENARIOS_LOWERING_H_
