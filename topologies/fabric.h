// Fabric: who is connected to whom: every device, switch, NIC and host of a
// cluster, and the links between them, as plain values with dense ids.

#ifndef TOPOLOGIES_FABRIC_H_
#define TOPOLOGIES_FABRIC_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/units.h"

namespace topologies {

using VertexId = sim::Index<struct VertexTag>;

enum class VertexKind : std::uint8_t {
  kDevice,
  kNvSwitch,
  kPcieSwitch,
  kHost,
  kNic,
  kLeaf,
  kSpine,
  kSwitch,
  kCore,     // the third tier of a fat tree
  kMemory,   // a host's DRAM
  kStorage,  // servers, and what is behind their ports
};

struct Vertex {
  std::string name;  // "node3/gpu5", "rail2/leaf0", "spine7"
  VertexKind kind = VertexKind::kDevice;
  // Equal ones behind this vertex: spines that are sprayed over evenly. Zero: its place is empty.
  std::uint32_t elements = 1;
};

// What a link is for in reports: each tier has its own row.
enum class Tier : std::uint8_t {
  kNvlink,
  kPcie,
  kHost,
  kNic,
  kLeafSpine,
  kSpineCore,
  kTorus,
  kGlobal,    // between groups of a dragonfly
  kBorder,    // of a site
  kLongHaul,  // between sites
  kHostMemory,
  kFrontend,
  kStorage,
  kOther,
};
inline constexpr int kTierCount = 14;

// One direction of one cable (or port, lane, bus), or of a bundle that is sprayed over evenly.
struct Link {
  VertexId from, to;
  sim::ByteRate capacity;  // > 0; of all cables together
  sim::Duration latency;
  Tier tier = Tier::kOther;
  bool failed = false;       // nothing crosses it; it keeps its id, and its rate is what it had
  std::uint32_t cables = 1;  // of a bundle, all alike
};

const char* ToText(Tier tier);        // "NVLink", "PCIe", ...
const char* ToText(VertexKind kind);  // "device", "NVLink switch", ...

// One link of a route with the part of the traffic that crosses it.
struct RouteUse {
  sim::LinkId link;
  std::uint32_t parts = 1;  // of Route::denominator
};

// How traffic from one device to another is spread over links.
struct Route {
  std::vector<RouteUse> uses;     // each link once, in the order of first crossing
  std::uint32_t denominator = 1;  // even spraying over 4 spines: parts 1 of 4
  sim::Duration latency;          // of one message, over all links of the longest path
};

// How each device's part of a save reaches its host's memory and storage, by
// device; see topologies/storage.h. Parts above the denominator are links that
// carry a byte more than once.
struct StorageRoutes {
  std::vector<Route> to_host, to_device;  // device <-> host memory
  std::vector<sim::LinkId> memory;        // of a device's host: what its processors read and write too
  std::vector<Route> write, read;         // host memory <-> storage; empty without storage
};

// Where routes come from.
class Router {
 public:
  virtual ~Router() = default;
  // From one device to another one; the same pair gives the same route.
  // REQUIRES: both < number of devices
  virtual Route Between(std::uint32_t from_device, std::uint32_t to_device) const = 0;
  // Between a device and the NVLink switch of its domain, which can add up and copy out; no value where
  // there is no such switch.
  virtual std::optional<Route> ToNvSwitch(std::uint32_t device) const;
  virtual std::optional<Route> FromNvSwitch(std::uint32_t device) const;
};

// Immutable once built; cheap to copy.
struct Fabric {
  std::string name;
  std::vector<Vertex> vertices;
  std::vector<Link> links;            // LinkId is the position here
  std::vector<VertexId> devices;      // device d's vertex
  std::vector<std::uint32_t> domain;  // device d's NVLink domain (node)
  std::vector<std::uint32_t> rail;  // device d's NIC's index within its node; its own index where it has none
  bool meshed = false;  // two devices of one domain have a link of their own: which ring is best is searched
  std::shared_ptr<const Router> router;
  std::shared_ptr<const StorageRoutes> storage;  // null unless the job saves, or copies to its hosts

  // Whether both ends of a link are: no place is empty.
  bool IsThere(const Link& link) const {
    return vertices[link.from.pos()].elements > 0 && vertices[link.to.pos()].elements > 0;
  }
  std::string LinkName(sim::LinkId link) const;  // "node3/gpu5 -> node3/nvswitch"
};

// By LinkId.
std::vector<sim::ByteRate> CapacitiesOf(const Fabric& fabric);

// How many elements of each kind: "8 devices, 1 NVLink switch".
std::string ElementsText(const Fabric& fabric);

// What there is, for people: elements by kind, then a line a tier.
std::string ToText(const Fabric& fabric);

}  // namespace topologies

#endif  // TOPOLOGIES_FABRIC_H_
