#include "scenarios/output/kineto_rank.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scenarios/output/trace_text.h"

namespace scenarios {
namespace {

// What a launch of the host takes where that is not simulated.
constexpr std::int64_t kLaunchNs = 1'000;

bool IsOfHost(sim::StreamKind kind) {
  return kind == sim::StreamKind::kHost || kind == sim::StreamKind::kLaunch;
}

// 7 is PyTorch's first; others are numbered by kind, alike on all ranks.
std::int64_t StreamNumber(sim::StreamKind kind, std::size_t nth) {
  if (kind == sim::StreamKind::kCompute && nth == 0) return 7;
  constexpr std::int64_t kFirst = 20, kApart = 4;
  return kFirst + kApart * static_cast<std::int64_t>(kind) + static_cast<std::int64_t>(nth);
}

// Whole nanoseconds; one less where the next slice touches, since readers add times as doubles.
void SetLengths(std::vector<KinetoSlice>* slices) {
  for (std::size_t i = 0; i < slices->size(); ++i) {
    KinetoSlice& slice = (*slices)[i];
    slice.length = slice.to - slice.from;
    if (i + 1 < slices->size() && (*slices)[i + 1].from <= slice.to && slice.length > 0) --slice.length;
  }
}

// When each kernel was launched, by task, where a task of the host's stream says so. A launch is one
// kernel's.
std::map<sim::TaskId, sim::TaskId> RealLaunches(const sim::Program& program,
                                                const std::vector<sim::StreamId>& streams) {
  std::map<sim::TaskId, sim::TaskId> launches;
  for (const sim::StreamId stream : streams) {
    if (program.stream_kind[stream.pos()] != sim::StreamKind::kLaunch) continue;
    for (sim::TaskId task = program.stream_head[stream.pos()]; task.valid();
         task = program.next_in_stream(task)) {
      bool used = false;
      program.ForEachSuccessor(task, [&](sim::TaskId next) {
        if (used || IsOfHost(program.stream_kind_of(next))) return;
        if (program.row(next).kind == sim::TaskKind::kMark) return;
        used = launches.emplace(next, task).second;
      });
    }
  }
  return launches;
}

class RankReader {
 public:
  RankReader(const sim::Program& program, const sim::Timeline& timeline, const TraceOptions& options)
      : program_(program), timeline_(timeline), options_(options) {}

  KinetoRank Read(const std::vector<sim::StreamId>& streams, const std::optional<StepRange>& shown) {
    ReadSteps(streams, shown);
    const auto launches = RealLaunches(program_, streams);
    for (const sim::StreamId stream : streams) ReadStream(stream);
    SetLaunches(launches);
    // What launches a kernel is shown with it.
    std::map<sim::TaskId, sim::TaskId> kernel_of;
    for (const auto& [kernel, launch] : launches) kernel_of.emplace(launch, kernel);
    for (KinetoTrack& track : rank_.host) {
      std::erase_if(track.slices, [&](const KinetoSlice& s) { return kernel_of.contains(s.task); });
    }
    for (auto* tracks : {&rank_.device, &rank_.host}) {
      std::erase_if(*tracks, [](const KinetoTrack& track) { return track.slices.empty(); });
      for (KinetoTrack& track : *tracks) SetLengths(&track.slices);
    }
    PlaceSteps();
    return std::move(rank_);
  }

 private:
  void ReadStream(sim::StreamId stream);
  void SetLaunches(const std::map<sim::TaskId, sim::TaskId>& launches);
  void ReadSteps(const std::vector<sim::StreamId>& streams, const std::optional<StepRange>& shown);
  void PlaceSteps();
  std::int64_t FirstLaunchOf(std::int64_t from) const;

  const sim::Program& program_;
  const sim::Timeline& timeline_;
  TraceOptions options_;
  KinetoRank rank_;
  std::map<sim::StreamKind, std::size_t> nth_;  // tracks of a kind so far
};

void RankReader::ReadStream(sim::StreamId stream) {
  const sim::StreamKind kind = program_.stream_kind[stream.pos()];
  for (const Track& track : TracksOf(program_, timeline_, {stream}, Seats::kWhole)) {
    KinetoTrack made{.kind = kind, .stream = StreamNumber(kind, nth_[kind]++)};
    for (const Slice& slice : track.slices) {
      if (!IsShown(slice.time, options_)) continue;
      made.slices.push_back({.task = slice.task,
                             .from = WholeNanoseconds(slice.time.from),
                             .to = WholeNanoseconds(slice.time.to)});
    }
    (IsOfHost(kind) ? rank_.host : rank_.device).push_back(std::move(made));
  }
}

void RankReader::SetLaunches(const std::map<sim::TaskId, sim::TaskId>& launches) {
  std::vector<KinetoSlice*> others;
  for (KinetoTrack& track : rank_.device) {
    for (KinetoSlice& slice : track.slices) {
      const auto at = launches.find(slice.task);
      if (at == launches.end()) {
        others.push_back(&slice);
        continue;
      }
      slice.real_launch = true;
      slice.launch = {WholeNanoseconds(timeline_.start[at->second.pos()]),
                      WholeNanoseconds(timeline_.end[at->second.pos()])};
    }
  }
  std::stable_sort(others.begin(), others.end(),
                   [](const KinetoSlice* a, const KinetoSlice* b) { return a->from < b->from; });
  std::vector<std::int64_t> starts;
  for (const KinetoSlice* slice : others) starts.push_back(slice->from);
  const std::vector<LaunchTime> times = LaunchesBefore(starts, kLaunchNs);
  for (std::size_t i = 0; i < others.size(); ++i) others[i]->launch = times[i];
}

// Where the launch begins of what starts at `from` or later, the first of all.
std::int64_t RankReader::FirstLaunchOf(std::int64_t from) const {
  std::int64_t first = INT64_MAX;
  for (const KinetoTrack& track : rank_.device) {
    for (const KinetoSlice& slice : track.slices) {
      if (slice.from >= from) first = std::min(first, slice.launch.from);
    }
  }
  return first == INT64_MAX ? from : first;
}

// As the rank's marks have them, and the window that they are.
void RankReader::ReadSteps(const std::vector<sim::StreamId>& streams, const std::optional<StepRange>& shown) {
  sim::Interval step{sim::Time::Start(), sim::Time::Start()};
  sim::Interval own{sim::Time::Never(), sim::Time::Start()};
  for (const sim::StreamId stream : streams) {
    if (program_.stream_kind[stream.pos()] != sim::StreamKind::kCompute) continue;
    for (sim::TaskId task = program_.stream_head[stream.pos()]; task.valid();
         task = program_.next_in_stream(task)) {
      const sim::TaskRow& row = program_.row(task);
      if (row.task_class != sim::TaskClass::kStepEnd) continue;
      step = {step.to, timeline_.end[task.pos()]};
      const std::int64_t number = row.label.micro_batch;
      if (shown && (number < shown->first || number > shown->last)) continue;
      if (!shown && options_.window && sim::Clip(step, *options_.window).empty()) continue;
      rank_.steps.push_back({number, WholeNanoseconds(step.from), WholeNanoseconds(step.to)});
      own = {std::min(own.from, step.from), std::max(own.to, step.to)};
    }
  }
  if (shown) options_.window = own;
}

void RankReader::PlaceSteps() {
  for (KinetoStep& step : rank_.steps) step.from = FirstLaunchOf(step.from);
  for (std::size_t i = 0; i + 1 < rank_.steps.size(); ++i) rank_.steps[i].to = rank_.steps[i + 1].from;
}

}  // namespace

KinetoRank KinetoRankOf(const sim::Program& program, const sim::Timeline& timeline,
                        const std::vector<sim::StreamId>& streams, const TraceOptions& options,
                        const std::optional<StepRange>& shown) {
  return RankReader(program, timeline, options).Read(streams, shown);
}

}  // namespace scenarios
