#include "tests/network/deepep_curves.h"

#include <map>
#include <numeric>

#include "hardware/device_reader.h"
#include "proto/text_reader.h"
#include "scenarios/published/csv.h"
#include "sim/base/check.h"
#include "topologies/topology.h"

namespace network {
namespace {

using Kernels = hardware::Exchange::Kernels;

constexpr std::int64_t kRanksOfNode = 8;

hardware::Device ReadCatalogue(const std::string& gpu) {
  proto::Diagnostics diagnostics;
  auto device = hardware::ReadDevice(gpu, {}, "", &diagnostics, "gpu");
  CHECK(device.has_value());
  return *std::move(device);
}

topologies::Fabric NodesOf(const hardware::Device& device, std::int64_t nodes) {
  topologies::TopologySpec spec{
      .name = "measured", .file = "", .source = "", .family = topologies::SingleNodeSpec{}};
  if (nodes > 1) {
    spec.family = topologies::RailOptimisedSpec{.nodes_per_leaf = nodes,
                                                .switch_latency = sim::Duration::Nanoseconds(250)};
  }
  return topologies::BuildFabric(spec, device.node, nodes * device.node.devices).value();
}

// DeepEP prints the rate of the slower links: bytes to nodes where there are several, else to ranks.
double SecondsAt(double gb_per_s, const MeasuredExchange& row) {
  const scenarios::ExchangeVolume volume = VolumeOf(row.exchange, {row.ranks, row.nodes});
  return (row.nodes > 1 ? volume.to_nodes : volume.to_ranks) / (gb_per_s * 1e9);
}

std::vector<MeasuredExchange> ReadExchanges() {
  const std::string path = std::string(ORRERY_SOURCE_DIR) + "/tests/network/deepep_measured.csv";
  proto::Diagnostics diagnostics;
  std::string text;
  CHECK(proto::ReadFile(path, &text, &diagnostics));
  const auto table = scenarios::ReadCsv(path, text, &diagnostics);
  CHECK(table.has_value());
  const std::map<std::string, Kernels> kernels = {
      {"normal", Kernels::kNormal}, {"low_latency", Kernels::kLowLatency}, {"v2", Kernels::kV2}};
  std::vector<MeasuredExchange> rows;
  for (const scenarios::CsvRow& row : table->rows) {
    const auto cell = [&](const char* column) { return row.cells[table->Find(column).value()]; };
    MeasuredExchange measured{.line = row.line,
                              .source = cell("source"),
                              .gpu = cell("gpu"),
                              .network = cell("network"),
                              .sms = cell("sms"),
                              .ranks = std::stoll(cell("ranks")),
                              .exchange = {}};
    measured.nodes = measured.ranks / kRanksOfNode;
    measured.exchange = {.kernels = kernels.at(cell("kernels")),
                         .combine = cell("operation") == "combine",
                         .tokens = std::stoll(cell("tokens")),
                         .hidden = std::stoll(cell("hidden")),
                         .per_token = std::stoll(cell("top_k"))};
    // As DeepSeek-V3 routes; what is low in latency is not limited to nodes.
    if (measured.exchange.kernels != Kernels::kLowLatency) measured.exchange.node_limit = 4;
    if (!measured.sms.empty()) {
      const std::size_t dash = measured.sms.find('-');
      measured.exchange.sms = std::stoll(measured.sms.substr(dash == measured.sms.npos ? 0 : dash + 1));
    }
    measured.printed_bandwidth = cell("time_us").empty();
    measured.seconds = measured.printed_bandwidth ? SecondsAt(std::stod(cell("gb_per_s")), measured)
                                                  : std::stod(cell("time_us")) * 1e-6;
    rows.push_back(std::move(measured));
  }
  return rows;
}

}  // namespace

std::vector<ComparedExchange> CompareExchanges() {
  std::map<std::string, hardware::Device> devices;
  std::map<std::pair<std::string, std::int64_t>, topologies::Fabric> fabrics;
  std::vector<ComparedExchange> compared;
  for (MeasuredExchange& row : ReadExchanges()) {
    if (!devices.contains(row.gpu)) devices.emplace(row.gpu, ReadCatalogue(row.gpu));
    const hardware::Device& device = devices.at(row.gpu);
    const auto key = std::pair(row.gpu, row.nodes);
    if (!fabrics.contains(key)) fabrics.emplace(key, NodesOf(device, row.nodes));
    const topologies::Fabric& fabric = fabrics.at(key);
    std::vector<std::uint32_t> ranks(static_cast<std::size_t>(row.ranks));
    std::iota(ranks.begin(), ranks.end(), 0u);
    ComparedExchange one{.row = std::move(row), .volume = {}};
    one.volume = VolumeOf(one.row.exchange, {one.row.ranks, one.row.nodes});
    one.simulated =
        scenarios::IdleTime(fabric, LowerExchange(fabric, device, one.row.exchange, ranks)).seconds();
    compared.push_back(std::move(one));
  }
  return compared;
}

}  // namespace network
