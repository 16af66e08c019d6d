// Edges of a collective become loads of links: the router says which links an edge crosses.
// For lowering.cc.

#ifndef SCENARIOS_LINK_LOADS_H_
#define SCENARIOS_LINK_LOADS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/device.h"
#include "sim/collective/collective.h"
#include "sim/program/program_builder.h"
#include "topologies/fabric.h"

namespace scenarios {

// How often a flow crosses a link, in units of 1 / LinkLoads::denominator.
struct WeightedLink {
  sim::LinkId link;
  std::uint64_t weight = 0;
};

struct LinkLoads {
  std::vector<WeightedLink> uses;  // in order of links, each once
  std::uint64_t denominator = 1;
  sim::Duration latency_inside, latency_between;  // longest routes inside a domain and between two
};

// REQUIRES: the fabric has NVLink switches where an edge ends in one
LinkLoads LoadsOf(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices,
                  std::span<const sim::EdgeLoad> edges);

// Of an edge of weight 1 from each of the devices to each other one.
LinkLoads LoadsOfAllPairs(const topologies::Fabric& fabric, std::span<const std::uint32_t> devices);

// One coupled flow on the links, with a protocol's overhead on the wire.
sim::FlowDescription FlowOf(const sim::CoupledFlow& flow, const LinkLoads& loads,
                            const hardware::CollectiveTiming& timing, sim::ByteRate limit);

// The same flow with `fill` spread over it: alone it takes `idle` + `fill`, and when other traffic slows it
// down both take longer. It is thinner by as much as it is longer, so that every link carries the bytes that
// it did: a connection that at times has nothing to send. Slowed down s times by others, it takes s `idle` +
// (s - 1) `fill`, and never less than alone. What fills over links that nobody else is on would take `fill`,
// over links like the slow one s `fill`: so it is off by a `fill` at most either way where s is small, and by
// fill/idle where it is large. Nothing changes where the fill is below a thousandth of it. REQUIRES:
// `description` is FlowOf(flow, ...), which alone takes `idle`
sim::FlowDescription WithFill(const sim::CoupledFlow& flow, sim::FlowDescription description,
                              sim::Duration idle, sim::Duration fill);

// `rate` in 10^-3 B/s; rounded up. At most a quarter of the clock's range, so
// that sums hold; what takes that long cannot be simulated anyway.
sim::Duration TimeAt(sim::Volume volume, sim::Wide rate);

// How long a flow needs when it has its links for itself.
sim::Duration IdleTimeOfFlow(const topologies::Fabric& fabric, const sim::FlowDescription& flow);

// How long the busiest link needs for all of the flows, one after the other.
// At most a quarter of the clock's range.
sim::Duration BusiestLink(const topologies::Fabric& fabric, std::span<const sim::FlowDescription> flows);

// The fastest that edges can be, each, while all edges of all flows are busy at once:
// every link shared out in proportion to what crosses it. By flow and edge. A channel is one thread block and
// gets no faster where other channels have yet to start: so the fill has a closed form. `edges` are the loads
// of each edge by itself, `limits` of each flow; zero = none.
using EdgeRates = std::vector<std::vector<sim::ByteRate>>;
EdgeRates RatesOfEdges(const topologies::Fabric& fabric, std::span<const sim::CoupledFlow> flows,
                       std::span<const LinkLoads> loads, std::span<const std::vector<LinkLoads>> edges,
                       const hardware::CollectiveTiming& timing, std::span<const sim::ByteRate> limits);

}  // namespace scenarios

#endif  // SCENARIOS_LINK_LOADS_H_
