#include "sim/analysis/saves.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sim {
namespace {

class SaveReader {
 public:
  SaveReader(const Program& program, const Timeline& timeline, const Predecessors& predecessors)
      : program_(program), timeline_(timeline), predecessors_(predecessors) {}

  std::vector<Save> Read() {
    program_.ForEachTask([&](TaskId task, const Place& at) {
      if (IsSeatOfSave(program_.row(at))) AddTimes(task, at);
    });
    program_.ForEachTask([&](TaskId, const Place& at) {
      if (IsSeatOfSave(program_.row(at))) AddWaits(at);
    });
    return std::move(saves_);
  }

 private:
  static bool IsSave(const TaskRow& row) { return row.task_class == TaskClass::kCheckpoint; }
  static bool IsSeatOfSave(const TaskRow& row) {
    return IsSave(row) && row.kind == TaskKind::kSeat && row.label.micro_batch >= 0;
  }
  std::uint32_t NumberOf(const Place& at) const {
    return static_cast<std::uint32_t>(program_.row(at).label.micro_batch);
  }

  void AddTimes(TaskId task, const Place& at) {
    const std::uint32_t number = NumberOf(at);
    if (number >= saves_.size()) saves_.resize(number + 1);
    Save& save = saves_[number];
    const CommunicationId communication = program_.communication_of(at);
    const bool moves =
        program_.traffics[program_.communications[communication.pos()].traffic.pos()].flows > 0;
    const Interval time{timeline_.begin[communication.pos()], timeline_.end[task.pos()]};
    const StreamKind kind = program_.stream_kind_of(at);
    if (kind == StreamKind::kCopyOut) {
      copies_[{program_.rank_of(at), number}] = task;
      Extend(time, &save.copy);
    } else if (kind == StreamKind::kHost && moves) {
      Extend(time, &save.write);
    }
  }

  static void Extend(Interval time, Interval* all) {
    const bool first = *all == Interval{};
    *all = {first ? time.from : std::min(all->from, time.from), std::max(all->to, time.to)};
  }

  // What the compute stream does next waits for `seat`, from when all else had ended.
  void AddWaits(const Place& seat) {
    const Rank rank = program_.rank_of(seat);
    program_.ForEachSuccessor(seat, [&](TaskId next) {
      if (program_.stream_kind_of(next) != StreamKind::kCompute || program_.rank_of(next) != rank) return;
      const Interval blocked{EndOfOthers(next, [&](TaskId p) { return IsSave(program_.row(p)); }),
                             timeline_.start[next.pos()]};
      Save& save = saves_[NumberOf(seat)];
      if (blocked.length() > save.blocked) {
        save.blocked = blocked.length();
        save.blocked_rank = rank;
      }
      const auto copy = copies_.find({rank, NumberOf(seat)});
      if (copy == copies_.end()) return;
      const TaskId task = copy->second;
      const Interval full{
          EndOfOthers(task, [&](TaskId p) { return program_.stream_kind_of(p) == StreamKind::kHost; }),
          timeline_.start[task.pos()]};
      const Interval stall = Clip(full, blocked);
      if (stall.length() <= save.stall) return;
      save.stall = stall.length();
      save.stalled_rank = rank;
      save.stalled_since = stall.from;
    });
  }

  // When the last predecessor of `task` ended that `left_out` does not name.
  template <class LeftOut>
  Time EndOfOthers(TaskId task, LeftOut left_out) const {
    Time end = Time::Start();
    const Place at = program_.PlaceOf(task);
    const std::size_t row = at.script->first_row + at.row;
    for (std::uint32_t i = predecessors_.first[row]; i < predecessors_.first[row + 1]; ++i) {
      const TaskId p = Place{at.script, predecessors_.row[i], at.player}.task();
      if (!left_out(p)) end = std::max(end, timeline_.end[p.pos()]);
    }
    return end;
  }

  const Program& program_;
  const Timeline& timeline_;
  const Predecessors& predecessors_;
  std::vector<Save> saves_;
  std::map<std::pair<Rank, std::uint32_t>, TaskId> copies_;
};

}  // namespace

std::vector<Save> FindSaves(const Program& program, const Timeline& timeline,
                            const Predecessors& predecessors) {
  return SaveReader(program, timeline, predecessors).Read();
}

}  // namespace sim
