#include "scenarios/explain/bounds.h"

#include <algorithm>
#include <utility>

#include "scenarios/checkpoint_report.h"
#include "sim/program/executor.h"

namespace scenarios {
namespace {

using sim::Duration;

enum class Work : std::uint8_t { kNone, kAlone };
enum class Moves : std::uint8_t { kNone, kLatency, kAlone };

// The step when work and communication take fixed times, and nothing is shared.
Duration Fixed(const Scenario& scenario, const std::vector<TrafficBound>& bounds, Work work, Moves moves,
               sim::Program* program) {
  std::vector<sim::WorkTimes> works = program->works;
  for (sim::WorkTimes& times : works) {
    const Duration alone = work == Work::kAlone ? times.alone : Duration();
    times = sim::WorkTimes(alone, alone);
  }
  std::vector<sim::Traffic> traffics = program->traffics;
  for (std::size_t t = 0; t < traffics.size(); ++t) {
    sim::Traffic& traffic = traffics[t];
    traffic.flows = 0;
    traffic.taken = {};
    if (moves == Moves::kNone) traffic.latency = {};
    // Rounded to the nearest picosecond; the network rounds up.
    if (moves == Moves::kAlone) traffic.latency += bounds[t].transfer;
  }
  std::swap(works, program->works);
  std::swap(traffics, program->traffics);
  const sim::Timeline timeline = sim::Simulate(*program).value();
  std::swap(works, program->works);
  std::swap(traffics, program->traffics);
  return SteadySteps(scenario, *program, timeline).step_time();
}

// Of the compute streams of one rank in a step, as long as it would take alone.
Duration MostWork(const sim::Program& program, const sim::Timeline& timeline, sim::Interval period) {
  Duration most;
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    if (program.stream_kind[s] != sim::StreamKind::kCompute) continue;
    Duration work;
    for (sim::TaskId task = program.stream_head[s]; task.valid(); task = program.next_in_stream(task)) {
      if (program.row(task).kind != sim::TaskKind::kWork) continue;
      const sim::Interval all{timeline.start[task.pos()], timeline.end[task.pos()]};
      const Duration part = sim::Clip(all, period).length();
      // A piece that the period cuts counts its share, rounded down.
      const sim::Wide alone = std::min(program.times_of(task).alone, all.length()).ps();
      if (part > Duration()) {
        work += Duration::Picoseconds(static_cast<std::int64_t>(alone * part.ps() / all.length().ps()));
      }
    }
    most = std::max(most, work);
  }
  return most;
}

}  // namespace

std::vector<StepBound> BoundsOf(const Scenario& scenario, RunResult* run,
                                const std::vector<TrafficBound>& traffic) {
  sim::Program& program = run->steps.program;
  const sim::StepTimes times = SteadySteps(scenario, program, run->timeline);
  double busiest = 0;
  for (const TierReport& tier : run->report.tiers) busiest = std::max(busiest, tier.max_utilisation);
  const auto fixed = [&](Work work, Moves moves) { return Fixed(scenario, traffic, work, moves, &program); };
  return {
      {"compute", "compute only: the busiest rank's work, alone",
       MostWork(program, run->timeline, times.period)},
      {"network", "network only: the busiest link, full",
       Duration::FromSeconds(busiest * run->report.step_time.seconds())},
      {"latency", "latency only: launches and hops in their order", fixed(Work::kNone, Moves::kLatency)},
      {"transfers", "communication in its order, each alone on its links", fixed(Work::kNone, Moves::kAlone)},
      {"schedule", "work in its order, communication free", fixed(Work::kAlone, Moves::kNone)},
      {"unshared", "both, but nothing shares links or SMs", fixed(Work::kAlone, Moves::kAlone)}};
}

}  // namespace scenarios
