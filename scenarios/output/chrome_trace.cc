#include "scenarios/output/chrome_trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "scenarios/output/output_file.h"
#include "scenarios/output/trace_text.h"
#include "scenarios/output/trace_tracks.h"
#include "sim/analysis/link_load.h"

namespace scenarios {
namespace {

// Above it viewers need gigabytes and minutes.
// Source: Perfetto, "Visualising large traces"; pytorch/kineto#805.
constexpr std::int64_t kManySlices = 1'000'000;
// Shorter sends get no arrow: its ends lie a quarter of the transfer inside the
// slices, which must stay inside for readers that round to nanoseconds.
constexpr std::int64_t kShortestArrowPs = 100'000;

// So many slices, or values of a graph, lie between two questions whether to go on.
constexpr std::int64_t kSlicesBetweenQuestions = 4096;

std::int64_t PsOf(sim::Time t) { return t.since_start().ps(); }

std::string WithCommas(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

class TraceWriter {
 public:
  TraceWriter(const sim::Program& program, const sim::Timeline& timeline, const TraceOptions& options,
              OutputFile& file)
      : program_(program),
        timeline_(timeline),
        options_(options),
        file_(file),
        shown_(program.ranks, false) {}

  // REQUIRES: ranks sorted, each once, not empty, each below program.ranks
  TraceSummary Write(const std::vector<sim::Rank>& ranks);
  bool stopped() const { return stopped_; }

 private:
  bool GoOn();
  void WriteHead(const std::vector<sim::Rank>& ranks);
  void WriteRank(sim::Rank rank, const std::vector<sim::StreamId>& streams);
  void WriteProcess(std::uint32_t pid, const std::string& name);
  void WriteTrack(sim::Rank rank, const Track& track);
  void WriteSlice(sim::Rank rank, const Slice& slice, std::int64_t length);
  void WriteArrowEnd(sim::Rank rank, const Slice& slice, std::int64_t length);
  void WriteInstant(sim::Rank rank, const Slice& slice);
  void WriteCounters();
  void WriteCounter(const TraceCounter& counter, sim::Time when, sim::ByteRate load);
  void WriteEvent(const std::string& fields);

  static std::uint32_t PidOf(sim::Rank rank) { return rank.value() + 1; }
  std::string Where(sim::Rank rank) const {
    return ",\"pid\":" + std::to_string(PidOf(rank)) + ",\"tid\":" + std::to_string(tid_);
  }
  std::string NameAndCategory(const Slice& slice) const;

  const sim::Program& program_;
  const sim::Timeline& timeline_;
  const TraceOptions& options_;
  OutputFile& file_;
  std::vector<bool> shown_;  // by rank
  TraceSummary summary_;
  std::uint32_t tid_ = 0;  // of the track in hand; unique in the whole file
  bool first_event_ = true;
  bool stopped_ = false;  // told not to go on
};

TraceSummary TraceWriter::Write(const std::vector<sim::Rank>& ranks) {
  for (const sim::Rank rank : ranks) shown_[rank.pos()] = true;
  std::vector<std::vector<sim::StreamId>> streams(program_.ranks);
  for (std::size_t s = 0; s < program_.stream_rank.size(); ++s) {
    const sim::Rank rank = program_.stream_rank[s];
    if (shown_[rank.pos()]) streams[rank.pos()].emplace_back(s);
  }
  WriteHead(ranks);
  for (const sim::Rank rank : ranks) {
    if (file_.failed() || stopped_) break;
    WriteRank(rank, streams[rank.pos()]);
  }
  if (!options_.counters.empty() && !stopped_) WriteCounters();
  file_.Write("\n]}\n");
  if (summary_.slices > kManySlices) {
    summary_.warnings.push_back("the trace has " + WithCommas(summary_.slices) +
                                " slices, and viewers are slow above 1,000,000; show fewer ranks");
  }
  return std::move(summary_);
}

// HolisticTraceAnalysis finds the rank with a pattern that needs the space
// after the colon, in the first lines.
// Source: facebookresearch/HolisticTraceAnalysis#107
void TraceWriter::WriteHead(const std::vector<sim::Rank>& ranks) {
  file_.Write("{\"displayTimeUnit\": \"ns\",\n\"distributedInfo\": {\"rank\": " +
              std::to_string(ranks.front().value()) + ", \"world_size\": " + std::to_string(program_.ranks) +
              "},\n\"otherData\": {\"program\": \"orrery\", \"digest\": " + Quoted(timeline_.digest) +
              "},\n\"traceEvents\": [\n");
}

void TraceWriter::WriteEvent(const std::string& fields) {
  file_.Write(first_event_ ? "{" : ",\n{");
  first_event_ = false;
  file_.Write(fields);
  file_.Write("}");
}

bool TraceWriter::GoOn() {
  if (!stopped_ && options_.go_on) stopped_ = !options_.go_on();
  return !stopped_;
}

void TraceWriter::WriteProcess(std::uint32_t pid, const std::string& name) {
  const std::string where = ",\"pid\":" + std::to_string(pid) + ",\"tid\":0";
  WriteEvent("\"ph\":\"M\",\"name\":\"process_name\"" + where + ",\"args\":{\"name\":" + Quoted(name) + "}");
  WriteEvent("\"ph\":\"M\",\"name\":\"process_sort_index\"" + where +
             ",\"args\":{\"sort_index\":" + std::to_string(pid) + "}");
}

void TraceWriter::WriteRank(sim::Rank rank, const std::vector<sim::StreamId>& streams) {
  WriteProcess(PidOf(rank), "rank " + std::to_string(rank.value()));
  int position = 0;
  for (const Track& track : TracksOf(program_, timeline_, streams)) {
    ++tid_;
    WriteEvent("\"ph\":\"M\",\"name\":\"thread_name\"" + Where(rank) +
               ",\"args\":{\"name\":" + Quoted(track.name) + "}");
    WriteEvent("\"ph\":\"M\",\"name\":\"thread_sort_index\"" + Where(rank) +
               ",\"args\":{\"sort_index\":" + std::to_string(position++) + "}");
    WriteTrack(rank, track);
  }
}

void TraceWriter::WriteTrack(sim::Rank rank, const Track& track) {
  for (std::size_t i = 0; i < track.slices.size(); ++i) {
    if (static_cast<std::int64_t>(i) % kSlicesBetweenQuestions == 0 && !GoOn()) return;
    const Slice& slice = track.slices[i];
    const std::int64_t start = PsOf(slice.time.from), end = PsOf(slice.time.to);
    std::int64_t length = end - start;
    if (i + 1 < track.slices.size()) {
      const std::int64_t next = PsOf(track.slices[i + 1].time.from);
      length = ReadableLength(start, end, next);
      CHECK(EndsInTime(start, length, next));
    }
    WriteSlice(rank, slice, length);
  }
  for (const Slice& instant : track.instants) WriteInstant(rank, instant);
}

std::string TraceWriter::NameAndCategory(const Slice& slice) const {
  const sim::TaskId task = slice.task;
  const sim::TaskRow& row = program_.row(task);
  const sim::Label& label = row.label;
  std::string name = program_.names[label.name];
  if (slice.waiting) name += " (waiting)";
  const char* category = slice.waiting ? "waiting" : sim::ToText(row.task_class);
  std::string text = ",\"name\":" + Quoted(name) + ",\"cat\":\"" + category + '"';
  if (options_.arguments && (label.micro_batch >= 0 || label.layer >= 0)) {
    text += ",\"args\":{";
    if (label.micro_batch >= 0) text += "\"micro_batch\":" + std::to_string(label.micro_batch);
    if (label.micro_batch >= 0 && label.layer >= 0) text += ",";
    if (label.layer >= 0) text += "\"layer\":" + std::to_string(label.layer);
    text += "}";
  }
  return text;
}

void TraceWriter::WriteSlice(sim::Rank rank, const Slice& slice, std::int64_t length) {
  WriteEvent("\"ph\":\"X\"" + Where(rank) + ",\"ts\":" + MicrosecondText(PsOf(slice.time.from)) +
             ",\"dur\":" + MicrosecondText(length) + NameAndCategory(slice));
  ++summary_.slices;
  WriteArrowEnd(rank, slice, length);
}

// A pipeline send is an arrow from a quarter of the sender's transfer to three
// quarters of the receiver's: both well inside, the second later. Readers bind
// the two by equal id, cat and name, and with bp "e" to the slice around them.
void TraceWriter::WriteArrowEnd(sim::Rank rank, const Slice& slice, std::int64_t length) {
  const sim::TaskId task = slice.task;
  const std::int64_t whole = slice.time.length().ps();
  if (slice.waiting || whole < kShortestArrowPs || program_.row(task).kind != sim::TaskKind::kSeat ||
      program_.row(task).task_class != sim::TaskClass::kPipeline) {
    return;
  }
  const auto sends = [&](sim::TaskId seat) {
    const sim::StreamKind kind = program_.stream_kind_of(seat);
    return kind == sim::StreamKind::kToNext || kind == sim::StreamKind::kToPrevious;
  };
  const sim::CommunicationId communication = program_.communication_of(task);
  const std::span<const sim::TaskId> seats = program_.seats_of(communication);
  if (seats.size() != 2 || sends(seats[0]) == sends(seats[1])) return;
  if (!shown_[program_.rank_of(seats[0]).pos()] || !shown_[program_.rank_of(seats[1]).pos()]) return;
  const std::int64_t at = whole / 4 * (sends(task) ? 1 : 3);
  CHECK(at < length);
  WriteEvent("\"ph\":\"" + std::string(sends(task) ? "s" : "f\",\"bp\":\"e") + '"' + Where(rank) +
             ",\"ts\":" + MicrosecondText(PsOf(slice.time.from) + at) + ",\"id\":" +
             std::to_string(communication.value() + 1) + ",\"cat\":\"pipeline\",\"name\":\"send\"");
  if (sends(task)) ++summary_.arrows;
}

void TraceWriter::WriteInstant(sim::Rank rank, const Slice& slice) {
  WriteEvent("\"ph\":\"i\",\"s\":\"t\"" + Where(rank) + ",\"ts\":" + MicrosecondText(PsOf(slice.time.from)) +
             NameAndCategory(slice));
  ++summary_.instants;
}

void TraceWriter::WriteCounters() {
  std::vector<std::uint32_t> set_of_link(program_.link_capacity.size(), sim::kNoSet);
  for (std::size_t c = 0; c < options_.counters.size(); ++c) {
    for (const sim::LinkId link : options_.counters[c].links) {
      CHECK(link.pos() < set_of_link.size() && set_of_link[link.pos()] == sim::kNoSet);
      set_of_link[link.pos()] = static_cast<std::uint32_t>(c);
    }
  }
  const auto loads = sim::LoadsOverTime(program_, timeline_, set_of_link, options_.counters.size());
  WriteProcess(program_.ranks + 1, "links");
  for (std::size_t c = 0; c < loads.size(); ++c) {
    const bool from_start = !loads[c].empty() && loads[c].front().when == sim::Time::Start();
    if (!from_start) WriteCounter(options_.counters[c], sim::Time::Start(), sim::ByteRate());
    for (const sim::LoadChange& change : loads[c]) {
      if (summary_.counter_values % kSlicesBetweenQuestions == 0 && !GoOn()) return;
      WriteCounter(options_.counters[c], change.when, change.mean);
    }
  }
}

void TraceWriter::WriteCounter(const TraceCounter& counter, sim::Time when, sim::ByteRate load) {
  WriteEvent("\"ph\":\"C\",\"pid\":" + std::to_string(program_.ranks + 1) +
             ",\"tid\":0,\"ts\":" + MicrosecondText(PsOf(when)) + ",\"name\":" + Quoted(counter.name) +
             ",\"args\":{\"GB/s\":" + GigabyteText(load) + "}");
  ++summary_.counter_values;
}

// Sorted, each once; all of them when none is named.
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

sim::Result<TraceSummary> WriteTo(const std::string& path, const sim::Program& program,
                                  const sim::Timeline& timeline, const TraceOptions& options,
                                  const std::vector<sim::Rank>& ranks) {
  sim::Result<OutputFile> created = OutputFile::Create(path);
  if (!created.ok()) return created.error();
  OutputFile file = std::move(created).value();
  TraceWriter writer(program, timeline, options, file);
  TraceSummary summary = writer.Write(ranks);
  if (writer.stopped())
    return sim::Error{"interrupted while " + path + " was written; there is no such file"};
  const sim::Result<std::int64_t> bytes = file.Finish();
  if (!bytes.ok()) return bytes.error();
  summary.bytes = bytes.value();
  return summary;
}

void Add(const TraceSummary& one, TraceSummary& all) {
  all.slices += one.slices;
  all.instants += one.instants;
  all.arrows += one.arrows;
  all.counter_values += one.counter_values;
  all.bytes += one.bytes;
  all.warnings.insert(all.warnings.end(), one.warnings.begin(), one.warnings.end());
}

}  // namespace

sim::Result<TraceSummary> WriteChromeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                           const TraceOptions& options) {
  const sim::Result<std::vector<sim::Rank>> ranks = RanksToShow(program, options.ranks);
  if (!ranks.ok()) return ranks.error();
  return WriteTo(options.path, program, timeline, options, ranks.value());
}

sim::Result<TraceSummary> WriteRankTraces(const sim::Program& program, const sim::Timeline& timeline,
                                          const std::string& folder, const TraceOptions& options) {
  const sim::Result<std::vector<sim::Rank>> ranks = RanksToShow(program, options.ranks);
  if (!ranks.ok()) return ranks.error();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return sim::Error{"cannot make the folder " + folder + ": " + error.message()};
  TraceSummary all;
  for (const sim::Rank rank : ranks.value()) {
    const std::string path = folder + "/rank_" + std::to_string(rank.value()) + ".json.gz";
    const sim::Result<TraceSummary> one = WriteTo(path, program, timeline, options, {rank});
    if (!one.ok()) return one.error();
    Add(one.value(), all);
  }
  return all;
}

}  // namespace scenarios
