#include "scenarios/checkpoint_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "scenarios/checkpoint_forms.h"
#include "scenarios/checkpoint_writer.h"
#include "scenarios/lowering.h"
#include "scenarios/restart.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/saves.h"

namespace scenarios {
namespace {

// The last step whose period no save can reach.
constexpr std::size_t kSteadyStep = kStepsBeforeSave - 2;

std::string Seconds(double seconds) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.4g s", seconds);
  return text.data();
}
std::string Seconds(sim::Duration time) { return Seconds(time.seconds()); }

std::string Gigabytes(sim::Bytes bytes) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.4g GB", static_cast<double>(bytes.count()) * 1e-9);
  return text.data();
}

void Describe(const Scenario& scenario, const CheckpointPlan& plan, CheckpointReport* r) {
  const Checkpoint& save = *scenario.checkpoint;
  const bool sync = save.mode == SaveMode::kSync;
  r->mode = sync ? "SYNC" : "ASYNC";
  r->copy = sync || save.copy == SaveCopy::kBlocking ? "BLOCKING" : "OVERLAPPED";
  r->format = save.format == SaveFormat::kSharded ? "SHARDED"
              : save.format == SaveFormat::kDelta ? "DELTA"
                                                  : "CONSOLIDATED";
  r->path = save.through_nics ? "NIC" : "FRONTEND";
  r->source = save.source;
  r->every_steps = save.every_steps;
  r->bytes_per_parameter = plan.bytes_per_parameter;
  if (save.format == SaveFormat::kDelta) {
    r->written_fraction = static_cast<double>(save.delta_parts) / static_cast<double>(kBillion);
  }
  r->bytes = plan.total;
  r->largest_rank = plan.largest_rank;
  r->largest_node = plan.largest_node;
  r->staging_per_node = plan.staging_per_node;
  r->saves_in_staging = *std::min_element(plan.slots.begin(), plan.slots.end());
  r->servers = save.servers;
  r->replicas = save.replicas;
  r->mtbf_hours = save.mtbf_hours;
}

// The step that waited longest, on one rank: its parts add up to its length.
void AddHeldStep(const sim::Program& program, const sim::Timeline& timeline,
                 const sim::Predecessors& predecessors, const std::vector<sim::Save>& saves,
                 CheckpointReport* r) {
  std::size_t longest = 0;
  for (std::size_t i = 1; i < saves.size(); ++i) {
    if (saves[i].blocked > saves[longest].blocked) longest = i;
  }
  const sim::Rank rank = saves[longest].blocked_rank;
  if (!rank.valid()) return;  // none waited
  const auto step = static_cast<std::size_t>(r->saves[longest].after_step);
  const sim::Interval held{sim::FindSteps(program, timeline, step - 1).rank_end[rank.pos()],
                           sim::FindSteps(program, timeline, step).rank_end[rank.pos()]};
  const sim::Breakdown breakdown = sim::BreakdownOf(program, timeline, predecessors, rank, held);
  r->breakdown_rank = rank.value();
  for (int cause = 0; cause < sim::kCauses; ++cause) {
    const auto c = static_cast<sim::Cause>(cause);
    r->breakdown.push_back({sim::ToText(c), breakdown.of(c)});
  }
}

void AddSimulated(const Scenario& scenario, const sim::Program& program, const sim::Timeline& timeline,
                  sim::Duration step_time, CheckpointReport* r) {
  const sim::Predecessors predecessors = sim::FindPredecessors(program);
  const std::vector<sim::Save> saves = sim::FindSaves(program, timeline, predecessors);
  for (std::size_t i = 0; i < saves.size(); ++i) {
    const sim::Save& save = saves[i];
    r->saves.push_back(
        {.after_step = kStepsBeforeSave + static_cast<std::int64_t>(i) * scenario.checkpoint->every_steps,
         .start = save.copy.from.since_start(),
         .copy = save.copy.length(),
         .write = save.write.length(),
         .blocked = save.blocked,
         .stall = save.stall,
         .stalled_since = save.stalled_since.since_start()});
    r->stalled += save.stall;
  }
  r->copy_time = r->saves.front().copy;
  r->write_time = r->saves.front().write;
  r->blocked = r->saves.front().blocked;
  const std::vector<sim::Time> ends = sim::FindSteps(program, timeline).end;
  const auto after = static_cast<std::int64_t>(ends.size() - 1 - kSteadyStep);
  const sim::Duration extra = ends.back() - ends[kSteadyStep] - after * step_time - r->stalled;
  const auto each = extra.ps() / static_cast<std::int64_t>(saves.size());
  r->cost = sim::Duration::Picoseconds(std::max<std::int64_t>(each, 0));
  AddHeldStep(program, timeline, predecessors, saves, r);
}

// Times of a long run may be beyond the clock, which spans 106 days.
sim::Wide Wide(sim::Duration time) { return sim::Wide{time.ps()}; }
double SecondsOf(sim::Wide ps) { return static_cast<double>(ps) * 1e-12; }
sim::Duration Clamped(sim::Wide ps) {
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(std::min(ps, Wide(sim::Duration::Max()))));
}

// `earliest_s` is that of saves which may stall; 0 of those that cannot.
void AddWaste(const Checkpoint& save, double earliest_s, CheckpointReport* r) {
  if (!save.mtbf_hours) return;
  const double mtbf_s = *save.mtbf_hours * 3600, cost = r->cost.seconds();
  r->waste = WasteWithStalls(cost, r->interval_s, earliest_s, mtbf_s);
  if (cost <= 0) return;  // saves that cost nothing may come at any time
  r->young_interval_s = YoungInterval(cost, mtbf_s);
  r->young_waste = WasteWithStalls(cost, *r->young_interval_s, earliest_s, mtbf_s);
  r->advised_interval_s = std::max(*r->young_interval_s, earliest_s);
  r->advised_waste = WasteOf(cost, *r->advised_interval_s, mtbf_s);
}

void AddRhythm(const Checkpoint& save, sim::Duration step_time, const IdleSave& idle, CheckpointReport* r) {
  const bool sync = save.mode == SaveMode::kSync;
  const sim::Wide training = Wide(step_time) * save.every_steps;
  const sim::Wide interval = training + Wide(r->blocked);
  r->interval_s = SecondsOf(interval);
  // No copy and write take longer than the clock can tell, so they are in time for any interval beyond it.
  const SaveRhythm rhythm{Clamped(interval), r->copy_time, r->write_time, r->saves_in_staging};
  r->earliest_interval = EarliestInterval(rhythm);
  r->backlog_per_interval = sync ? sim::Bytes() : BacklogPerInterval(r->bytes, rhythm);
  r->served_per_interval = r->bytes - r->backlog_per_interval;
  if (const auto stall = sync ? std::nullopt : FirstStallOf(rhythm)) {
    r->first_stall_save = stall->save;
    r->first_stall_since = stall->since;
    r->first_stall = stall->lasts;
  }
  const sim::Wide between = std::max(training + Wide(r->cost), sync ? 0 : Wide(r->earliest_interval));
  r->effective_step_time = Clamped(between / save.every_steps);
  const sim::Wide window = r->saves_in_staging == 1 ? interval - Wide(r->copy_time) : interval;
  if (!sync && window > 0 && Wide(idle.write_to_servers) <= window) {
    r->servers_needed = ServersNeeded(r->bytes, save.replicas, save.server_write, window);
  }
  AddWaste(save, sync ? 0 : r->earliest_interval.seconds(), r);
}

// What failures make of it.
void AddFailureWarnings(const CheckpointReport& r, std::vector<std::string>* warnings) {
  if (r.waste && *r.waste >= 1) {
    warnings->push_back(
        "checkpoint.mtbf_hours: saves, stalls and work lost to failures take all the time: at "
        "this interval the job makes no progress");
  }
  if (r.young_interval_s && *r.advised_interval_s > *r.young_interval_s) {
    warnings->push_back("checkpoint: Young's interval of " + Seconds(*r.young_interval_s) + " is below the " +
                        Seconds(*r.advised_interval_s) +
                        " that saves need not to stall training; the latter is the one to choose");
  }
}

void AddWarnings(const Scenario& scenario, const CheckpointReport& r, sim::Duration last_write,
                 sim::Duration last_step, std::vector<std::string>* warnings) {
  const bool sync = scenario.checkpoint->mode == SaveMode::kSync;
  if (r.saves.empty()) {
    warnings->push_back(
        "checkpoint: no save was simulated, its times are those of an idle fabric; the first "
        "follows step " +
        std::to_string(kStepsBeforeSave) + " of " + std::to_string(scenario.steps) +
        ", and another step shows it: steps of " + std::to_string(kStepsBeforeSave + 1) +
        " or more would do");
  } else if (last_write > last_step) {
    warnings->push_back("checkpoint: the last write ends " + Seconds(last_write - last_step) +
                        " after the simulated steps, so what it slows down later is not counted; more steps "
                        "would tell");
  }
  if (!sync && r.interval_s < r.earliest_interval.seconds()) {
    warnings->push_back("checkpoint.every_steps: a save takes " + Seconds(r.copy_time + r.write_time) +
                        " to copy and write, and one is due every " + Seconds(r.interval_s) +
                        "; with room for " + std::to_string(r.saves_in_staging) +
                        " in staging training stalls at intervals below " + Seconds(r.earliest_interval));
  }
  if (r.backlog_per_interval > sim::Bytes()) {
    warnings->push_back("checkpoint: unstable: " + Gigabytes(r.bytes) + " arrive every " +
                        Seconds(r.interval_s) + " and " + Gigabytes(r.served_per_interval) +
                        " are written, so the backlog grows by " + Gigabytes(r.backlog_per_interval) +
                        " a save until staging is full");
  }
  constexpr std::int64_t kMostIdlePs = INT64_MAX / 4;  // where times on an idle fabric stop: 26.7 days
  if (std::max(r.copy_idle, r.write_idle).ps() >= kMostIdlePs) {
    warnings->push_back(
        "checkpoint: a save takes more than the 26 days that times on an idle fabric are counted to; "
        "figures that follow from them are too small");
  }
  AddFailureWarnings(r, warnings);
  if (!r.restart) warnings->push_back("checkpoint: reading it back would take longer than can be simulated");
}

}  // namespace

sim::StepTimes SteadySteps(const Scenario& scenario, const sim::Program& program,
                           const sim::Timeline& timeline) {
  const bool saves = scenario.checkpoint && SavesWithin(scenario.steps, scenario.checkpoint->every_steps) > 0;
  if (saves) return sim::FindSteps(program, timeline, kSteadyStep);
  const sim::StepTimes all = sim::FindSteps(program, timeline);
  if (all.steady || scenario.steps <= 3) return all;
  // Beside the end of the last step no next one begins, so it may be shorter than those before.
  const sim::StepTimes before =
      sim::FindSteps(program, timeline, static_cast<std::size_t>(scenario.steps) - 2);
  return before.steady ? before : all;
}

IdleSave IdleTimesOf(const Scenario& scenario, const CheckpointPlan& plan) {
  const topologies::StorageRoutes& routes = *scenario.fabric.storage;
  const auto idle = [&](const std::vector<sim::Bytes>& bytes, const std::vector<topologies::Route>& by_rank,
                        sim::ByteRate limit, bool servers = true) {
    sim::TrafficDescription all;
    for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
      if (bytes[rank] == sim::Bytes()) continue;
      sim::TrafficDescription one = StorageTraffic("", bytes[rank], by_rank[rank], limit);
      all.latency = std::max(all.latency, one.latency);
      if (!servers) {
        std::erase_if(one.flows.front().uses, [&](const sim::Use& use) {
          return scenario.fabric.links[use.link.pos()].tier == topologies::Tier::kStorage;
        });
      }
      all.flows.push_back(std::move(one.flows.front()));
    }
    return IdleTime(scenario.fabric, all);
  };
  const sim::ByteRate serialise = scenario.checkpoint->serialise;
  return {.copy = idle(plan.rank_bytes, routes.to_host, {}),
          .write = idle(plan.rank_bytes, routes.write, serialise),
          .read = idle(plan.restart_read, routes.read, serialise),
          .write_to_servers = idle(plan.rank_bytes, routes.write, serialise, /*servers=*/false)};
}

void AddCheckpoint(const Scenario& scenario, const sim::Program& program, const sim::Timeline& timeline,
                   Report* report) {
  const Checkpoint& save = *scenario.checkpoint;
  const CheckpointPlan plan = PlanCheckpoint(scenario);
  CheckpointReport r;
  Describe(scenario, plan, &r);
  const IdleSave idle = IdleTimesOf(scenario, plan);
  r.copy_idle = r.copy_time = idle.copy;
  r.write_idle = r.write_time = idle.write;
  r.restart_idle = idle.read;
  if (SavesWithin(scenario.steps, save.every_steps) > 0) {
    AddSimulated(scenario, program, timeline, report->step_time, &r);
  } else {
    const bool waits = save.mode == SaveMode::kSync;
    const bool copies = save.copy == SaveCopy::kBlocking;
    r.blocked = waits ? idle.copy + idle.write : copies ? idle.copy : sim::Duration();
    r.cost = r.blocked;
  }
  const sim::Result<RestartTimes> restart = SimulateRestart(scenario, plan);
  if (restart.ok()) {
    r.restart_read = restart.value().read;
    r.restart = restart.value().total;
  }
  AddRhythm(save, report->step_time, idle, &r);
  const sim::Duration last_write = timeline.finish.since_start();
  const sim::Duration last_step = sim::FindSteps(program, timeline).end.back().since_start();
  AddWarnings(scenario, r, last_write, last_step, &report->warnings);
  report->checkpoint = std::move(r);
}

}  // namespace scenarios
