// Context parallelism: how the ranks that share a sequence work together.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/closed_form.h"
#include "scenarios/layout_rules.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

using std::to_string;

namespace config = orrery::config;

// What the core cannot do block by block, as a sentence; empty where all is well.
std::string WhyNotInBlocks(const Scenario& scenario) {
  const models::Model& model = scenario.model;
  const std::int64_t length = scenario.batch.sequence_length;
  const std::string of_model = " of model \"" + model.name + "\" are not simulated where a sequence is cut";
  if (model.relative_positions) return "relative positions" + of_model;
  if (scenario.layout.context == scenario.layout.ulysses) return "";
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    if (models::ReachOf(model, layer, length) == length) continue;
    return "sliding windows of " + to_string(model.sliding_window) + " tokens" + of_model +
           " by RING or ALL_GATHER; context_kind ULYSSES, or context 1, would do";
  }
  return "";
}

// Two ranks of a group of that dimension that lie on different NVLink domains.
struct FarPair {
  sim::Rank from, to;
};

std::optional<FarPair> FarPairOf(const Scenario& scenario, Dimension dimension) {
  const std::vector<std::uint32_t>& domain = scenario.fabric.domain;
  for (std::int64_t r = 0; r < scenario.layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    if (scenario.layout.Coordinate(rank, dimension) != 0) continue;
    for (const sim::Rank other : scenario.layout.Group(rank, dimension)) {
      if (domain[other.pos()] != domain[rank.pos()]) return FarPair{rank, other};
    }
  }
  return std::nullopt;
}

// "one NVLink domain of 8; WHAT the network (NIC, 48 GB/s)": how large, and the slowest link on the way.
std::string BeyondDomain(const Scenario& scenario, FarPair pair, const std::string& what) {
  const topologies::Fabric& fabric = scenario.fabric;
  const auto size = std::count(fabric.domain.begin(), fabric.domain.end(), fabric.domain[pair.from.pos()]);
  const topologies::Route route = fabric.router->Between(pair.from.value(), pair.to.value());
  const auto slowest =
      std::min_element(route.uses.begin(), route.uses.end(), [&](const auto& a, const auto& b) {
        return fabric.links[a.link.pos()].capacity < fabric.links[b.link.pos()].capacity;
      });
  const topologies::Link& link = fabric.links[slowest->link.pos()];
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.4g", link.capacity.bytes_per_second() * 1e-9);
  return "one NVLink domain of " + to_string(size) + "; " + what + " the network (" +
         topologies::ToText(link.tier) + ", " + rate + " GB/s)";
}

}  // namespace

void ReadContext(const config::Layout& in, const Block& block, Layout* layout) {
  constexpr std::int64_t kMostRanks = 4096;
  if (layout->context == 0) return;  // said already
  const bool exchanges = in.context_kind() == config::ContextKind::ULYSSES;
  const std::int64_t given = block.Optional("ulysses", in.has_ulysses(), in.ulysses(), 1, kMostRanks,
                                            exchanges ? layout->context : 1);
  if (given == 0) return;
  layout->context_kind = in.context_kind() == config::ContextKind::ALL_GATHER
                             ? models::ContextKind::kAllGather
                             : models::ContextKind::kRing;
  if (exchanges && given != layout->context) {
    block.Error("ulysses", to_string(given) + " is not all of context " + to_string(layout->context) +
                               ", as context_kind ULYSSES means; leave it out, or context_kind RING");
    return;
  }
  if (const auto error = RefuseDivision(given, layout->context, "context ranks")) {
    block.Error("ulysses", error->message);
    return;
  }
  layout->ulysses = given;
  layout->zigzag = !in.has_zigzag() || in.zigzag();
  if (!layout->zigzag && layout->context > 1 && layout->ulysses == layout->context) {
    block.Error("zigzag",
                "false needs ranks that pass on or gather keys; with heads exchanged over all of "
                "context every rank has the whole sequence");
  }
}

void CheckContext(const Block& top, bool has_model, const Scenario& scenario) {
  const Layout& layout = scenario.layout;
  if (layout.context <= 1) return;
  if (scenario.training.attention == sim::AttentionKind::kUnfused) {
    top.Of("training")
        .Error("attention", "UNFUSED is not simulated with layout.context " + to_string(layout.context) +
                                ", whose blocks fused attention puts together; FLASH2, FLASH3 "
                                "or CUDNN");
  }
  if (!has_model) return;
  const models::Model& model = scenario.model;
  const Block block = top.Of("layout");
  if (const std::string why = WhyNotInBlocks(scenario); !why.empty()) block.Error("context", why);
  if (layout.ulysses == 1 || layout.tensor == 0 || model.heads % layout.tensor != 0) return;
  const std::int64_t kv_heads = std::max<std::int64_t>(1, model.kv_heads / layout.tensor);
  const auto error =
      RefuseUlysses(layout.ulysses, model.heads / layout.tensor, kv_heads, /*may_replicate=*/true);
  if (error) block.Error("ulysses", error->message + " (of each of tensor " + to_string(layout.tensor) + ")");
}

void WarnFarGroups(const Block& top, Scenario* scenario) {
  const Layout& layout = scenario->layout;
  const auto megabytes = [](double bytes) {
    return to_string(std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / 1e6))) + " MB";
  };
  if (const auto pair = FarPairOf(*scenario, Dimension::kTensor)) {
    const double sent = TensorBytesOfLayer(*scenario);
    top.Of("layout").Warn("tensor", "layout.tensor",
                          "a tensor group of " + to_string(layout.tensor) + " reaches beyond " +
                              BeyondDomain(*scenario, *pair, "its all-reduce of every layer crosses") + ": " +
                              megabytes(sent) + " from each device, a layer and micro-batch",
                          scenario);
  }
  if (const auto pair = FarPairOf(*scenario, Dimension::kContext)) {
    const double sent = ContextBytesOfLayer(*scenario);
    top.Of("layout").Warn("context", "layout.context",
                          "a context group of " + to_string(layout.context) + " reaches beyond " +
                              BeyondDomain(*scenario, *pair, "keys and values of every layer cross") + ": " +
                              megabytes(sent) + " from each device, a layer and micro-batch",
                          scenario);
  }
}

}  // namespace scenarios
