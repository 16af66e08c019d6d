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
    for (std::size_t t = 0; t < program_.tasks(); ++t) {
      if (IsSeatOfSave(TaskId(t))) AddTimes(TaskId(t));
    }
    for (std::size_t t = 0; t < program_.tasks(); ++t) {
      if (IsSeatOfSave(TaskId(t))) AddWaits(TaskId(t));
    }
    return std::move(saves_);
  }

 private:
  bool IsSave(TaskId task) const { return program_.task_class[task.pos()] == TaskClass::kCheckpoint; }
  bool IsSeatOfSave(TaskId task) const {
    return IsSave(task) && program_.kind[task.pos()] == TaskKind::kSeat &&
           program_.label[task.pos()].micro_batch >= 0;
  }
  StreamKind KindOf(TaskId task) const { return program_.stream_kind[program_.stream[task.pos()].pos()]; }
  std::uint32_t NumberOf(TaskId task) const {
    return static_cast<std::uint32_t>(program_.label[task.pos()].micro_batch);
  }

  void AddTimes(TaskId task) {
    const std::uint32_t number = NumberOf(task);
    if (number >= saves_.size()) saves_.resize(number + 1);
    Save& save = saves_[number];
    const CommunicationId communication(program_.amount[task.pos()]);
    const bool moves =
        program_.traffics[program_.communications[communication.pos()].traffic.pos()].flows > 0;
    const Interval time{timeline_.begin[communication.pos()], timeline_.end[task.pos()]};
    if (KindOf(task) == StreamKind::kCopyOut) {
      copies_[{program_.rank_of(task), number}] = task;
      Extend(time, &save.copy);
    } else if (KindOf(task) == StreamKind::kHost && moves) {
      Extend(time, &save.write);
    }
  }

  static void Extend(Interval time, Interval* all) {
    const bool first = *all == Interval{};
    *all = {first ? time.from : std::min(all->from, time.from), std::max(all->to, time.to)};
  }

  // What the compute stream does next waits for `seat`, from when all else had ended.
  void AddWaits(TaskId seat) {
    const Rank rank = program_.rank_of(seat);
    for (const TaskId next : program_.successors_of(seat)) {
      if (KindOf(next) != StreamKind::kCompute || program_.rank_of(next) != rank) continue;
      const Interval blocked{EndOfOthers(next, [&](TaskId p) { return IsSave(p); }),
                             timeline_.start[next.pos()]};
      Save& save = saves_[NumberOf(seat)];
      if (blocked.length() > save.blocked) {
        save.blocked = blocked.length();
        save.blocked_rank = rank;
      }
      const auto copy = copies_.find({rank, NumberOf(seat)});
      if (copy == copies_.end()) continue;
      const TaskId task = copy->second;
      const Interval full{EndOfOthers(task, [&](TaskId p) { return KindOf(p) == StreamKind::kHost; }),
                          timeline_.start[task.pos()]};
      const Interval stall = Clip(full, blocked);
      if (stall.length() <= save.stall) continue;
      save.stall = stall.length();
      save.stalled_rank = rank;
      save.stalled_since = stall.from;
    }
  }

  // When the last predecessor of `task` ended that `left_out` does not name.
  template <class LeftOut>
  Time EndOfOthers(TaskId task, LeftOut left_out) const {
    Time end = Time::Start();
    for (const TaskId p : predecessors_.of(task)) {
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
