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

// Warps that add up and warps that share work beside each other, at the same rate: two lanes of a channel.
constexpr std::uint32_t kAdding = 0, kSharing = 1;

std::vector<Domain> DomainsOf(const Communicator& group) {
  return SplitByDomain(OrderRings(group).rings.front(), group);
}

// Edges of one flow, and the steps of a loop over them.
struct Edges {
  std::vector<EdgeLoad> all;
  std::vector<PathStep> steps;
};

Edges EdgesOf(const std::vector<Domain>& domains, std::uint32_t rail, const TreeParents& parents) {
  const auto count = static_cast<std::uint32_t>(domains.size());
  // Moments of each domain: its switch has all, its head has the sum of all below, and that of everybody (as
  // soon at the root), and has written it. A loop begins and ends.
  const auto at_switch = [&](std::uint32_t d) { return d; };
  const auto summed = [&](std::uint32_t d) { return count + d; };
  const auto whole = [&](std::uint32_t d) { return (parents[d] == d ? 1 : 2) * count + d; };
  const auto written = [&](std::uint32_t d) { return 3 * count + d; };
  const std::uint32_t begin = 4 * count, end = begin + 1;

  Edges edges;
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t lane, std::uint32_t since,
                       std::uint32_t until) {
    edges.steps.push_back({static_cast<std::uint32_t>(edges.all.size()), since, until});
    edges.all.push_back({from, to, 1, lane});
  };
  const std::vector<std::uint32_t> from_root = FromTheRoot(parents);
  for (auto at = from_root.rbegin(); at != from_root.rend(); ++at) {
    const std::uint32_t d = *at, head = domains[d][rail];
    for (const std::uint32_t member : domains[d]) add(member, kNvSwitch, kAdding, begin, at_switch(d));
    add(kNvSwitch, head, kAdding, at_switch(d), summed(d));
  }
  for (auto at = from_root.rbegin(); at != from_root.rend(); ++at) {
    const std::uint32_t d = *at, parent = parents[d];
    if (parent != d) add(domains[d][rail], domains[parent][rail], kAdding, summed(d), summed(parent));
  }
  for (const std::uint32_t d : from_root) {
    const std::uint32_t head = domains[d][rail], parent = parents[d];
    if (parent != d) add(domains[parent][rail], head, kSharing, whole(parent), whole(d));
    add(head, kNvSwitch, kSharing, whole(d), written(d));
    for (const std::uint32_t member : domains[d]) add(kNvSwitch, member, kSharing, written(d), end);
  }
  return edges;
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
      if (parent != d) have[d] = {Add(Head(parent), Head(d), have[parent], false, kSharing)};
    }
    for (const std::uint32_t d : from_root_) {
      const std::uint32_t written = Add(Head(d), kNvSwitch, have[d], false, kSharing);
      for (const std::uint32_t member : domains_[d]) Add(kNvSwitch, member, {written}, false, kSharing);
    }
  }

  std::uint32_t Add(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> after, bool reduces,
                    std::uint32_t lane = kAdding) {
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
    plan.flows.push_back({.size = size, .edges = std::move(edges.all), .path = std::move(edges.steps)});
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
