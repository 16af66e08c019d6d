// ClosNetwork: leafs, spines and cores in two or three tiers, also as rails,
// planes and sites. The network of rail-optimised fabrics and fat trees.
//
// A network is one of equal ones: planes, and rails where these have nothing in
// common. In each site it has leafs, which come in pods; the spines of a pod are cabled
// to all its leafs alike, cable k of a leaf to spine k mod spines. With a third
// tier, spine j of every pod is cabled to the cores of group j: its cable m to core m mod
// (cores of a group). All tops of a site are cabled to its border, and each
// border to every other one.
//
// `bundled` makes the cables of a leaf one link of their summed rate, and those of a
// pod. Even spraying loads all of them alike, so x/n on each of n cables of rate c fits when x
// fits n*c: nothing is lost, and routes stay short. Else each cable is a link, and
// a way is the choice of one at every step.

#ifndef TOPOLOGIES_CLOS_NETWORK_H_
#define TOPOLOGIES_CLOS_NETWORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/port_network.h"

namespace topologies {

struct ClosPlan {
  enum class Leafs : std::uint8_t {
    kShared,   // all ports of a node on one leaf
    kOfRails,  // a leaf a rail, and the spines join them
    kApart,    // a leaf a rail, and no switch joins rails
  };
  Leafs leafs = Leafs::kShared;
  bool bundled = true;
  sim::Duration switch_latency;
  std::uint32_t nodes_per_leaf = 1;
  std::uint32_t rails = 1;  // ports of a node
  std::uint32_t planes = 1;

  std::uint32_t groups = 1;         // of nodes that share leafs, in a site
  std::uint32_t leafs_per_pod = 1;  // of one network
  std::uint32_t pods = 1;           // of a site

  std::uint32_t uplinks = 0, spines = 0;  // of a leaf; of a pod. 0 = nothing above a lone leaf
  sim::ByteRate uplink;                   // each cable

  std::uint32_t core_uplinks = 0, cores = 0;  // of a spine; of a group. 0 = two tiers
  sim::ByteRate core_uplink;                  // each cable

  std::uint32_t sites = 1, nodes_per_site = 0;
  sim::ByteRate long_haul;  // between two sites, all cables together
  sim::Duration long_haul_latency;

  std::uint32_t leafs_per_site() const { return groups * (leafs == Leafs::kOfRails ? rails : 1); }
  std::uint32_t networks() const { return planes * (leafs == Leafs::kApart ? rails : 1); }
};

class ClosNetwork final : public PortNetwork {
 public:
  // REQUIRES: spines divide uplinks, cores divide core_uplinks; bundled with several sites
  explicit ClosNetwork(const ClosPlan& plan);

  void AddElements(FabricBuilder* builder) override;
  VertexId SwitchOf(Port port) const override;
  void AddCables(FabricBuilder* builder) override;
  sim::Duration switch_latency() const override { return plan_.switch_latency; }
  bool Joins(Port from, Port to) const override;
  std::uint64_t Ways(Port from, Port to) const override;
  std::uint32_t Cross(Port from, Port to, std::uint64_t way, RouteWriter* writer) const override;
  std::uint64_t WayByDestination(Port from, Port to) const override;
  std::optional<std::vector<sim::LinkId>> Climb(Port port) const override;

 private:
  // Where a port is; `leaf` and `pod` count through all sites.
  struct Place {
    std::uint32_t network, site, pod, leaf;
  };
  Place PlaceOf(Port port) const;
  std::string Prefix(std::uint32_t network, std::uint32_t site) const;
  void AddLeafs(FabricBuilder* builder);
  void AddSpinesAndCores(FabricBuilder* builder);
  VertexId TopOf(std::uint32_t network, std::uint32_t site) const;

  // The way up of each cable. The way down is the next id.
  sim::LinkId Up(const Place& at, std::uint64_t cable) const;
  sim::LinkId CoreUp(const Place& at, std::uint64_t spine, std::uint64_t cable) const;
  sim::LinkId ToBorder(const Place& at) const;
  sim::LinkId LongHaul(std::uint32_t from_site, std::uint32_t to_site) const;
  void UseUp(sim::LinkId cable, RouteWriter* writer) const;
  void UseDown(sim::LinkId cable, RouteWriter* writer) const;

  ClosPlan plan_;
  // Links and elements as routes see them: all ones where cables are bundled.
  std::uint32_t uplinks_, spines_, core_uplinks_, cores_;
  std::vector<VertexId> leaf_, spine_, core_, border_;
  sim::LinkId first_up_, first_core_up_, first_to_border_;
  std::vector<sim::LinkId> long_haul_;  // from site * sites + to
};

}  // namespace topologies

#endif  // TOPOLOGIES_CLOS_NETWORK_H_
