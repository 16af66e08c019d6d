#include "tests/coupled_flow/differences.h"

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/random.h"

namespace coupled_flow {
namespace {

using scenarios::Devices;
using scenarios::OfEachNode;
using scenarios::Setting;
using sim::Algorithm;
using sim::Bytes;
using sim::CollectiveKind;
using topologies::MustBuild;
using topologies::TestNode;
using namespace sim::literals;

constexpr Bytes kChunk = 16_KiB;
constexpr std::int64_t kMostTransfers = 100'000;

// Leafs of two nodes; half as much goes up as comes in, by even spraying.
topologies::TopologySpec FatTree() {
  topologies::FatTreeSpec tree;
  tree.nodes_per_leaf = 2;
  tree.uplinks_per_leaf = 8;
  tree.uplink = 50_GB_per_s;
  tree.switch_latency = 200_ns;
  return {"fat tree", "", "", tree};
}

std::vector<Case> AllCases() {
  const topologies::Fabric node = MustBuild(topologies::OneNode(), TestNode(8, 8), 8);
  const topologies::Fabric one_switch = MustBuild(topologies::OneSwitch(), TestNode(1, 1), 128);
  const topologies::Fabric rails = MustBuild(topologies::SmallRails(), TestNode(8, 8), 128);
  const topologies::Fabric fat_tree = MustBuild(FatTree(), TestNode(8, 8), 128);
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const topologies::Fabric& fabric,
                       const std::vector<std::uint32_t>& devices, Algorithm algorithm, CollectiveKind kind) {
    hardware::CollectiveTiming timing;
    timing.algorithm = algorithm;
    cases.push_back({scenarios::WithoutLatency({name, fabric, devices, {timing}}), algorithm, kind});
  };
  const auto everywhere = [&](Algorithm algorithm, CollectiveKind kind) {
    add("node", node, Devices(8), algorithm, kind);
    add("switch", one_switch, Devices(16), algorithm, kind);
    add("switch", one_switch, Devices(128), algorithm, kind);
    add("rails", rails, OfEachNode(4, 8, 2), algorithm, kind);
    add("rails", rails, Devices(128), algorithm, kind);
    add("fat tree", fat_tree, OfEachNode(4, 8, 2), algorithm, kind);
    add("fat tree", fat_tree, Devices(128), algorithm, kind);
  };
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                    CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    everywhere(Algorithm::kRing, kind);
  }
  everywhere(Algorithm::kTree, CollectiveKind::kAllReduce);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    add("node", node, Devices(8), Algorithm::kNvls, kind);
  }
  for (const auto& [name, fabric] : {std::pair{"rails", &rails}, {"fat tree", &fat_tree}}) {
    add(name, *fabric, OfEachNode(2, 8, 4), Algorithm::kNvlsTree, CollectiveKind::kAllReduce);
    add(name, *fabric, OfEachNode(8, 8, 4), Algorithm::kNvlsTree, CollectiveKind::kAllReduce);
    add(name, *fabric, Devices(128), Algorithm::kNvlsTree, CollectiveKind::kAllReduce);
  }
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    add("switch", one_switch, Devices(16), Algorithm::kPat, kind);
    add("switch", one_switch, Devices(128), Algorithm::kPat, kind);
    add("rails", rails, OfEachNode(8, 8, 1), Algorithm::kPat, kind);
    add("fat tree", fat_tree, OfEachNode(16, 8, 1), Algorithm::kPat, kind);
  }
  return cases;
}

sim::CollectiveRequest RequestOf(const Case& one, Bytes size) {
  sim::CollectiveRequest request{one.kind, size,
                                 scenarios::CommunicatorOf(one.setting.fabric, one.setting.devices)};
  request.algorithm = one.algorithm;
  return request;
}

sim::CollectiveRequest RequestOf(const Case& one, std::int64_t chunks_a_member) {
  const auto flows = static_cast<std::int64_t>(sim::PlanCollective(RequestOf(one, 1_GiB)).flows.size());
  return RequestOf(one,
                   flows * chunks_a_member * static_cast<std::int64_t>(one.setting.devices.size()) * kChunk);
}

std::vector<scenarios::Bystander> ComingAndGoing(const Setting& setting, std::uint64_t seed,
                                                 sim::Duration span) {
  sim::Random random(seed, "background");
  const auto n = static_cast<std::uint32_t>(setting.devices.size());
  std::vector<scenarios::Bystander> bystanders;
  for (int i = 0; i < kConnections; ++i) {
    const std::uint32_t from = random.Below(n), to = (from + 1 + random.Below(n - 1)) % n;
    const topologies::Route route =
        setting.fabric.router->Between(setting.devices[from], setting.devices[to]);
    scenarios::Bystander bystander;
    std::int64_t slowest = INT64_MAX;  // GB/s
    for (const topologies::RouteUse& use : route.uses) {
      // Where it is spread over several links it is thin on each.
      if (use.parts != route.denominator) continue;
      bystander.links.push_back(use.link);
      slowest = std::min(slowest, setting.fabric.links[use.link.pos()].capacity.milli() / 1'000'000'000'000);
    }
    // So many bytes a nanosecond, half of them, for an eighth of the time at most.
    const std::int64_t most = span.ps() / 8'000 * slowest / 2;
    bystander.size = Bytes(1 + most * random.Below(1000) / 1000);
    bystander.start =
        sim::Duration::Picoseconds(span.ps() / 1000 * static_cast<std::int64_t>(random.Below(1000)));
    bystanders.push_back(std::move(bystander));
  }
  return bystanders;
}

double DifferenceIn(const Setting& setting, const sim::CollectiveRequest& request) {
  return scenarios::PlayCoupled(setting, request, kChunk).end.seconds() /
             scenarios::PlayChunked(setting, request, kChunk).end.seconds() -
         1;
}

Difference DifferenceBesideTraffic(Setting setting, const sim::CollectiveRequest& request) {
  const sim::Duration span = scenarios::PlayCoupled(setting, request, kChunk).end;
  Difference changing{1e9, -1e9};
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    setting.bystanders = ComingAndGoing(setting, seed, span);
    const double difference = DifferenceIn(setting, request);
    changing.least = std::min(changing.least, difference);
    changing.most = std::max(changing.most, difference);
  }
  return changing;
}

Row RowOf(const Case& one) {
  Row row{one, {}, {}};
  const std::size_t of_one = sim::ExpandIntoChunks(RequestOf(one, 1), kChunk).size();
  for (const std::int64_t size : kSizes) {
    if (static_cast<std::int64_t>(of_one) * size > kMostTransfers) break;
    const sim::CollectiveRequest request = RequestOf(one, size);
    const double alone = DifferenceIn(one.setting, request);
    row.alone[size] = {alone, alone};
    row.changing[size] = DifferenceBesideTraffic(one.setting, request);
  }
  return row;
}

}  // namespace

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  for (const Case& one : AllCases()) {
    Row row = RowOf(one);
    if (!row.alone.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Case> LargeCases() {
  std::vector<Case> cases;
  for (Case& one : AllCases()) {
    if (one.setting.devices.size() == kLargeRanks) cases.push_back(std::move(one));
  }
  return cases;
}

LargeRow PlayLarge(const Case& one) {
  const sim::CollectiveRequest request = RequestOf(one, kLargeLoops * kLargeRanks * kChunk);
  LargeRow row{ToText(one.algorithm), ToText(one.kind), one.setting.name, 0, {}};
  row.transfers = static_cast<std::int64_t>(sim::ExpandIntoChunks(request, kChunk).size());
  const Difference part = DifferenceBesideTraffic(one.setting, request);
  row.changing = {100 * part.least, 100 * part.most};
  return row;
}

std::string LargeLine(const LargeRow& row) {
  std::ostringstream line;
  line << row.algorithm << ',' << row.collective << ',' << row.fabric << ',' << row.transfers << ','
       << std::fixed << std::setprecision(1) << row.changing.least << ',' << row.changing.most << '\n';
  return line.str();
}

std::vector<LargeRow> KeptLargeRows() {
  std::ifstream file(ORRERY_SOURCE_DIR "/tests/coupled_flow/large.csv");
  std::vector<LargeRow> rows;
  std::string line;
  std::getline(file, line);  // heads
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ' ', '_');
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream cells(line);
    LargeRow row;
    cells >> row.algorithm >> row.collective >> row.fabric >> row.transfers >> row.changing.least >>
        row.changing.most;
    CHECK(!cells.fail());
    std::replace(row.fabric.begin(), row.fabric.end(), '_', ' ');
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace coupled_flow
