// docs/deepep.md.

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tests/network/deepep_curves.h"
#include "tests/pages/page.h"

namespace network {
namespace {

using ExchangeRows = std::vector<const ComparedExchange*>;

std::string WithSign(double part) { return (part < 0 ? "-" : "+") + pages::Percent(std::abs(part)); }

void AddMeans(const ExchangeRows& rows, std::vector<std::string>* cells) {
  double mape = 0, bias = 0, worst = 0;
  for (const ComparedExchange* row : rows) {
    mape += std::abs(row->error()) / static_cast<double>(rows.size());
    bias += row->error() / static_cast<double>(rows.size());
    if (std::abs(row->error()) > std::abs(worst)) worst = row->error();
  }
  cells->insert(cells->end(), {pages::Count(static_cast<std::int64_t>(rows.size())), pages::Percent(mape),
                               WithSign(bias), WithSign(worst)});
}

const char* OperationOf(const ComparedExchange& one) {
  return one.row.exchange.combine ? "combine" : "dispatch";
}

// One node, aiconfigurator: by device, kernels, operation and SMs.
std::string BySms(const std::vector<ComparedExchange>& compared) {
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, ExchangeRows> groups;
  for (const ComparedExchange& one : compared) {
    if (one.row.source != "aiconfigurator") continue;
    const std::int64_t sms = one.row.sms.empty() ? 0 : one.row.exchange.sms;
    groups[{one.row.gpu, scenarios::ToText(one.row.exchange.kernels), OperationOf(one), sms}].push_back(&one);
  }
  std::string table =
      pages::TableHead({"device", "kernels", "operation", "SMs", "rows", "mean error", "bias", "worst"});
  for (const auto& [key, rows] : groups) {
    const auto& [gpu, kernels, operation, sms] = key;
    std::vector<std::string> cells = {gpu, kernels, operation, sms > 0 ? pages::Count(sms) : ""};
    AddMeans(rows, &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

// What DeepEP's authors published, row by row.
std::string RowByRow(const std::vector<ComparedExchange>& compared) {
  std::string table = pages::TableHead({"device", "kernels", "operation", "ranks", "SMs", "measured",
                                        "simulated", "off", "NIC, GB/s", "NVLink, GB/s", "source, line"});
  for (const ComparedExchange& one : compared) {
    const MeasuredExchange& row = one.row;
    if (row.source == "aiconfigurator") continue;
    const double counted = row.nodes > 1 ? one.volume.to_nodes : one.volume.to_ranks;
    const auto shown = [&](double seconds) {
      return row.printed_bandwidth ? pages::Number(counted / seconds * 1e-9) + " GB/s"
                                   : pages::Number(seconds * 1e6) + " us";
    };
    table += pages::TableLine(
        {row.gpu, scenarios::ToText(row.exchange.kernels), OperationOf(one), pages::Count(row.ranks), row.sms,
         shown(row.seconds), shown(one.simulated), WithSign(one.error()),
         row.nodes > 1 ? pages::Number(one.volume.out_of_node / one.simulated * 1e-9, 1) : "",
         row.exchange.kernels == hardware::Exchange::Kernels::kLowLatency && row.nodes > 1
             ? ""
             : pages::Number(one.volume.to_ranks / one.simulated * 1e-9, 1),
         row.source + ", " + pages::Count(row.line)});
  }
  return table;
}

std::string WorstRows(const std::vector<ComparedExchange>& compared, std::size_t most) {
  ExchangeRows rows;
  for (const ComparedExchange& one : compared) rows.push_back(&one);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto* a, const auto* b) { return std::abs(a->error()) > std::abs(b->error()); });
  rows.resize(std::min(most, rows.size()));
  std::string table = pages::TableHead({"device", "kernels", "operation", "ranks", "tokens", "SMs",
                                        "measured, us", "simulated, us", "off", "source, line"});
  for (const ComparedExchange* one : rows) {
    const MeasuredExchange& row = one->row;
    table += pages::TableLine({row.gpu, scenarios::ToText(row.exchange.kernels), OperationOf(*one),
                               pages::Count(row.ranks), pages::Count(row.exchange.tokens), row.sms,
                               pages::Number(row.seconds * 1e6, 1), pages::Number(one->simulated * 1e6, 1),
                               WithSign(one->error()), row.source + ", " + pages::Count(row.line)});
  }
  return table;
}

}  // namespace

std::string ExchangePage(const std::vector<ComparedExchange>& compared) {
  std::string page = "# Dispatch and combine beside measurements\n\n";
  page += pages::Wrapped(
      "`ctest --preset release -R DeepEp` makes this page and fails when it is not up to date. Every row of "
      "`tests/network/deepep_measured.csv` is simulated on an idle fabric of its device's nodes: `orrery "
      "collective dispatch --hardware h800_sxm --devices 64 --node-limit 4` prints one. Hidden size 7,168, 8 "
      "of "
      "256 experts, FP8 out and BF16 home; even routing, to the 4 nodes of a token's best single experts at "
      "most "
      "but for low_latency, as DeepEP's tests have it.");
  page +=
      "\n" +
      pages::Wrapped(
          "Bytes follow from how many nodes and ranks a token visits, in closed form "
          "(`models/expert_visits.h`). "
          "Time is a start, a ramp, and the slower of two things that go on at once: bytes over NVLink, at "
          "so many "
          "GB/s an SM up to a limit, and bytes that leave the node, at the NIC's rate. DeepEP prints bytes "
          "to nodes "
          "or ranks over time, a token's own among them. So of 90 GB/s between 2 nodes 45 are on the wires, "
          "and of "
          "61 between 4 nodes 46; V2's README calls that logical bandwidth, but V1's tests count the same "
          "way. It also explains V1's 43 GB/s of 2 nodes: 21 of them leave the node, while NVLink carries "
          "140.");
  page +=
      "\n" +
      pages::Wrapped(
          "Starts, ramps and rates are in the devices' files (`exchanges`). aiconfigurator's rows fit those "
          "of one "
          "node of H100 and B200, by least squares of the logarithm, six SM counts together; DeepEP's own "
          "rows fit "
          "NVLink of H800, and the NIC's rate for all. So nearly all of these rows are in-sample. Fitted "
          "again "
          "outside of this page without one SM count at a time, the one left out is off by 1.5 to 5 %, and "
          "by 9 % on B200's "
          "24 SMs, which alone reach its limit. What is assumed: 20 us more between nodes for normal "
          "kernels, V2's start, and "
          "low_latency of H100 and B200 between nodes, which is H800's.");
  page += "\n## One node, by SMs\n\n" + BySms(compared);
  page += "\n## As DeepEP's authors published\n\n" +
          pages::Wrapped(
              "NIC is what leaves a rank's node, NVLink all that comes to a rank, its own included; "
              "SMs \"20-24\" are taken as 24.") +
          "\n" + RowByRow(compared);
  page += "\n## The worst rows\n\n" + WorstRows(compared, 15);
  page +=
      "\n" +
      pages::Wrapped(
          "H100's dispatch on 4 SMs takes a tenth longer a byte from 32,768 tokens on than before; one rate "
          "stands between. B200's V2 on 64 SMs is bound by NVLink here, at the 682 GB/s that rings reach.");
  return page + "\nNo row is left out.\n";
}

}  // namespace network
