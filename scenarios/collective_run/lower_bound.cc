#include "scenarios/collective_run/lower_bound.h"

#include <algorithm>
#include <map>

#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr std::uint32_t kNoCut = UINT32_MAX;

// Up to so many members the links that no route between them uses are left out,
// such as PCIe lanes beside NVLink; above, they are counted in, and the bound is
// lower than it might be.
constexpr std::size_t kMostMembersByRoute = 128;

std::vector<bool> UsedLinks(const topologies::Fabric& fabric, std::span<const std::uint32_t> ranks) {
  if (ranks.size() > kMostMembersByRoute) return std::vector<bool>(fabric.links.size(), true);
  std::vector<bool> used(fabric.links.size());
  for (const std::uint32_t from : ranks) {
    for (const std::uint32_t to : ranks) {
      if (from == to) continue;
      for (const topologies::RouteUse& use : fabric.router->Between(from, to).uses) {
        used[use.link.pos()] = true;
      }
    }
  }
  return used;
}

// "node3" of "node3/gpu5".
std::string NodeOf(const std::string& vertex) {
  const std::size_t slash = vertex.rfind('/');
  return slash == vertex.npos ? "" : vertex.substr(0, slash);
}

// Bytes as a fraction, so that nothing is rounded before it is time.
struct Load {
  sim::Wide bytes = 0;
  std::int64_t of = 1;
};

sim::Duration TimeOf(Load load, sim::Wide milli_bytes_per_s) {
  constexpr sim::Wide kPicoseconds = 1'000'000'000'000'000;  // in 10^-3 B/s times ps
  if (load.bytes == 0) return {};
  CHECK(milli_bytes_per_s > 0);
  const sim::Wide ps = load.bytes * kPicoseconds / load.of / milli_bytes_per_s;
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(std::min<sim::Wide>(ps, INT64_MAX)));
}

struct OutIn {
  Load out, in;
};

// `leaving`: pairs of neighbours, in the order of ranks, of which the first is inside and the second outside.
OutIn LoadsOf(const CollectiveJob& job, std::uint32_t inside, bool root_inside, std::uint32_t leaving,
              std::uint32_t entering) {
  const auto n = static_cast<std::int64_t>(job.ranks.size());
  const std::int64_t k = inside, outside = n - k;
  const sim::Wide size = job.size.count();
  const auto part = [&](std::int64_t members) { return Load{size * members, n}; };
  switch (job.test->kind) {
    case sim::CollectiveKind::kAllReduce:
      return {{size}, {size}};
    case sim::CollectiveKind::kAllGather:
      return {part(k), part(outside)};
    case sim::CollectiveKind::kReduceScatter:
      return {part(outside), part(k)};
    case sim::CollectiveKind::kAllToAll:
      return {part(k * outside), part(k * outside)};
    case sim::CollectiveKind::kBroadcast:
    case sim::CollectiveKind::kSendRecv:
      return root_inside ? OutIn{{size}, {}} : OutIn{{}, {size}};
    case sim::CollectiveKind::kReduce:
      return root_inside ? OutIn{{}, {size}} : OutIn{{size}, {}};
    case sim::CollectiveKind::kGather:
      return root_inside ? OutIn{{}, part(outside)} : OutIn{part(k), {}};
    case sim::CollectiveKind::kScatter:
      return root_inside ? OutIn{part(outside), {}} : OutIn{{}, part(k)};
    case sim::CollectiveKind::kRingShift:
      return {{size * leaving}, {size * entering}};
    case sim::CollectiveKind::kAllToAllByNode:
      break;  // no test of nccl-tests
  }
  CHECK(false && "a kind that nccl-tests does not measure");
  return {};
}

}  // namespace

bool SwitchesAdd(const Cluster& cluster) {
  const sim::NcclSetup& nccl = cluster.device.nccl;
  return nccl.nvswitch && nccl.capability >= 90 && nccl.environment.nvls;
}

GroupBound::GroupBound(const topologies::Fabric& fabric, std::span<const std::uint32_t> ranks,
                       bool switch_adds)
    : switch_adds_(switch_adds) {
  Level members{"links of all members", {}, {}}, nodes{"links out of all nodes", {}, {}};
  std::vector<std::uint32_t> of_vertex(fabric.vertices.size(), kNoCut);
  std::map<std::uint32_t, std::uint32_t> node_of_domain;
  std::map<std::string, std::uint32_t> node_of_name;
  for (const std::uint32_t rank : ranks) {
    const topologies::VertexId vertex = fabric.devices[rank];
    const std::string& name = fabric.vertices[vertex.pos()].name;
    of_vertex[vertex.pos()] = static_cast<std::uint32_t>(members.cuts.size());
    members.cut_of_member.push_back(of_vertex[vertex.pos()]);
    members.cuts.push_back({"links of " + name, 1});
    const auto [node, is_new] =
        node_of_domain.try_emplace(fabric.domain[rank], static_cast<std::uint32_t>(nodes.cuts.size()));
    if (is_new) {
      node_of_name.emplace(NodeOf(name), node->second);
      nodes.cuts.push_back({"links out of " + NodeOf(name)});
    }
    ++nodes.cuts[node->second].inside;
    nodes.cut_of_member.push_back(node->second);
  }
  AddLinks(fabric, ranks, of_vertex, &members);
  // Elements are of the node that they are named after. Any set of them that has
  // the node's members is a cut, so the bound holds whatever a name says.
  for (std::size_t v = 0; v < of_vertex.size(); ++v) {
    const auto node = node_of_name.find(NodeOf(fabric.vertices[v].name));
    of_vertex[v] = node == node_of_name.end() ? kNoCut : node->second;
  }
  if (nodes.cuts.size() > 1) AddLinks(fabric, ranks, of_vertex, &nodes);
  members.has_switch = true;
  levels_ = {std::move(members), std::move(nodes)};
}

void GroupBound::AddLinks(const topologies::Fabric& fabric, std::span<const std::uint32_t> ranks,
                          const std::vector<std::uint32_t>& cut_of_vertex, Level* level) {
  const std::vector<bool> used = UsedLinks(fabric, ranks);
  for (std::size_t i = 0; i < fabric.links.size(); ++i) {
    const topologies::Link& link = fabric.links[i];
    const std::uint32_t from = cut_of_vertex[link.from.pos()], to = cut_of_vertex[link.to.pos()];
    if (from == to || !used[i]) continue;
    if (from != kNoCut) level->cuts[from].out += link.capacity.milli();
    if (to != kNoCut) level->cuts[to].in += link.capacity.milli();
  }
}

void GroupBound::Raise(const Level& level, const CollectiveJob& job, LowerBound* bound) const {
  const auto raise = [&](Load load, sim::Wide rate, const std::string& what) {
    const sim::Duration time = TimeOf(load, rate);
    if (time > bound->time) *bound = {time, what};
  };
  const std::size_t n = job.ranks.size();
  std::vector<std::uint32_t> leaving(level.cuts.size()), entering(level.cuts.size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t from = level.cut_of_member[i], to = level.cut_of_member[(i + 1) % n];
    if (from == to) continue;
    ++leaving[from];
    ++entering[to];
  }
  sim::Wide out = 0, in = 0;
  for (std::size_t c = 0; c < level.cuts.size(); ++c) {
    const Cut& cut = level.cuts[c];
    const bool root_inside = level.cut_of_member[job.root] == c;
    const OutIn loads = LoadsOf(job, cut.inside, root_inside, leaving[c], entering[c]);
    raise(loads.out, cut.out, cut.name);
    raise(loads.in, cut.in, cut.name);
    out += cut.out;
    in += cut.in;
  }
  if (job.test->kind != sim::CollectiveKind::kAllReduce || (level.has_switch && switch_adds_)) return;
  const Load all{sim::Wide{2} * job.size.count() * static_cast<std::int64_t>(level.cuts.size() - 1)};
  raise(all, std::min(out, in), level.all);
}

LowerBound GroupBound::Of(const CollectiveJob& job) const {
  LowerBound bound;
  for (const Level& level : levels_) {
    if (level.cuts.size() > 1) Raise(level, job, &bound);
  }
  return bound;
}

}  // namespace scenarios
