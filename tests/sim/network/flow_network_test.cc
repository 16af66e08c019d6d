// Flows by hand: each test states the system, then derives what must happen.

#include "sim/network/flow_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace sim {
namespace {

using namespace literals;
using testing::ElementsAre;

Time At(Duration d) { return Time::Start() + d; }
Use On(int link, std::uint32_t weight = 1) { return {LinkId(link), weight}; }

// Starts flows at given times and notes when each ends.
class Player final : public Actor {
 public:
  Player(std::vector<ByteRate> capacities, std::uint32_t weight_denominator = 1)
      : network(simulator, std::move(capacities), weight_denominator) {
    network.LogRatesTo(&log);
  }

  // Returns the token of the flow.
  std::uint32_t Add(Duration start, std::vector<Use> uses, Bytes bytes, std::uint32_t share = 1,
                    ByteRate limit = {}) {
    const auto token = static_cast<std::uint32_t>(flows.size());
    uses_.push_back(std::move(uses));
    flows.push_back({Volume::Of(bytes), uses_.back(), share, limit});
    ends.push_back(Time::Never());
    simulator.WakeAt(At(start), Phase::kStart, *this, kStarts + token);
    return token;
  }

  void Wake(Time now, std::uint32_t token) override {
    if (token >= kStarts) {
      network.Start(flows[token - kStarts], *this, token - kStarts);
    } else {
      EXPECT_EQ(ends[token], Time::Never()) << "ended twice: " << token;
      ends[token] = now;
      order.push_back(token);
      if (when_ended) when_ended(now, token);
    }
  }

  Simulator simulator;
  FlowNetwork network;
  std::vector<FlowSpec> flows;
  std::vector<Time> ends;            // by token
  std::vector<std::uint32_t> order;  // of ending
  std::vector<RateChange> log;
  std::function<void(Time, std::uint32_t)> when_ended;

 private:
  static constexpr std::uint32_t kStarts = 1u << 30;
  std::deque<std::vector<Use>> uses_;
};

TEST(FlowNetwork, OneFlowTakesItsBytesOverTheRateRoundedUp) {
  // 1 GiB at 450 GB/s: 2^30 * 10^12 / (450 * 10^9) ps = 2^30 * 20 / 9 = 2,386,092,942.2... ps.
  Player player({450_GB_per_s});
  player.Add(0_ns, {On(0)}, 1_GiB);
  player.simulator.Run();
  EXPECT_EQ(player.ends[0], At(2'386'092'943_ps));
  EXPECT_EQ(player.ends[0], At(1_GiB / 450_GB_per_s));
}

TEST(FlowNetwork, TwoFlowsOnOneLinkHalveItWhileBothRun) {
  // 1,000 B and 3,000 B over 1 GB/s (1 B/ns). Both at 0.5 B/ns until the first is through, at 2,000 ns. Then
  // 2,000 B are left of the second, at 1 B/ns: 4,000 ns.
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 1000_B);
  player.Add(0_ns, {On(0)}, 3000_B);
  player.simulator.Run();
  EXPECT_EQ(player.ends[0], At(2000_ns));
  EXPECT_EQ(player.ends[1], At(4000_ns));
  EXPECT_EQ(player.network.solves(),
            2u);  // the start of both, the end of the first; the last end reaches no one
}

}  // namespace
}  // namespace sim
