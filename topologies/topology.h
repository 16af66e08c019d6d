// TopologySpec: how nodes are connected, as a file says it, and the fabric that
// follows once the node and the number of devices are known.
//
// Families
//   single node      one node that stands alone; its NICs are left out.
//   rail optimised   rail r's NICs of `nodes_per_leaf` nodes share a leaf of rail r; every leaf is
//                    cabled evenly to all spines of its rail. Source: NVIDIA DGX SuperPOD reference
//                    architectures (H100, RA-11333-001; B200), chapter "Network Fabrics".
//   single switch    every NIC (every device, where nodes have no NIC) on one non-blocking switch.
//   fat tree         two or three tiers, with or without rails, planes and sites.
//   torus            a router a node, in a ring or line in each dimension.
//   dragonfly plus   groups of leafs and spines, and cables between the spines of any two groups.
//   explicit         a list of elements and links.
//
// Leaves out: adaptive routing that follows the load, and host memory and storage where nothing
// is copied there (topologies/storage.h adds them).

#ifndef TOPOLOGIES_TOPOLOGY_H_
#define TOPOLOGIES_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "proto/field_list.h"
#include "proto/text_reader.h"
#include "sim/base/node_shape.h"
#include "sim/base/result.h"
#include "sim/base/units.h"
#include "topologies/fabric.h"
#include "topologies/routing.h"
#include "topologies/storage.h"

namespace topologies {

struct SingleNodeSpec {};

// A rail has as few spines as have the ports for its leafs, each cabled to
// every leaf alike: the least divisor s of `uplinks_per_leaf` with
// leafs * uplinks_per_leaf / s <= switch_ports; and none for one leaf. (That
// gives the published counts of the SuperPOD's two-tier sizes.)
struct RailOptimisedSpec {
  std::int64_t nodes_per_leaf = 1;
  std::int64_t uplinks_per_leaf = 0;  // cables from a leaf to its spines; 0 = no spines
  sim::ByteRate uplink;               // each of them, each way
  sim::Duration switch_latency;       // from a switch's input to its output
  std::int64_t switch_ports = 0;      // of a leaf or spine; 0 = as many as needed
};

struct SingleSwitchSpec {
  sim::ByteRate port;  // each way; zero = as fast as the NIC
  sim::Duration switch_latency;
  std::int64_t switch_ports = 0;  // 0 = as many as needed
};

// How much of a node's ports a leaf has.
enum class RailKind : std::uint8_t {
  kShared,     // all NICs of a node on one leaf
  kOptimised,  // a leaf a rail; spines join all leafs
  kOnly,       // a leaf a rail; no switch joins two rails
};

// A link between sites stands for all cables between two of them.
struct SitesSpec {
  std::int64_t nodes_per_site = 0;  // 0 = all nodes are on one site
  sim::ByteRate rate;               // between any two sites, each way
  sim::Duration latency;            // one way
};

// Spines of a pod: `spines`, or the fewest that have the ports, each cabled to every leaf of the
// pod alike. A third tier where `nodes_per_pod` is given: each spine has a group of cores, as few as
// have the ports for all pods.
struct FatTreeSpec {
  RailKind rails = RailKind::kShared;
  std::int64_t nodes_per_leaf = 1;
  std::int64_t uplinks_per_leaf = 0;
  sim::ByteRate uplink;              // each of them, each way
  std::int64_t spines = 0;           // of a pod (and rail, if kOnly); 0 = the fewest
  std::int64_t nodes_per_pod = 0;    // 0 = two tiers
  std::int64_t uplinks_per_pod = 0;  // cables from all spines of a pod to cores
  sim::ByteRate core_uplink;         // each of them; zero = as fast as `uplink`
  std::int64_t planes = 1;           // each NIC's rate is split over them
  sim::Duration switch_latency;
  std::int64_t switch_ports = 0;  // 0 = as many as needed
  RoutingRule routing;            // `pxn` follows from the rails
  SitesSpec sites;
};

// Each node has a router, cabled to its two neighbours in every dimension. Traffic goes along
// dimension 0 first, the shorter way round, and both ways alike where they are as long.
struct TorusSpec {
  std::vector<std::int64_t> size;  // routers in each dimension, 1 to 3 of them; dimension 0 counts fastest
  bool wrap = true;                // false: a mesh. A ring of two has one cable.
  sim::ByteRate link;              // each way
  sim::Duration switch_latency;    // a hop
};

// Every leaf of a group is cabled evenly to all its spines, and every spine to as many spines of each other
// group. Traffic takes the direct cables between two groups (minimal routing).
// Source: Shpiner et al., "Dragonfly+: Low cost topology for scaling datacenters", HiPINEB 2017.
struct DragonflyPlusSpec {
  std::int64_t nodes_per_leaf = 1, leafs_per_group = 1, spines_per_group = 1;
  std::int64_t uplinks_per_leaf = 0;             // a multiple of spines_per_group
  std::int64_t global_links = 0;                 // between any two groups, a multiple of spines_per_group
  sim::ByteRate uplink, global_link;             // each, each way
  sim::Duration switch_latency, global_latency;  // the latter beside the switches'
  std::int64_t switch_ports = 0;
};

// What is wrong with some links: slower, later, or gone. Several hold one after the other.
struct LinkFault {
  std::string from, to;    // names of elements, where '*' stands for any characters
  bool one_way = false;    // only links from `from` to `to`, not back
  double rate_factor = 1;  // 0 < factor <= 1
  sim::ByteRate rate;      // at most this, each way; zero = as it was
  sim::Duration slower;    // added latency
  bool failed = false;
  std::int64_t failed_cables = 0;  // of those between two elements; the others keep their rate
};

// A device's NVLink domain is what its name says before the last '/'
// ("node3/gpu5": node3); its rail is its position among the domain's devices.
struct ExplicitNode {
  std::string name;
  VertexKind kind = VertexKind::kDevice;
};
struct ExplicitLink {
  std::string from, to;
  sim::ByteRate capacity;  // each way
  sim::Duration latency;
  bool duplex = true;  // false: `from` to `to` only
};
struct ExplicitSpec {
  std::vector<ExplicitNode> nodes;
  std::vector<ExplicitLink> links;
};

struct TopologySpec {
  std::string name;
  std::string file;  // where it was read from; empty for one made in a program
  std::string source;
  std::variant<SingleNodeSpec, RailOptimisedSpec, SingleSwitchSpec, ExplicitSpec, FatTreeSpec, TorusSpec,
               DragonflyPlusSpec>
      family;
  std::vector<LinkFault> faults = {};
  std::vector<proto::FieldValue> fields = {};  // as the file and --set give them
};

// Something wrong in an explicit list, and where.
struct Fault {
  enum class List : std::uint8_t { kNodes, kLinks, kNone } list = List::kNone;  // kNone: of the whole
  std::size_t position = 0;                                                     // in that list
  const char* field = "";  // of that entry: "name", "from", "to"
  std::string what;
};

// All of them: no device, empty or repeated names, ends that are no element,
// links to oneself, repeated links, rates below kSlowest, latencies that are out of range.
std::vector<Fault> FaultsOf(const ExplicitSpec& spec);

inline constexpr sim::ByteRate kSlowest = sim::ByteRate::BytesPerSecond(1000);
inline constexpr sim::Duration kLongestLatency = sim::Duration::Milliseconds(1000);
inline constexpr std::int64_t kMostDevices = 1'048'576;
inline constexpr std::size_t kMostLinks = 1'000'000;  // of an explicit list

// The fabric of `devices` devices. Nodes are filled in order; one node may be
// filled in part, several must be full. An explicit list must have `devices`
// devices or more, and `node` is not looked at. The same arguments give the
// same ids, with storage or without. Error: what does not fit, what has no rate,
// who cannot reach whom.
sim::Result<Fabric> BuildFabric(const TopologySpec& spec, const sim::NodeShape& node, std::int64_t devices,
                                const std::optional<StorageSpec>& storage = std::nullopt);

// Reads the topology called `name_or_path`: a file of that name, or
// "NAME.textproto" in `beside_folder`, or an entry of the catalogue.
// Every error of the file is reported; one of the name itself at `place`.
// Null when there was one.
std::optional<TopologySpec> ReadTopology(const std::string& name_or_path,
                                         const std::vector<proto::Override>& overrides,
                                         const std::string& beside_folder, proto::Diagnostics* diagnostics,
                                         const std::string& place = "topology");

}  // namespace topologies

#endif  // TOPOLOGIES_TOPOLOGY_H_
