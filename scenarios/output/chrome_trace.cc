#include "scenarios/output/chrome_trace.h"

#include <string>
#include <utility>

#include "scenarios/output/trace_text.h"

namespace scenarios {
namespace {

std::int64_t PsOf(sim::Time t) { return t.since_start().ps(); }

class ChromeSink : public TraceSink {
 public:
  ChromeSink(const sim::Program& program, const sim::Timeline& timeline, bool arguments, OutputFile* file)
      : program_(program), timeline_(timeline), arguments_(arguments), file_(*file) {}

  void Begin(const std::vector<sim::Rank>& ranks) override;
  void BeginRank(sim::Rank rank) override {
    pid_ = rank.value() + 1;
    WriteProcess("rank " + std::to_string(rank.value()));
  }
  void BeginTrack(sim::Rank rank, const Track& track, int position) override;
  void WriteSlice(const Slice& slice, std::optional<sim::Time> next,
                  const std::optional<ArrowEnd>& arrow) override;
  void WriteInstant(const Slice& slice) override {
    WriteEvent("\"ph\":\"i\",\"s\":\"t\"" + Where() + ",\"ts\":" + MicrosecondText(PsOf(slice.time.from)) +
               NameAndCategory(slice));
  }
  void BeginCounters() override {
    pid_ = program_.ranks + 1;
    WriteProcess("links");
  }
  void BeginCounter(const TraceCounter& counter) override { counter_ = Quoted(counter.name); }
  void WriteLoad(sim::Time when, sim::ByteRate load) override {
    WriteEvent("\"ph\":\"C\",\"pid\":" + std::to_string(pid_) +
               ",\"tid\":0,\"ts\":" + MicrosecondText(PsOf(when)) + ",\"name\":" + counter_ +
               ",\"args\":{\"GB/s\":" + GigabyteText(load) + "}");
  }
  void End() override { file_.Write("\n]}\n"); }

 private:
  void WriteProcess(const std::string& name);
  void WriteArrowEnd(const Slice& slice, std::int64_t length, const ArrowEnd& arrow);
  void WriteEvent(const std::string& fields);
  std::string Where() const {
    return ",\"pid\":" + std::to_string(pid_) + ",\"tid\":" + std::to_string(tid_);
  }
  std::string NameAndCategory(const Slice& slice) const;

  const sim::Program& program_;
  const sim::Timeline& timeline_;
  const bool arguments_;
  OutputFile& file_;
  std::uint32_t pid_ = 0, tid_ = 0;  // of the track in hand; tid is unique in the whole file
  std::string counter_;              // the name of the one in hand
  bool first_event_ = true;
};

// HolisticTraceAnalysis finds the rank with a pattern that needs the space
// after the colon, in the first lines.
// Source: facebookresearch/HolisticTraceAnalysis#107
void ChromeSink::Begin(const std::vector<sim::Rank>& ranks) {
  file_.Write("{\"displayTimeUnit\": \"ns\",\n\"distributedInfo\": {\"rank\": " +
              std::to_string(ranks.front().value()) + ", \"world_size\": " + std::to_string(program_.ranks) +
              "},\n\"otherData\": {\"program\": \"orrery\", \"digest\": " + Quoted(timeline_.digest) +
              "},\n\"traceEvents\": [\n");
}

void ChromeSink::WriteEvent(const std::string& fields) {
  file_.Write(first_event_ ? "{" : ",\n{");
  first_event_ = false;
  file_.Write(fields);
  file_.Write("}");
}

void ChromeSink::WriteProcess(const std::string& name) {
  const std::string where = ",\"pid\":" + std::to_string(pid_) + ",\"tid\":0";
  WriteEvent("\"ph\":\"M\",\"name\":\"process_name\"" + where + ",\"args\":{\"name\":" + Quoted(name) + "}");
  WriteEvent("\"ph\":\"M\",\"name\":\"process_sort_index\"" + where +
             ",\"args\":{\"sort_index\":" + std::to_string(pid_) + "}");
}

void ChromeSink::BeginTrack(sim::Rank, const Track& track, int position) {
  ++tid_;
  WriteEvent("\"ph\":\"M\",\"name\":\"thread_name\"" + Where() + ",\"args\":{\"name\":" + Quoted(track.name) +
             "}");
  WriteEvent("\"ph\":\"M\",\"name\":\"thread_sort_index\"" + Where() +
             ",\"args\":{\"sort_index\":" + std::to_string(position) + "}");
}

std::string ChromeSink::NameAndCategory(const Slice& slice) const {
  const sim::Label& label = program_.row(slice.task).label;
  std::string text =
      ",\"name\":" + Quoted(NameOf(program_, slice)) + ",\"cat\":\"" + CategoryOf(program_, slice) + '"';
  if (arguments_ && (label.micro_batch >= 0 || label.layer >= 0)) {
    text += ",\"args\":{";
    if (label.micro_batch >= 0) text += "\"micro_batch\":" + std::to_string(label.micro_batch);
    if (label.micro_batch >= 0 && label.layer >= 0) text += ",";
    if (label.layer >= 0) text += "\"layer\":" + std::to_string(label.layer);
    text += "}";
  }
  return text;
}

void ChromeSink::WriteSlice(const Slice& slice, std::optional<sim::Time> next,
                            const std::optional<ArrowEnd>& arrow) {
  const std::int64_t start = PsOf(slice.time.from), end = PsOf(slice.time.to);
  std::int64_t length = end - start;
  if (next) {
    length = ReadableLength(start, end, PsOf(*next));
    CHECK(EndsInTime(start, length, PsOf(*next)));
  }
  WriteEvent("\"ph\":\"X\"" + Where() + ",\"ts\":" + MicrosecondText(start) +
             ",\"dur\":" + MicrosecondText(length) + NameAndCategory(slice));
  if (arrow) WriteArrowEnd(slice, length, *arrow);
}

// An arrow goes from a quarter of the sender's transfer to three quarters of the
// receiver's: both well inside, the second later. Readers bind the two by equal
// id, cat and name, and with bp "e" to the slice around them.
void ChromeSink::WriteArrowEnd(const Slice& slice, std::int64_t length, const ArrowEnd& arrow) {
  const std::int64_t at = slice.time.length().ps() / 4 * (arrow.sends ? 1 : 3);
  CHECK(at < length);
  WriteEvent("\"ph\":\"" + std::string(arrow.sends ? "s" : "f\",\"bp\":\"e") + '"' + Where() +
             ",\"ts\":" + MicrosecondText(PsOf(slice.time.from) + at) +
             ",\"id\":" + std::to_string(arrow.id) + ",\"cat\":\"pipeline\",\"name\":\"send\"");
}

}  // namespace

sim::Result<TraceSummary> WriteChromeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                           const TraceOptions& options) {
  return WriteTrace(program, timeline, options, [&](OutputFile* file) {
    return std::make_unique<ChromeSink>(program, timeline, options.arguments, file);
  });
}

}  // namespace scenarios
