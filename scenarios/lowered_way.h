// One way to do a collective, on the links: its plan by an algorithm, and the plan with a device's
// figures for a protocol. For lowering.cc.

#ifndef SCENARIOS_LOWERED_WAY_H_
#define SCENARIOS_LOWERED_WAY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/device.h"
#include "scenarios/link_loads.h"
#include "sim/collective/collective.h"
#include "sim/program/program_builder.h"
#include "topologies/fabric.h"

namespace scenarios {

// One algorithm's plan on the links; what does not depend on the protocol.
struct Planned {
  sim::CollectivePlan collective;
  std::vector<LinkLoads> loads;  // by flow
  std::vector<std::vector<LinkLoads>>
      edges;                               // by flow: each edge by itself, of what moves in loops; else empty
  std::vector<std::vector<bool>> crosses;  // by flow and edge, likewise: from one domain into another
  std::uint32_t nodes = 1;
};

Planned PlanOn(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
               std::span<const std::uint32_t> devices);

// What a collective takes alone for the first loop to come through, or the last one.
struct Fill {
  sim::Duration inside;  // over edges inside domains, of a collective that crosses between them: latency
  sim::Duration spread;  // all other, which is longer when traffic beside it is in the way
};

// One way's traffic, and the parts that the chunk expansion needs too.
struct Lowered {
  sim::TrafficDescription traffic;
  const hardware::CollectiveTiming* timing = nullptr;  // null: nothing to send
  std::vector<sim::ByteRate> limits;                   // by flow; zero = none
  EdgeRates rates;                                     // by flow and edge; empty where nothing moves in loops
  Fill fill;
};

// REQUIRES: the plan has flows; `timing` outlives the result
Lowered WithTiming(const topologies::Fabric& fabric, const sim::CollectiveRequest& request,
                   const Planned& plan, const hardware::CollectiveTiming& timing, sim::Bytes chunk);

}  // namespace scenarios

#endif  // SCENARIOS_LOWERED_WAY_H_
