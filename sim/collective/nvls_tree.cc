// NVLSTree: all-reduce over several NVLink domains of equally many members. Each member is the head of
// its rail: the switch of its domain adds up a part of the buffer for it, the heads of a rail add up over a
// double binary tree between domains, and the switch writes what comes back to all members.
//
// Half of a rail's part goes over each of the two trees, so there are two flows a rail.
//
// Source: NCCL, src/device/all_reduce.h (NVLS tree part), src/transport/nvls.cc.

#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "sim/collective/algorithms.h"
#include "sim/collective/double_tree.h"
#include "sim/collective/part_size.h"
#include "sim/collective/ring_order.h"

namespace sim {
namespace {

using Domain = std::vector<std::uint32_t>;  // its members by rail

std::vector<Domain> DomainsOf(const Communicator& group) {
  return SplitByDomain(OrderRings(group).rings.front(), group);
}

// Edges of one flow, and where to find them.
struct Edges {
  std::vector<EdgeLoad> all;
  // Of each domain: its first member -> switch, switch -> head, head -> switch, switch -> first member.
  struct OfDomain {
    std::uint32_t first_up, head_down, head_up, first_down;
    std::uint32_t to_parent, from_parent;  // not of the root
  };
  std::vector<OfDomain> of;
};

Edges EdgesOf(const std::vector<Domain>& domains, std::uint32_t rail, const TreeParents& parents) {
  Edges edges;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    edges.all.push_back({from, to});
    return static_cast<std::uint32_t>(edges.all.size() - 1);
  };
  for (std::uint32_t d = 0; d < domains.size(); ++d) {
    const std::uint32_t head = domains[d][rail];
    Edges::OfDomain of{};
    for (std::size_t i = 0; i < domains[d].size(); ++i) {
      const std::uint32_t up = add(domains[d][i], kNvSwitch), down = add(kNvSwitch, domains[d][i]);
      if (i == 0) of.first_up = up, of.first_down = down;
      if (i != rail) continue;
      of.head_up = up;
      of.head_down = down;
      // Its own data and the sum go up; the domain's sum and everybody's come down.
      edges.all[up].weight = edges.all[down].weight = 2;
    }
    if (parents[d] != d) {
      of.to_parent = add(head, domains[parents[d]][rail]);
      of.from_parent = add(domains[parents[d]][rail], head);
    }
    edges.of.push_back(of);
  }
  return edges;
}

std::vector<PathStep> LongestPath(const Edges& edges, const TreeParents& parents) {
  std::vector<std::uint32_t> depth(parents.size(), 0);
  std::uint32_t deepest = 0;
  for (const std::uint32_t d : FromTheRoot(parents)) {
    if (parents[d] != d) depth[d] = depth[parents[d]] + 1;
    if (depth[d] > depth[deepest]) deepest = d;
  }
  std::vector<PathStep> path = {{edges.of[deepest].first_up}, {edges.of[deepest].head_down}};
  std::vector<std::uint32_t> way;
  for (std::uint32_t d = deepest; parents[d] != d; d = parents[d]) way.push_back(d);
  for (const std::uint32_t d : way) path.push_back({edges.of[d].to_parent});
  for (std::size_t i = way.size(); i-- > 0;) path.push_back({edges.of[way[i]].from_parent});
  path.push_back({edges.of[deepest].head_up});
  path.push_back({edges.of[deepest].first_down});
  return path;
}

struct Tree {
  std::uint32_t rail;
  TreeParents parents;
};

std::vector<Tree> TreesOf(const std::vector<Domain>& domains) {
  const auto count = static_cast<std::uint32_t>(domains.size());
  std::vector<Tree> trees;
  for (std::uint32_t rail = 0; rail < domains.front().size(); ++rail) {
    trees.push_back({rail, BinaryTree(count)});
    trees.push_back({rail, CompanionTree(count)});
  }
  return trees;
}

// Transfers over one tree.
class ChunkWriter {
 public:
  ChunkWriter(const std::vector<Domain>& domains, const Tree& tree, std::uint32_t channel,
              std::vector<Transfer>* transfers)
      : domains_(domains),
        tree_(tree),
        from_root_(FromTheRoot(tree.parents)),
        channel_(channel),
        transfers_(transfers) {}

  void Write(Bytes size, std::uint32_t piece) {
    size_ = size;
    piece_ = piece;
    Share(SumUp());
  }

 private:
  struct Sent {
    std::uint32_t child;
    std::vector<std::uint32_t> waits;
  };

  std::uint32_t Head(std::uint32_t domain) const { return domains_[domain][tree_.rail]; }

  // By domain: what the sum at its head waits for.
  std::vector<std::vector<std::uint32_t>> SumUp() {
    std::vector<std::vector<std::uint32_t>> sum(domains_.size());
    for (auto at = from_root_.rbegin(); at != from_root_.rend(); ++at) {
      const std::uint32_t d = *at, parent = tree_.parents[d];
      std::vector<std::uint32_t> up;
      for (const std::uint32_t member : domains_[d]) up.push_back(Add(member, kNvSwitch, {}, true));
      std::vector<std::uint32_t>& here = sum[d];
      // It has the head's own data too, so it takes its place before what children sent is added.
      here.push_back(Add(kNvSwitch, Head(d), std::move(up), false));
      for (const Sent& from : sent_[d]) {
        std::vector<std::uint32_t> after = from.waits;
        after.push_back(here.front());
        here.push_back(Add(Head(from.child), Head(d), std::move(after), true));
      }
      sent_[d].clear();
      if (parent != d) sent_[parent].push_back({d, here});
    }
    return sum;
  }

  // Over the tree first: then the switches write, also over what the heads have sent.
  void Share(const std::vector<std::vector<std::uint32_t>>& sum) {
    std::vector<std::vector<std::uint32_t>> have(domains_.size());
    for (const std::uint32_t d : from_root_) {
      const std::uint32_t parent = tree_.parents[d];
      have[d] = sum[d];
      if (parent != d) have[d] = {Add(Head(parent), Head(d), have[parent], false, 1)};
    }
    for (const std::uint32_t d : from_root_) {
      const std::uint32_t written = Add(Head(d), kNvSwitch, have[d], false, 1);
      for (const std::uint32_t member : domains_[d]) Add(kNvSwitch, member, {written}, false, 1);
    }
  }

  // Other warps share than those that add up: they have a lane of their own.
  std::uint32_t Add(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> after, bool reduces,
                    std::uint32_t lane = 0) {
    const auto [last, is_new] = last_on_edge_.try_emplace({from, to, lane}, 0);
    if (!is_new) after.push_back(last->second);
    last->second = static_cast<std::uint32_t>(transfers_->size());
    transfers_->push_back({from, to, size_, std::move(after), piece_, reduces, channel_, lane});
    return last->second;
  }

  const std::vector<Domain>& domains_;
  const Tree& tree_;
  std::vector<std::uint32_t> from_root_;
  std::uint32_t channel_;
  std::vector<Transfer>* transfers_;
  Bytes size_;
  std::uint32_t piece_ = 0;
  std::map<std::uint32_t, std::vector<Sent>> sent_;  // to each domain's head, from below
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> last_on_edge_;
};

}  // namespace

CollectivePlan PlanNvlsTree(const CollectiveRequest& request) {
  const std::vector<Domain> domains = DomainsOf(request.group);
  const std::vector<Tree> trees = TreesOf(domains);
  const auto parts = static_cast<std::uint32_t>(trees.size());
  CollectivePlan plan;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Bytes size = PartSize(request.size, parts, part);
    if (size == Bytes(0)) break;
    Edges edges = EdgesOf(domains, trees[part].rail, trees[part].parents);
    std::vector<PathStep> path = LongestPath(edges, trees[part].parents);
    plan.flows.push_back({.size = size, .edges = std::move(edges.all), .path = std::move(path)});
  }
  plan.steps_inside = 1;
  plan.steps_between = 2 * static_cast<std::uint32_t>(std::bit_width(domains.size()) - 1);
  return plan;
}

std::vector<Transfer> ExpandNvlsTree(const CollectiveRequest& request, Bytes chunk) {
  const std::vector<Domain> domains = DomainsOf(request.group);
  const std::vector<Tree> trees = TreesOf(domains);
  const auto parts = static_cast<std::uint32_t>(trees.size());
  std::vector<Transfer> transfers;
  std::uint32_t piece = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Bytes size = PartSize(request.size, parts, part);
    if (size == Bytes(0)) break;
    ChunkWriter writer(domains, trees[part], part, &transfers);
    const std::uint32_t chunks = LoopsOf(size, chunk);
    for (std::uint32_t c = 0; c < chunks; ++c) writer.Write(PartSize(size, chunks, c), piece++);
  }
  return transfers;
}

}  // namespace sim
