#include "tools/link_counters.h"

#include <ostream>
#include <utility>

#include "scenarios/estimate.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/step_builder.h"

namespace tools {
namespace {

constexpr double kTasksToGraph = 20e6;

}  // namespace

std::vector<scenarios::TraceCounter> LinkCounters(const scenarios::Scenario& scenario, std::ostream& err) {
  std::vector<scenarios::TraceCounter> counters;
  const hardware::DeviceCostModel cost = scenarios::CostModelOf(scenario);
  if (scenarios::EstimateOf(scenario, scenarios::PlanStages(scenario, cost)).tasks > kTasksToGraph) {
    err << "orrery: warning: the trace has no graphs of link load, for which there are too many tasks\n";
    return counters;
  }
  const topologies::Fabric& fabric = scenario.fabric;
  for (int t = 0; t < topologies::kTierCount; ++t) {
    scenarios::TraceCounter counter{.name = topologies::ToText(static_cast<topologies::Tier>(t)),
                                    .links = {}};
    for (std::size_t l = 0; l < fabric.links.size(); ++l) {
      if (fabric.links[l].tier == static_cast<topologies::Tier>(t)) counter.links.emplace_back(l);
    }
    if (!counter.links.empty()) counters.push_back(std::move(counter));
  }
  return counters;
}

}  // namespace tools
