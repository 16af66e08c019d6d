// Collectives dimension by dimension: the group is a grid, as on a torus or as nodes and their devices.
//
// Reduce-scatter goes along dimension 0 first, in all lines of the grid at once, then along dimension 1
// with what is left, 1/n0 of it, and so on; all-gather is the way back, and all-reduce both. So in
// dimension i a member has a block of S / (n0 ... n(i-1)), and sends
//
//   in a ring        (ni - 1)/ni of it to its next, or half of that to each of its two neighbours
//   directly         1/ni of it to each other member of its line
//
// for each of the two. Loops of chunks follow each other, so that all dimensions work at once: the busiest
// one sets the rate, and the others are the fill. While a loop is in one dimension, the one behind it is in
// that before; so of all-reduce a link scatters for a loop and then gathers for an earlier one.
//
// Leaves out: parts of the buffer that begin with other dimensions, which would use all of them alike.
//
// Source: Chan et al., "Collective communication: theory, practice, and experience", Concurrency and
// Computation 19 (2007), section 7 (meshes).

#include <algorithm>
#include <deque>
#include <string>

#include "sim/base/check.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

// The group as a grid; one line of rings both ways where the request has no dimensions.
struct Grid {
  std::vector<Dimension> dimensions;
  std::vector<std::uint32_t> stride;  // of a dimension's places, in members
  std::uint32_t members = 1;

  std::uint32_t size(std::size_t d) const { return dimensions[d].size; }
  std::uint32_t PlaceOf(std::uint32_t member, std::size_t d) const {
    return member / stride[d] % dimensions[d].size;
  }
  // The one at another place of the member's line.
  std::uint32_t At(std::uint32_t member, std::size_t d, std::uint32_t place) const {
    return member - PlaceOf(member, d) * stride[d] + place * stride[d];
  }
  // Neighbours on both sides get a half each. In a line of two they are the same.
  bool BothWays(std::size_t d) const {
    return dimensions[d].algorithm == DimensionAlgorithm::kRing && size(d) > 2;
  }
  bool AnyBothWays() const {
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (BothWays(d)) return true;
    }
    return false;
  }
  bool Direct(std::size_t d) const { return dimensions[d].algorithm == DimensionAlgorithm::kDirect; }
};

Grid GridOf(const CollectiveRequest& request) {
  Grid grid;
  grid.dimensions = request.dimensions;
  if (grid.dimensions.empty()) grid.dimensions = {{request.group.size(), DimensionAlgorithm::kRing}};
  for (const Dimension& dimension : grid.dimensions) {
    CHECK(dimension.size >= 1);
    grid.stride.push_back(grid.members);
    grid.members *= dimension.size;
  }
  CHECK(grid.members == request.group.size());
  return grid;
}

// What an edge of a dimension carries of the buffer in one of the two halves, in 1 / (2 * members).
std::uint32_t WeightOf(const Grid& grid, std::size_t d) {
  const std::uint32_t beyond = grid.members / grid.stride[d] / grid.size(d);
  if (grid.Direct(d)) return 2 * beyond;
  return (grid.BothWays(d) ? 1 : 2) * (grid.size(d) - 1) * beyond;
}

bool Scatters(CollectiveKind kind) { return kind != CollectiveKind::kAllGather; }
bool Gathers(CollectiveKind kind) { return kind != CollectiveKind::kReduceScatter; }

void AddEdges(const Grid& grid, std::size_t d, std::vector<EdgeLoad>* edges) {
  const std::uint32_t n = grid.size(d), weight = WeightOf(grid, d);
  for (std::uint32_t member = 0; member < grid.members; ++member) {
    const std::uint32_t place = grid.PlaceOf(member, d);
    for (std::uint32_t further = 1; further < n; ++further) {
      const bool sends = grid.Direct(d) || further == 1 || (grid.BothWays(d) && further == n - 1);
      if (sends) edges->push_back({member, grid.At(member, d, (place + further) % n), weight});
    }
  }
}

// Writes the transfers of one loop. Each part of the data is a member's in the end (or was in the
// beginning), and is cut into two pieces where they go round the other way. A piece is what one transfer
// carries.
class LoopWriter {
 public:
  LoopWriter(const Grid& grid, Bytes loop, std::uint32_t first_piece, std::vector<Transfer>* transfers)
      : grid_(grid),
        loop_(loop),
        first_piece_(first_piece),
        halves_(grid.AnyBothWays() ? 2 : 1),
        came_(std::size_t{grid.members} * grid.members * halves_),
        transfers_(*transfers) {}

  void Scatter(std::size_t d) { Go(d, true); }
  void Gather(std::size_t d) { Go(d, false); }

 private:
  void Go(std::size_t d, bool scatters) {
    const std::uint32_t n = grid_.size(d);
    for (std::uint32_t step = 0; step + 1 < n; ++step) {
      for (std::uint32_t member = 0; member < grid_.members; ++member) {
        for (std::uint32_t half = 0; half < halves_; ++half) Step(d, scatters, step, member, half);
      }
    }
  }

  // Rings: in a step each member passes on the block that came in the last one. Directly: a step serves
  // the member that much further on.
  void Step(std::size_t d, bool scatters, std::uint32_t step, std::uint32_t member, std::uint32_t half) {
    const std::uint32_t n = grid_.size(d), place = grid_.PlaceOf(member, d);
    const bool back = half == 1 && grid_.BothWays(d);
    const std::uint32_t hop = grid_.Direct(d) ? step + 1 : back ? n - 1 : 1;
    const std::uint32_t to = (place + hop) % n;
    std::uint32_t block = scatters ? to : place;
    if (!grid_.Direct(d)) {
      // Scattered blocks end where they belong after n - 1 steps, gathered ones begin there.
      const std::uint32_t behind = scatters ? step + 1 : step;
      block = back ? (place + behind) % n : (place + n - behind) % n;
    }
    for (std::uint32_t part = 0; part < grid_.members; ++part) {
      bool has = grid_.PlaceOf(part, d) == block;
      for (std::size_t e = 0; e < d && has; ++e) has = grid_.PlaceOf(part, e) == grid_.PlaceOf(member, e);
      if (has) Send(member, grid_.At(member, d, to), part, half, scatters, grid_.BothWays(d));
    }
  }

  std::vector<std::uint32_t>& Came(std::uint32_t member, std::uint32_t part, std::uint32_t half) {
    return came_[(std::size_t{member} * grid_.members + part) * halves_ + half];
  }

  void Send(std::uint32_t from, std::uint32_t to, std::uint32_t part, std::uint32_t half, bool scatters,
            bool both_ways) {
    const Bytes size = PartSize(PartSize(loop_, grid_.members, part), halves_, half);
    if (size == Bytes(0)) return;
    const auto index = static_cast<std::uint32_t>(transfers_.size());
    transfers_.push_back({.from = from,
                          .to = to,
                          .size = size,
                          .after = Came(from, part, half),
                          .piece = first_piece_ + 2 * part + half,
                          .reduces = scatters,
                          .channel = 0});
    if (!scatters) Came(to, part, half).clear();
    Came(to, part, half).push_back(index);
    // Where halves go the same way, one behind the other, neither goes on before both are there.
    if (half == 1 && !both_ways) Came(to, part, 0).push_back(index);
  }

  const Grid& grid_;
  Bytes loop_;
  std::uint32_t first_piece_;
  std::uint32_t halves_;
  std::vector<std::vector<std::uint32_t>> came_;  // by member and piece: transfers that brought it
  std::vector<Transfer>& transfers_;
};

}  // namespace

const char* ToText(DimensionAlgorithm algorithm) {
  switch (algorithm) {
    case DimensionAlgorithm::kRing:
      return "ring";
    case DimensionAlgorithm::kOneWayRing:
      return "one_way_ring";
    case DimensionAlgorithm::kDirect:
      return "direct";
  }
  return "?";
}

CollectivePlan PlanByDimension(const CollectiveRequest& request) {
  const Grid grid = GridOf(request);
  CoupledFlow flow{.size = request.size, .edges = {}, .chunks_a_loop = grid.size(0), .mixes_loops = true};
  CollectivePlan plan;
  std::uint32_t most = 1;
  std::vector<PathStep> scatter;  // in the order of dimensions
  for (std::size_t d = 0; d < grid.dimensions.size(); ++d) {
    if (grid.size(d) == 1) continue;
    const std::size_t first = flow.edges.size();
    AddEdges(grid, d, &flow.edges);
    most = std::max(most, WeightOf(grid, d));
    const std::uint32_t steps = grid.Direct(d) ? 1 : grid.size(d) - 1;
    const bool crosses = std::any_of(
        flow.edges.begin() + static_cast<std::ptrdiff_t>(first), flow.edges.end(), [&](const EdgeLoad& edge) {
          return request.group.domain[edge.from] != request.group.domain[edge.to];
        });
    (crosses ? plan.steps_between : plan.steps_inside) += steps;
    scatter.push_back({.edge = static_cast<std::uint32_t>(first),
                       .numerator = WeightOf(grid, d),
                       .denominator = 2 * grid.members});
  }
  std::int64_t halves = 0;
  if (Scatters(request.kind)) {
    flow.path = scatter;
    ++halves;
  }
  if (Gathers(request.kind)) {
    flow.path.insert(flow.path.end(), scatter.rbegin(), scatter.rend());
    ++halves;
  }
  for (std::uint32_t step = 0; step < flow.path.size(); ++step) {
    flow.path[step].from = step;
    flow.path[step].to = step + 1;
  }
  plan.steps_between *= static_cast<std::uint32_t>(halves);
  plan.steps_inside *= static_cast<std::uint32_t>(halves);
  flow.numerator = halves * most;
  flow.denominator = 2 * std::int64_t{grid.members};
  flow.weight_denominator = most;
  plan.flows.push_back(std::move(flow));
  return plan;
}

std::vector<Transfer> ExpandByDimension(const CollectiveRequest& request, Bytes chunk) {
  const Grid grid = GridOf(request);
  std::vector<Transfer> transfers;
  const std::uint32_t loops = LoopsOf(request.size, chunk, grid.size(0));
  const auto dimensions = static_cast<std::uint32_t>(grid.dimensions.size());
  const std::uint32_t scatters = Scatters(request.kind) ? dimensions : 0;
  const std::uint32_t stages = scatters + (Gathers(request.kind) ? dimensions : 0);
  std::deque<LoopWriter> writers;  // of loops under way, the oldest first
  std::uint32_t oldest = 0;
  for (std::uint32_t turn = 0; turn + 1 < loops + stages; ++turn) {
    if (turn < loops) {
      writers.emplace_back(grid, PartSize(request.size, loops, turn), turn * 2 * grid.members, &transfers);
    }
    for (std::uint32_t stage = 0; stage < stages && stage <= turn; ++stage) {
      const std::uint32_t loop = turn - stage;
      if (loop >= loops) continue;
      LoopWriter& writer = writers[loop - oldest];
      if (stage < scatters) {
        writer.Scatter(stage);
      } else {
        writer.Gather(stages - 1 - stage);
      }
    }
    if (turn + 1 < stages) continue;
    writers.pop_front();
    ++oldest;
  }
  return transfers;
}

}  // namespace sim
