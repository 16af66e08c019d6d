// The groups of ranks that communicate, by kind, and how far they reach.

#ifndef SCENARIOS_GROUPS_H_
#define SCENARIOS_GROUPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace scenarios {

struct GroupKind {
  std::string name;                // "tensor", "expert data", ...
  std::int64_t groups = 0;         // of that kind
  std::vector<sim::Rank> example;  // the one of rank 0
  std::int64_t most_domains = 0;   // NVLink domains that one group lies on, at most
};

// Those of two ranks and more: tensor, context (of a hybrid also those that exchange heads,
// and the rings), data, data x context (over which gradients are reduced), pipeline; and where the model's
// experts are spread, expert tensor, expert and expert data.
std::vector<GroupKind> GroupsOf(const Scenario& scenario);

// "tensor: 2 groups of 8, as 0, 1, 2, ... 7: inside one NVLink domain".
std::string ToText(const GroupKind& kind);

}  // namespace scenarios

#endif  // SCENARIOS_GROUPS_H_
