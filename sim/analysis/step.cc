#include "sim/analysis/step.h"

#include <algorithm>

namespace sim {
namespace {

// Before all ends.
constexpr Time kNoMark = Time::Start() + Duration::Picoseconds(-1);

void ReadMarks(const Program& program, const Timeline& timeline, std::size_t last, StepTimes& steps) {
  program.ForEachTask([&](TaskId task, const Place& at) {
    const TaskRow& row = program.row(at);
    if (row.task_class != TaskClass::kStepEnd) return;
    CHECK(row.label.micro_batch >= 0);
    const auto step = static_cast<std::size_t>(row.label.micro_batch);
    if (step > last) return;
    if (step >= steps.end.size()) steps.end.resize(step + 1, kNoMark);
    Time& end = steps.end[step];
    end = std::max(end, timeline.end[task.pos()]);
    Time& rank_end = steps.rank_end[program.rank_of(at).pos()];
    rank_end = std::max(rank_end, timeline.end[task.pos()]);
  });
}

}  // namespace

std::vector<Time> EndedSteps(const Program& program, const Timeline& timeline) {
  StepTimes steps;
  steps.rank_end.assign(program.ranks, Time::Start());
  ReadMarks(program, timeline, SIZE_MAX, steps);
  // A step that some rank has not ended ends at Time::Never(): so does the first of these.
  steps.end.erase(std::find(steps.end.begin(), steps.end.end(), Time::Never()), steps.end.end());
  return steps.end;
}

StepTimes FindSteps(const Program& program, const Timeline& timeline, std::size_t last) {
  StepTimes steps;
  steps.rank_end.assign(program.ranks, Time::Start());
  ReadMarks(program, timeline, last, steps);
  if (steps.end.empty()) {
    steps.end = {timeline.finish};
    steps.rank_end.assign(program.ranks, timeline.finish);
  }
  for (const Time end : steps.end) CHECK(end != kNoMark);

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
