// A collective beside other traffic: traffic that comes and goes, and what a
// bystander gets.

#include <gtest/gtest.h>

#include "sim/base/random.h"
#include "tests/scenarios/collective_testing.h"

namespace scenarios {
namespace {

using sim::Bytes;
using sim::CollectiveKind;
using sim::Duration;
using topologies::MustBuild;
using topologies::OneSwitch;
using topologies::TestNode;
using namespace sim::literals;

// The links between a NIC and the switch, on the way between two devices.
std::vector<sim::LinkId> Ports(const topologies::Fabric& fabric, std::uint32_t from, std::uint32_t to) {
  return LinksIn(fabric, fabric.router->Between(from, to), topologies::Tier::kNic);
}

// Twenty connections at random times within `span`, each as long as an eighth of
// it if it had half of a 50 GB/s port; on the first port or on any of `ports`.
std::vector<Bystander> ComingAndGoing(std::uint64_t seed, Duration span, const std::vector<sim::LinkId>& ports) {
  sim::Random random(seed, "background");
  std::vector<Bystander> bystanders;
  for (int i = 0; i < 20; ++i) {
    const sim::LinkId port = ports[random.Below(static_cast<std::uint32_t>(ports.size()))];
    const Bytes most(span.ps() / 8 * 25 / 1000);  // 25 GB/s: 25 B in 1,000 ps
    const Bytes size(1 + random.Below(static_cast<std::uint32_t>(most.count())));
    const Duration start =
        Duration::Picoseconds(span.ps() / 1000 * static_cast<std::int64_t>(random.Below(1000)));
    bystanders.push_back({{port}, size, start});
  }
  return bystanders;
}

// (expansion - coupled) / expansion, over ten seeds.
struct Range {
  double lowest = 1, highest = -1;
};

Range CompareUnderChange(std::int64_t loops, bool one_link) {
  constexpr std::uint32_t kRanks = 8;
  Setting setting{"switch", MustBuild(OneSwitch(), TestNode(1, 1), kRanks), Devices(kRanks)};
  std::vector<sim::LinkId> ports;
  for (std::uint32_t from = 3; ports.size() < (one_link ? 1 : kRanks); from = (from + 1) % kRanks) {
    ports.push_back(Ports(setting.fabric, from, (from + 1) % kRanks).front());
  }
  const Bytes size = loops * (kRanks * 64_KiB);
  const Duration alone = PlayCoupled(setting, CollectiveKind::kAllReduce, size, 64_KiB).end;
  Range range;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    setting.bystanders = ComingAndGoing(seed, alone, ports);
    const double coupled = PlayCoupled(setting, CollectiveKind::kAllReduce, size, 64_KiB).end.seconds();
    const double chunked = PlayChunked(setting, CollectiveKind::kAllReduce, size, 64_KiB).end.seconds();
    range.lowest = std::min(range.lowest, coupled / chunked - 1);
    range.highest = std::max(range.highest, coupled / chunked - 1);
  }
  return range;
}

TEST(CoupledFlow, X) {
  for (const bool one_link : {true, false}) {
    for (std::int64_t loops = 1; loops <= 128; loops *= 2) {
      const Range range = CompareUnderChange(loops, one_link);
      printf("%d %ld: %+.2f %% ... %+.2f %%\n", one_link, loops, range.lowest * 100, range.highest * 100);
    }
  }
}

}  // namespace
}  // namespace scenarios
