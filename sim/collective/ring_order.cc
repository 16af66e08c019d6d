#include "sim/collective/ring_order.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "sim/base/check.h"

namespace sim {
namespace {

using Members = std::vector<std::uint32_t>;  // of one domain, by place or rail

std::vector<Members> MembersByDomain(const Communicator& group) {
  std::vector<Members> domains;
  std::map<std::uint32_t, std::size_t> position_of;  // of a domain's number in `domains`
  for (std::uint32_t member = 0; member < group.size(); ++member) {
    const auto [found, is_new] = position_of.try_emplace(group.domain[member], domains.size());
    if (is_new) domains.emplace_back();
    domains[found->second].push_back(member);
  }
  const std::vector<std::uint32_t>& order = group.place.empty() ? group.rail : group.place;
  for (Members& members : domains) {
    std::stable_sort(members.begin(), members.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return order[a] < order[b]; });
  }
  return domains;
}

// Where each channel enters a domain: positions in its members.
using Entries = std::vector<std::size_t>;

// The rails that all domains have, in order.
std::vector<std::uint32_t> CommonRails(const Communicator& group, const std::vector<Members>& domains) {
  std::map<std::uint32_t, std::size_t> count;  // domains that have this rail
  for (const Members& members : domains) {
    std::vector<std::uint32_t> rails;
    for (const std::uint32_t member : members) rails.push_back(group.rail[member]);
    std::sort(rails.begin(), rails.end());
    rails.erase(std::unique(rails.begin(), rails.end()), rails.end());
    for (const std::uint32_t rail : rails) ++count[rail];
  }
  std::vector<std::uint32_t> common;
  for (const auto& [rail, domains_with_it] : count) {
    if (domains_with_it == domains.size()) common.push_back(rail);
  }
  return common;
}

std::vector<Entries> EntriesOfChannels(const Communicator& group, const std::vector<Members>& domains) {
  std::size_t channels = domains.front().size();
  for (const Members& members : domains) channels = std::min(channels, members.size());
  if (domains.size() == 1) channels = 1;
  const std::vector<std::uint32_t> common = CommonRails(group, domains);

  std::vector<Entries> entries;
  for (const Members& members : domains) {
    Entries& of_domain = entries.emplace_back();
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const auto entry = [&] {
        if (common.size() < channels) return members.begin() + static_cast<std::ptrdiff_t>(channel);
        return std::find_if(members.begin(), members.end(),
                            [&](std::uint32_t member) { return group.rail[member] == common[channel]; });
      }();
      of_domain.push_back(static_cast<std::size_t>(entry - members.begin()));
    }
  }
  return entries;
}

}  // namespace

RingOrder OrderRings(const Communicator& group) {
  CHECK(group.size() > 0 && group.rail.size() == group.domain.size());
  const std::vector<Members> domains = MembersByDomain(group);
  const std::vector<Entries> entries = EntriesOfChannels(group, domains);
  const std::size_t channels = entries.front().size();

  RingOrder order{.rings = {}, .domains = static_cast<std::uint32_t>(domains.size())};
  for (std::size_t channel = 0; channel < channels; ++channel) {
    Members& ring = order.rings.emplace_back();
    ring.reserve(group.size());
    for (std::size_t d = 0; d < domains.size(); ++d) {
      const Members& members = domains[d];
      for (std::size_t i = 0; i < members.size(); ++i) {
        ring.push_back(members[(entries[d][channel] + i) % members.size()]);
      }
    }
  }
  return order;
}

std::vector<std::vector<std::uint32_t>> SplitByDomain(const std::vector<std::uint32_t>& ring,
                                                      const Communicator& group) {
  std::vector<Members> domains;
  for (const std::uint32_t member : ring) {
    const bool next = domains.empty() || group.domain[domains.back().front()] != group.domain[member];
    if (next) domains.emplace_back();
    domains.back().push_back(member);
  }
  return domains;
}

}  // namespace sim
