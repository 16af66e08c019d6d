// ShortestPathRouter: routes on any graph. For explicit fabrics, and the
// oracle of the closed-form routers.

#ifndef TOPOLOGIES_SHORTEST_PATH_ROUTER_H_
#define TOPOLOGIES_SHORTEST_PATH_ROUTER_H_

#include <cstdint>
#include <vector>

#include "topologies/fabric.h"

namespace topologies {

// Traffic takes the paths that pass through the fewest other devices (a GPU
// forwards only where there is no other way) and, among those, the fewest
// links. All of them get the same part: a link's part is the number of paths
// that cross it, of all. Failed links are on no path.
//
// At most kMostPaths paths are used: traffic spreads over all next hops for as
// many hops from the source as keep the number within that, and from there on
// each element forwards on its lowest-numbered link.
//
// Between() costs one search of the graph unless the fabric is small enough
// for a table (kTableEntries distances); then only the length of the paths.
class ShortestPathRouter final : public Router {
 public:
  static constexpr std::uint32_t kMostPaths = 1u << 16;
  static constexpr std::size_t kTableEntries = std::size_t{1} << 23;

  // REQUIRES: all devices reach each other
  explicit ShortestPathRouter(const Fabric& fabric);

  Route Between(std::uint32_t from_device, std::uint32_t to_device) const override;

 private:
  // Links by one of their ends: vertex v's are links[first[v] .. first[v + 1]), lowest first.
  struct Incidence {
    std::vector<std::uint32_t> first, links;
  };

  // What leaving a vertex costs: one link, and more than any path has links when it is a device.
  std::int64_t CostOfLeaving(VertexId vertex) const { return cost_of_leaving_[vertex.pos()]; }
  // What the cheapest path from each vertex to `to` costs.
  std::vector<std::int64_t> CostsTo(VertexId to) const;
  Route Spread(VertexId from, VertexId to, const std::vector<std::int64_t>& cost) const;

  std::vector<Link> links_;
  std::vector<VertexId> devices_;
  std::vector<std::int64_t> cost_of_leaving_;
  Incidence out_, in_;
  std::vector<std::vector<std::int64_t>> costs_;  // to each device; empty = searched when asked
};

}  // namespace topologies

#endif  // TOPOLOGIES_SHORTEST_PATH_ROUTER_H_
