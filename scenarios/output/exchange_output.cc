#include "scenarios/output/exchange_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/collective_run/rank_list.h"

namespace scenarios {
namespace {

using ExchangeDocument = nlohmann::ordered_json;

template <class... T>
std::string Printed(const char* format, T... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

bool IsLowLatency(const ExpertExchange& exchange) {
  return exchange.kernels == hardware::Exchange::Kernels::kLowLatency;
}

std::string FormatOf(const ExpertExchange& exchange) {
  return exchange.combine || !exchange.fp8 ? "BF16" : "FP8";
}

// What every row has alike.
std::string ExchangeHead(const ExchangeTable& table) {
  const CollectiveJob& job = table.rows[0].job;
  const ExpertExchange& exchange = *job.exchange;
  const ExchangeVolume& volume = table.rows[0].volume;
  std::string text = "# " + std::string(job.test->name) + " of " + std::to_string(job.ranks.size()) +
                     (job.ranks.size() == 1 ? " rank: " : " ranks: ") + RankListText(job.ranks) +
                     ", by DeepEP's " + ToText(exchange.kernels) + " kernels";
  if (!IsLowLatency(exchange)) text += " on " + std::to_string(exchange.sms) + " SMs";
  text += "\n# " + std::to_string(exchange.hidden) + " channels in " + FormatOf(exchange) +
          Printed(", %.0f bytes a token; %lld of %lld experts", volume.row,
                  static_cast<long long>(exchange.per_token), static_cast<long long>(exchange.experts));
  if (exchange.node_limit > 0) {
    text += " on " + std::to_string(exchange.node_limit) + " nodes at most";
  }
  text += Printed("\n# a token visits %.3f of %lld nodes", volume.nodes,
                  static_cast<long long>(table.group.nodes));
  if (!IsLowLatency(exchange)) {
    text += Printed(" and %.3f of %lld ranks", volume.ranks, static_cast<long long>(table.group.ranks));
  }
  return text + '\n';
}

std::string ExchangeRowText(const ExchangeRow& row, bool several_nodes) {
  std::string text =
      Printed("%12lld  %12.0f  %12.0f  %12.0f  %9.2f", static_cast<long long>(row.job.exchange->tokens),
              row.volume.to_nodes, row.volume.to_ranks, row.volume.out_of_node, row.time.seconds() * 1e6);
  text += several_nodes ? Printed("  %7.2f  %7.2f  %7.2f", row.rdma(), row.nvlink(), row.out_of_node())
                        : Printed("  %7s  %7.2f  %7s", "-", row.nvlink(), "-");
  return text + '\n';
}

}  // namespace

std::string ExchangeText(const ExchangeTable& table, const Cluster& cluster, const CollectiveHead& head) {
  std::string text =
      "# " + std::to_string(cluster.ranks()) + " x " + head.hardware + " on " + head.topology + '\n';
  text += ExchangeHead(table);
  for (const CollectiveJob& job : table.background) {
    text += "# background, again and again: " + ToText(job) + '\n';
  }
  text += "#\n" + Printed("# %10s  %12s  %12s  %12s  %9s  %7s  %7s  %7s", "tokens", "to nodes", "to ranks",
                          "out of node", "time", "RDMA", "NVLink", "NIC");
  text += '\n' + Printed("# %10s  %12s  %12s  %12s  %9s  %7s  %7s  %7s", "(a rank)", "(B)", "(B)", "(B)",
                         "(us)", "(GB/s)", "(GB/s)", "(GB/s)");
  text += '\n';
  for (const ExchangeRow& row : table.rows) text += ExchangeRowText(row, table.group.nodes > 1);
  return text +
         "# RDMA and NVLink as DeepEP counts them: bytes to nodes and to ranks, a rank's own among them\n";
}

std::string ExchangeJson(const ExchangeTable& table, const Cluster& cluster, const CollectiveHead& head) {
  const ExpertExchange& exchange = *table.rows[0].job.exchange;
  ExchangeDocument json = {{"schema_version", 1},
                           {"hardware", head.hardware},
                           {"topology", head.topology},
                           {"devices", cluster.ranks()},
                           {"operation", table.rows[0].job.test->name},
                           {"kernels", ToText(exchange.kernels)},
                           {"ranks", RankListText(table.rows[0].job.ranks)},
                           {"members", table.group.ranks},
                           {"nodes", table.group.nodes},
                           {"hidden", exchange.hidden},
                           {"per_token", exchange.per_token},
                           {"experts", exchange.experts}};
  json["node_limit"] =
      exchange.node_limit > 0 ? ExchangeDocument(exchange.node_limit) : ExchangeDocument(nullptr);
  json["sms"] = IsLowLatency(exchange) ? ExchangeDocument(nullptr) : ExchangeDocument(exchange.sms);
  json["format"] = FormatOf(exchange);
  json["bytes_a_token"] = table.rows[0].volume.row;
  json["nodes_a_token"] = table.rows[0].volume.nodes;
  json["ranks_a_token"] = table.rows[0].volume.ranks;
  json["rows"] = ExchangeDocument::array();
  for (const ExchangeRow& row : table.rows) {
    ExchangeDocument one = {
        {"tokens", row.job.exchange->tokens},    {"to_nodes_bytes", row.volume.to_nodes},
        {"to_ranks_bytes", row.volume.to_ranks}, {"out_of_node_bytes", row.volume.out_of_node},
        {"time_s", row.time.seconds()},          {"rdma_gb_per_s", row.rdma()},
        {"nvlink_gb_per_s", row.nvlink()},       {"nic_gb_per_s", row.out_of_node()}};
    json["rows"].push_back(std::move(one));
  }
  json["background"] = ExchangeDocument::array();
  for (const CollectiveJob& job : table.background) json["background"].push_back(ToText(job));
  json["digest"] = table.last.timeline.digest;
  return json.dump(2, ' ', false, ExchangeDocument::error_handler_t::replace) + '\n';
}

}  // namespace scenarios
