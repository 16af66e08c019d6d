// FaultsOf: what a timeline breaks of the rules that every run keeps.

#ifndef TESTS_SIM_PROGRAM_RUN_RULES_H_
#define TESTS_SIM_PROGRAM_RUN_RULES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

// Streams in order, waits kept, seats ending together, work no shorter than at
// its fastest and no longer than at its slowest.
inline std::string FaultInTasks(const Program& program, const Timeline& timeline) {
  for (std::size_t t = 0; t < program.tasks(); ++t) {
    const std::string name = "task " + std::to_string(t);
    if (timeline.end[t] < timeline.start[t]) return name + " ends before it starts";
    if (timeline.end[t] > timeline.finish) return name + " ends after the run";
    const TaskId next = program.next_in_stream(TaskId(t));
    if (next.valid() && timeline.start[next.pos()] < timeline.end[t])
      return name + " runs beside its stream's next";
    bool waited_for = true;
    program.ForEachSuccessor(TaskId(t), [&](TaskId successor) {
      waited_for &= timeline.start[successor.pos()] >= timeline.end[t];
    });
    if (!waited_for) return name + " is not waited for";
    if (program.row(TaskId(t)).kind == TaskKind::kWork) {
      const WorkTimes& times = program.times_of(TaskId(t));
      const Duration took = timeline.end[t] - timeline.start[t];
      if (took < times.alone) return name + " is too fast";
      // A picosecond more each time that it changes speed, twice for each communication at most.
      const Duration rounding =
          Duration::Picoseconds(2 * static_cast<std::int64_t>(program.communications.size()));
      if (took > times.longest() + rounding) return name + " is too slow";
    }
  }
  for (std::size_t c = 0; c < program.communications.size(); ++c) {
    Time last;
    for (const TaskId seat : program.seats_of(CommunicationId(c))) {
      last = std::max(last, timeline.start[seat.pos()]);
      if (timeline.end[seat.pos()] != timeline.end[program.seats_of(CommunicationId(c)).front().pos()]) {
        return "seats of communication " + std::to_string(c) + " end apart";
      }
    }
    if (timeline.begin[c] != last)
      return "communication " + std::to_string(c) + " does not begin with its last seat";
  }
  return "";
}

// No link carries more than its rate at any time, and every flow carries its
// volume: to what one picosecond at its rate is. REQUIRES: rates were logged
inline std::string FaultInFlows(const Program& program, const Timeline& timeline) {
  std::vector<ByteRate> rate(timeline.flow_of.size());
  std::vector<Time> since(timeline.flow_of.size());
  std::vector<Wide> carried(timeline.flow_of.size());
  std::vector<Wide> load(program.link_capacity.size());
  const auto flow = [&](std::size_t i) -> const TrafficFlow& {
    return program.flows[timeline.flow_of[i].flow];
  };
  for (std::size_t i = 0; i < timeline.rates.size(); ++i) {
    const RateChange& change = timeline.rates[i];
    carried[change.token] += Wide{(change.when - since[change.token]).ps()} * rate[change.token].milli();
    for (std::uint32_t u = 0; u < flow(change.token).uses; ++u) {
      const Use& use = program.uses[flow(change.token).first_use + u];
      load[use.link.pos()] += Wide{use.weight} * (change.rate.milli() - rate[change.token].milli());
    }
    rate[change.token] = change.rate;
    since[change.token] = change.when;
    if (i + 1 < timeline.rates.size() && timeline.rates[i + 1].when == change.when) continue;
    for (std::size_t l = 0; l < load.size(); ++l) {
      if (load[l] > Wide{program.link_capacity[l].milli()} * program.weight_denominator) {
        return "link " + std::to_string(l) + " carries too much";
      }
    }
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (flow(i).uses == 0 && flow(i).limit == ByteRate()) continue;
    if (carried[i] < flow(i).volume.femto_bytes()) return "flow " + std::to_string(i) + " is cut short";
  }
  return "";
}

// The first fault, or nothing.
inline std::string FaultsOf(const Program& program, const Timeline& timeline) {
  const std::string fault = FaultInTasks(program, timeline);
  return fault.empty() ? FaultInFlows(program, timeline) : fault;
}

}  // namespace sim

#endif  // TESTS_SIM_PROGRAM_RUN_RULES_H_
