#include <algorithm>
#include <cmath>
#include <vector>

#include "models/experts_block.h"
#include "models/experts_layer.h"
#include "sim/base/check.h"

namespace models {
namespace {

using sim::Bytes;

using Group = ExpertMove::Group;
using Kind = sim::CollectiveKind;

void AddAllToAll(const ExpertsLayer& layer, std::int64_t row_out, std::int64_t row_home,
                 SpreadExperts* spread) {
  const Execution& e = layer.execution;
  const bool uneven = !e.experts.loads.empty() && e.experts.capacity_factor == 0;
  const std::int64_t gathered = layer.routed.rows;  // of all ranks that cut an expert
  if (e.experts.expert > 1) {
    spread->outward.push_back(
        {Kind::kAllToAll, Group::kExpert, Bytes(layer.rows * row_out), {}, uneven, true});
  }
  if (e.expert_tensor() > 1 && gathered > 0) {
    spread->outward.push_back(
        {Kind::kAllGather, Group::kExpertTensor, Bytes(gathered * row_out), {}, false, true});
    spread->homeward.push_back(
        {Kind::kReduceScatter, Group::kExpertTensor, Bytes(gathered * row_home), {}, false, false});
  }
  if (e.experts.expert > 1) {
    spread->homeward.push_back(
        {Kind::kAllToAll, Group::kExpert, Bytes(layer.rows * row_home), {}, uneven, false});
  }
}

// A row for each node other than its own, to the rank of the same rail there, and
// from it, or from its own rank, to each other rank of the node that has work.
void AddByNode(const ExpertsLayer& layer, std::int64_t row_out, std::int64_t row_home,
               SpreadExperts* spread) {
  const ExpertSpread& e = layer.execution.experts;
  const Experts& experts = layer.model.experts;
  const auto tokens = static_cast<double>(layer.own);
  const auto nodes = static_cast<double>(e.nodes), ranks = static_cast<double>(e.expert);
  const std::int64_t limit = e.node_limit > 0 ? std::min(e.node_limit, e.nodes) : e.nodes;
  const double kept = static_cast<double>(layer.rows) / (tokens * static_cast<double>(experts.per_token));
  const double to_nodes = VisitedShares(experts.routed, experts.per_token, e.nodes, e.nodes, limit, kept);
  const double to_ranks = VisitedShares(experts.routed, experts.per_token, e.expert, e.nodes, limit, kept);
  // One of `nodes` is the token's own; one of a node's ranks has the row already.
  const double between = tokens * to_nodes * (nodes - 1) / nodes;
  const double inside = tokens * to_ranks * (1 - nodes / ranks);
  for (const bool outward : {true, false}) {
    const auto row = static_cast<double>(outward ? row_out : row_home);
    const Bytes inside_bytes(std::llround(inside * row));
    const Bytes size = Bytes(std::llround(between * row)) + inside_bytes;
    (outward ? spread->outward : spread->homeward)
        .push_back({Kind::kAllToAllByNode, Group::kExpert, size, inside_bytes, false, outward});
  }
}

// The chance that none of `own` of `choice` experts is among `per_token` chosen.
double Missed(std::int64_t choice, std::int64_t own, std::int64_t per_token) {
  double missed = 1;
  for (std::int64_t i = 0; i < per_token; ++i) {
    missed *= static_cast<double>(std::max<std::int64_t>(choice - own - i, 0)) /
              static_cast<double>(std::max<std::int64_t>(choice - i, 1));
  }
  return missed;
}

// The same where each choice is kept with a chance of its own: choice by choice, by how many of `own`
// are chosen so far.
double MissedWhenDropped(std::int64_t choice, std::int64_t own, std::int64_t per_token, double kept) {
  std::vector<double> chance(static_cast<std::size_t>(per_token) + 1, 0);
  chance[0] = 1;
  for (std::int64_t i = 0; i < per_token && i < choice; ++i) {
    for (std::int64_t j = i; j >= 0; --j) {
      const auto at = static_cast<std::size_t>(j);
      const double hit =
          static_cast<double>(std::max<std::int64_t>(own - j, 0)) / static_cast<double>(choice - i);
      chance[at + 1] += chance[at] * hit;
      chance[at] *= 1 - hit;
    }
  }
  double missed = 0, all_dropped = 1;
  for (const double of_so_many : chance) {
    missed += of_so_many * all_dropped;
    all_dropped *= 1 - kept;
  }
  return missed;
}

}  // namespace

void AddMoves(const ExpertsLayer& layer, SpreadExperts* spread) {
  constexpr std::int64_t kScaledChannels = 128, kScaleBytes = 4;  // DeepSeek-V3, section 3.3.2
  const Execution& e = layer.execution;
  const std::int64_t hidden = layer.model.hidden;
  const std::int64_t row_home = hidden * layer.sizes.element;
  const std::int64_t row_out = e.experts.fp8_dispatch
                                   ? hidden + (hidden + kScaledChannels - 1) / kScaledChannels * kScaleBytes
                                   : row_home;
  const std::int64_t tokens = layer.own * e.experts.expert * e.expert_tensor();
  switch (e.experts.dispatcher) {
    case Dispatcher::kAllToAll:
      return AddAllToAll(layer, row_out, row_home, spread);
    case Dispatcher::kAllGather:
      spread->outward.push_back({Kind::kAllGather, Group::kBoth, Bytes(tokens * row_out), {}, false, true});
      spread->homeward.push_back(
          {Kind::kReduceScatter, Group::kBoth, Bytes(tokens * row_home), {}, false, false});
      return;
    case Dispatcher::kDeepEp:
      return AddByNode(layer, row_out, row_home, spread);
  }
}

double VisitedShares(std::int64_t experts, std::int64_t per_token, std::int64_t bins, std::int64_t nodes,
                     std::int64_t limit, double kept) {
  CHECK(experts > 0 && per_token > 0 && bins > 0 && nodes > 0 && limit > 0);
  CHECK(experts % bins == 0 && experts % nodes == 0);
  const std::int64_t choice = experts / nodes * limit;
  const std::int64_t own = std::min(experts / bins, choice);
  const double missed =
      kept < 1 ? MissedWhenDropped(choice, own, per_token, kept) : Missed(choice, own, per_token);
  const double reachable =
      static_cast<double>(bins) * static_cast<double>(limit) / static_cast<double>(nodes);
  return reachable * (1 - missed);
}

}  // namespace models
