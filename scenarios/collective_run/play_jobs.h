// Collectives that start together, beside others that go on and on, on one cluster.

#ifndef SCENARIOS_COLLECTIVE_RUN_PLAY_JOBS_H_
#define SCENARIOS_COLLECTIVE_RUN_PLAY_JOBS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "scenarios/collective_run/lower_job.h"
#include "sim/base/result.h"
#include "sim/program/executor.h"

namespace scenarios {

struct PlayRequest {
  std::vector<CollectiveJob> jobs;  // all start at time zero, each on a stream of its own
  // Each starts again where it ends, until all jobs have ended. It is under way when they start: its first
  // round has data on its links from time zero, without the latency that later ones begin with.
  std::vector<CollectiveJob> background;
  bool chunks = false;               // the jobs transfer by transfer; the background as coupled flows
  bool log_rates = false;            // fill Timeline::rates
  std::function<bool()> go_on = {};  // asked now and then; empty: always
};

struct PlayedJobs {
  std::vector<sim::Duration> time;                 // by job
  sim::Duration finish;                            // the last of them
  std::vector<std::optional<CollectiveWay>> ways;  // by job, as coupled flows; none where nothing is sent
  std::vector<std::uint32_t> job;                  // by CommunicationId: its place in jobs, then background
  sim::Program program;
  sim::Timeline timeline;  // goes on after `finish` until the background's last round ends
  bool stopped = false;    // go_on said so; nothing else is filled
};

// A background is not played more often than this beside a job.
inline constexpr std::int64_t kMostRounds = 10'000;

// As coupled flows the result is the jobs' alone: how often a background was
// written beyond their end has no effect on what came before.
// Error: a background that moves nothing or would run more than kMostRounds
// times; what would end beyond the clock's range.
// REQUIRES: jobs can be lowered, with few enough transfers if chunks
sim::Result<PlayedJobs> PlayJobs(const Cluster& cluster, const PlayRequest& request);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_PLAY_JOBS_H_
