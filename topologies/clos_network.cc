#include "topologies/clos_network.h"

#include "sim/base/check.h"
#include "topologies/cables.h"
#include "topologies/fabric_builder.h"

namespace topologies {
namespace {

using std::to_string;

// "spine3", "spine0-7" for eight behind one vertex.
std::string Named(const char* kind, std::uint32_t first, std::uint32_t elements) {
  std::string name = kind + to_string(first);
  return elements > 1 ? name + '-' + to_string(first + elements - 1) : name;
}

sim::LinkId At(sim::LinkId first, std::uint64_t cable) {
  return sim::LinkId(first.value() + 2 * static_cast<std::uint32_t>(cable));
}

// The next digit of a way, which is a number of mixed base.
std::uint64_t Digit(std::uint64_t* way, std::uint64_t base) {
  const std::uint64_t digit = *way % base;
  *way /= base;
  return digit;
}

}  // namespace

ClosNetwork::ClosNetwork(const ClosPlan& plan)
    : plan_(plan),
      uplinks_(plan.bundled ? 1 : plan.uplinks),
      spines_(plan.bundled ? 1 : plan.spines),
      core_uplinks_(plan.bundled ? 1 : plan.core_uplinks),
      cores_(plan.bundled ? 1 : plan.cores) {
  CHECK(plan.spines == 0 || plan.uplinks % plan.spines == 0);
  CHECK(plan.cores == 0 || plan.core_uplinks % plan.cores == 0);
  CHECK(plan.bundled || plan.sites == 1);
}

ClosNetwork::Place ClosNetwork::PlaceOf(Port port) const {
  Place at{};
  at.network = port.plane;
  at.site = plan_.sites > 1 ? port.node / plan_.nodes_per_site : 0;
  std::uint32_t leaf = (port.node - at.site * plan_.nodes_per_site) / plan_.nodes_per_leaf;
  if (plan_.leafs == ClosPlan::Leafs::kApart) at.network = port.plane * plan_.rails + port.index;
  if (plan_.leafs == ClosPlan::Leafs::kOfRails) leaf = leaf * plan_.rails + port.index;
  at.leaf = at.site * plan_.leafs_per_site() + leaf;
  at.pod = at.site * plan_.pods + leaf / plan_.leafs_per_pod;
  return at;
}

std::string ClosNetwork::Prefix(std::uint32_t network, std::uint32_t site) const {
  const bool apart = plan_.leafs == ClosPlan::Leafs::kApart;
  std::string prefix;
  if (plan_.sites > 1) prefix += "site" + to_string(site) + '/';
  if (plan_.planes > 1) prefix += "plane" + to_string(apart ? network / plan_.rails : network) + '/';
  if (apart) prefix += "rail" + to_string(network % plan_.rails) + '/';
  return prefix;
}

void ClosNetwork::AddLeafs(FabricBuilder* builder) {
  const bool of_rails = plan_.leafs == ClosPlan::Leafs::kOfRails;
  for (std::uint32_t network = 0; network < plan_.networks(); ++network) {
    for (std::uint32_t site = 0; site < plan_.sites; ++site) {
      for (std::uint32_t leaf = 0; leaf < plan_.leafs_per_site(); ++leaf) {
        std::string name = Prefix(network, site);
        if (of_rails) name += "rail" + to_string(leaf % plan_.rails) + '/';
        name += "leaf" + to_string(of_rails ? leaf / plan_.rails : leaf);
        leaf_.push_back(builder->Add(VertexKind::kLeaf, name));
      }
    }
  }
}

void ClosNetwork::AddSpinesAndCores(FabricBuilder* builder) {
  const std::uint32_t behind_spine = plan_.bundled ? plan_.spines : 1;
  const std::uint32_t all_cores = plan_.spines * plan_.cores;
  const std::uint32_t behind_core = plan_.bundled ? all_cores : 1;
  for (std::uint32_t network = 0; plan_.spines > 0 && network < plan_.networks(); ++network) {
    for (std::uint32_t pod = 0; pod < plan_.sites * plan_.pods; ++pod) {
      std::string prefix = Prefix(network, pod / plan_.pods);
      if (plan_.pods > 1) prefix += "pod" + to_string(pod % plan_.pods) + '/';
      for (std::uint32_t spine = 0; spine < plan_.spines; spine += behind_spine) {
        spine_.push_back(
            builder->Add(VertexKind::kSpine, prefix + Named("spine", spine, behind_spine), behind_spine));
      }
    }
  }
  for (std::uint32_t network = 0; all_cores > 0 && network < plan_.networks(); ++network) {
    for (std::uint32_t site = 0; site < plan_.sites; ++site) {
      for (std::uint32_t core = 0; core < all_cores; core += behind_core) {
        core_.push_back(builder->Add(VertexKind::kCore,
                                     Prefix(network, site) + Named("core", core, behind_core), behind_core));
      }
    }
  }
}

void ClosNetwork::AddElements(FabricBuilder* builder) {
  AddLeafs(builder);
  AddSpinesAndCores(builder);
  for (std::uint32_t site = 0; plan_.sites > 1 && site < plan_.sites; ++site) {
    border_.push_back(builder->Add(VertexKind::kSwitch, "site" + to_string(site) + "/border"));
  }
}

VertexId ClosNetwork::SwitchOf(Port port) const {
  const Place at = PlaceOf(port);
  return leaf_[at.network * plan_.sites * plan_.leafs_per_site() + at.leaf];
}

// Of bundled networks: there is one vertex at the top.
VertexId ClosNetwork::TopOf(std::uint32_t network, std::uint32_t site) const {
  const std::size_t position = network * plan_.sites + site;
  return !core_.empty() ? core_[position] : !spine_.empty() ? spine_[position] : leaf_[position];
}

void ClosNetwork::AddCables(FabricBuilder* builder) {
  const auto next = [&] { return sim::LinkId(builder->fabric().links.size()); };
  const std::uint32_t in_bundle = plan_.bundled ? plan_.uplinks : 1;
  first_up_ = next();
  for (std::size_t i = 0; plan_.spines > 0 && i < leaf_.size(); ++i) {
    const std::size_t site = i / plan_.leafs_per_site(), leaf = i % plan_.leafs_per_site();
    const std::size_t pod = site * plan_.pods + leaf / plan_.leafs_per_pod;
    for (std::uint32_t k = 0; k < uplinks_; ++k) {
      builder->AddCable(leaf_[i], spine_[pod * spines_ + k % spines_], Times(in_bundle, plan_.uplink),
                        plan_.switch_latency, plan_.switch_latency, in_bundle);
    }
  }
  // A bundled spine stands for all of its pod.
  const std::uint32_t in_core_bundle = plan_.bundled ? plan_.spines * plan_.core_uplinks : 1;
  first_core_up_ = next();
  for (std::size_t i = 0; plan_.cores > 0 && i < spine_.size(); ++i) {
    const std::size_t group = i % spines_, site = i / spines_ / plan_.pods;
    for (std::uint32_t m = 0; m < core_uplinks_; ++m) {
      builder->AddCable(spine_[i], core_[(site * spines_ + group) * cores_ + m % cores_],
                        Times(in_core_bundle, plan_.core_uplink), plan_.switch_latency, plan_.switch_latency,
                        in_core_bundle);
    }
  }
  if (plan_.sites == 1) return;
  first_to_border_ = next();
  for (std::uint32_t i = 0; i < plan_.networks() * plan_.sites; ++i) {
    const std::uint32_t site = i % plan_.sites;
    builder->AddCableIn(Tier::kBorder, TopOf(i / plan_.sites, site), border_[site],
                        Times(plan_.sites - 1, plan_.long_haul), plan_.switch_latency);
  }
  long_haul_.resize(std::size_t{plan_.sites} * plan_.sites);
  for (std::uint32_t a = 0; a < plan_.sites; ++a) {
    for (std::uint32_t b = a + 1; b < plan_.sites; ++b) {
      const sim::LinkId there = builder->AddCableIn(Tier::kLongHaul, border_[a], border_[b], plan_.long_haul,
                                                    plan_.long_haul_latency + plan_.switch_latency);
      long_haul_[a * plan_.sites + b] = there;
      long_haul_[b * plan_.sites + a] = WayBack(there);
    }
  }
}

sim::LinkId ClosNetwork::Up(const Place& at, std::uint64_t cable) const {
  const std::uint64_t leaf = at.network * plan_.sites * plan_.leafs_per_site() + at.leaf;
  return At(first_up_, leaf * uplinks_ + cable);
}

sim::LinkId ClosNetwork::CoreUp(const Place& at, std::uint64_t spine, std::uint64_t cable) const {
  const std::uint64_t pod = at.network * plan_.sites * plan_.pods + at.pod;
  return At(first_core_up_, (pod * spines_ + spine) * core_uplinks_ + cable);
}

sim::LinkId ClosNetwork::ToBorder(const Place& at) const {
  return At(first_to_border_, at.network * plan_.sites + at.site);
}

sim::LinkId ClosNetwork::LongHaul(std::uint32_t from_site, std::uint32_t to_site) const {
  return long_haul_[from_site * plan_.sites + to_site];
}

void ClosNetwork::UseUp(sim::LinkId cable, RouteWriter* writer) const {
  writer->Use(cable, plan_.switch_latency);
}
void ClosNetwork::UseDown(sim::LinkId cable, RouteWriter* writer) const {
  writer->Use(WayBack(cable), plan_.switch_latency);
}

bool ClosNetwork::Joins(Port from, Port to) const {
  const Place a = PlaceOf(from), b = PlaceOf(to);
  return a.network == b.network && (a.leaf == b.leaf || plan_.spines > 0 || a.site != b.site);
}

std::uint64_t ClosNetwork::Ways(Port from, Port to) const {
  const Place a = PlaceOf(from), b = PlaceOf(to);
  if (a.leaf == b.leaf || plan_.bundled) return 1;
  const std::uint64_t in_pod = std::uint64_t{uplinks_} * (uplinks_ / spines_);
  return a.pod == b.pod ? in_pod : in_pod * core_uplinks_ * (core_uplinks_ / cores_);
}

std::uint32_t ClosNetwork::Cross(Port from, Port to, std::uint64_t way, RouteWriter* writer) const {
  const Place a = PlaceOf(from), b = PlaceOf(to);
  if (a.leaf == b.leaf) return 1;
  std::uint64_t up = 0, spine = 0;
  if (plan_.spines > 0) {
    up = Digit(&way, uplinks_);
    spine = up % spines_;
    UseUp(Up(a, up), writer);
  }
  if (a.pod != b.pod) {
    const std::uint64_t core_up = plan_.cores > 0 ? Digit(&way, core_uplinks_) : 0;
    if (plan_.cores > 0) UseUp(CoreUp(a, spine, core_up), writer);
    if (a.site != b.site) {
      UseUp(ToBorder(a), writer);
      writer->Use(LongHaul(a.site, b.site), plan_.long_haul_latency + plan_.switch_latency);
      UseDown(ToBorder(b), writer);
    }
    if (plan_.cores > 0) {
      const std::uint64_t parallel = Digit(&way, core_uplinks_ / cores_);
      UseDown(CoreUp(b, spine, core_up % cores_ + cores_ * parallel), writer);
    }
  }
  if (plan_.spines > 0) {
    UseDown(Up(b, spine + spines_ * Digit(&way, uplinks_ / spines_)), writer);
  }
  return 1;
}

// The destination's number chooses the cable up, and the same one down.
std::uint64_t ClosNetwork::WayByDestination(Port from, Port to) const {
  const Place a = PlaceOf(from), b = PlaceOf(to);
  if (a.leaf == b.leaf || plan_.bundled) return 0;
  const bool shared = plan_.leafs == ClosPlan::Leafs::kShared;
  const std::uint64_t number = shared ? std::uint64_t{to.node} * plan_.rails + to.index : to.node;
  const std::uint64_t up = number % uplinks_;
  // Spine j sees the destinations whose number leaves j.
  const std::uint64_t core_up = core_uplinks_ > 0 ? number / spines_ % core_uplinks_ : 0;
  const std::uint64_t down = up / spines_;  // which of the cables of that spine
  if (a.pod == b.pod) return up + uplinks_ * down;
  return up + uplinks_ * (core_up + core_uplinks_ * (core_up / cores_ + core_uplinks_ / cores_ * down));
}

std::optional<std::vector<sim::LinkId>> ClosNetwork::Climb(Port port) const {
  if (!plan_.bundled || plan_.sites > 1) return std::nullopt;
  const Place at = PlaceOf(port);
  std::vector<sim::LinkId> links;
  if (plan_.spines > 0) links.push_back(Up(at, 0));
  if (plan_.cores > 0) links.push_back(CoreUp(at, 0, 0));
  return links;
}

}  // namespace topologies
