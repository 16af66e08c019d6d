#include "scenarios/collective_run/play_jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/program/program_builder.h"

namespace scenarios {
namespace {

// Writes one program: a stream for each job and member.
class Writer {
 public:
  explicit Writer(const Cluster& cluster)
      : cluster_(cluster), builder_(cluster.ranks(), CapacitiesOf(cluster.fabric)) {}

  // `rounds` of them, one after the other; returns the seats that end them, one a round.
  std::vector<sim::TaskId> WriteFlows(const CollectiveJob& job, const sim::TrafficDescription& lowered,
                                      std::int64_t rounds, std::uint32_t number) {
    const std::vector<sim::StreamId> streams = StreamsOf(job);
    const sim::TrafficId traffic = builder_.AddTraffic(lowered);
    std::vector<sim::TaskId> ends;
    for (std::int64_t round = 0; round < rounds; ++round) {
      ends.push_back(Meet(streams, traffic, LabelOf(job, round), number));
    }
    return ends;
  }

  // All members meet, then the transfers run; returns the seats of the latter and of one member.
  std::vector<sim::TaskId> WriteChunks(const CollectiveJob& job, const ChunkedTraffic& chunked,
                                       std::uint32_t number) {
    const sim::Label label = LabelOf(job, 0);
    std::vector<sim::TaskId> tasks = {
        Meet(StreamsOf(job), builder_.AddTraffic(chunked.rendezvous), label, number)};
    const std::vector<std::uint32_t> members = MembersOf(job);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, sim::StreamId> streams;
    for (const ChunkedTraffic::Transfer& transfer : chunked.transfers) {
      const auto [stream, is_new] = streams.try_emplace({transfer.channel, transfer.from, transfer.to});
      // Whose stream it is does not matter; one end may be a switch.
      const std::uint32_t at = transfer.from < members.size() ? transfer.from : transfer.to;
      if (is_new) stream->second = builder_.AddStream(sim::Rank(members[at]), sim::StreamKind::kData);
      const sim::TaskId task =
          Meet(std::span(&stream->second, 1), builder_.AddTraffic(transfer.traffic), label, number);
      if (transfer.after.empty()) builder_.After(task, tasks[0]);
      for (const std::uint32_t earlier : transfer.after) builder_.After(task, tasks[earlier + 1]);
      tasks.push_back(task);
    }
    return tasks;
  }

  sim::Result<sim::Program> Build() && { return std::move(builder_).Build(); }
  const std::vector<std::uint32_t>& jobs() const { return job_of_communication_; }

 private:
  std::vector<sim::StreamId> StreamsOf(const CollectiveJob& job) {
    std::vector<sim::StreamId> streams;
    for (const std::uint32_t rank : job.ranks) {
      streams.push_back(builder_.AddStream(sim::Rank(rank), sim::StreamKind::kData));
    }
    return streams;
  }
  sim::Label LabelOf(const CollectiveJob& job, std::int64_t round) {
    return {.name = builder_.Name(ToText(job)), .micro_batch = static_cast<std::int32_t>(round)};
  }
  // One communication; returns its first seat, which ends when all do.
  sim::TaskId Meet(std::span<const sim::StreamId> streams, sim::TrafficId traffic, sim::Label label,
                   std::uint32_t number) {
    const sim::CommunicationId communication = builder_.AddCommunication(traffic);
    job_of_communication_.push_back(number);
    sim::TaskId first;
    for (const sim::StreamId stream : streams) {
      const sim::TaskId seat = builder_.Seat(stream, communication, sim::TaskClass::kData, label);
      if (!first.valid()) first = seat;
    }
    return first;
  }

  const Cluster& cluster_;
  sim::ProgramBuilder builder_;
  std::vector<std::uint32_t> job_of_communication_;
};

// What is the same however often the backgrounds run.
struct Lowered {
  std::vector<sim::TrafficDescription> jobs, background;
  std::vector<std::optional<CollectiveWay>> ways;  // of the jobs
  std::vector<ChunkedTraffic> chunked;
};

struct Attempt {
  PlayedJobs played;
  std::vector<sim::Duration> background_end;
};

sim::Result<Attempt> Play(const Cluster& cluster, const PlayRequest& request, const Lowered& lowered,
                          const std::vector<std::int64_t>& rounds) {
  Writer writer(cluster);
  std::vector<std::vector<sim::TaskId>> job_tasks, background_tasks;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < request.jobs.size(); ++i) {
    job_tasks.push_back(request.chunks ? writer.WriteChunks(request.jobs[i], lowered.chunked[i], number)
                                       : writer.WriteFlows(request.jobs[i], lowered.jobs[i], 1, number));
    ++number;
  }
  for (std::size_t i = 0; i < request.background.size(); ++i) {
    background_tasks.push_back(
        writer.WriteFlows(request.background[i], lowered.background[i], rounds[i], number++));
  }
  Attempt attempt;
  PlayedJobs& played = attempt.played;
  played.job = writer.jobs();
  sim::Result<sim::Program> program = std::move(writer).Build();
  if (!program.ok()) return program.error();
  sim::SimulateOptions options{.log_rates = request.log_rates};
  if (request.go_on) options.go_on = [&](const sim::SimulationProgress&) { return request.go_on(); };
  sim::Result<sim::Timeline> timeline = sim::Simulate(program.value(), options);
  if (!timeline.ok()) return timeline.error();
  played.stopped = timeline.value().stopped;
  if (played.stopped) return attempt;
  const auto end_of = [&](const std::vector<sim::TaskId>& tasks) {
    sim::Duration end;
    for (const sim::TaskId task : tasks) end = std::max(end, timeline.value().end[task.pos()].since_start());
    return end;
  };
  for (const auto& tasks : job_tasks) played.time.push_back(end_of(tasks));
  for (const sim::Duration time : played.time) played.finish = std::max(played.finish, time);
  for (const auto& tasks : background_tasks) attempt.background_end.push_back(end_of(tasks));
  played.program = std::move(program).value();
  played.timeline = std::move(timeline).value();
  return attempt;
}

Lowered Lower(const Cluster& cluster, const PlayRequest& request) {
  Lowered lowered;
  for (const CollectiveJob& job : request.jobs) {
    if (request.chunks) lowered.chunked.push_back(LowerJobIntoChunks(cluster, job));
    WayAndTraffic one = LowerJobByWay(cluster, job);
    lowered.jobs.push_back(std::move(one.traffic));
    lowered.ways.push_back(one.way);
  }
  for (const CollectiveJob& job : request.background) lowered.background.push_back(LowerJob(cluster, job));
  return lowered;
}

}  // namespace

sim::Result<PlayedJobs> PlayJobs(const Cluster& cluster, const PlayRequest& request) {
  const Lowered lowered = Lower(cluster, request);
  sim::Duration longest;
  for (const sim::TrafficDescription& traffic : lowered.jobs) {
    longest = std::max(longest, IdleTime(cluster.fabric, traffic));
  }
  // So often a background runs if neither slows the other down; then as often as it turns out to be.
  std::vector<std::int64_t> rounds;
  for (std::size_t i = 0; i < request.background.size(); ++i) {
    const sim::Duration idle = IdleTime(cluster.fabric, lowered.background[i]);
    if (idle == sim::Duration()) {
      return sim::Error{"--background: \"" + ToText(request.background[i]) +
                        "\" moves nothing, and is no background; a " +
                        "larger size and two ranks or more would do"};
    }
    rounds.push_back(longest.ps() / idle.ps() + 1);
  }
  while (true) {
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      if (rounds[i] <= kMostRounds) continue;
      return sim::Error{"--background: \"" + ToText(request.background[i]) + "\" would run more than " +
                        std::to_string(kMostRounds) + " times beside the jobs; a larger size would do"};
    }
    sim::Result<Attempt> attempt = Play(cluster, request, lowered, rounds);
    if (!attempt.ok()) return attempt.error();
    const PlayedJobs& played = attempt.value().played;
    bool covered = true;
    for (std::size_t i = 0; i < rounds.size() && !played.stopped; ++i) {
      if (attempt.value().background_end[i] >= played.finish) continue;
      covered = false;
      rounds[i] *= 2;
    }
    if (!covered) continue;
    PlayedJobs done = std::move(attempt).value().played;
    done.ways = lowered.ways;
    return done;
  }
}

}  // namespace scenarios
