// Faults: links that are slower, later or gone, by the names of their ends.
//
//   a cable at half rate   from: "node3/nic5" to: "rail5/leaf*" rate_factor: 0.5
//   a failed uplink        from: "rail5/leaf0" to: "rail5/spine*" failed_cables: 1
//
// A bundle of n cables that loses one keeps (n-1)/n of its rate. That is what adaptive
// spraying makes of it: who sends to that leaf goes round the spine that it has lost.

#ifndef TOPOLOGIES_FAULTS_H_
#define TOPOLOGIES_FAULTS_H_

#include <memory>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "topologies/fabric.h"
#include "topologies/port_network.h"
#include "topologies/topology.h"

namespace topologies {

// Whether a name is one of those that a pattern stands for: '*' stands for any
// characters, also none.
bool Matches(std::string_view pattern, std::string_view name);

// Changes the links and says what routers have to know of it: null where nothing is
// failed or later. Error: a fault that no link has, that leaves a link below kSlowest, or that
// fails more cables than there are; it is named by its position, "faults[2]: ...".
sim::Result<std::shared_ptr<const LinkFaults>> ApplyFaults(const std::vector<LinkFault>& faults,
                                                           const std::vector<Vertex>& vertices,
                                                           std::vector<Link>* links);

}  // namespace topologies

#endif  // TOPOLOGIES_FAULTS_H_
