#include "scenarios/output/trace_tracks.h"

#include <algorithm>

namespace scenarios {
namespace {

std::vector<Slice> SlicesOf(const sim::Program& program, const sim::Timeline& timeline, sim::StreamId stream,
                            Seats seats) {
  std::vector<Slice> slices;
  for (sim::TaskId task = program.stream_head[stream.pos()]; task.valid();
       task = program.next_in_stream(task)) {
    sim::Interval time{timeline.start[task.pos()], timeline.end[task.pos()]};
    if (seats == Seats::kWaitApart && program.row(task).kind == sim::TaskKind::kSeat) {
      const sim::Time begin = timeline.begin[program.communication_of(task).pos()];
      if (time.from < begin) slices.push_back({{time.from, begin}, task, true});
      time.from = begin;
    }
    slices.push_back({time, task, false});
  }
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& a, const Slice& b) { return a.time.from < b.time.from; });
  return slices;
}

// Each slice goes to the first lane that is free by then.
void LayOut(const std::vector<Slice>& slices, const std::string& name, std::vector<Track>& tracks) {
  const std::size_t first = tracks.size();
  tracks.push_back({.name = name, .stream = name, .slices = {}, .instants = {}});
  for (const Slice& slice : slices) {
    if (slice.time.empty()) {
      tracks[first].instants.push_back(slice);
      continue;
    }
    std::size_t lane = first;
    while (lane < tracks.size() && !tracks[lane].slices.empty() &&
           tracks[lane].slices.back().time.to > slice.time.from) {
      ++lane;
    }
    if (lane == tracks.size()) {
      tracks.push_back({.name = name + " (" + std::to_string(lane - first + 1) + ")",
                        .stream = name,
                        .slices = {},
                        .instants = {}});
    }
    tracks[lane].slices.push_back(slice);
  }
}

}  // namespace

std::vector<Track> TracksOf(const sim::Program& program, const sim::Timeline& timeline,
                            std::vector<sim::StreamId> streams, Seats seats) {
  const auto kind = [&](sim::StreamId s) { return program.stream_kind[s.pos()]; };
  std::stable_sort(streams.begin(), streams.end(),
                   [&](sim::StreamId a, sim::StreamId b) { return kind(a) < kind(b); });
  std::vector<Track> tracks;
  int same = 0;  // streams of this kind so far
  for (std::size_t i = 0; i < streams.size(); ++i) {
    same = i > 0 && kind(streams[i]) == kind(streams[i - 1]) ? same + 1 : 1;
    std::string name = sim::ToText(kind(streams[i]));
    if (same > 1) name += " " + std::to_string(same);
    LayOut(SlicesOf(program, timeline, streams[i], seats), name, tracks);
  }
  return tracks;
}

}  // namespace scenarios
