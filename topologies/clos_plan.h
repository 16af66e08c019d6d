// From what a file says of a fat tree or of rails to the switches that it takes.

#ifndef TOPOLOGIES_CLOS_PLAN_H_
#define TOPOLOGIES_CLOS_PLAN_H_

#include "sim/base/result.h"
#include "topologies/clos_network.h"
#include "topologies/node_plan.h"
#include "topologies/topology.h"

namespace topologies {

// Error: ports, cables or rates that do not do for these nodes.
sim::Result<ClosPlan> PlanRails(const RailOptimisedSpec& spec, const NodePlan& nodes);
sim::Result<ClosPlan> PlanFatTree(const FatTreeSpec& spec, const NodePlan& nodes);

}  // namespace topologies

#endif  // TOPOLOGIES_CLOS_PLAN_H_
