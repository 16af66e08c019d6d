#include "scenarios/budget/network_sizing.h"

#include <cmath>

#include "sim/base/check.h"

namespace scenarios {
namespace {

std::int64_t RoundedUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t RailsNeeded(double rate, double rail) {
  CHECK(rail > 0 && rate >= 0);
  return static_cast<std::int64_t>(std::ceil(rate / rail));
}

RailNetwork SizeRails(std::int64_t nodes, std::int64_t rails, std::int64_t ports, double nic_bytes_per_s) {
  CHECK(nodes > 0 && rails > 0 && ports > 2 && ports % 2 == 0 && 4 * nodes <= ports * ports * ports);
  RailNetwork n{.nodes = nodes, .rails = rails, .ports = ports};
  const std::int64_t half = ports / 2;
  std::int64_t leaves = 1, spines = 0, cores = 0, cables = 0;
  if (nodes > ports) {
    // As many cables go up from a level as come into it.
    n.levels = nodes <= ports * half ? 2 : 3;
    leaves = RoundedUp(nodes, half);
    const std::int64_t up = leaves * half;
    spines = RoundedUp(up, n.levels == 2 ? ports : half);
    cables = up;
    if (n.levels == 3) {
      const std::int64_t to_cores = spines * half;
      cores = RoundedUp(to_cores, ports);
      cables += to_cores;
    }
  }
  n.leaves = rails * leaves;
  n.spines = rails * spines;
  n.cores = rails * cores;
  n.cables = rails * cables;
  n.injected_bytes_per_s = static_cast<double>(nodes * rails) * nic_bytes_per_s;
  n.bisection_bytes_per_s = n.injected_bytes_per_s / 2;
  return n;
}

}  // namespace scenarios
