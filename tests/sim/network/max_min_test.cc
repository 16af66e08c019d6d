// The full solve: small systems by hand, and properties on random networks.

#include "sim/network/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/network/level.h"
#include "tests/sim/network/random_network.h"

namespace sim {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr ByteRate Milli(std::int64_t n) { return ByteRate::MilliBytesPerSecond(n); }
Use On(std::size_t link, std::uint32_t weight = 1) { return {LinkId(link), weight}; }

// A flow with its own list of uses, so that tests can be written in one line.
struct TestFlow {
  std::vector<Use> uses;
  std::uint32_t share = 1;
  ByteRate limit = {};
};

std::vector<ByteRate> Solve(const std::vector<ByteRate>& capacities, std::uint32_t denominator,
                            const std::vector<TestFlow>& flows) {
  std::vector<FlowSpec> specs;
  for (const TestFlow& flow : flows) specs.push_back({Volume(), flow.uses, flow.share, flow.limit});
  return MaxMinRates(capacities, denominator, specs);
}

// x + y <= 10.
TEST(MaxMinRates, TwoFlowsHalveALink) {
  EXPECT_THAT(Solve({Milli(10)}, 1, {{{On(0)}}, {{On(0)}}}), ElementsAre(Milli(5), Milli(5)));
}

// x + y + z <= 10: each gets floor(10/3) = 3, and 1 (less than the weights, 3) is left over.
TEST(MaxMinRates, RoundsDown) {
  EXPECT_THAT(Solve({Milli(10)}, 1, {{{On(0)}}, {{On(0)}}, {{On(0)}}}),
              ElementsAre(Milli(3), Milli(3), Milli(3)));
}

// The parking lot: x0 over links 0, 1, 2; x1, x2, x3 over one each, of 12, 9 and 8.
// Link 2 fills first, at level 4: x0 = x3 = 4. Then x1 <= 12 - 4 and x2 <= 9 - 4.
TEST(MaxMinRates, ParkingLot) {
  EXPECT_THAT(
      Solve({Milli(12), Milli(9), Milli(8)}, 1, {{{On(0), On(1), On(2)}}, {{On(0)}}, {{On(1)}}, {{On(2)}}}),
      ElementsAre(Milli(4), Milli(8), Milli(5), Milli(4)));
}

// 2x + y <= 12, x = y = level: 3 level = 12. x loads the link with 8, y with 4: progress is what is fair.
TEST(MaxMinRates, AWeightLoadsTheLinkMoreAtTheSameRate) {
  EXPECT_THAT(Solve({Milli(12)}, 1, {{{On(0, 2)}}, {{On(0)}}}), ElementsAre(Milli(4), Milli(4)));
}

// Weights in units of 1/120: 128/120 x <= 1,200, so x = 1,125 (the LL128 protocol: 120 of 128 bytes are
// data).
TEST(MaxMinRates, WeightsCountInUnitsOfTheDenominator) {
  EXPECT_THAT(Solve({Milli(1200)}, 120, {{{On(0, 128)}}}), ElementsAre(Milli(1125)));
}

// x/3 = y/1, x + y <= 12: level 3.
TEST(MaxMinRates, SharesAreFairInRatePerShare) {
  EXPECT_THAT(Solve({Milli(12)}, 1, {{{On(0)}, 3}, {{On(0)}, 1}}), ElementsAre(Milli(9), Milli(3)));
}

// x <= 2 by its limit, at level 2 below 12/3 = 4; the others share what is left: (12 - 2) / 2.
TEST(MaxMinRates, ALimitLeavesTheRestToOthers) {
  EXPECT_THAT(Solve({Milli(12)}, 1, {{{On(0)}, 1, Milli(2)}, {{On(0)}}, {{On(0)}}}),
              ElementsAre(Milli(2), Milli(5), Milli(5)));
}

// A limit above the fair share does nothing; one equal to it is met exactly.
TEST(MaxMinRates, ALimitAboveTheFairShareDoesNothing) {
  EXPECT_THAT(Solve({Milli(12)}, 1, {{{On(0)}, 1, Milli(7)}, {{On(0)}, 1, Milli(6)}}),
              ElementsAre(Milli(6), Milli(6)));
}

TEST(MaxMinRates, WithoutLinksTheLimitIsTheRate) {
  EXPECT_THAT(Solve({}, 1, {{{}, 3, Milli(7)}, {{}, 1}}), ElementsAre(Milli(7), kFastest));
}

// A ring of four edges, one flow over all of them, and a bystander on edge 2. Edge 2 fills at 10/2 = 5, and
// holds the whole ring to 5, for the ring goes in lockstep. Edges 0, 1, 3 stay half empty.
TEST(MaxMinRates, ABystanderOnOneEdgeSlowsTheWholeRing) {
  EXPECT_THAT(
      Solve({Milli(10), Milli(10), Milli(10), Milli(10)}, 1, {{{On(0), On(1), On(2), On(3)}}, {{On(2)}}}),
      ElementsAre(Milli(5), Milli(5)));
}

// An all-to-all of five members, all on one switch, counted as bytes that a member sends to its 4 peers at
// once: ports (out 0-4, in 5-9) at weight 1. A bystander sends from member 0 to elsewhere (port 10). The out
// port of member 0 carries 4 connections of the all-to-all and 1 of the bystander: with share 4 it splits 100
// as 80 to 20. With share 1 it would give the bystander half.
TEST(MaxMinRates, AnAllToAllCountsAsManyConnectionsAsItServesAtOnce) {
  const std::vector<ByteRate> ports(11, Milli(100));
  std::vector<Use> all;
  for (std::size_t port = 0; port < 10; ++port) all.push_back(On(port));
  EXPECT_THAT(Solve(ports, 1, {{all, 4}, {{On(0), On(10)}, 1}}), ElementsAre(Milli(80), Milli(20)));
  EXPECT_THAT(Solve(ports, 1, {{all, 1}, {{On(0), On(10)}, 1}}), ElementsAre(Milli(50), Milli(50)));
}

// Link 0 carries flows 0, 1, 2 and link 1 flows 1, 2, 3: both fill at level 10/3 exactly, so all get
// floor(10/3) = 3. One link at a time would give the flow that is left over on the second link 10 - 3 - 3
// = 4.
TEST(MaxMinRates, LinksThatTieFreezeTogether) {
  EXPECT_THAT(Solve({Milli(10), Milli(10)}, 1, {{{On(0)}}, {{On(0), On(1)}}, {{On(0), On(1)}}, {{On(1)}}}),
              ElementsAre(Milli(3), Milli(3), Milli(3), Milli(3)));
}

// 2^63 - 1 is the largest rate, 2^32 - 1 the largest weight, share and denominator; nothing overflows.
TEST(MaxMinRates, HoldsTheLargestNumbers) {
  EXPECT_THAT(
      Solve({kFastest}, UINT32_MAX, {{{On(0, UINT32_MAX)}, UINT32_MAX}, {{On(0, UINT32_MAX)}, UINT32_MAX}}),
      ElementsAre(Milli(INT64_MAX / 2), Milli(INT64_MAX / 2)));
  // A small weight lets a flow be faster than its link; it stops at kFastest.
  EXPECT_THAT(Solve({kFastest}, UINT32_MAX, {{{On(0, 1)}, UINT32_MAX}}), ElementsAre(kFastest));
}

// The same problem in floating point and one link at a time, without regard to rounding: another program for
// the same unique answer.
std::vector<long double> RatesInFloatingPoint(const RandomNetwork& network) {
  std::vector<long double> rates(network.flows.size(), -1);  // below zero: not yet known
  while (true) {
    long double lowest = std::numeric_limits<long double>::infinity();
    std::size_t flow_at_limit = network.flows.size(), full_link = network.capacities.size();
    for (std::size_t l = 0; l < network.capacities.size(); ++l) {
      long double left = static_cast<long double>(network.capacities[l].milli()) * network.denominator,
                  demand = 0;
      for (std::size_t f = 0; f < rates.size(); ++f) {
        for (const Use& use : network.flows[f].uses) {
          if (use.link.pos() != l) continue;
          if (rates[f] >= 0) left -= use.weight * rates[f];
          if (rates[f] < 0) demand += static_cast<long double>(use.weight) * network.flows[f].share;
        }
      }
      if (demand > 0 && left / demand < lowest) lowest = left / demand, full_link = l;
    }
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const RandomFlow& flow = network.flows[f];
      const ByteRate limit = flow.limit > ByteRate() ? flow.limit : kFastest;
      const long double level = static_cast<long double>(limit.milli()) / flow.share;
      if (rates[f] < 0 && level < lowest) lowest = level, flow_at_limit = f;
    }
    if (lowest == std::numeric_limits<long double>::infinity()) return rates;
    if (flow_at_limit < rates.size()) {
      rates[flow_at_limit] = lowest * network.flows[flow_at_limit].share;
      continue;
    }
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const auto& uses = network.flows[f].uses;
      const bool crosses =
          std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.link.pos() == full_link; });
      if (rates[f] < 0 && crosses) rates[f] = lowest * network.flows[f].share;
    }
  }
}

// Rates here are 10^6 ... 10^12 units, so one unit of rounding in each of a few rounds is far below 10^-4.
TEST(MaxMinRates, AgreesWithFloatingPointOneLinkAtATime) {
  for (std::uint64_t run = 0; run < 3000; ++run) {
    Random random(1, "floating point", run);
    const RandomNetwork network = MakeRandomNetwork(random);
    const std::vector<ByteRate> rates = MaxMinRates(network.capacities, network.denominator, network.specs());
    const std::vector<long double> expected = RatesInFloatingPoint(network);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      EXPECT_NEAR(static_cast<double>(static_cast<long double>(rates[f].milli()) / expected[f]), 1.0, 1e-4)
          << "run " << run << ", flow " << f;
    }
  }
}

// No link carries more than its rate; and each flow is at its limit, or has a bottleneck: a link that is full
// up to its rounding (the sum of its weights) and where no flow has a larger x / share, up to its own
// rounding: x = floor(share * level) and y <= share_y * level give  y / share_y < (x + 1) / share_x.
void ExpectFeasibleAndFair(const RandomNetwork& network, const std::vector<ByteRate>& rates) {
  std::vector<Wide> left;
  std::vector<Wide> weights(network.capacities.size());
  for (const ByteRate capacity : network.capacities)
    left.push_back(static_cast<Wide>(capacity.milli()) * network.denominator);
  for (std::size_t f = 0; f < rates.size(); ++f) {
    for (const Use& use : network.flows[f].uses) {
      left[use.link.pos()] -= static_cast<Wide>(use.weight) * rates[f].milli();
      weights[use.link.pos()] += use.weight;
    }
  }
  for (const Wide amount : left) EXPECT_GE(amount, 0);

  const auto is_bottleneck = [&](std::size_t f, LinkId link) {
    if (left[link.pos()] >= weights[link.pos()]) return false;
    for (std::size_t g = 0; g < rates.size(); ++g) {
      for (const Use& use : network.flows[g].uses) {
        if (use.link != link) continue;
        const Wide other = static_cast<Wide>(rates[g].milli()) * network.flows[f].share;
        const Wide own = (static_cast<Wide>(rates[f].milli()) + 1) * network.flows[g].share;
        if (other >= own) return false;
      }
    }
    return true;
  };
  for (std::size_t f = 0; f < rates.size(); ++f) {
    const RandomFlow& flow = network.flows[f];
    if (flow.limit > ByteRate()) {
      EXPECT_LE(rates[f], flow.limit);
    }
    if (rates[f] == flow.limit || rates[f] == kFastest) continue;
    EXPECT_TRUE(std::any_of(flow.uses.begin(), flow.uses.end(),
                            [&](const Use& use) { return is_bottleneck(f, use.link); }))
        << "flow " << f << " could be faster";
  }
}

TEST(MaxMinRates, EveryFlowHasABottleneckAndNoLinkCarriesTooMuch) {
  for (std::uint64_t run = 0; run < 3000; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "bottleneck", run);
    RandomNetwork network = MakeRandomNetwork(random);
    if (run % 2 == 1) {  // tiny rates, where rounding is everything
      for (ByteRate& capacity : network.capacities) capacity = Milli(1 + random.Below(200));
      for (RandomFlow& flow : network.flows) {
        if (flow.limit > ByteRate()) flow.limit = Milli(1 + random.Below(40));
      }
    }
    ExpectFeasibleAndFair(network, MaxMinRates(network.capacities, network.denominator, network.specs()));
  }
}

TEST(MaxMinRates, TheOrderOfFlowsAndTheNumbersOfLinksDoNotMatter) {
  for (std::uint64_t run = 0; run < 3000; ++run) {
    Random random(1, "order", run);
    RandomNetwork network = MakeRandomNetwork(random);
    if (run % 2 == 1) {
      for (ByteRate& capacity : network.capacities) capacity = Milli(1 + random.Below(200));
    }
    const std::vector<ByteRate> rates = MaxMinRates(network.capacities, network.denominator, network.specs());

    const auto links = Shuffled(static_cast<std::uint32_t>(network.capacities.size()), random);
    const auto flows = Shuffled(static_cast<std::uint32_t>(network.flows.size()), random);
    RandomNetwork shuffled;
    shuffled.denominator = network.denominator;
    shuffled.capacities.resize(links.size());
    for (std::size_t l = 0; l < links.size(); ++l) shuffled.capacities[links[l]] = network.capacities[l];
    std::vector<ByteRate> expected;
    for (const std::uint32_t f : flows) {
      RandomFlow flow = network.flows[f];
      for (Use& use : flow.uses) use.link = LinkId(links[use.link.pos()]);
      std::reverse(flow.uses.begin(), flow.uses.end());
      shuffled.flows.push_back(flow);
      expected.push_back(rates[f]);
    }
    EXPECT_THAT(MaxMinRates(shuffled.capacities, shuffled.denominator, shuffled.specs()),
                ElementsAreArray(expected))
        << "run " << run;
  }
}

// A ring of n equal links, and a random pattern of flows repeated at each of its n places: turning the ring
// changes nothing, so all copies of a flow have equal rates.
TEST(MaxMinRates, FlowsThatARotationExchangesGetEqualRates) {
  for (std::uint64_t run = 0; run < 1000; ++run) {
    Random random(1, "rotation", run);
    const std::uint32_t n = 2 + random.Below(12), kinds = 1 + random.Below(4);
    RandomNetwork network;
    network.denominator = 1 + random.Below(8);
    network.capacities.assign(n, Milli(1 + random.Below(run % 2 == 0 ? 300 : 1'000'000'000)));
    for (std::uint32_t kind = 0; kind < kinds; ++kind) {
      RandomFlow pattern;
      pattern.share = 1 + random.Below(4);
      if (random.Below(4) == 0) pattern.limit = Milli(1 + random.Below(50));
      const std::vector<std::uint32_t> links = Shuffled(n, random);
      const std::uint32_t uses = 1 + random.Below(n);
      for (std::uint32_t u = 0; u < uses; ++u) pattern.uses.push_back(On(links[u], 1 + random.Below(9)));
      for (std::uint32_t turn = 0; turn < n; ++turn) {
        RandomFlow flow = pattern;
        for (Use& use : flow.uses) use.link = LinkId((use.link.value() + turn) % n);
        network.flows.push_back(flow);
      }
    }
    const std::vector<ByteRate> rates = MaxMinRates(network.capacities, network.denominator, network.specs());
    for (std::uint32_t f = 0; f < rates.size(); ++f) EXPECT_EQ(rates[f], rates[f - f % n]) << "run " << run;
  }
}

}  // namespace
}  // namespace sim
