#include "sim/collective/double_tree.h"

#include "sim/base/check.h"

namespace sim {

TreeParents BinaryTree(std::uint32_t nodes) {
  CHECK(nodes >= 1);
  TreeParents parents(nodes, 0);
  for (std::uint32_t node = 1; node < nodes; ++node) {
    const std::uint32_t bit = node & (~node + 1);
    // The neighbour one level up lies above, unless there is none so far.
    const std::uint32_t above = (node ^ bit) | (bit << 1);
    parents[node] = above < nodes ? above : node ^ bit;
  }
  return parents;
}

TreeParents CompanionTree(std::uint32_t nodes) {
  const TreeParents first = BinaryTree(nodes);
  TreeParents parents(nodes, 0);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    const bool mirror = nodes % 2 == 0;
    const std::uint32_t place = mirror ? nodes - 1 - node : (node + nodes - 1) % nodes;
    const std::uint32_t parent = first[place];
    parents[node] = mirror ? nodes - 1 - parent : (parent + 1) % nodes;
  }
  return parents;
}

std::vector<std::uint32_t> FromTheRoot(const TreeParents& parents) {
  std::vector<std::vector<std::uint32_t>> children(parents.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t d = 0; d < parents.size(); ++d) {
    if (parents[d] == d) order.push_back(d);
    if (parents[d] != d) children[parents[d]].push_back(d);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  }
  return order;
}

}  // namespace sim
