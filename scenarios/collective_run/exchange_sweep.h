// DeepEP's dispatch or combine at several numbers of tokens, as its own tests measure them.

#ifndef SCENARIOS_COLLECTIVE_RUN_EXCHANGE_SWEEP_H_
#define SCENARIOS_COLLECTIVE_RUN_EXCHANGE_SWEEP_H_

#include <optional>
#include <span>
#include <vector>

#include "scenarios/collective_run/play_jobs.h"
#include "scenarios/collective_run/sweep.h"

namespace scenarios {

struct ExchangeRow {
  CollectiveJob job;  // job.exchange is filled
  ExchangeVolume volume;
  sim::Duration time;
  std::optional<sim::Duration> chunk_time;  // of the oracle, transfer by transfer

  // 10^9 B/s as DeepEP prints them, a rank's own tokens among them; 0 where it takes no time.
  double rdma() const;
  double nvlink() const;
  double out_of_node() const;  // what the NIC carries
  std::optional<double> chunk_difference() const;
};

struct ExchangeTable {
  ExchangeGroup group;
  std::vector<ExchangeRow> rows;
  std::vector<CollectiveJob> background;
  PlayedJobs last;
  bool stopped = false;
};

// All that is wrong with it, a line each that names the option: no figures of the kernels, nodes with
// different numbers of ranks, experts that ranks do not divide, more experts a token than it may reach, a
// limit above the number of nodes, SMs that the device does not have, and for LOW_LATENCY too many pairs.
std::vector<std::string> WhyNotExchange(const Cluster& cluster, const ExpertExchange& exchange,
                                        std::span<const std::uint32_t> ranks);

// A play for each number of tokens; `exchange.tokens` is not looked at.
// Error: as PlayJobs; too many transfers for the oracle. REQUIRES: WhyNotExchange says nothing
sim::Result<ExchangeTable> PlayExchanges(const Cluster& cluster, ExpertExchange exchange,
                                         const std::vector<std::uint32_t>& ranks,
                                         const std::vector<std::int64_t>& tokens, const PlayOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_EXCHANGE_SWEEP_H_
