// The double binary tree: two trees over the same n nodes, of which nearly every
// node is inside one and a leaf of the other. Half of the data goes over each, so that all
// ports are loaded alike.
//
// Source: Sanders, Speck and Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35(12), 2009; NCCL, src/graph/trees.cc, for the numbering.

#ifndef SIM_COLLECTIVE_DOUBLE_TREE_H_
#define SIM_COLLECTIVE_DOUBLE_TREE_H_

#include <cstdint>
#include <vector>

namespace sim {

// parent[v] of each node; the root is its own parent.
using TreeParents = std::vector<std::uint32_t>;

// A node's height in the tree is its lowest set bit; 0 is the root, and has one child.
// REQUIRES: nodes >= 1
TreeParents BinaryTree(std::uint32_t nodes);

// Its companion: mirrored where `nodes` is even, turned by one where it is odd.
TreeParents CompanionTree(std::uint32_t nodes);

// All nodes, every one behind its parent.
std::vector<std::uint32_t> FromTheRoot(const TreeParents& parents);

}  // namespace sim

#endif  // SIM_COLLECTIVE_DOUBLE_TREE_H_
