#include "scenarios/output/trace.h"

#include <algorithm>
#include <utility>

#include "sim/analysis/link_load.h"

namespace scenarios {
namespace {

// Above these viewers need gigabytes and minutes.
// Source: Perfetto, "Visualising large traces"; pytorch/kineto#805; speedscope 1.25 did not finish to
// import 142 MB of trace events in 300 s.
constexpr std::int64_t kManySlices = 1'000'000;
constexpr std::int64_t kManyBytes = 150'000'000;
// Shorter sends get no arrow: in trace events its ends lie a quarter of the transfer inside the
// slices, which must stay inside for readers that round to nanoseconds.
constexpr std::int64_t kShortestArrowPs = 100'000;

// So many slices, or values of a graph, lie between two questions whether to go on.
constexpr std::int64_t kSlicesBetweenQuestions = 4096;

std::string WithCommas(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

bool ShowsKind(const std::vector<sim::StreamKind>& kinds, sim::StreamKind kind) {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

class TraceWalk {
 public:
  TraceWalk(const sim::Program& program, const sim::Timeline& timeline, const TraceOptions& options,
            OutputFile& file, TraceSink& sink)
      : program_(program),
        timeline_(timeline),
        options_(options),
        file_(file),
        sink_(sink),
        shown_(program.ranks, false) {}

  // REQUIRES: ranks sorted, each once, not empty, each below program.ranks
  TraceSummary Walk(const std::vector<sim::Rank>& ranks);
  bool stopped() const { return stopped_; }

 private:
  bool GoOn();
  void WalkRank(sim::Rank rank, const std::vector<sim::StreamId>& streams);
  void WalkTrack(const Track& track);
  void WalkCounters();
  void WalkCounter(const std::vector<sim::LoadChange>& loads);
  std::optional<ArrowEnd> ArrowOf(const Slice& slice) const;

  const sim::Program& program_;
  const sim::Timeline& timeline_;
  const TraceOptions& options_;
  OutputFile& file_;
  TraceSink& sink_;
  std::vector<bool> shown_;  // by rank
  TraceSummary summary_;
  bool stopped_ = false;  // told not to go on
};

TraceSummary TraceWalk::Walk(const std::vector<sim::Rank>& ranks) {
  for (const sim::Rank rank : ranks) shown_[rank.pos()] = true;
  const auto streams = StreamsToShow(program_, ranks, options_.streams);
  sink_.Begin(ranks);
  for (const sim::Rank rank : ranks) {
    if (file_.failed() || stopped_) break;
    WalkRank(rank, streams[rank.pos()]);
  }
  if (!options_.counters.empty() && !stopped_) WalkCounters();
  sink_.End();
  if (summary_.slices > kManySlices) {
    summary_.warnings.push_back("the trace has " + WithCommas(summary_.slices) +
                                " slices, and viewers are slow above 1,000,000; show fewer ranks");
  }
  return std::move(summary_);
}

bool TraceWalk::GoOn() {
  if (!stopped_ && options_.go_on) stopped_ = !options_.go_on();
  return !stopped_;
}

void TraceWalk::WalkRank(sim::Rank rank, const std::vector<sim::StreamId>& streams) {
  sink_.BeginRank(rank);
  int position = 0;
  for (Track& track : TracksOf(program_, timeline_, streams)) {
    const auto hidden = [&](const Slice& slice) { return !IsShown(slice.time, options_); };
    std::erase_if(track.slices, hidden);
    std::erase_if(track.instants, hidden);
    if (track.slices.empty() && track.instants.empty()) continue;
    sink_.BeginTrack(rank, track, position++);
    WalkTrack(track);
    sink_.EndTrack();
  }
}

void TraceWalk::WalkTrack(const Track& track) {
  for (std::size_t i = 0; i < track.slices.size(); ++i) {
    if (static_cast<std::int64_t>(i) % kSlicesBetweenQuestions == 0 && !GoOn()) return;
    const Slice& slice = track.slices[i];
    std::optional<sim::Time> next;
    if (i + 1 < track.slices.size()) next = track.slices[i + 1].time.from;
    const std::optional<ArrowEnd> arrow = ArrowOf(slice);
    sink_.WriteSlice(slice, next, arrow);
    ++summary_.slices;
    if (arrow && arrow->sends) ++summary_.arrows;
  }
  for (const Slice& instant : track.instants) sink_.WriteInstant(instant);
  summary_.instants += static_cast<std::int64_t>(track.instants.size());
}

// A pipeline send is an arrow where both of its ends are shown. They begin and end together, so that the
// window and the shortest length leave both or none.
std::optional<ArrowEnd> TraceWalk::ArrowOf(const Slice& slice) const {
  const sim::TaskId task = slice.task;
  const std::int64_t whole = slice.time.length().ps();
  if (slice.waiting || whole < kShortestArrowPs || program_.row(task).kind != sim::TaskKind::kSeat ||
      program_.row(task).task_class != sim::TaskClass::kPipeline) {
    return std::nullopt;
  }
  const auto sends = [&](sim::TaskId seat) {
    const sim::StreamKind kind = program_.stream_kind_of(seat);
    return kind == sim::StreamKind::kToNext || kind == sim::StreamKind::kToPrevious;
  };
  const sim::CommunicationId communication = program_.communication_of(task);
  const std::span<const sim::TaskId> seats = program_.seats_of(communication);
  if (seats.size() != 2 || sends(seats[0]) == sends(seats[1])) return std::nullopt;
  for (const sim::TaskId seat : seats) {
    if (!shown_[program_.rank_of(seat).pos()]) return std::nullopt;
    if (!ShowsKind(options_.streams, program_.stream_kind_of(seat))) return std::nullopt;
  }
  return ArrowEnd{static_cast<std::int64_t>(communication.value()) + 1, sends(task)};
}

void TraceWalk::WalkCounters() {
  std::vector<std::uint32_t> set_of_link(program_.link_capacity.size(), sim::kNoSet);
  for (std::size_t c = 0; c < options_.counters.size(); ++c) {
    for (const sim::LinkId link : options_.counters[c].links) {
      CHECK(link.pos() < set_of_link.size() && set_of_link[link.pos()] == sim::kNoSet);
      set_of_link[link.pos()] = static_cast<std::uint32_t>(c);
    }
  }
  const auto loads = sim::LoadsOverTime(program_, timeline_, set_of_link, options_.counters.size());
  sink_.BeginCounters();
  for (std::size_t c = 0; c < loads.size() && !stopped_; ++c) {
    sink_.BeginCounter(options_.counters[c]);
    WalkCounter(loads[c]);
  }
}

// What it is where the trace begins, and each change until it ends.
void TraceWalk::WalkCounter(const std::vector<sim::LoadChange>& loads) {
  const sim::Interval window =
      options_.window.value_or(sim::Interval{sim::Time::Start(), sim::Time::Never()});
  const auto write = [&](sim::Time when, sim::ByteRate load) {
    sink_.WriteLoad(when, load);
    ++summary_.counter_values;
  };
  std::size_t at = 0;
  sim::ByteRate before;
  for (; at < loads.size() && loads[at].when < window.from; ++at) before = loads[at].mean;
  if (at == loads.size() || loads[at].when > window.from) write(window.from, before);
  for (; at < loads.size() && loads[at].when < window.to; ++at) {
    if (summary_.counter_values % kSlicesBetweenQuestions == 0 && !GoOn()) return;
    write(loads[at].when, loads[at].mean);
  }
}

}  // namespace

sim::Result<std::vector<sim::Rank>> RanksToShow(const sim::Program& program, std::vector<sim::Rank> ranks) {
  for (const sim::Rank rank : ranks) {
    if (rank.value() < program.ranks) continue;
    return sim::Error{"trace: " + std::to_string(rank.value()) + " is not a rank; there are " +
                      std::to_string(program.ranks) + ", numbered from 0"};
  }
  if (ranks.empty()) {
    for (std::uint32_t r = 0; r < program.ranks; ++r) ranks.emplace_back(r);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.empty()) return sim::Error{"trace: the program has no ranks to show"};
  return ranks;
}

std::vector<std::vector<sim::StreamId>> StreamsToShow(const sim::Program& program,
                                                      const std::vector<sim::Rank>& ranks,
                                                      const std::vector<sim::StreamKind>& kinds) {
  std::vector<bool> shown(program.ranks, false);
  for (const sim::Rank rank : ranks) shown[rank.pos()] = true;
  std::vector<std::vector<sim::StreamId>> streams(program.ranks);
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    const sim::Rank rank = program.stream_rank[s];
    if (shown[rank.pos()] && ShowsKind(kinds, program.stream_kind[s])) streams[rank.pos()].emplace_back(s);
  }
  return streams;
}

bool IsShown(const sim::Interval& time, const TraceOptions& options) {
  if (time.to - time.from < options.shortest) return false;
  if (!options.window) return true;
  const sim::Interval& window = *options.window;
  return time.from < window.to && (time.to > window.from || time.from == window.from);
}

std::string NameOf(const sim::Program& program, const Slice& slice) {
  const std::string& name = program.names[program.row(slice.task).label.name];
  return slice.waiting ? name + " (waiting)" : name;
}

const char* CategoryOf(const sim::Program& program, const Slice& slice) {
  return slice.waiting ? "waiting" : sim::ToText(program.row(slice.task).task_class);
}

sim::Result<TraceSummary> WriteTrace(const sim::Program& program, const sim::Timeline& timeline,
                                     const TraceOptions& options, const MakeSink& make_sink) {
  const sim::Result<std::vector<sim::Rank>> ranks = RanksToShow(program, options.ranks);
  if (!ranks.ok()) return ranks.error();
  sim::Result<OutputFile> created = OutputFile::Create(options.path);
  if (!created.ok()) return created.error();
  OutputFile file = std::move(created).value();
  const std::unique_ptr<TraceSink> sink = make_sink(&file);
  TraceWalk walk(program, timeline, options, file, *sink);
  TraceSummary summary = walk.Walk(ranks.value());
  if (walk.stopped())
    return sim::Error{"interrupted while " + options.path + " was written; there is no such file"};
  const sim::Result<std::int64_t> bytes = file.Finish();
  if (!bytes.ok()) return bytes.error();
  summary.bytes = bytes.value();
  if (summary.bytes > kManyBytes && summary.warnings.empty()) {
    summary.warnings.push_back("the trace has " + std::to_string(summary.bytes / 1'000'000) +
                               " MB, and viewers are slow above 150; show fewer ranks or less time");
  }
  return summary;
}

}  // namespace scenarios
