// FlowNetwork on random networks: equal to the full solve at every instant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/network/max_min.h"
#include "tests/sim/network/player.h"
#include "tests/sim/network/random_network.h"

namespace sim {
namespace {

using testing::ElementsAreArray;

std::unique_ptr<Player> MakePlayer(const RandomNetwork& network) {
  auto player = std::make_unique<Player>(network.capacities, network.denominator);
  for (const RandomFlow& flow : network.flows) {
    player->Add(flow.start, flow.uses, flow.bytes, flow.share, flow.limit);
  }
  return player;
}

void ExpectRatesOfTheFullSolve(const Player& player) {
  std::vector<FlowSpec> running;
  std::vector<ByteRate> rates;
  for (std::uint32_t f = 0; f < player.flows.size(); ++f) {
    if (!player.ids[f].valid()) continue;
    running.push_back(player.flows[f]);
    rates.push_back(player.rate(f));
  }
  ASSERT_THAT(rates, ElementsAreArray(MaxMinRates(player.capacities, player.denominator, running)));
}

TEST(FlowNetwork, EqualsTheFullSolveAfterEveryInstant) {
  std::uint64_t instants = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "equals the full solve", run);
    const RandomNetwork network = MakeRandomNetwork(random);
    const auto player = MakePlayer(network);
    player->observe = [&](Time) {
      ++instants;
      ExpectRatesOfTheFullSolve(*player);
    };
    player->simulator.Run();
    EXPECT_EQ(player->order.size(), network.flows.size()) << "all flows end";
    if (HasFailure()) return;
  }
  EXPECT_GT(instants, 30'000u);
}

// Rates of a few units of 10^-3 B/s, where rounding is everything.
TEST(FlowNetwork, EqualsTheFullSolveOnTinyRates) {
  for (std::uint64_t run = 0; run < 2000; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "tiny", run);
    RandomNetwork network = MakeRandomNetwork(random);
    // Even 24 flows of weight 2 and share 1 beside shares of 8 leave 600 / (24 * 2 * 8) > 1 to each.
    for (ByteRate& capacity : network.capacities) {
      capacity = ByteRate::MilliBytesPerSecond(random.Between(600, 1000));
    }
    for (RandomFlow& flow : network.flows) {
      if (flow.limit > ByteRate()) flow.limit = ByteRate::MilliBytesPerSecond(random.Between(1, 400));
      flow.bytes = Bytes(flow.bytes.count() % 100);
      flow.start = 1'000'000 * flow.start;
    }
    const auto player = MakePlayer(network);
    player->observe = [&](Time) { ExpectRatesOfTheFullSolve(*player); };
    player->simulator.Run();
    EXPECT_EQ(player->order.size(), network.flows.size()) << "all flows end";
    if (HasFailure()) return;
  }
}

// Wider than dense: many links, few uses each, so that there are several components and links that cannot
// bind.
TEST(FlowNetwork, EqualsTheFullSolveOnSparseNetworks) {
  for (std::uint64_t run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "sparse", run);
    const RandomNetwork network = MakeRandomNetwork(random, 80, 120);
    const auto player = MakePlayer(network);
    player->observe = [&](Time) { ExpectRatesOfTheFullSolve(*player); };
    player->simulator.Run();
    if (HasFailure()) return;
  }
}

// A two-level tree: ports of equal rate, uplinks that carry just what the ports below can send, or less. The
// uplinks that carry it all cannot bind, to the last unit.
TEST(FlowNetwork, EqualsTheFullSolveOnTreesWithAndWithoutOversubscription) {
  for (std::uint64_t run = 0; run < 300; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "tree", run);
    const std::uint32_t leaves = 2 + random.Below(3), ports = 1 + random.Below(5), hosts = leaves * ports;
    RandomNetwork network;
    network.denominator = 1 + random.Below(3);
    const std::int64_t port = random.Between(1'000'000'000, 1'000'000'100);
    // Links: out of host, into host, up from leaf, down to leaf.
    network.capacities.assign(2 * hosts, ByteRate::MilliBytesPerSecond(port));
    const std::int64_t uplink = port * ports / (1 + random.Below(2)) - random.Below(2);
    network.capacities.resize(2 * hosts + 2 * leaves, ByteRate::MilliBytesPerSecond(uplink));
    for (std::uint32_t f = 0; f < 30; ++f) {
      const std::uint32_t from = random.Below(hosts), to = (from + 1 + random.Below(hosts - 1)) % hosts;
      const std::uint32_t weight = network.denominator * (1 + random.Below(2));
      RandomFlow flow;
      flow.uses = {{LinkId(from), weight}, {LinkId(hosts + to), weight}};
      if (from / ports != to / ports) {
        flow.uses.push_back({LinkId(2 * hosts + from / ports), weight});
        flow.uses.push_back({LinkId(2 * hosts + leaves + to / ports), weight});
      }
      flow.bytes = Bytes(1000 * random.Below(1000));
      flow.start = Duration::Microseconds(random.Below(1000));
      network.flows.push_back(flow);
    }
    const auto player = MakePlayer(network);
    player->observe = [&](Time) { ExpectRatesOfTheFullSolve(*player); };
    player->simulator.Run();
    if (HasFailure()) return;
  }
}

// The area under a flow's logged rates covers its volume, and the last picosecond was needed.
TEST(FlowNetwork, BytesAreConserved) {
  for (std::uint64_t run = 0; run < 2000; ++run) {
    SCOPED_TRACE(run);
    Random random(1, "conserved", run);
    const auto player = MakePlayer(MakeRandomNetwork(random));
    player->simulator.Run();
    std::vector<Wide> carried(player->flows.size());
    std::vector<RateChange> last(player->flows.size());
    std::vector<ByteRate> final_rate(player->flows.size());
    for (const RateChange& change : player->log) {
      RateChange& before = last[change.token];
      carried[change.token] += static_cast<Wide>(before.rate.milli()) * (change.when - before.when).ps();
      ASSERT_NE(change.rate, before.rate) << "only changes are logged";
      final_rate[change.token] = before.rate;
      before = change;
    }
    for (std::size_t f = 0; f < carried.size(); ++f) {
      const FlowSpec& flow = player->flows[f];
      const bool needs_time = flow.volume > Volume() && (!flow.uses.empty() || flow.limit > ByteRate());
      if (!needs_time) {
        ASSERT_EQ(player->ends[f], player->starts[f]);
        continue;
      }
      const Wide volume = flow.volume.femto_bytes();
      ASSERT_EQ(last[f].rate, ByteRate()) << "the last change is the end";
      ASSERT_GE(carried[f], volume);
      ASSERT_LT(carried[f], volume + final_rate[f].milli());
      ASSERT_EQ(last[f].when, player->ends[f]);
    }
  }
}

// Flows that start at one instant may do so in any order; links may have any numbers. Ends are the same.
TEST(FlowNetwork, TheOrderOfStartsAtOneInstantDoesNotMatter) {
  for (std::uint64_t run = 0; run < 1000; ++run) {
    Random random(1, "order of starts", run);
    const RandomNetwork network = MakeRandomNetwork(random);
    const auto player = MakePlayer(network);
    player->simulator.Run();

    const auto links = Shuffled(static_cast<std::uint32_t>(network.capacities.size()), random);
    const auto flows = Shuffled(static_cast<std::uint32_t>(network.flows.size()), random);
    RandomNetwork shuffled = network;
    for (std::size_t l = 0; l < links.size(); ++l) shuffled.capacities[links[l]] = network.capacities[l];
    std::vector<Time> expected;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      shuffled.flows[f] = network.flows[flows[f]];
      for (Use& use : shuffled.flows[f].uses) use.link = LinkId(links[use.link.pos()]);
      expected.push_back(player->ends[flows[f]]);
    }
    const auto other = MakePlayer(shuffled);
    other->simulator.Run();
    ASSERT_THAT(other->ends, ElementsAreArray(expected)) << "run " << run;
  }
}

// Copies of a network side by side, their flows mixed: each copy is as if it were alone, and a change in one
// copy solves nothing in another.
TEST(FlowNetwork, DisjointCopiesDoTheSameAtTheSameTime) {
  for (std::uint64_t run = 0; run < 500; ++run) {
    Random random(1, "copies", run);
    const RandomNetwork network = MakeRandomNetwork(random);
    const auto alone = MakePlayer(network);
    alone->simulator.Run();

    const std::uint32_t copies = 2 + random.Below(3),
                        links = static_cast<std::uint32_t>(network.capacities.size());
    const auto mixed = Shuffled(copies * static_cast<std::uint32_t>(network.flows.size()), random);
    RandomNetwork together;
    together.denominator = network.denominator;
    for (std::uint32_t copy = 0; copy < copies; ++copy) {
      together.capacities.insert(together.capacities.end(), network.capacities.begin(),
                                 network.capacities.end());
    }
    std::vector<Time> expected;
    for (const std::uint32_t place : mixed) {
      RandomFlow flow = network.flows[place / copies];
      for (Use& use : flow.uses) use.link = LinkId(use.link.value() + links * (place % copies));
      together.flows.push_back(flow);
      expected.push_back(alone->ends[place / copies]);
    }
    const auto player = MakePlayer(together);
    player->simulator.Run();
    ASSERT_THAT(player->ends, ElementsAreArray(expected)) << "run " << run;
    ASSERT_EQ(player->network.solves(), alone->network.solves());
    ASSERT_EQ(player->network.flows_solved(), copies * alone->network.flows_solved());
  }
}

// The ring of links again, now in time: flows that a rotation exchanges, started together, end together.
TEST(FlowNetwork, FlowsThatARotationExchangesEndTogether) {
  for (std::uint64_t run = 0; run < 500; ++run) {
    Random random(1, "rotation in time", run);
    const std::uint32_t n = 2 + random.Below(10), kinds = 1 + random.Below(4);
    RandomNetwork network;
    network.denominator = 1 + random.Below(8);
    network.capacities.assign(n, ByteRate::MilliBytesPerSecond(1'000'000 + random.Below(1'000'000)));
    for (std::uint32_t kind = 0; kind < kinds; ++kind) {
      RandomFlow pattern;
      pattern.share = 1 + random.Below(4);
      pattern.start = Duration::Milliseconds(random.Below(3));
      pattern.bytes = Bytes(1 + random.Below(100));
      const std::vector<std::uint32_t> links = Shuffled(n, random);
      const std::uint32_t uses = 1 + random.Below(n);
      for (std::uint32_t u = 0; u < uses; ++u) pattern.uses.push_back(On(links[u], 1 + random.Below(9)));
      for (std::uint32_t turn = 0; turn < n; ++turn) {
        RandomFlow flow = pattern;
        for (Use& use : flow.uses) use.link = LinkId((use.link.value() + turn) % n);
        network.flows.push_back(flow);
      }
    }
    const auto player = MakePlayer(network);
    player->simulator.Run();
    for (std::uint32_t f = 0; f < player->ends.size(); ++f) {
      ASSERT_EQ(player->ends[f], player->ends[f - f % n]) << "run " << run;
    }
  }
}

}  // namespace
}  // namespace sim
