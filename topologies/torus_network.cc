#include "topologies/torus_network.h"

#include <algorithm>
#include <string>

#include "topologies/fabric_builder.h"

namespace topologies {

std::optional<sim::Error> RefuseTorus(const TorusSpec& spec, const NodePlan& nodes) {
  std::int64_t routers = 1;
  std::string product;
  for (const std::int64_t n : spec.size) {
    routers *= n;
    product += (product.empty() ? "" : " x ") + std::to_string(n);
  }
  if (nodes.nodes <= routers) return std::nullopt;
  return sim::Error{std::to_string(nodes.nodes) + " nodes are more than the " + product + " = " +
                    std::to_string(routers) + " routers of the torus"};
}

TorusNetwork::TorusNetwork(const TorusSpec& spec) : spec_(spec), size_{1, 1, 1} {
  for (std::size_t d = 0; d < spec.size.size(); ++d) size_[d] = static_cast<std::uint32_t>(spec.size[d]);
  for (const std::uint32_t n : size_) routers_ *= n;
}

TorusNetwork::Place TorusNetwork::PlaceOf(std::uint32_t router) const {
  return {router % size_[0], router / size_[0] % size_[1], router / size_[0] / size_[1]};
}

std::uint32_t TorusNetwork::RouterAt(const Place& place) const {
  return place[0] + size_[0] * (place[1] + size_[1] * place[2]);
}

bool TorusNetwork::HasNext(const Place& place, std::size_t dimension) const {
  const std::uint32_t n = size_[dimension];
  return place[dimension] + 1 < n || (spec_.wrap && n > 2);
}

void TorusNetwork::AddElements(FabricBuilder* builder) {
  for (std::uint32_t router = 0; router < routers_; ++router) {
    const Place place = PlaceOf(router);
    std::string name;
    for (std::size_t d = 0; d < spec_.size.size(); ++d) name += "xyz"[d] + std::to_string(place[d]);
    const VertexId id = builder->Add(VertexKind::kSwitch, name);
    if (router == 0) first_router_ = id;
  }
}

void TorusNetwork::AddCables(FabricBuilder* builder) {
  cables_.resize(routers_ * kMostDimensions);
  for (std::uint32_t router = 0; router < routers_; ++router) {
    const Place place = PlaceOf(router);
    for (std::size_t d = 0; d < kMostDimensions; ++d) {
      if (!HasNext(place, d)) continue;
      Place next = place;
      next[d] = (place[d] + 1) % size_[d];
      cables_[router * kMostDimensions + d] = builder->AddCableIn(
          Tier::kTorus, VertexId(first_router_.value() + router),
          VertexId(first_router_.value() + RouterAt(next)), spec_.link, spec_.switch_latency);
    }
  }
}

sim::Duration TorusNetwork::Walk(Place place, std::size_t dimension, std::uint32_t hops, bool up,
                                 std::uint32_t parts, RouteWriter* writer) const {
  sim::Duration slower;
  const std::uint32_t n = size_[dimension];
  for (std::uint32_t i = 0; i < hops; ++i) {
    if (!up) place[dimension] = (place[dimension] + n - 1) % n;
    const sim::LinkId cable = cables_[RouterAt(place) * kMostDimensions + dimension];
    const sim::LinkId link = up ? cable : sim::LinkId(cable.value() + 1);
    writer->UsePart(link, parts);
    slower += writer->SlowerBy(link);
    if (up) place[dimension] = (place[dimension] + 1) % n;
  }
  return slower;
}

std::uint32_t TorusNetwork::Cross(Port from, Port to, std::uint64_t /*way*/, RouteWriter* writer) const {
  Place at = PlaceOf(from.node);
  const Place end = PlaceOf(to.node);
  std::uint32_t denominator = 1;
  for (std::size_t d = 0; d < kMostDimensions; ++d) {
    if (at[d] == end[d]) continue;
    const std::uint32_t n = size_[d];
    const std::uint32_t up = (end[d] + n - at[d]) % n, down = n - up;
    const bool ring = spec_.wrap && n > 2;
    if (ring && up == down) denominator = 2;
    sim::Duration slower;
    std::uint32_t hops = up;
    if (ring && up == down) {
      slower = std::max(Walk(at, d, up, true, 1, writer), Walk(at, d, down, false, 1, writer));
    } else if (ring ? up < down : end[d] > at[d]) {
      slower = Walk(at, d, up, true, RouteWriter::kAll, writer);
    } else {
      hops = down;
      slower = Walk(at, d, down, false, RouteWriter::kAll, writer);
    }
    writer->AddLatency(std::int64_t{hops} * spec_.switch_latency + slower);
    at[d] = end[d];
  }
  return denominator;
}

}  // namespace topologies
