#include "scenarios/collective_run/exchange_sweep.h"

#include <algorithm>
#include <string>
#include <utility>

namespace scenarios {
namespace {

double RateIn(double bytes, sim::Duration time) {
  return time == sim::Duration() ? 0 : bytes / time.seconds() * 1e-9;
}

std::string Count(std::int64_t n) { return std::to_string(n); }

}  // namespace

double ExchangeRow::rdma() const { return RateIn(volume.to_nodes, time); }
double ExchangeRow::nvlink() const { return RateIn(volume.to_ranks, time); }
double ExchangeRow::out_of_node() const { return RateIn(volume.out_of_node, time); }

std::optional<double> ExchangeRow::chunk_difference() const {
  if (!chunk_time || *chunk_time == sim::Duration()) return std::nullopt;
  return time.seconds() / chunk_time->seconds() - 1;
}

std::vector<std::string> WhyNotExchange(const Cluster& cluster, const ExpertExchange& exchange,
                                        std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kMostMembersOfPairs = 4096;
  std::vector<std::string> errors;
  const bool low_latency = exchange.kernels == hardware::Exchange::Kernels::kLowLatency;
  const hardware::Exchange* figures =
      hardware::FindExchange(cluster.device, exchange.kernels, exchange.combine);
  if (figures == nullptr) {
    errors.push_back("--hardware: \"" + cluster.device.name + "\" has no figures of DeepEP's " +
                     ToText(exchange.kernels) + " kernels (exchanges of its file); h100_sxm has");
  }
  const auto group = ExchangeGroupOf(cluster.fabric, ranks);
  if (!group) {
    errors.push_back("--ranks: different numbers of them on NVLink domains; as many on each are wanted");
  }
  const auto members = static_cast<std::int64_t>(ranks.size());
  if (members < 2) errors.push_back("--ranks: 1 rank sends no tokens; 2 or more are wanted");
  if (exchange.experts % members != 0) {
    errors.push_back("--experts: " + Count(members) + " ranks do not divide " + Count(exchange.experts) +
                     " experts; a multiple of " + Count(members) + " would do");
  }
  if (group && exchange.node_limit > group->nodes) {
    errors.push_back("--node-limit: " + Count(exchange.node_limit) + "; the ranks are on " +
                     Count(group->nodes) + " nodes, and 1 to " + Count(group->nodes) + " would do");
  }
  if (group && exchange.experts % members == 0) {
    const std::int64_t limit =
        exchange.node_limit > 0 ? std::min(exchange.node_limit, group->nodes) : group->nodes;
    const std::int64_t reach = exchange.experts / group->nodes * limit;
    if (exchange.per_token > reach) {
      errors.push_back("--top-k: " + Count(exchange.per_token) + " experts a token; it may reach " +
                       Count(reach));
    }
  }
  if (!low_latency && exchange.sms > cluster.device.sms) {
    errors.push_back("--sms: " + Count(exchange.sms) + "; the device has " + Count(cluster.device.sms));
  }
  if (low_latency && ranks.size() > kMostMembersOfPairs) {
    errors.push_back("--ranks: low_latency of " + Count(members) + " ranks has too many pairs; at most " +
                     Count(kMostMembersOfPairs) + " ranks would do");
  }
  return errors;
}

sim::Result<ExchangeTable> PlayExchanges(const Cluster& cluster, ExpertExchange exchange,
                                         const std::vector<std::uint32_t>& ranks,
                                         const std::vector<std::int64_t>& tokens,
                                         const PlayOptions& options) {
  ExchangeTable table{.group = ExchangeGroupOf(cluster.fabric, ranks).value(),
                      .rows = {},
                      .background = options.background,
                      .last = {}};
  for (const std::int64_t each : tokens) {
    exchange.tokens = each;
    ExchangeRow row;
    row.job.test = exchange.combine ? &kCombine : &kDispatch;
    row.job.ranks = ranks;
    row.volume = VolumeOf(exchange, table.group);
    row.job.exchange = exchange;
    row.job.size = row.volume.request.size;
    if (options.chunks) {
      const std::int64_t transfers = MostTransfersOf(cluster, row.job);
      if (transfers > kMostTransfers) {
        return sim::Error{"--chunk: transfer by transfer, " + Count(each) + " tokens take up to " +
                          Count(transfers) + " transfers; at most " + Count(kMostTransfers) +
                          " are played, and fewer ranks or tokens would do"};
      }
    }
    for (const bool chunks : {false, true}) {
      if (chunks && (!options.chunks || table.stopped)) continue;
      sim::Result<PlayedJobs> played = PlayJobs(cluster, {.jobs = {row.job},
                                                          .background = options.background,
                                                          .chunks = chunks,
                                                          .log_rates = options.log_rates && !chunks,
                                                          .go_on = options.go_on});
      if (!played.ok()) return played.error();
      table.stopped = table.stopped || played.value().stopped;
      if (table.stopped) break;
      if (chunks) {
        row.chunk_time = played.value().time[0];
        continue;
      }
      row.time = played.value().time[0];
      table.last = std::move(played).value();
    }
    if (table.stopped) return table;
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace scenarios
