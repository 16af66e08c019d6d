// FabricBuilder: collects elements and links, checks that all devices can
// reach each other, and hands out the fabric. For the builders of families.

#ifndef TOPOLOGIES_FABRIC_BUILDER_H_
#define TOPOLOGIES_FABRIC_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/result.h"
#include "topologies/fabric.h"

namespace topologies {

// Which row of reports a link between two kinds belongs to.
Tier TierBetween(VertexKind a, VertexKind b);

class FabricBuilder {
 public:
  explicit FabricBuilder(std::string name) { fabric_.name = std::move(name); }

  VertexId Add(VertexKind kind, std::string name, std::int64_t elements = 1);
  VertexId AddDevice(std::string name, std::uint32_t domain, std::uint32_t rail);

  // REQUIRES: capacity > 0
  sim::LinkId AddLink(VertexId from, VertexId to, sim::ByteRate capacity, sim::Duration latency);

  // Both directions; the second has the next id. `capacity` is that of all `cables` together.
  sim::LinkId AddCable(VertexId a, VertexId b, sim::ByteRate capacity, sim::Duration a_to_b,
                       sim::Duration b_to_a, std::uint32_t cables = 1);
  // Of a tier that the kinds of its ends do not tell.
  sim::LinkId AddCableIn(Tier tier, VertexId a, VertexId b, sim::ByteRate capacity, sim::Duration latency,
                         std::uint32_t cables = 1);

  void SetStorage(StorageRoutes routes) {
    fabric_.storage = std::make_shared<const StorageRoutes>(std::move(routes));
  }

  const Fabric& fabric() const { return fabric_; }
  // Of the links so far: for faults, which come once all are there.
  std::vector<Link>* links() { return &fabric_.links; }

  // Error: devices that cannot reach each other, by name.
  sim::Result<Fabric> Build(std::shared_ptr<const Router> router) &&;

 private:
  Fabric fabric_;
};

}  // namespace topologies

#endif  // TOPOLOGIES_FABRIC_BUILDER_H_
