// PortNetwork: the switches and cables beyond the ports of equal nodes, and
// the ways through them in closed form. A family of networks is one class.
//
// The fabric adds a network's elements behind those of all nodes, then the
// nodes' cables with those of their ports, then the network's own.

#ifndef TOPOLOGIES_PORT_NETWORK_H_
#define TOPOLOGIES_PORT_NETWORK_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "topologies/fabric.h"

namespace topologies {

class FabricBuilder;

// Where a node is cabled: a NIC, or a device where nodes have no NIC; and which
// of its planes, where it is cabled to several.
struct Port {
  std::uint32_t node = 0, index = 0, plane = 0;
};

// What faults leave of a fabric, by link.
struct LinkFaults {
  std::vector<bool> failed;
  std::vector<sim::Duration> slower;  // latency beyond what the link had
};

// Writes one route down, link by link.
class RouteWriter {
 public:
  static constexpr std::uint32_t kAll = 0;  // parts, whatever the denominator

  // `faults`: null for none; kept.
  explicit RouteWriter(const LinkFaults* faults) : faults_(faults) { route_.uses.reserve(12); }

  // A link that all of the traffic crosses.
  void Use(sim::LinkId link, sim::Duration latency) {
    UsePart(link, kAll);
    route_.latency += latency;
    if (faults_ != nullptr) route_.latency += faults_->slower[link.pos()];
  }
  // One that `parts` of the denominator cross. Latency is AddLatency's, once for all ways beside each other.
  void UsePart(sim::LinkId link, std::uint32_t parts) {
    route_.uses.push_back({link, parts});
    blocked_ |= faults_ != nullptr && faults_->failed[link.pos()];
  }
  void AddLatency(sim::Duration latency) { route_.latency += latency; }
  sim::Duration SlowerBy(sim::LinkId link) const {
    return faults_ == nullptr ? sim::Duration() : faults_->slower[link.pos()];
  }

  // Whether a link of it has failed.
  bool blocked() const { return blocked_; }
  Route Take(std::uint32_t denominator) && {
    for (RouteUse& use : route_.uses) use.parts = use.parts == kAll ? denominator : use.parts;
    route_.denominator = denominator;
    return std::move(route_);
  }

 private:
  const LinkFaults* faults_;
  Route route_;
  bool blocked_ = false;
};

class PortNetwork {
 public:
  virtual ~PortNetwork() = default;

  // Each is called once, in this order.
  virtual void AddElements(FabricBuilder* builder) = 0;
  virtual VertexId SwitchOf(Port port) const = 0;
  virtual void AddCables(FabricBuilder* builder) = 0;

  // From the switch into the port; into a switch it costs `switch_latency` more.
  virtual sim::Duration switch_latency() const = 0;

  // Whether traffic can go from port to port through the network alone.
  virtual bool Joins(Port from, Port to) const = 0;
  // Of how many ways one is taken, and what `way` crosses between the two switches: nothing
  // where they are one. Returns the denominator of the parts, 1 where it uses all.
  // REQUIRES: Joins(from, to), way < Ways(from, to)
  virtual std::uint64_t Ways(Port from, Port to) const = 0;
  virtual std::uint32_t Cross(Port from, Port to, std::uint64_t way, RouteWriter* writer) const = 0;
  // The way that depends on the destination alone.
  virtual std::uint64_t WayByDestination(Port /*from*/, Port /*to*/) const { return 0; }

  // The links up from the port's switch to the topmost ones, each followed by its way back; nothing
  // where the network has no top, or cables are chosen one by one.
  virtual std::optional<std::vector<sim::LinkId>> Climb(Port /*port*/) const { return std::nullopt; }
};

// One switch that never blocks.
class SwitchNetwork final : public PortNetwork {
 public:
  explicit SwitchNetwork(sim::Duration latency) : latency_(latency) {}
  void AddElements(FabricBuilder* builder) override;
  VertexId SwitchOf(Port) const override { return switch_; }
  void AddCables(FabricBuilder*) override {}
  sim::Duration switch_latency() const override { return latency_; }
  bool Joins(Port, Port) const override { return true; }
  std::uint64_t Ways(Port, Port) const override { return 1; }
  std::uint32_t Cross(Port, Port, std::uint64_t, RouteWriter*) const override { return 1; }
  std::optional<std::vector<sim::LinkId>> Climb(Port) const override { return std::vector<sim::LinkId>(); }

 private:
  sim::Duration latency_;
  VertexId switch_;
};

}  // namespace topologies

#endif  // TOPOLOGIES_PORT_NETWORK_H_
