#include "scenarios/explain/sensitivity.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scenarios/checkpoint_report.h"
#include "sim/program/executor.h"

namespace scenarios {
namespace {

using sim::Duration;
using Piece = sim::CriticalPath::Piece;

double& At(Slopes& slopes, Parameter parameter) { return slopes[static_cast<std::size_t>(parameter)]; }

// A communication that takes something of a rank's device: while it waits for partners, while it is launched,
// and while its bytes move.
struct Beside {
  sim::Interval waits, starts, moves;
  sim::CommunicationId communication;
};

// What it adds to one piece of work in those times, in any unit.
struct Added {
  const Beside* by = nullptr;
  double waiting = 0, starting = 0, moving = 0;
  double memory = 0;  // of `moving`, because it takes memory
  double overlap_s = 0;
};

// What overlaps one piece of work.
struct Cover {
  std::vector<Added> added;
  double all = 0, memory = 0;  // of Added, together
  double covered_s = 0;        // of the piece
};

// The communications of a rank, by their arrival.
struct OfRank {
  std::vector<Beside> list;
  std::size_t next = 0;  // the first that may matter from here on
};

class Reader {
 public:
  explicit Reader(const PathView& view) : view_(view) { FindCommunications(); }

  Slopes Read() {
    for (const Piece& piece : view_.path.pieces) FindCover(piece);
    for (std::size_t i = 0; i < view_.path.pieces.size(); ++i) {
      const Piece& piece = view_.path.pieces[i];
      if (view_.program.row(piece.task).kind == sim::TaskKind::kSeat) {
        const PieceOfTraffic traffic = TrafficOf(view_, piece);
        AddTraffic(*traffic.bound, traffic.latency.seconds(), (traffic.alone + traffic.shared).seconds());
      } else {
        AddWork(piece, covers_[i]);
      }
    }
    return slopes_;
  }

 private:
  const sim::Traffic& TrafficRow(sim::CommunicationId c) const {
    return view_.program.traffics[view_.program.communications[c.pos()].traffic.pos()];
  }

  // Of the ranks whose slowed work is on the path, in the order of their beginning.
  void FindCommunications() {
    for (const Piece& piece : view_.path.pieces) {
      if (view_.program.row(piece.task).kind == sim::TaskKind::kSeat) continue;
      if (WorkOf(view_, piece).stretch > Duration()) beside_[view_.program.rank_of(piece.task)];
    }
    const sim::Program& program = view_.program;
    for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
      const auto found = beside_.find(program.stream_rank[s]);
      if (found == beside_.end()) continue;
      for (sim::TaskId task = program.stream_head[s]; task.valid(); task = program.next_in_stream(task)) {
        if (program.row(task).kind != sim::TaskKind::kSeat) continue;
        const sim::CommunicationId c = program.communication_of(task);
        if (TrafficRow(c).taken == sim::DeviceTaken()) continue;
        const sim::Time begin = view_.timeline.begin[c.pos()], moves = begin + TrafficRow(c).latency;
        found->second.list.push_back({{view_.timeline.start[task.pos()], begin},
                                      {begin, moves},
                                      {moves, view_.timeline.end[task.pos()]},
                                      c});
      }
    }
    for (auto& [rank, of_rank] : beside_) {
      std::stable_sort(of_rank.list.begin(), of_rank.list.end(),
                       [](const Beside& a, const Beside& b) { return a.waits.from < b.waits.from; });
    }
  }

  void AddTraffic(const TrafficBound& bound, double latency, double bytes) {
    At(slopes_, Parameter::kLatency) += latency;
    if (bound.link) At(slopes_, RateOf(view_.scenario.fabric.links[bound.link->pos()].tier)) -= bytes;
  }

  // What overlaps each piece of work, in the order of pieces, which is that of time.
  void FindCover(const Piece& piece) {
    Cover& cover = covers_.emplace_back();
    const auto found = beside_.find(view_.program.rank_of(piece.task));
    if (view_.program.row(piece.task).kind == sim::TaskKind::kSeat || found == beside_.end()) return;
    const std::vector<Beside>& list = found->second.list;
    std::size_t& next = found->second.next;
    while (next < list.size() && list[next].moves.to <= piece.time.from) ++next;
    double covered = 0;
    for (std::size_t i = next; i < list.size() && list[i].waits.from < piece.time.to; ++i) {
      if (list[i].moves.to <= piece.time.from) continue;
      const Added added = AddedBy(list[i], piece);
      cover.added.push_back(added);
      cover.all += added.waiting + added.starting + added.moving;
      cover.memory += added.memory;
      covered += added.overlap_s;
    }
    cover.covered_s = std::min(covered, piece.time.length().seconds());
    covered_s_ += cover.covered_s;
    alone_s_ += cover.covered_s - WorkOf(view_, piece).stretch.seconds();
  }

  Added AddedBy(const Beside& beside, const Piece& piece) const {
    const sim::WorkTimes& times = view_.program.times_of(piece.task);
    const sim::DeviceTaken taken = TrafficRow(beside.communication).taken;
    const double by_sms = (times.Beside({.sms = taken.sms, .memory = 0}) - times.alone).seconds();
    const double by_all = (times.Beside(taken) - times.alone).seconds();
    const auto overlap = [&](sim::Interval time) { return sim::Clip(time, piece.time).length().seconds(); };
    return {.by = &beside,
            .waiting = by_sms * overlap(beside.waits),
            .starting = by_sms * overlap(beside.starts),
            .moving = by_all * overlap(beside.moves),
            .memory = (by_all - by_sms) * overlap(beside.moves),
            .overlap_s = overlap({beside.waits.from, beside.moves.to})};
  }

  void AddWork(const Piece& piece, const Cover& cover) {
    const PieceOfWork work = WorkOf(view_, piece);
    if (view_.program.row(piece.task).task_class == sim::TaskClass::kLaunch) {
      At(slopes_, Parameter::kLaunch) += work.alone.seconds();
      return;
    }
    if (work.parts->kernels && work.parts->alone > Duration()) AddKernels(piece, work, cover);
    if (cover.all <= 0) return;
    // Shared out to what overlaps the piece, by time and by what it takes.
    for (const Added& a : cover.added) {
      const sim::CommunicationId c = a.by->communication;
      const sim::TrafficId id = view_.program.communications[c.pos()].traffic;
      const double stretch = work.stretch.seconds() / cover.all;
      AddTraffic(view_.bounds[id.pos()], stretch * a.starting, stretch * a.moving);
    }
  }

  // What is shorter beside communication lets more work be beside it, which is slower there: a second less is
  // a second less at that speed. As of all that is beside communication on the path, on average.
  void AddKernels(const Piece& piece, const PieceOfWork& work, const Cover& cover) {
    const WorkParts& parts = *work.parts;
    const double beside = covered_s_ > 0 ? alone_s_ / covered_s_ : 1;
    const double alone = work.alone.seconds(), whole = parts.alone.seconds();
    const double stretch = work.stretch.seconds();
    const double covered = std::clamp((cover.covered_s - stretch) / std::max(alone, 1e-15), 0.0, 1.0);
    const double memory = view_.program.times_of(piece.task).memory.seconds();
    const double multiplies = (parts.by_class[0] + parts.by_class[1]).seconds();
    const double by_memory = cover.all > 0 ? cover.memory / cover.all : 0;
    for (const Parameter p : {Parameter::kTensorRate, Parameter::kMemoryRate, Parameter::kKernelStart}) {
      const auto at = static_cast<std::size_t>(p);
      const double of_alone = parts.slope_s[at] / whole;
      const double of_memory = memory > 0 ? parts.memory_slope_s[at] / memory : 0;
      At(slopes_, p) += alone * of_alone * (1 - covered + covered * beside);
      // SMs are missed by what multiplies; its time is the tensor rate's.
      const double of_sms =
          p == Parameter::kTensorRate && multiplies > 0 ? parts.slope_s[at] / multiplies : 0;
      At(slopes_, p) += stretch * beside * (by_memory * of_memory + (1 - by_memory) * of_sms);
    }
  }

  const PathView& view_;
  Slopes slopes_{};
  std::map<sim::Rank, OfRank> beside_;
  std::vector<Cover> covers_;           // by piece of the path
  double covered_s_ = 0, alone_s_ = 0;  // of all pieces: time beside communication, and what it takes alone
};

Replayed ReadAgain(const Scenario& scenario, const sim::Program& program, const sim::Timeline& timeline,
                   const sim::CriticalPath& before, std::size_t tasks_before) {
  const sim::StepTimes times = SteadySteps(scenario, program, timeline);
  Replayed replayed{.step = times.step_time()};
  if (program.tasks() != tasks_before) return replayed;
  const sim::CriticalPath path =
      sim::CriticalPathOf(program, timeline, sim::FindPredecessors(program), times.period);
  replayed.same_path =
      std::equal(path.pieces.begin(), path.pieces.end(), before.pieces.begin(), before.pieces.end(),
                 [](const Piece& a, const Piece& b) { return a.task == b.task; });
  return replayed;
}

void Swap(NetworkTables* tables, sim::Program* program) {
  std::swap(tables->traffics, program->traffics);
  std::swap(tables->flows, program->flows);
  std::swap(tables->link_capacity, program->link_capacity);
}

}  // namespace

Slopes SlopesOf(const PathView& view) { return Reader(view).Read(); }

Slopes SlopesOfStep(PathView view, const sim::Predecessors& predecessors, sim::Interval period) {
  const auto until = [&](sim::Time end) {
    if (end == sim::Time::Start()) return Slopes{};
    const sim::CriticalPath path =
        sim::CriticalPathOf(view.program, view.timeline, predecessors, {sim::Time::Start(), end});
    return SlopesOf({view.scenario, view.program, view.timeline, path, view.parts, view.bounds});
  };
  Slopes slopes = until(period.to);
  const Slopes before = until(period.from);
  for (std::size_t p = 0; p < slopes.size(); ++p) slopes[p] -= before[p];
  return slopes;
}

sim::Result<Replayed> PlayAgain(const Scenario& scenario, RunResult* run, const sim::CriticalPath& path,
                                Parameter parameter, double factor, const RunOptions& options) {
  sim::Program& program = run->steps.program;
  if (IsOfDevice(parameter)) {
    Scenario changed = scenario;
    changed.device = WithParameter(scenario.device, parameter, factor);
    const sim::Result<RunResult> again = Run(changed, options);
    if (!again.ok()) return again.error();
    if (again.value().interruption) return sim::Error{"interrupted"};
    return ReadAgain(changed, again.value().steps.program, again.value().timeline, path, program.tasks());
  }
  NetworkTables tables = WithParameter(program, scenario.fabric, parameter, factor);
  Swap(&tables, &program);
  RunProgress progress{.phase = RunProgress::Phase::kSimulate};
  const auto follow = [&](const sim::SimulationProgress& at) {
    progress = {RunProgress::Phase::kSimulate, at.tasks_ended, at.tasks, at.now};
    return !options.go_on || options.go_on(progress);
  };
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program, {.go_on = follow});
  sim::Result<Replayed> replayed = sim::Error{"interrupted"};
  if (!timeline.ok()) {
    replayed = timeline.error();
  } else if (!timeline.value().stopped) {
    replayed = ReadAgain(scenario, program, timeline.value(), path, program.tasks());
  }
  Swap(&tables, &program);
  return replayed;
}

}  // namespace scenarios
