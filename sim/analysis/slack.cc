#include "sim/analysis/slack.h"

#include <algorithm>

namespace sim {
namespace {

// Tasks from the last to the first: one is taken when all that wait for it have been.
class WalkBack {
 public:
  WalkBack(const Program& program, const Timeline& timeline, const Predecessors& predecessors, Time horizon)
      : program_(program), timeline_(timeline), predecessors_(predecessors) {
    slack_.latest_end.assign(program.tasks(), Time::Never());
    slack_.latest_begin.assign(program.communications.size(), Time::Never());
    seats_left_.reserve(program.communications.size());
    for (const Communication& c : program.communications) seats_left_.push_back(c.seats);
    waiting_.reserve(program.tasks());
    bool marks = false;
    program.ForEachTask([&](TaskId task, const Place& at) {
      const TaskRow& row = program.row(at);
      waiting_.push_back(row.successors + (row.next == kNoRow ? 0 : 1));
      if (waiting_.back() == 0) ready_.push_back(task);
      if (row.task_class != TaskClass::kStepEnd || timeline.end[task.pos()] > horizon) return;
      slack_.latest_end[task.pos()] = horizon;
      marks = true;
    });
    if (marks) return;
    for (std::size_t t = 0; t < program.tasks(); ++t) {
      if (timeline.end[t] <= horizon) slack_.latest_end[t] = horizon;
    }
  }

  Slack Walk() {
    while (!ready_.empty()) {
      const TaskId task = ready_.back();
      ready_.pop_back();
      Take(task);
    }
    return std::move(slack_);
  }

 private:
  static Time Earlier(Time latest, Duration length) {
    return latest == Time::Never() ? latest : Time::Start() + (latest.since_start() - length);
  }

  void Take(TaskId task) {
    const Place at = program_.PlaceOf(task);
    const Time latest = slack_.latest_end[task.pos()], end = timeline_.end[task.pos()];
    if (program_.row(at).kind != TaskKind::kSeat) {
      Release(at, Earlier(latest, end - timeline_.start[task.pos()]));
      return;
    }
    const CommunicationId c = program_.communication_of(at);
    Time& begin = slack_.latest_begin[c.pos()];
    begin = std::min(begin, Earlier(latest, end - timeline_.begin[c.pos()]));
    if (--seats_left_[c.pos()] > 0) return;
    for (const TaskId seat : program_.seats_of(c)) Release(program_.PlaceOf(seat), begin);
  }

  // What comes before `at` has to have ended by `latest`.
  void Release(const Place& at, Time latest) {
    const std::size_t row = at.script->first_row + at.row;
    for (std::uint32_t i = predecessors_.first[row]; i < predecessors_.first[row + 1]; ++i) {
      const TaskId before = Place{at.script, predecessors_.row[i], at.player}.task();
      Time& end = slack_.latest_end[before.pos()];
      end = std::min(end, latest);
      if (--waiting_[before.pos()] == 0) ready_.push_back(before);
    }
  }

  const Program& program_;
  const Timeline& timeline_;
  const Predecessors& predecessors_;
  Slack slack_;
  std::vector<std::uint32_t> waiting_;     // by task: how many that wait for it have not been taken
  std::vector<std::uint32_t> seats_left_;  // by communication: likewise of its seats
  std::vector<TaskId> ready_;
};

}  // namespace

Slack SlackOf(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
              Time horizon) {
  Slack slack = WalkBack(program, timeline, predecessors, horizon).Walk();
  // All seats of a communication end at once: at the latest when the tightest of them may.
  for (std::size_t c = 0; c < program.communications.size(); ++c) {
    const auto seats = program.seats_of(CommunicationId(c));
    Time latest = Time::Never();
    for (const TaskId seat : seats) latest = std::min(latest, slack.latest_end[seat.pos()]);
    for (const TaskId seat : seats) slack.latest_end[seat.pos()] = latest;
  }
  return slack;
}

}  // namespace sim
