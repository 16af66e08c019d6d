#include "scenarios/output/speedscope_trace.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "scenarios/output/trace_text.h"

namespace scenarios {
namespace {

class SpeedscopeSink : public TraceSink {
 public:
  SpeedscopeSink(const sim::Program& program, sim::Interval shown, OutputFile* file)
      : program_(program), shown_(shown), file_(*file) {}

  void Begin(const std::vector<sim::Rank>&) override {
    file_.Write(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"orrery\",\n"
        "\"profiles\":[");
  }
  void BeginRank(sim::Rank) override {}
  void BeginTrack(sim::Rank rank, const Track& track, int) override;
  void WriteSlice(const Slice& slice, std::optional<sim::Time>, const std::optional<ArrowEnd>&) override {
    const auto at = frames_.emplace(NameOf(program_, slice), frames_.size()).first;
    WriteEvent('O', at->second, slice.time.from);
    WriteEvent('C', at->second, slice.time.to);
  }
  void WriteInstant(const Slice&) override {}
  void EndTrack() override {
    if (!first_event_) file_.Write("]}");
  }
  void BeginCounter(const TraceCounter&) override {}
  void WriteLoad(sim::Time, sim::ByteRate) override {}
  void End() override;

 private:
  void WriteEvent(char type, std::size_t frame, sim::Time at) {
    file_.Write(std::string(first_event_ ? "" : ",") + "{\"type\":\"" + type +
                "\",\"frame\":" + std::to_string(frame) + ",\"at\":" + NanosecondText(at) + '}');
    first_event_ = false;
  }

  const sim::Program& program_;
  const sim::Interval shown_;
  OutputFile& file_;
  std::map<std::string, std::size_t> frames_;  // by name, its place in the list at the end
  bool first_track_ = true, first_event_ = true;
};

// All profiles are as long as what is shown, but for slices that reach out of it.
void SpeedscopeSink::BeginTrack(sim::Rank rank, const Track& track, int) {
  first_event_ = true;
  if (track.slices.empty()) return;  // instants alone
  const sim::Time from = std::min(shown_.from, track.slices.front().time.from);
  const sim::Time to = std::max(shown_.to, track.slices.back().time.to);
  file_.Write((first_track_ ? "\n" : ",\n") + std::string("{\"type\":\"evented\",\"name\":") +
              Quoted("rank " + std::to_string(rank.value()) + ": " + track.name) +
              ",\"unit\":\"nanoseconds\",\"startValue\":" + NanosecondText(from) +
              ",\"endValue\":" + NanosecondText(to) + ",\"events\":[");
  first_track_ = false;
}

// Frames come last: only now all are known.
void SpeedscopeSink::End() {
  std::vector<const std::string*> names(frames_.size());
  for (const auto& [name, place] : frames_) names[place] = &name;
  file_.Write("],\n\"shared\":{\"frames\":[");
  for (std::size_t i = 0; i < names.size(); ++i) {
    file_.Write((i == 0 ? "{\"name\":" : ",{\"name\":") + Quoted(*names[i]) + '}');
  }
  file_.Write("]}}\n");
}

}  // namespace

sim::Result<TraceSummary> WriteSpeedscopeTrace(const sim::Program& program, const sim::Timeline& timeline,
                                               const TraceOptions& options) {
  TraceOptions without = options;
  without.counters.clear();
  const sim::Interval run{sim::Time::Start(), timeline.finish};
  auto written = WriteTrace(program, timeline, without, [&](OutputFile* file) {
    return std::make_unique<SpeedscopeSink>(program, sim::Clip(run, options.window.value_or(run)), file);
  });
  if (!written.ok()) return written;
  TraceSummary summary = std::move(written).value();
  summary.instants = summary.arrows = 0;
  return summary;
}

}  // namespace scenarios
