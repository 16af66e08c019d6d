#include "scenarios/explain/slack_table.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/analysis/predecessors.h"
#include "sim/analysis/slack.h"

namespace scenarios {
namespace {

using sim::Duration;

struct Group {
  SlackRow row;
  std::vector<Duration> slacks;
};

void Finish(Group* group) {
  if (group->slacks.empty()) return;
  const auto middle = group->slacks.begin() + static_cast<std::ptrdiff_t>(group->slacks.size() / 2);
  std::nth_element(group->slacks.begin(), middle, group->slacks.end());
  group->row.median = *middle;
}

}  // namespace

std::vector<SlackRow> SlackTableOf(const Scenario& scenario, const sim::Program& program,
                                   const sim::Timeline& timeline, const sim::StepTimes& steps) {
  const sim::Slack slack = sim::SlackOf(program, timeline, sim::FindPredecessors(program), steps.period.to);
  const Duration back = steps.steady ? steps.step_time() : Duration();
  const sim::Interval window{sim::Time::Start() + (steps.period.from.since_start() - back),
                             sim::Time::Start() + (steps.period.to.since_start() - back)};
  std::map<std::pair<sim::TaskClass, std::int64_t>, Group> groups;
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    const sim::TaskRow& row = program.row(at);
    const sim::Time end = timeline.end[task.pos()];
    if (row.kind == sim::TaskKind::kMark || end <= window.from || end > window.to) return;
    const sim::Time from = row.kind == sim::TaskKind::kSeat
                               ? timeline.begin[program.communication_of(at).pos()]
                               : timeline.start[task.pos()];
    if (from == end) return;
    const std::int64_t stage = scenario.layout.Coordinate(program.rank_of(at), Dimension::kPipeline);
    Group& group = groups[{row.task_class, stage}];
    group.row.purpose = sim::ToText(row.task_class);
    group.row.stage = stage;
    ++group.row.tasks;
    const Duration of = slack.of(timeline, task);
    if (of == sim::kNoLimit) {
      ++group.row.unlimited;
      return;
    }
    group.slacks.push_back(of);
    if (of == Duration()) {
      ++group.row.tight;
    } else if (!group.row.least || of < *group.row.least) {
      group.row.least = of;
    }
  });
  std::vector<SlackRow> rows;
  for (auto& [key, group] : groups) {
    Finish(&group);
    rows.push_back(std::move(group.row));
  }
  return rows;
}

}  // namespace scenarios
