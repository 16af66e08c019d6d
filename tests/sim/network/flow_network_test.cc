// Flows by hand: each test states the system, then derives what must happen.
// A link of 1 GB/s carries 1 byte in a nanosecond.

#include "sim/network/flow_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/sim/engine/allocations.h"
#include "tests/sim/network/player.h"

namespace sim {
namespace {

using namespace literals;
using testing::ElementsAre;

// 1 GiB at 450 GB/s: 2^30 * 10^12 / (450 * 10^9) ps = 2^30 * 20 / 9 = 2,386,092,942.2... ps.
TEST(FlowNetwork, AFlowTakesItsBytesOverTheRateRoundedUp) {
  Player player({450_GB_per_s});
  player.Add(0_ns, {On(0)}, 1_GiB);
  player.simulator.Run();
  EXPECT_EQ(player.ends[0], At(2'386'092'943_ps));
  EXPECT_EQ(player.ends[0], At(1_GiB / 450_GB_per_s));
}

// 1,000 B and 3,000 B from time 0. Both at 0.5 B/ns until the first is through, at 2,000 ns. Then 2,000 B are
// left of the second, at 1 B/ns.
TEST(FlowNetwork, TwoFlowsHalveALinkWhileBothRun) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 1000_B);
  player.Add(0_ns, {On(0)}, 3000_B);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(2000_ns), At(4000_ns)));
}

// 1,000 B alone for 400 ns, 600 B left. Then two halve the link: 1,200 ns. The second has 400 B left at 1,600
// ns.
TEST(FlowNetwork, WhatWasDoneBeforeAChangeStaysDone) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 1000_B);
  player.Add(400_ns, {On(0)}, 1000_B);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1600_ns), At(2000_ns)));
}

// The parking lot of max_min_test in time: 12, 9 and 8 GB/s; rates 4, 8, 5, 4 B/ns. 4,000 B, 4,000 B, 5,000 B
// and 2,000 B: flow 3 ends at 500 ns. Then link 2 has room, and link 1 is next: x0 = x2 = 4.5, x1 = 7.5. At
// 500 ns flow 1 is through too (8 * 500 = 4,000). Flow 0 has 2,000 B left, flow 2 2,500 B: flow 0 ends
// 2,000/4.5 ns later = 444,444.4 ps, rounded up, flow 2 has 500 B - rounding left, at 9 B/ns.
TEST(FlowNetwork, ParkingLot) {
  Player player({12_GB_per_s, 9_GB_per_s, 8_GB_per_s});
  player.Add(0_ns, {On(0), On(1), On(2)}, 4000_B);
  player.Add(0_ns, {On(0)}, 4000_B);
  player.Add(0_ns, {On(1)}, 5000_B);
  player.Add(0_ns, {On(2)}, 2000_B);
  player.simulator.Run();
  EXPECT_EQ(player.ends[1], At(500_ns));
  EXPECT_EQ(player.ends[3], At(500_ns));
  EXPECT_EQ(player.ends[0], At(944'445_ps));
  // After 444,445 ps at 4.5 B/ns: 2,500 - 2,000.0025 = 499.9975 B, over 9 B/ns = 55,555.3 ps.
  EXPECT_EQ(player.ends[2], At(944'445_ps + 55'556_ps));
}

// Ring all-reduce of 1,024 ranks, 1 GiB, on a switch: one flow over 1,024 links out and 1,024 in. Progress
// counts bytes on one edge, 2 * 1023/1024 * 2^30 = 2,145,386,496, at 50 GB/s: 42,907,729,920 ps.
TEST(FlowNetwork, ARingOf1024RanksIsOneFlow) {
  Player player(std::vector<ByteRate>(2048, 50_GB_per_s));
  std::vector<Use> ring;
  for (std::size_t link = 0; link < 2048; ++link) ring.push_back(On(link));
  player.Add(0_ns, ring, Volume::OfFraction(1_GiB, 2 * 1023, 1024));
  player.simulator.Run();
  EXPECT_EQ(player.ends[0], At(42'907'729'920_ps));
  EXPECT_EQ(player.simulator.events(), 3u);  // start, share, end
}

// The same ring at 1,000 B, and a bystander of 250 B on edge 7 between 100 and 600 ns. While it runs, the
// whole ring goes at 0.5 B/ns: 100 + 250 + 650.
TEST(FlowNetwork, ABystanderOnOneEdgeSlowsTheWholeRing) {
  Player player(std::vector<ByteRate>(1024, 1_GB_per_s));
  std::vector<Use> ring;
  for (std::size_t link = 0; link < 1024; ++link) ring.push_back(On(link));
  player.Add(0_ns, ring, 1000_B);
  player.Add(100_ns, {On(7)}, 250_B);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1250_ns), At(600_ns)));
}

// Weight 2 of denominator 1: the link carries two bytes per byte of progress. Weight 1 of 2: half a byte.
TEST(FlowNetwork, WeightsScaleWhatALinkCarries) {
  Player twice({1_GB_per_s}, 1);
  twice.Add(0_ns, {On(0, 2)}, 1000_B);
  twice.simulator.Run();
  EXPECT_EQ(twice.ends[0], At(2000_ns));

  Player half({1_GB_per_s}, 2);
  half.Add(0_ns, {On(0, 1)}, 1000_B);
  half.simulator.Run();
  EXPECT_EQ(half.ends[0], At(500_ns));
}

// Shares 3 and 1 of 1 GB/s: 750 B and 250 B both take 1,000 ns.
TEST(FlowNetwork, SharesDivideTheLink) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 750_B, 3);
  player.Add(0_ns, {On(0)}, 250_B, 1);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1000_ns), At(1000_ns)));
}

// A limit of 0.2 of 1 GB/s leaves 0.8: 200 B and 800 B both take 1,000 ns. Without links the limit is the
// rate.
TEST(FlowNetwork, LimitsHoldAndLeaveTheRest) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 200_B, 1, ByteRate::BytesPerSecond(200'000'000));
  player.Add(0_ns, {On(0)}, 800_B);
  player.Add(0_ns, {}, 100_B, 1, ByteRate::BytesPerSecond(100'000'000));
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1000_ns), At(1000_ns), At(1000_ns)));
}

// Player stops the test if it is woken inside Start().
TEST(FlowNetwork, AFlowWithNothingToDoEndsAtItsInstantButNotInsideStart) {
  Player player({1_GB_per_s});
  player.Add(5_ns, {On(0)}, 0_B);
  player.Add(5_ns, {}, 1_GiB);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(5_ns), At(5_ns)));
  EXPECT_EQ(player.network.solves(), 0u);
  EXPECT_TRUE(player.log.empty());  // never had a rate
}

// An owner that starts the next flow in the wakeup of the last: a chain of 100 flows of 10 B at 1 B/ns.
TEST(FlowNetwork, AFlowStartedInAWakeupIsSharedInThatInstant) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 10_B);
  std::vector<Time> ends;
  player.when_ended = [&](Time now, std::uint32_t token) {
    ends.push_back(now);
    player.ends[token] = Time::Never();
    if (ends.size() < 100) player.ids[0] = player.network.Start(player.flows[0], player, 0);
  };
  player.simulator.Run();
  EXPECT_EQ(ends.back(), At(1000_ns));
}

// A chain of flows of no volume goes nowhere in time, and each of them is an event of its own.
TEST(FlowNetwork, AChainOfEmptyFlowsStaysAtItsInstant) {
  Player player({1_GB_per_s});
  player.Add(7_ns, {On(0)}, 0_B);
  int left = 100;
  player.when_ended = [&](Time, std::uint32_t token) {
    player.ends[token] = Time::Never();
    if (--left > 0) player.network.Start(player.flows[0], player, 0);
  };
  player.simulator.Run();
  EXPECT_EQ(left, 0);
  EXPECT_EQ(player.simulator.now(), At(7_ns));
  EXPECT_EQ(player.simulator.events(), 1u + 100u);
}

TEST(FlowNetwork, FlowsThatEndTogetherWakeTheirOwnersInTheOrderOfStarting) {
  Player player(std::vector<ByteRate>(5, 1_GB_per_s));
  // Of 50, 40, ... 10 B, started so that all end at 100 ns; the links in the other direction.
  for (std::uint32_t i = 0; i < 5; ++i) {
    player.Add(Duration::Nanoseconds(50 + 10 * i), {On(4 - i)}, Bytes(50 - 10 * i));
  }
  player.simulator.Run();
  EXPECT_THAT(player.ends, testing::Each(At(100_ns)));
  EXPECT_THAT(player.order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(FlowNetwork, AllStartsOfAnInstantAreSolvedOnce) {
  Player player({1_GB_per_s});
  for (int i = 0; i < 100; ++i) player.Add(0_ns, {On(0)}, 10_B);
  player.simulator.Run();
  EXPECT_THAT(player.ends, testing::Each(At(1000_ns)));
  EXPECT_EQ(player.network.flows_solved(), 100u);
  // 100 starts, one share, one wakeup for all ends, one share that finds nobody left.
  EXPECT_EQ(player.simulator.events(), 103u);
}

// At 1,000 ns one flow ends and another of equal size starts: the third never sees a change.
TEST(FlowNetwork, AnEndAndAStartAtOneInstantAreSeenTogether) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 500_B);
  player.Add(0_ns, {On(0)}, 1000_B);
  player.Add(1000_ns, {On(0)}, 500_B);
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1000_ns), At(2000_ns), At(2000_ns)));
  std::vector<Time> changes_of_1;
  for (const RateChange& change : player.log) {
    if (change.token == 1) changes_of_1.push_back(change.when);
  }
  EXPECT_THAT(changes_of_1, ElementsAre(At(0_ns), At(2000_ns)));
}

TEST(FlowNetwork, LogsEachChangeOfARateAndZeroAtTheEnd) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 1000_B);
  player.Add(400_ns, {On(0)}, 1000_B);
  player.simulator.Run();
  std::vector<std::pair<Time, ByteRate>> of_0;
  for (const RateChange& change : player.log) {
    if (change.token == 0) of_0.emplace_back(change.when, change.rate);
  }
  const ByteRate half = ByteRate::BytesPerSecond(500'000'000);
  EXPECT_THAT(of_0, ElementsAre(std::pair(At(0_ns), 1_GB_per_s), std::pair(At(400_ns), half),
                                std::pair(At(1600_ns), ByteRate())));
}

// Ports of 1 GB/s, and an uplink of 4 that four of them cannot fill: it ties nobody to anybody.
TEST(FlowNetwork, ALinkThatCannotBindSpreadsNoChange) {
  Player player({1_GB_per_s, 1_GB_per_s, 1_GB_per_s, 1_GB_per_s, 4_GB_per_s});
  for (std::size_t port = 0; port < 4; ++port) {
    player.Add(Duration::Nanoseconds(10 * static_cast<std::int64_t>(port)), {On(port), On(4)}, 1000_B);
  }
  player.simulator.Run();
  EXPECT_THAT(player.ends, ElementsAre(At(1000_ns), At(1010_ns), At(1020_ns), At(1030_ns)));
  EXPECT_EQ(player.network.flows_solved(), 4u);  // each once, when it starts
}

// Ten ports of 1 GB/s with two flows each; one of the two crosses an uplink of 6 GB/s too, which could be
// full (ten times 1 GB/s) and is not (ten halves). When a neighbour at port 0 ends, its partner rises to 1
// GB/s. The uplink's ten flows are looked at, and it is still not full; the nine neighbours at other ports
// are not.
TEST(FlowNetwork, AChangeStopsWhereALinkIsNotFull) {
  std::vector<ByteRate> capacities(10, 1_GB_per_s);
  capacities.push_back(6_GB_per_s);
  Player player(capacities);
  for (std::size_t port = 0; port < 10; ++port) {
    player.Add(0_ns, {On(port), On(10)}, 10'000_B);
    player.Add(0_ns, {On(port)}, port == 0 ? 500_B : 10'000_B);
  }
  std::vector<std::uint64_t> solved;
  player.observe = [&](Time now) {
    if (now <= At(1000_ns)) solved.push_back(player.network.flows_solved());
    if (now == At(1000_ns)) {
      EXPECT_EQ(player.rate(0), 1_GB_per_s);
      EXPECT_EQ(player.rate(2), ByteRate::BytesPerSecond(500'000'000));
    }
  };
  player.simulator.Run();
  EXPECT_THAT(solved, ElementsAre(20u, 20u + 10u));
}

// In units of 10^-3 B/s: alone, flow 0 would get 39/10 (weight 10 on link 0) and flow 1 its limit of 4.
// Rounded down, 3 and 4, they just fit into the 7 of link 1. But link 1 fills at level 7/2, below both: 3
// and 3.
TEST(FlowNetwork, ALinkThatFillsByLessThanAUnitStillBinds) {
  Player player({ByteRate::MilliBytesPerSecond(39), ByteRate::MilliBytesPerSecond(7)});
  player.Add(0_ns, {On(0, 10), On(1)}, 1_B);
  player.Add(0_ns, {On(1)}, 1_B, 1, ByteRate::MilliBytesPerSecond(4));
  player.observe = [&](Time now) {
    if (now > Time::Start()) return;
    EXPECT_EQ(player.rate(0), ByteRate::MilliBytesPerSecond(3));
    EXPECT_EQ(player.rate(1), ByteRate::MilliBytesPerSecond(3));
  };
  player.simulator.Run();
  EXPECT_THAT(player.order, ElementsAre(0, 1));
}

// 1 GiB at 1 B/s is 34 years. The wakeup would lie beyond the clock.
TEST(FlowNetwork, AFlowBeyondTheHorizonIsNotWoken) {
  Player player({ByteRate::BytesPerSecond(1)});
  player.Add(0_ns, {On(0)}, 1_GiB);
  player.simulator.Run();
  EXPECT_TRUE(player.order.empty());
  EXPECT_EQ(player.rate(0), ByteRate::BytesPerSecond(1));
}

// A long flow, and short ones beside it: the next end moves to and fro, and wakeups do not pile up. Each
// short flow costs its start, two shares and one end.
TEST(FlowNetwork, WakeupsDoNotPileUp) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0)}, 1_MiB);
  for (int i = 1; i <= 1000; ++i) player.Add(Duration::Nanoseconds(100 * i), {On(0)}, 10_B);
  player.simulator.Run();
  EXPECT_EQ(player.order.size(), 1001u);
  EXPECT_LE(player.simulator.events(), 4u * 1001u + 10u);
}

// Starts a new flow whenever one ends, until it has started `total`. Some need no time; sizes differ.
class Restarter final : public Actor {
 public:
  Restarter(FlowNetwork& network, std::vector<FlowSpec> specs)
      : network_(network), specs_(std::move(specs)) {}

  void Wake(Time, std::uint32_t token) override {
    ++ended;
    if (left-- > 0)
      network_.Start(specs_[token], *this, (token * 7 + 3) % static_cast<std::uint32_t>(specs_.size()));
  }

  int left = 0, ended = 0;

 private:
  FlowNetwork& network_;
  std::vector<FlowSpec> specs_;
};

TEST(FlowNetwork, AllocatesNothingAfterReserve) {
  constexpr std::uint32_t kLinks = 64, kRunning = 100;
  std::vector<std::vector<Use>> uses;
  std::vector<FlowSpec> specs;
  for (std::uint32_t f = 0; f < kRunning; ++f) {
    uses.emplace_back();
    for (std::uint32_t u = 0; u < 1 + f % 3; ++u)
      uses.back().push_back(On((f * 5 + u * 11) % kLinks, 1 + f % 2));
  }
  for (std::uint32_t f = 0; f < kRunning; ++f) {
    specs.push_back({Volume::Of(Bytes(f % 10 == 0 ? 0 : 1000 + 37 * f)), uses[f], 1 + f % 4, {}});
  }
  Simulator simulator;
  FlowNetwork network(simulator, std::vector<ByteRate>(kLinks, 1_GB_per_s), 1);
  Restarter restarter(network, specs);
  simulator.Reserve(2 * kRunning);
  network.Reserve(kRunning, 3 * kRunning);
  restarter.left = 20'000;

  const std::uint64_t before = Allocations();
  for (std::uint32_t f = 0; f < kRunning; ++f) network.Start(specs[f], restarter, f);
  simulator.Run();
  EXPECT_EQ(Allocations(), before);
  EXPECT_EQ(restarter.ended, 20'000 + static_cast<int>(kRunning));
}

TEST(FlowNetworkDeathTest, RefusesALinkTwiceInAFlow) {
  Player player({1_GB_per_s});
  player.Add(0_ns, {On(0), On(0)}, 1_B);
  EXPECT_EXIT(player.simulator.Run(), testing::ExitedWithCode(kExitBug), "does not hold");
}

// Three flows on a link of 2 units of 10^-3 B/s: each would get none, and never end.
TEST(FlowNetworkDeathTest, RefusesARateOfZero) {
  Player player({ByteRate::MilliBytesPerSecond(2)});
  for (int i = 0; i < 3; ++i) player.Add(0_ns, {On(0)}, 1_B);
  EXPECT_EXIT(player.simulator.Run(), testing::ExitedWithCode(kExitBug), "does not hold");
}

}  // namespace
}  // namespace sim
