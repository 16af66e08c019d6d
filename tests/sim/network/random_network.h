// Random networks: links, and flows that use them, with many ties.

#ifndef TESTS_SIM_NETWORK_RANDOM_NETWORK_H_
#define TESTS_SIM_NETWORK_RANDOM_NETWORK_H_

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/network/flow.h"

namespace sim {

struct RandomFlow {
  std::vector<Use> uses;
  std::uint32_t share = 1;
  ByteRate limit;
  Bytes bytes;
  Duration start;

  FlowSpec spec() const { return {Volume::Of(bytes), uses, share, limit}; }
};

struct RandomNetwork {
  std::vector<ByteRate> capacities;
  std::uint32_t denominator = 1;
  std::vector<RandomFlow> flows;

  std::vector<FlowSpec> specs() const {
    std::vector<FlowSpec> result;
    for (const RandomFlow& flow : flows) result.push_back(flow.spec());
    return result;
  }
};

// A random order of 0 ... n-1 (Fisher and Yates).
inline std::vector<std::uint32_t> Shuffled(std::uint32_t n, Random& random) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

// Capacities are 1 MB/s to 3 GB/s, few values or any; weights, shares, limits,
// sizes and starts often coincide, so that levels, ends and instants do.
inline RandomNetwork MakeRandomNetwork(Random& random, std::uint32_t most_links = 12,
                                       std::uint32_t most_flows = 24) {
  RandomNetwork network;
  const std::uint32_t links = 1 + random.Below(most_links), flows = 1 + random.Below(most_flows);
  network.denominator = random.Below(2) == 0 ? 1 : 1 + random.Below(60);
  const bool few_values = random.Below(2) == 0, plain = random.Below(3) == 0;
  for (std::uint32_t l = 0; l < links; ++l) {
    network.capacities.push_back(
        few_values ? ByteRate::BytesPerSecond(1'000'000'000 * (1 + random.Below(3)))
                   : ByteRate::MilliBytesPerSecond(random.Between(1'000'000'000, 3'000'000'000)));
  }
  for (std::uint32_t f = 0; f < flows; ++f) {
    RandomFlow flow;
    const std::vector<std::uint32_t> order = Shuffled(links, random);
    const std::uint32_t uses =
        random.Below(8) == 0 ? random.Below(links + 1) : 1 + random.Below(std::min(links, 3u));
    for (std::uint32_t u = 0; u < uses; ++u) {
      const std::uint32_t weight =
          random.Below(2) == 0 ? network.denominator : 1 + random.Below(2 * network.denominator);
      flow.uses.push_back({LinkId(order[u]), weight});
    }
    if (!plain) {
      flow.share = random.Below(2) == 0 ? 1 : 1 + random.Below(8);
      if (random.Below(4) == 0) flow.limit = ByteRate::BytesPerSecond(random.Between(1, 40) * 25'000'000);
    }
    flow.bytes = random.Below(3) == 0 ? Bytes(random.Below(3) * 1'000'000) : Bytes(random.Below(2'000'000));
    flow.start = random.Below(2) == 0 ? Duration::Milliseconds(random.Below(4))
                                      : Duration::Picoseconds(random.Below(4'000'000'000));
    network.flows.push_back(std::move(flow));
  }
  return network;
}

}  // namespace sim

#endif  // TESTS_SIM_NETWORK_RANDOM_NETWORK_H_
