#include "models/expert_visits.h"

#include <map>
#include <utility>

#include "sim/base/check.h"

namespace models {
namespace {

// Of one bin, and the node that it is on: how likely it is that so many nodes are touched, and that so many
// experts of its node are taken, none of them the bin's.
using State = std::pair<std::int64_t, std::int64_t>;  // nodes touched, experts of the node
using Chances = std::map<State, double>;

struct Router {
  std::int64_t experts, of_node, own, nodes, limit;

  // One expert more, the `taken`-th from 0. What takes the bin's own is left out.
  Chances After(const Chances& before, std::int64_t taken) const {
    Chances after;
    for (const auto& [state, likelihood] : before) {
      const auto& [touched, here] = state;
      const double chance = likelihood;
      const bool full = touched == limit;
      const std::int64_t left = (full ? limit * of_node : experts) - taken;
      const auto add = [&](std::int64_t more, State next) {
        if (more > 0) after[next] += chance * static_cast<double>(more) / static_cast<double>(left);
      };
      const std::int64_t others = touched - (here > 0 ? 1 : 0);
      add(others * of_node - (taken - here), state);
      if (here > 0 || !full) add(of_node - own - here, {touched + (here > 0 ? 0 : 1), here + 1});
      if (!full) add((nodes - others - 1) * of_node, {touched + 1, here});
    }
    return after;
  }
};

}  // namespace

double VisitedByBest(std::int64_t experts, std::int64_t per_token, std::int64_t bins, std::int64_t nodes,
                     std::int64_t limit) {
  CHECK(experts > 0 && per_token > 0 && bins > 0 && nodes > 0 && limit > 0 && limit <= nodes);
  CHECK(experts % bins == 0 && experts % nodes == 0 && bins % nodes == 0);
  CHECK(per_token <= experts / nodes * limit);
  const Router router{experts, experts / nodes, experts / bins, nodes, limit};
  Chances chances = {{{0, 0}, 1.0}};
  for (std::int64_t taken = 0; taken < per_token; ++taken) chances = router.After(chances, taken);
  double missed = 0;
  for (const auto& [state, chance] : chances) missed += chance;
  return static_cast<double>(bins) * (1 - missed);
}

}  // namespace models
