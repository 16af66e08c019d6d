#include "scenarios/collective_run/sweep.h"

#include <algorithm>
#include <utility>

#include "scenarios/custom_all_reduce.h"

namespace scenarios {
namespace {

double Ratio(sim::Duration a, sim::Duration b) {
  return static_cast<double>(a.ps()) / static_cast<double>(b.ps());
}

// What is wrong with one job, which `flag` asks for.
std::optional<sim::Error> WhyNot(const Cluster& cluster, const CollectiveJob& job, const std::string& flag) {
  if (auto why = WhyNotLower(cluster, job)) {
    const bool own = job.algorithm.has_value();
    const std::string algorithm = job.algorithm == sim::Algorithm::kOneShot ? "ONE_SHOT" : "TWO_SHOT";
    return sim::Error{(own ? "--algorithm " + algorithm : flag) + ": " + why->message};
  }
  return WhyNotNccl(cluster, job);
}

// The first job that cannot be played, or all of them together.
std::optional<sim::Error> WhyNot(const Cluster& cluster, const std::vector<CollectiveJob>& jobs,
                                 const PlayOptions& options, const std::string& flag) {
  for (const CollectiveJob& job : jobs) {
    if (auto why = WhyNot(cluster, job, flag)) return why;
  }
  for (const CollectiveJob& job : options.background) {
    if (auto why = WhyNot(cluster, job, "--background")) return why;
  }
  if (!options.chunks) return std::nullopt;
  std::int64_t transfers = 0;
  for (const CollectiveJob& job : jobs) transfers += MostTransfersOf(cluster, job);
  if (transfers <= kMostTransfers) return std::nullopt;
  return sim::Error{"--chunk: transfer by transfer, " + ToText(jobs[0]) +
                    (jobs.size() > 1 ? " and what runs with it take" : " takes") + " up to " +
                    std::to_string(transfers) + " transfers; at most " + std::to_string(kMostTransfers) +
                    " are played, and fewer ranks or bytes would do"};
}

std::vector<SharedRanks> SharedOf(const std::vector<CollectiveJob>& jobs) {
  std::vector<SharedRanks> shared;
  for (std::size_t a = 0; a < jobs.size(); ++a) {
    for (std::size_t b = a + 1; b < jobs.size(); ++b) {
      std::vector<std::uint32_t> of_a = jobs[a].ranks, of_b = jobs[b].ranks, both;
      std::sort(of_a.begin(), of_a.end());
      std::sort(of_b.begin(), of_b.end());
      std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(both));
      if (both.empty()) continue;
      shared.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), std::move(both)});
    }
  }
  return shared;
}

void FindBestWay(const Cluster& cluster, CollectiveRow* row) {
  if (!sim::FunctionOf(row->job.test->kind) || row->job.ranks.size() > kMostToCompare) return;
  if (!row->job.dimensions.empty()) return;
  for (const CollectiveWay& way : WaysOf(cluster, row->job)) {
    if (!row->best || way.idle < row->best->idle) row->best = way;
  }
}

// Plays the jobs once, or twice with the oracle, and adds a row each.
std::optional<sim::Error> AddRows(const Cluster& cluster, const std::vector<CollectiveJob>& jobs,
                                  const DataType& type, const PlayOptions& options, CollectiveTable* table) {
  PlayRequest request{.jobs = jobs,
                      .background = options.background,
                      .chunks = false,
                      .log_rates = options.log_rates,
                      .go_on = options.go_on};
  sim::Result<PlayedJobs> flows = PlayJobs(cluster, request);
  if (!flows.ok()) return flows.error();
  std::optional<PlayedJobs> chunks;
  if (options.chunks && !flows.value().stopped) {
    request.chunks = true;
    request.log_rates = false;
    sim::Result<PlayedJobs> played = PlayJobs(cluster, request);
    if (!played.ok()) return played.error();
    chunks = std::move(played).value();
  }
  table->last = std::move(flows).value();
  table->stopped = table->last.stopped || (chunks && chunks->stopped);
  if (table->stopped) return std::nullopt;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CollectiveRow row{.job = jobs[i],
                      .count = jobs[i].size.count() / type.bytes,
                      .time = table->last.time[i],
                      .chunk_time = {},
                      .bound = {}};
    if (jobs[i].test->has_part_each) row.count /= static_cast<std::int64_t>(jobs[i].ranks.size());
    if (chunks) row.chunk_time = chunks->time[i];
    row.way = table->last.ways[i];
    FindBestWay(cluster, &row);
    table->rows.push_back(std::move(row));
  }
  return std::nullopt;
}

}  // namespace

double CollectiveRow::algbw() const {
  return time == sim::Duration() ? 0 : static_cast<double>(job.size.count()) / time.seconds() * 1e-9;
}

double CollectiveRow::busbw() const {
  if (job.ranks.size() < 2) return 0;
  const sim::Fraction factor =
      sim::BusBandwidthFactor(job.test->kind, static_cast<std::uint32_t>(job.ranks.size()));
  return algbw() * static_cast<double>(factor.numerator) / static_cast<double>(factor.denominator);
}

std::optional<double> CollectiveRow::gap() const {
  if (bound.time == sim::Duration()) return std::nullopt;
  return Ratio(time, bound.time) - 1;
}

std::optional<double> CollectiveRow::chunk_difference() const {
  if (!chunk_time || *chunk_time == sim::Duration()) return std::nullopt;
  return Ratio(time, *chunk_time) - 1;
}

double CollectiveTable::mean_busbw() const {
  double sum = 0;
  for (const CollectiveRow& row : rows) sum += row.busbw();
  return rows.empty() ? 0 : sum / static_cast<double>(rows.size());
}

CollectiveJob JobOfSize(CollectiveJob job, sim::Bytes size, const DataType& type,
                        const PlayOptions& options) {
  job.size = RunSizeOf(*job.test, size, type, static_cast<std::uint32_t>(job.ranks.size())).size;
  if (options.as_vllm) job.algorithm = VllmChoice(job.ranks.size(), job.size);
  return job;
}

sim::Result<CollectiveTable> PlaySizes(const Cluster& cluster, CollectiveJob job, const DataType& type,
                                       const std::vector<sim::Bytes>& sizes, const PlayOptions& options) {
  const GroupBound bound(cluster.fabric, job.ranks, SwitchesAdd(cluster));
  // The largest first: what is refused is refused before anything runs.
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
    job = JobOfSize(std::move(job), *size, type, options);
    if (const auto why = WhyNot(cluster, {job}, options, "--ranks")) return *why;
  }
  CollectiveTable table;
  table.as_vllm = options.as_vllm;
  for (const sim::Bytes size : sizes) {
    job = JobOfSize(std::move(job), size, type, options);
    if (const auto error = AddRows(cluster, {job}, type, options, &table)) return *error;
    if (table.stopped) return table;
    table.rows.back().bound = bound.Of(job);
  }
  table.together = {job};
  table.together.insert(table.together.end(), options.background.begin(), options.background.end());
  table.shared = SharedOf(table.together);
  return table;
}

sim::Result<CollectiveTable> PlayTogether(const Cluster& cluster, const std::vector<CollectiveJob>& jobs,
                                          const DataType& type, const PlayOptions& options) {
  if (const auto why = WhyNot(cluster, jobs, options, "--job")) return *why;
  CollectiveTable table;
  table.jobs = jobs.size();
  if (const auto error = AddRows(cluster, jobs, type, options, &table)) return *error;
  for (CollectiveRow& row : table.rows)
    row.bound = GroupBound(cluster.fabric, row.job.ranks, SwitchesAdd(cluster)).Of(row.job);
  table.together = jobs;
  table.together.insert(table.together.end(), options.background.begin(), options.background.end());
  table.shared = SharedOf(table.together);
  return table;
}

}  // namespace scenarios
