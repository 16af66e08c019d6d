#include "topologies/clos_plan.h"

#include <algorithm>
#include <string>

#include "topologies/cables.h"

namespace topologies {
namespace {

using std::to_string;

constexpr std::uint32_t kMostSites = 256;  // any two are joined
constexpr std::int64_t kMostCables = 8'000'000;

std::uint32_t Narrow(std::int64_t n) { return static_cast<std::uint32_t>(n); }

// The fewest switches above `below` others that give each of these the same number of its `cables` to each
// of them, in `ports` ports (0: any number); 0 if no number of them has the ports. `fixed` cables of all the
// switches go further up.
std::int64_t FewestAbove(std::int64_t below, std::int64_t cables, std::int64_t fixed, std::int64_t ports) {
  for (std::int64_t n = 1; n <= cables; ++n) {
    if (cables % n != 0 || fixed % n != 0) continue;
    if (ports == 0 || below * (cables / n) + fixed / n <= ports) return n;
  }
  return 0;
}

std::optional<sim::Error> CheckUplinks(std::int64_t cables, sim::ByteRate rate, const char* of,
                                       const char* between) {
  if (rate < kSlowest) {
    return sim::Error{std::string("the rate of the cables between ") + between + " is below 1 kB/s"};
  }
  if (!Fits(cables, rate)) {
    return sim::Error{std::string("the cables of a ") + of + " add up to more than 9.2e15 B/s"};
  }
  return std::nullopt;
}

std::optional<sim::Error> CheckLeaf(std::int64_t nics, std::int64_t uplinks, std::int64_t ports) {
  if (ports == 0 || nics + uplinks <= ports) return std::nullopt;
  return sim::Error{"a leaf has " + to_string(ports) + " ports, too few for " + to_string(nics) +
                    " NICs and " + to_string(uplinks) + " cables to spines"};
}

// How the leafs of a site are joined, above them. `plan` knows the leafs.
std::optional<sim::Error> PlanSpines(const FatTreeSpec& spec, ClosPlan* plan) {
  const std::int64_t leafs = std::min(plan->leafs_per_pod, plan->leafs_per_site());
  const std::int64_t to_cores = plan->pods > 1 ? spec.uplinks_per_pod : 0;
  if (const auto fault =
          CheckUplinks(spec.uplinks_per_leaf, spec.uplink, "leaf to its spines", "leaf and spine")) {
    return fault;
  }
  const std::int64_t spines =
      spec.spines > 0 ? spec.spines : FewestAbove(leafs, spec.uplinks_per_leaf, to_cores, spec.switch_ports);
  const std::string pod = plan->pods > 1 ? "a pod" : "the network";
  if (spines == 0) {
    return sim::Error{"no number of spines of " + to_string(spec.switch_ports) + " ports joins the " +
                      to_string(leafs) + " leafs of " + pod + " by " + to_string(spec.uplinks_per_leaf) +
                      " cables each" +
                      (to_cores > 0 ? " and has " + to_string(to_cores) + " cables to cores" : "")};
  }
  if (spec.uplinks_per_leaf % spines != 0 || to_cores % spines != 0) {
    return sim::Error{to_string(spines) + " spines do not divide " +
                      (spec.uplinks_per_leaf % spines != 0
                           ? to_string(spec.uplinks_per_leaf) + " cables of a leaf"
                           : to_string(to_cores) + " cables of a pod") +
                      "; each is cabled alike"};
  }
  const std::int64_t used = leafs * (spec.uplinks_per_leaf / spines) + to_cores / spines;
  if (spec.switch_ports > 0 && used > spec.switch_ports) {
    return sim::Error{"a spine has " + to_string(spec.switch_ports) + " ports; " + to_string(spines) +
                      " spines need " + to_string(used) + " each"};
  }
  plan->uplinks = Narrow(spec.uplinks_per_leaf);
  plan->spines = Narrow(spines);
  plan->uplink = spec.uplink;
  return std::nullopt;
}

std::optional<sim::Error> PlanCores(const FatTreeSpec& spec, ClosPlan* plan) {
  if (plan->pods == 1) return std::nullopt;
  plan->core_uplink = spec.core_uplink > sim::ByteRate() ? spec.core_uplink : spec.uplink;
  if (const auto fault =
          CheckUplinks(spec.uplinks_per_pod, plan->core_uplink, "pod to its cores", "spine and core")) {
    return fault;
  }
  plan->core_uplinks = Narrow(spec.uplinks_per_pod) / plan->spines;
  const std::int64_t cores = FewestAbove(plan->pods, plan->core_uplinks, 0, spec.switch_ports);
  if (cores == 0) {
    return sim::Error{to_string(plan->pods) + " pods are more than a core of " +
                      to_string(spec.switch_ports) + " ports joins"};
  }
  plan->cores = Narrow(cores);
  return std::nullopt;
}

// What is more than can be built one by one.
std::optional<sim::Error> CheckSize(const ClosPlan& plan) {
  constexpr std::int64_t kMostChoices = 4096;  // its fourth power, of ways, is below 2^63
  if (plan.bundled) return std::nullopt;
  if (plan.uplinks > kMostChoices || plan.core_uplinks > kMostChoices) {
    return sim::Error{
        "cables that are chosen one by one are 4096 of a leaf or spine at most; SPRAY takes more"};
  }
  const std::int64_t leafs = std::int64_t{plan.networks()} * plan.leafs_per_site();
  const std::int64_t spines = std::int64_t{plan.networks()} * plan.pods * plan.spines;
  if (leafs * plan.uplinks + spines * plan.core_uplinks > kMostCables) {
    return sim::Error{"more than 8,000,000 cables that are chosen one by one; SPRAY takes more"};
  }
  return std::nullopt;
}

}  // namespace

sim::Result<ClosPlan> PlanRails(const RailOptimisedSpec& spec, const NodePlan& nodes) {
  if (spec.nodes_per_leaf < 1) {
    return sim::Error{"nodes_per_leaf is " + to_string(spec.nodes_per_leaf) + "; 1 or more"};
  }
  ClosPlan plan;
  plan.leafs = ClosPlan::Leafs::kApart;
  plan.switch_latency = spec.switch_latency;
  plan.nodes_per_leaf = Narrow(spec.nodes_per_leaf);
  plan.rails = nodes.ports();
  plan.groups = Narrow(RoundUp(nodes.nodes, spec.nodes_per_leaf));
  plan.leafs_per_pod = plan.groups;
  const std::int64_t nics = spec.nodes_per_leaf * nodes.nics_bundled;
  if (const auto fault = CheckLeaf(nics, spec.uplinks_per_leaf, spec.switch_ports)) return *fault;
  if (plan.groups == 1) return plan;
  const std::string need = to_string(nodes.nodes) + " nodes need " + to_string(plan.groups) + " leafs a rail";
  if (spec.uplinks_per_leaf < 1) {
    return sim::Error{need + ", but uplinks_per_leaf is 0; without spines " + to_string(spec.nodes_per_leaf) +
                      " nodes do"};
  }
  if (const auto fault =
          CheckUplinks(spec.uplinks_per_leaf, spec.uplink, "leaf to its spines", "leaf and spine")) {
    return *fault;
  }
  const std::int64_t spines = FewestAbove(plan.groups, spec.uplinks_per_leaf, 0, spec.switch_ports);
  if (spines == 0) {
    return sim::Error{need + ", more than a spine of " + to_string(spec.switch_ports) +
                      " ports connects; up to " + to_string(spec.switch_ports * spec.nodes_per_leaf) +
                      " nodes do"};
  }
  plan.uplinks = Narrow(spec.uplinks_per_leaf);
  plan.uplink = spec.uplink;
  plan.spines = Narrow(spines);
  return plan;
}

sim::Result<ClosPlan> PlanFatTree(const FatTreeSpec& spec, const NodePlan& nodes) {
  using Leafs = ClosPlan::Leafs;
  ClosPlan plan;
  plan.leafs = spec.rails == RailKind::kOnly        ? Leafs::kApart
               : spec.rails == RailKind::kOptimised ? Leafs::kOfRails
                                                    : Leafs::kShared;
  plan.bundled = spec.routing.routing == Routing::kSpray;
  plan.switch_latency = spec.switch_latency;
  plan.nodes_per_leaf = Narrow(spec.nodes_per_leaf);
  plan.rails = nodes.ports();
  plan.planes = nodes.planes;
  const std::int64_t site = spec.sites.nodes_per_site > 0
                                ? std::min<std::int64_t>(spec.sites.nodes_per_site, nodes.nodes)
                                : nodes.nodes;
  plan.sites = Narrow(RoundUp(nodes.nodes, site));
  plan.nodes_per_site = Narrow(site);
  plan.long_haul = spec.sites.rate;
  plan.long_haul_latency = spec.sites.latency;
  plan.groups = Narrow(RoundUp(site, spec.nodes_per_leaf));
  if (spec.nodes_per_pod % spec.nodes_per_leaf != 0) {
    return sim::Error{"nodes_per_pod is " + to_string(spec.nodes_per_pod) + ", no multiple of the " +
                      to_string(spec.nodes_per_leaf) + " nodes of a leaf"};
  }
  const std::int64_t pod_groups =
      spec.nodes_per_pod > 0 ? spec.nodes_per_pod / spec.nodes_per_leaf : std::int64_t{plan.groups};
  plan.leafs_per_pod = Narrow(pod_groups * (plan.leafs == Leafs::kOfRails ? plan.rails : 1));
  plan.pods = Narrow(RoundUp(plan.groups, pod_groups));

  const bool shared = plan.leafs == Leafs::kShared;
  const std::int64_t nics = spec.nodes_per_leaf * nodes.nics_bundled * (shared ? plan.rails : 1);
  if (const auto fault = CheckLeaf(nics, spec.uplinks_per_leaf, spec.switch_ports)) return *fault;
  if (std::int64_t{nodes.nodes} * plan.rails * plan.planes > kMostCables) {
    return sim::Error{to_string(plan.planes) + " planes make more than 8,000,000 cables of NICs"};
  }
  if (plan.sites > 1 && !plan.bundled) {
    return sim::Error{"several sites are joined under routing SPRAY only"};
  }
  if (plan.sites > kMostSites) {
    return sim::Error{to_string(plan.sites) + " sites; at most " + to_string(kMostSites) + " can be joined"};
  }
  if (plan.sites > 1 && !Fits(plan.sites - 1, spec.sites.rate)) {
    return sim::Error{"the links of a site to the others add up to more than 9.2e15 B/s"};
  }
  // A lone leaf has nothing above it. Nor have a leaf each rail where NVLink joins the rails.
  const bool rails_are_joined =
      plan.leafs == Leafs::kOfRails && plan.groups == 1 && nodes.nvlink && plan.sites == 1;
  if (plan.leafs_per_site() == 1 || (rails_are_joined && spec.uplinks_per_leaf == 0)) return plan;
  if (spec.uplinks_per_leaf < 1) {
    return sim::Error{to_string(nodes.nodes) + " nodes need " + to_string(plan.leafs_per_site()) +
                      " leafs a network, but uplinks_per_leaf is 0"};
  }
  if (plan.pods > 1 && spec.uplinks_per_pod < 1) {
    return sim::Error{to_string(site) + " nodes need " + to_string(plan.pods) +
                      " pods, but uplinks_per_pod is 0"};
  }
  if (const auto fault = PlanSpines(spec, &plan)) return *fault;
  if (const auto fault = PlanCores(spec, &plan)) return *fault;
  if (const auto fault = CheckSize(plan)) return *fault;
  return plan;
}

}  // namespace topologies
