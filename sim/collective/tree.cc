// Tree all-reduce. Inside a node a chain; its head is the member that the channel enters
// the node by. Heads form two binary trees, each with half of the channel's data. Data is added
// up towards the root and copied back down, chunk by chunk, in both directions at once.
//
// A port that has a parent and two children carries the data three times each way; in the
// other tree its node is a leaf. So a NIC carries twice its share of the buffer, as in a ring, but the
// number of steps grows with the logarithm of the number of nodes.
//
// Inside a single node the chain is all there is, and each port carries the buffer twice: half
// the bandwidth of a ring, in a pipeline of 2(n-1) steps.
//
// Leaves out: NCCL's balanced and split patterns, where the parent and the children of a node hang on
// two different members of it.
//
// Source: NCCL, src/graph/trees.cc, src/graph/connect.cc, src/device/all_reduce.h (tree part).

#include <algorithm>
#include <bit>
#include <optional>

#include "sim/collective/algorithms.h"
#include "sim/collective/double_tree.h"
#include "sim/collective/part_size.h"
#include "sim/collective/ring_order.h"

namespace sim {
namespace {

using Chain = std::vector<std::uint32_t>;  // members of a domain, the head first

// A tree of members. The root is its own parent.
struct MemberTree {
  std::vector<std::uint32_t> parent;  // by member
  std::vector<std::uint32_t> order;   // every member behind its parent
};

MemberTree TreeOver(const std::vector<Chain>& chains, const TreeParents& domains, std::uint32_t members) {
  MemberTree tree{std::vector<std::uint32_t>(members), {}};
  for (const std::uint32_t domain : FromTheRoot(domains)) {
    const Chain& chain = chains[domain];
    for (std::size_t at = 0; at < chain.size(); ++at) {
      tree.parent[chain[at]] = at > 0 ? chain[at - 1] : chains[domains[domain]].front();
      tree.order.push_back(chain[at]);
    }
  }
  return tree;
}

// Every tree that data goes over, in the order of flows: both trees of each channel.
std::vector<MemberTree> TreesOf(const Communicator& group) {
  const RingOrder order = OrderRings(group);
  std::vector<MemberTree> trees;
  for (const std::vector<std::uint32_t>& ring : order.rings) {
    const std::vector<Chain> chains = SplitByDomain(ring, group);
    trees.push_back(TreeOver(chains, BinaryTree(order.domains), group.size()));
    if (order.domains > 1) trees.push_back(TreeOver(chains, CompanionTree(order.domains), group.size()));
  }
  return trees;
}

// Up the tree and down again. What a member has added up from below is a moment, what it has from above one
// more; at the root they are the same. Edges come in pairs, up and down, in the order of `order` without the
// root.
std::vector<PathStep> StepsOf(const MemberTree& tree) {
  const auto members = static_cast<std::uint32_t>(tree.parent.size());
  const std::uint32_t root = tree.order.front();
  std::vector<PathStep> up, down;
  for (std::uint32_t place = 0; place + 1 < members; ++place) {
    const std::uint32_t member = tree.order[place + 1], parent = tree.parent[member];
    up.push_back({2 * place, member, parent});
    down.push_back({2 * place + 1, parent == root ? root : members + parent, members + member});
  }
  std::vector<PathStep> steps(up.rbegin(), up.rend());
  steps.insert(steps.end(), down.begin(), down.end());
  return steps;
}

std::vector<EdgeLoad> EdgesOf(const MemberTree& tree) {
  std::vector<EdgeLoad> edges;
  edges.reserve(2 * tree.order.size());
  for (const std::uint32_t member : tree.order) {
    if (tree.parent[member] == member) continue;
    edges.push_back({member, tree.parent[member]});
    edges.push_back({tree.parent[member], member});
  }
  return edges;
}

// Transfers of one chunk over a tree, each behind what it waits for.
class ChunkWriter {
 public:
  ChunkWriter(const MemberTree& tree, std::uint32_t channel, std::vector<Transfer>* transfers)
      : tree_(tree), channel_(channel), transfers_(transfers), up_(tree.parent.size()), down_(up_.size()) {}

  void Write(Bytes size, std::uint32_t piece) {
    std::vector<std::vector<std::uint32_t>> arrived(tree_.parent.size());  // by member, from below
    for (auto at = tree_.order.rbegin(); at != tree_.order.rend(); ++at) {
      const std::uint32_t member = *at, parent = tree_.parent[member];
      if (parent == member) continue;
      arrived[parent].push_back(
          Add({member, parent, size, arrived[member], piece, true, channel_}, &up_[member]));
    }
    std::vector<std::uint32_t> brought(tree_.parent.size());  // by member: the transfer from above
    for (const std::uint32_t member : tree_.order) {
      const std::uint32_t parent = tree_.parent[member];
      if (parent == member) continue;
      std::vector<std::uint32_t> after;
      if (tree_.parent[parent] == parent) {
        after = arrived[parent];
      } else {
        after.push_back(brought[parent]);
      }
      brought[member] = Add({parent, member, size, std::move(after), piece, false, channel_}, &down_[member]);
    }
  }

 private:
  std::uint32_t Add(Transfer transfer, std::optional<std::uint32_t>* last_on_edge) {
    if (last_on_edge->has_value()) transfer.after.push_back(**last_on_edge);
    const auto index = static_cast<std::uint32_t>(transfers_->size());
    transfers_->push_back(std::move(transfer));
    *last_on_edge = index;
    return index;
  }

  const MemberTree& tree_;
  std::uint32_t channel_;
  std::vector<Transfer>* transfers_;
  std::vector<std::optional<std::uint32_t>> up_, down_;  // by member: the last on its edge
};

}  // namespace

CollectivePlan PlanTree(const CollectiveRequest& request) {
  const std::vector<MemberTree> trees = TreesOf(request.group);
  const auto parts = static_cast<std::uint32_t>(trees.size());
  CollectivePlan plan;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Bytes size = PartSize(request.size, parts, part);
    if (size == Bytes(0)) break;
    plan.flows.push_back({.size = size, .edges = EdgesOf(trees[part]), .path = StepsOf(trees[part])});
  }
  // As NCCL counts them, not as a chunk goes: the tuner's latencies belong to these.
  const RingOrder order = OrderRings(request.group);
  const std::vector<Chain> chains = SplitByDomain(order.rings.front(), request.group);
  std::size_t longest = 0;
  for (const Chain& chain : chains) longest = std::max(longest, chain.size());
  plan.steps_inside = 2 * static_cast<std::uint32_t>(longest - 1);
  plan.steps_between = 2 * static_cast<std::uint32_t>(std::bit_width(order.domains) - 1);
  return plan;
}

std::vector<Transfer> ExpandTree(const CollectiveRequest& request, Bytes chunk) {
  const std::vector<MemberTree> trees = TreesOf(request.group);
  const auto parts = static_cast<std::uint32_t>(trees.size());
  std::vector<Transfer> transfers;
  std::uint32_t piece = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Bytes size = PartSize(request.size, parts, part);
    if (size == Bytes(0)) break;
    ChunkWriter writer(trees[part], part, &transfers);
    const std::uint32_t chunks = LoopsOf(size, chunk);
    for (std::uint32_t c = 0; c < chunks; ++c) writer.Write(PartSize(size, chunks, c), piece++);
  }
  return transfers;
}

}  // namespace sim
