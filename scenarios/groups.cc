#include "scenarios/groups.h"

#include <algorithm>
#include <utility>

namespace scenarios {
namespace {

std::int64_t DomainsOf(const Scenario& scenario, const std::vector<sim::Rank>& ranks) {
  std::vector<std::uint32_t> domains;
  for (const sim::Rank rank : ranks) domains.push_back(scenario.fabric.domain[rank.pos()]);
  std::sort(domains.begin(), domains.end());
  return std::unique(domains.begin(), domains.end()) - domains.begin();
}

// `copies`: the ranks of another stage that hold the same pieces belong to it.
template <class AnyDimension>
void Add(const Scenario& scenario, const char* name, AnyDimension dimension, std::vector<GroupKind>* kinds,
         bool copies = false) {
  const Layout& layout = scenario.layout;
  const auto group_of = [&](sim::Rank rank) {
    std::vector<sim::Rank> group = layout.Group(rank, dimension);
    return copies ? WithCopies(scenario.pipeline, layout, std::move(group)) : group;
  };
  GroupKind kind{.name = name, .groups = 0, .example = group_of(sim::Rank(0))};
  if (kind.example.size() < 2) return;
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    const std::vector<sim::Rank> group = group_of(rank);
    if (group.front() != rank) continue;
    ++kind.groups;
    kind.most_domains = std::max(kind.most_domains, DomainsOf(scenario, group));
  }
  kinds->push_back(std::move(kind));
}

}  // namespace

std::vector<GroupKind> GroupsOf(const Scenario& scenario) {
  std::vector<GroupKind> kinds;
  Add(scenario, "tensor", Dimension::kTensor, &kinds);
  Add(scenario, "context", Dimension::kContext, &kinds);
  Add(scenario, "data", Dimension::kData, &kinds, /*copies=*/true);
  Add(scenario, "pipeline", Dimension::kPipeline, &kinds);
  if (scenario.model.experts.routed == 0 || !scenario.layout.spreads_experts()) return kinds;
  Add(scenario, "expert tensor", ExpertDimension::kExpertTensor, &kinds);
  Add(scenario, "expert", ExpertDimension::kExpert, &kinds);
  Add(scenario, "expert data", ExpertDimension::kExpertData, &kinds, /*copies=*/true);
  return kinds;
}

std::string ToText(const GroupKind& kind) {
  constexpr std::size_t kShown = 3;
  std::string text = kind.name + ": " + std::to_string(kind.groups) +
                     (kind.groups == 1 ? " group of " : " groups of ") + std::to_string(kind.example.size()) +
                     ", as ranks ";
  for (std::size_t i = 0; i < kind.example.size(); ++i) {
    if (i > kShown && i + 1 < kind.example.size()) continue;
    const bool gap = i == kShown && i + 1 < kind.example.size();
    text += (i > 0 ? ", " : "") + (gap ? std::string("...") : std::to_string(kind.example[i].value()));
  }
  return text + (kind.most_domains == 1
                     ? ": inside one NVLink domain"
                     : ": over the network, up to " + std::to_string(kind.most_domains) + " NVLink domains");
}

}  // namespace scenarios
