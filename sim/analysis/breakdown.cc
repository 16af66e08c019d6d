#include "sim/analysis/breakdown.h"

#include <algorithm>

namespace sim {

const char* ToText(Cause cause) {
  switch (cause) {
    case Cause::kCompute:
      return "compute";
    case Cause::kRecompute:
      return "recomputation";
    case Cause::kOptimizer:
      return "optimizer";
    case Cause::kTensor:
      return "tensor";
    case Cause::kContext:
      return "context";
    case Cause::kExpert:
      return "expert";
    case Cause::kPipeline:
      return "pipeline";
    case Cause::kData:
      return "data";
    case Cause::kEmbedding:
      return "embedding";
    case Cause::kNorm:
      return "gradient norm";
    case Cause::kOffload:
      return "offload";
    case Cause::kCheckpoint:
      return "checkpoint";
    case Cause::kLoad:
      return "loading";
    case Cause::kBubble:
      return "bubble";
    case Cause::kHost:
      return "host";
    case Cause::kOther:
      return "other";
  }
  return "?";
}

Cause CauseOf(TaskClass task_class) {
  switch (task_class) {
    case TaskClass::kForward:
    case TaskClass::kBackward:
      return Cause::kCompute;
    case TaskClass::kRecompute:
      return Cause::kRecompute;
    case TaskClass::kOptimizer:
      return Cause::kOptimizer;
    case TaskClass::kTensor:
      return Cause::kTensor;
    case TaskClass::kContext:
      return Cause::kContext;
    case TaskClass::kExpert:
      return Cause::kExpert;
    case TaskClass::kPipeline:
      return Cause::kPipeline;
    case TaskClass::kData:
      return Cause::kData;
    case TaskClass::kEmbedding:
      return Cause::kEmbedding;
    case TaskClass::kNorm:
      return Cause::kNorm;
    case TaskClass::kOffload:
      return Cause::kOffload;
    case TaskClass::kCheckpoint:
      return Cause::kCheckpoint;
    case TaskClass::kLoad:
      return Cause::kLoad;
    case TaskClass::kLaunch:
      return Cause::kHost;
    case TaskClass::kStepEnd:
      return Cause::kOther;
  }
  return Cause::kOther;
}

Duration Breakdown::total() const {
  Duration sum;
  for (const Duration d : time) sum += d;
  return sum;
}

namespace {

Time BeginOf(const Program& program, const Timeline& timeline, TaskId seat) {
  return timeline.begin[program.communication_of(seat).pos()];
}

class Partition {
 public:
  Partition(const Program& program, const Timeline& timeline, const Predecessors& predecessors, Rank rank,
            Interval window)
      : program_(program), timeline_(timeline), predecessors_(predecessors), rank_(rank), window_(window) {
    for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
      if (program.stream_rank[s] != rank) continue;
      for (TaskId t = program.stream_head[s]; t.valid() && !pipelined_; t = program.next_in_stream(t)) {
        pipelined_ = program.row(t).task_class == TaskClass::kPipeline;
      }
    }
  }

  Breakdown Of(StreamId compute) {
    Time done = window_.from;  // everything before is counted
    for (TaskId task = program_.stream_head[compute.pos()]; task.valid() && done < window_.to;
         task = program_.next_in_stream(task)) {
      if (timeline_.end[task.pos()] <= window_.from) continue;
      CountChain(task, {done, std::min(timeline_.start[task.pos()], window_.to)});
      CountTask(task, window_);
      done = std::max(done, timeline_.end[task.pos()]);
    }
    Add(Cause::kOther, {done, window_.to});  // the rank has nothing more to do
    return result_;
  }

 private:
  void Add(Cause cause, Interval interval) {
    result_.time[static_cast<std::size_t>(cause)] += Clip(interval, window_).length();
  }

  // Partners that are late in another stage's work are the pipeline's bubble:
  // in a send, and in the groups that cross stages once the backwards drain.
  Cause WaitingFor(TaskClass task_class) const {
    const bool crosses = task_class == TaskClass::kEmbedding || task_class == TaskClass::kNorm;
    const bool bubble = task_class == TaskClass::kPipeline || (crosses && pipelined_);
    return bubble ? Cause::kBubble : CauseOf(task_class);
  }

  // What `task` did between its start and its end, as far as `within` it.
  void CountTask(TaskId task, Interval within) {
    const Time start = timeline_.start[task.pos()], end = timeline_.end[task.pos()];
    const TaskClass task_class = program_.row(task).task_class;
    if (program_.row(task).kind == TaskKind::kSeat) {
      const Time begin = BeginOf(program_, timeline_, task);
      Add(WaitingFor(task_class), Clip({start, begin}, within));
      Add(CauseOf(task_class), Clip({begin, end}, within));
    } else {
      const bool own = program_.rank_of(task) == rank_;
      Add(own ? CauseOf(task_class) : Cause::kBubble, Clip({start, end}, within));
    }
  }

  // `gap` ends where `task` starts, or is cut there by the window.
  void CountChain(TaskId task, Interval gap) {
    while (!gap.empty()) {
      task = LatestPredecessor(program_, timeline_, predecessors_, task);
      const Time end = task.valid() ? timeline_.end[task.pos()] : gap.from;
      // Nothing of the chain ran here: only in timelines that Simulate did not make.
      if (end < gap.to) Add(Cause::kOther, {std::max(end, gap.from), gap.to});
      gap.to = std::min(gap.to, end);
      if (!task.valid()) return;
      CountTask(task, gap);
      gap.to = std::min(gap.to, timeline_.start[task.pos()]);
    }
  }

  const Program& program_;
  const Timeline& timeline_;
  const Predecessors& predecessors_;
  const Rank rank_;
  const Interval window_;
  bool pipelined_ = false;  // the rank sends to or receives from other stages
  Breakdown result_;
};

}  // namespace

Breakdown BreakdownOf(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
                      Rank rank, Interval window) {
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    if (program.stream_rank[s] == rank && program.stream_kind[s] == StreamKind::kCompute) {
      return Partition(program, timeline, predecessors, rank, window).Of(StreamId(s));
    }
  }
  Breakdown idle;  // a rank that computes nothing
  idle.time[static_cast<std::size_t>(Cause::kOther)] = window.length();
  return idle;
}

std::vector<RankTimes> RankTimesOf(const Program& program, const Timeline& timeline, Interval window) {
  std::vector<RankTimes> ranks(program.ranks);
  program.ForEachTask([&](TaskId task, const Place& at) {
    const TaskRow& row = program.row(at);
    const StreamId stream = program.stream_of(at);
    RankTimes& times = ranks[program.stream_rank[stream.pos()].pos()];
    Interval active = {timeline.start[task.pos()], timeline.end[task.pos()]};
    if (row.kind == TaskKind::kSeat) {
      const Time begin = timeline.begin[program.communication_of(at).pos()];
      times.waiting += Clip({active.from, begin}, window).length();
      active.from = begin;
    }
    const Duration length = Clip(active, window).length();
    times.by_class[static_cast<std::size_t>(row.task_class)] += length;
    const bool computes = program.stream_kind[stream.pos()] == StreamKind::kCompute;
    if (computes && row.kind == TaskKind::kWork) times.compute_busy += length;
  });
  return ranks;
}

Rank LeastIdleRank(const Program& program, const Timeline& timeline, Interval window) {
  CHECK(program.ranks > 0);
  const std::vector<RankTimes> ranks = RankTimesOf(program, timeline, window);
  std::size_t best = 0;
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r].compute_busy > ranks[best].compute_busy) best = r;
  }
  return Rank(best);
}

}  // namespace sim
