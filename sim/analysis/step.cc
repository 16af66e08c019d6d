#include "sim/analysis/step.h"

#include <algorithm>

namespace sim {
namespace {

void ReadMarks(const Program& program, const Timeline& timeline, std::size_t last, StepTimes& steps) {
  for (std::size_t task = 0; task < program.tasks(); ++task) {
    if (program.task_class[task] != TaskClass::kStepEnd) continue;
    CHECK(program.label[task].micro_batch >= 0);
    const auto step = static_cast<std::size_t>(program.label[task].micro_batch);
    if (step > last) continue;
    if (step >= steps.end.size()) steps.end.resize(step + 1, Time::Never());
    Time& end = steps.end[step];
    end = end == Time::Never() ? timeline.end[task] : std::max(end, timeline.end[task]);
    Time& rank_end = steps.rank_end[program.rank_of(TaskId(task)).pos()];
    rank_end = std::max(rank_end, timeline.end[task]);
  }
}

}  // namespace

StepTimes FindSteps(const Program& program, const Timeline& timeline, std::size_t last) {
  StepTimes steps;
  steps.rank_end.assign(program.ranks, Time::Start());
  ReadMarks(program, timeline, last, steps);
  if (steps.end.empty()) {
    steps.end = {timeline.finish};
    steps.rank_end.assign(program.ranks, timeline.finish);
  }
  for (const Time end : steps.end) CHECK(end != Time::Never());

  const std::size_t n = steps.end.size();
  steps.period = {n > 1 ? steps.end[n - 2] : Time::Start(), steps.end[n - 1]};
  steps.steady = n > 2 && steps.end[n - 1] - steps.end[n - 2] == steps.end[n - 2] - steps.end[n - 3];
  return steps;
}

Interval StepTimes::WindowOf(Rank rank) const {
  const Time last = rank_end[rank.pos()];
  if (!steady || last.since_start() < step_time()) return period;
  return {Time::Start() + (last.since_start() - step_time()), last};
}

}  // namespace sim
