// nccl-tests on paper: rows of sizes, or of jobs that run at once, each with
// its time, bandwidths and the bound that no algorithm beats.

#ifndef SCENARIOS_COLLECTIVE_RUN_SWEEP_H_
#define SCENARIOS_COLLECTIVE_RUN_SWEEP_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/collective_run/lower_bound.h"
#include "scenarios/collective_run/play_jobs.h"

namespace scenarios {

inline constexpr std::size_t kMostToCompare = 1024;

struct CollectiveRow {
  CollectiveJob job;
  std::int64_t count = 0;  // elements, as nccl-tests counts them
  sim::Duration time;
  std::optional<sim::Duration> chunk_time;  // of the oracle, transfer by transfer
  LowerBound bound;
  std::optional<CollectiveWay> way = {};  // none where nothing is sent
  std::optional<CollectiveWay> best =
      {};  // the fastest here of all ways; not looked for above kMostToCompare members

  // 10^9 B/s; 0 where it takes no time.
  double algbw() const;
  double busbw() const;
  // time / bound - 1; none where nothing has to move.
  std::optional<double> gap() const;
  std::optional<double> chunk_difference() const;  // time / chunk_time - 1
};

// Two that have ranks in common.
struct SharedRanks {
  std::uint32_t first = 0, second = 0;  // jobs, then background
  std::vector<std::uint32_t> ranks;
};

struct CollectiveTable {
  std::vector<CollectiveRow> rows;
  std::vector<CollectiveJob> together;  // of the last play: its jobs, then the background
  std::size_t jobs = 1;                 // how many of them are jobs
  bool as_vllm = false;                 // PlayOptions::as_vllm
  std::vector<SharedRanks> shared;
  PlayedJobs last;  // the play of the last size, or of all jobs
  bool stopped = false;

  double mean_busbw() const;  // over all rows, as nccl-tests prints it
};

struct PlayOptions {
  std::vector<CollectiveJob> background = {};
  bool chunks = false;
  bool log_rates = false;  // of the last play, for LoadedLinks
  bool as_vllm = false;    // of PlaySizes, an all_reduce: by VllmChoice, size by size
  std::function<bool()> go_on = {};
};

// The chunk oracle is refused above so many transfers of all jobs of a play.
inline constexpr std::int64_t kMostTransfers = 500'000;

// `job` as it is run for a size: rounded as nccl-tests does, and done as vLLM does it where that is asked
// for.
CollectiveJob JobOfSize(CollectiveJob job, sim::Bytes size, const DataType& type, const PlayOptions& options);

// A play for each size; `job.size` is not looked at. Messages name options of `orrery collective`.
// Error: as PlayJobs; too many transfers for the oracle; what cannot be lowered.
sim::Result<CollectiveTable> PlaySizes(const Cluster& cluster, CollectiveJob job, const DataType& type,
                                       const std::vector<sim::Bytes>& sizes, const PlayOptions& options);

// All jobs in one play, with the sizes that they say.
sim::Result<CollectiveTable> PlayTogether(const Cluster& cluster, const std::vector<CollectiveJob>& jobs,
                                          const DataType& type, const PlayOptions& options);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_SWEEP_H_
