#include "scenarios/output/perfetto_trace.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "proto/perfetto_trace.pb.h"
#include "scenarios/output/trace_text.h"

namespace scenarios {
namespace {

namespace pb = orrery::perfetto;

constexpr std::uint32_t kSequence = 1;  // all packets are one writer's

// Names by number, from 1 on.
class Interned {
 public:
  // The number of a name, and whether it is new.
  std::pair<std::uint64_t, bool> Find(std::string_view name) {
    const auto at = ids_.find(name);
    if (at != ids_.end()) return {at->second, false};
    const std::uint64_t id = ids_.size() + 1;
    ids_.emplace(name, id);
    return {id, true};
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> ids_;
};

class PerfettoSink : public TraceSink {
 public:
  PerfettoSink(const sim::Program& program, OutputFile* file) : program_(program), file_(*file) {}

  void Begin(const std::vector<sim::Rank>&) override {}
  void BeginRank(sim::Rank rank) override {
    WriteProcess(rank.value() + 1, "rank " + std::to_string(rank.value()));
  }
  void BeginTrack(sim::Rank rank, const Track& track, int position) override;
  void WriteSlice(const Slice& slice, std::optional<sim::Time> next,
                  const std::optional<ArrowEnd>& arrow) override;
  void WriteInstant(const Slice& slice) override {
    Describe(slice, pb::TrackEvent::TYPE_INSTANT);
    Write(slice.time.from);
  }
  void BeginCounters() override { WriteProcess(program_.ranks + 1, "links"); }
  void BeginCounter(const TraceCounter& counter) override;
  void WriteLoad(sim::Time when, sim::ByteRate load) override {
    pb::TrackEvent* event = NewEvent(pb::TrackEvent::TYPE_COUNTER);
    event->set_counter_value(load.milli() / 1000);
    Write(when);
  }
  void End() override {}

 private:
  pb::TracePacket* packet() { return trace_.mutable_packet(0); }
  void NewPacket();
  pb::TrackEvent* NewEvent(pb::TrackEvent::Type type);
  pb::TrackDescriptor* NewTrack();
  void Describe(const Slice& slice, pb::TrackEvent::Type type);
  void Annotate(pb::TrackEvent* event, const char* name, std::int64_t value);
  void WriteProcess(std::uint32_t pid, const std::string& name);
  void Write();
  void Write(sim::Time when) {
    packet()->set_timestamp(static_cast<std::uint64_t>(WholeNanoseconds(when)));
    Write();
  }

  const sim::Program& program_;
  OutputFile& file_;
  Interned names_, categories_, annotations_;
  std::uint64_t last_uuid_ = 0, process_ = 0, track_ = 0;  // of the process and the track in hand
  bool first_packet_ = true;
  pb::Trace trace_;  // the packet in hand
  std::string bytes_;
};

void PerfettoSink::NewPacket() {
  trace_.Clear();
  trace_.add_packet()->set_trusted_packet_sequence_id(kSequence);
}

// A trace of one packet: appended to others it is a trace of all.
void PerfettoSink::Write() {
  packet()->set_sequence_flags(first_packet_ ? pb::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED
                                             : pb::TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
  first_packet_ = false;
  trace_.SerializeToString(&bytes_);
  file_.Write(bytes_);
}

pb::TrackDescriptor* PerfettoSink::NewTrack() {
  NewPacket();
  pb::TrackDescriptor* track = packet()->mutable_track_descriptor();
  track->set_uuid(++last_uuid_);
  return track;
}

void PerfettoSink::WriteProcess(std::uint32_t pid, const std::string& name) {
  pb::TrackDescriptor* track = NewTrack();
  process_ = track->uuid();
  track->mutable_process()->set_pid(static_cast<std::int32_t>(pid));
  track->mutable_process()->set_process_name(name);
  track->set_child_ordering(pb::TrackDescriptor::EXPLICIT);
  Write();
}

// Lanes of a stream have one name: the viewer shows them as one track of several rows.
void PerfettoSink::BeginTrack(sim::Rank, const Track& track, int position) {
  pb::TrackDescriptor* descriptor = NewTrack();
  track_ = descriptor->uuid();
  descriptor->set_name(track.stream);
  descriptor->set_parent_uuid(process_);
  descriptor->set_sibling_order_rank(position);
  Write();
}

void PerfettoSink::BeginCounter(const TraceCounter& counter) {
  pb::TrackDescriptor* descriptor = NewTrack();
  track_ = descriptor->uuid();
  descriptor->set_name(counter.name);
  descriptor->set_parent_uuid(process_);
  descriptor->mutable_counter()->set_unit_name("B/s");
  Write();
}

pb::TrackEvent* PerfettoSink::NewEvent(pb::TrackEvent::Type type) {
  NewPacket();
  pb::TrackEvent* event = packet()->mutable_track_event();
  event->set_type(type);
  event->set_track_uuid(track_);
  return event;
}

void PerfettoSink::Annotate(pb::TrackEvent* event, const char* name, std::int64_t value) {
  const auto [id, is_new] = annotations_.Find(name);
  if (is_new) {
    auto* interned = packet()->mutable_interned_data()->add_debug_annotation_names();
    interned->set_iid(id);
    interned->set_name(name);
  }
  auto* annotation = event->add_debug_annotations();
  annotation->set_name_iid(id);
  annotation->set_int_value(value);
}

void PerfettoSink::Describe(const Slice& slice, pb::TrackEvent::Type type) {
  pb::TrackEvent* event = NewEvent(type);
  const std::string name = NameOf(program_, slice);
  const char* category = CategoryOf(program_, slice);
  const auto [name_id, new_name] = names_.Find(name);
  if (new_name) {
    auto* interned = packet()->mutable_interned_data()->add_event_names();
    interned->set_iid(name_id);
    interned->set_name(name);
  }
  const auto [category_id, new_category] = categories_.Find(category);
  if (new_category) {
    auto* interned = packet()->mutable_interned_data()->add_event_categories();
    interned->set_iid(category_id);
    interned->set_name(category);
  }
  event->set_name_iid(name_id);
  event->add_category_iids(category_id);
  const sim::TaskRow& row = program_.row(slice.task);
  if (row.label.micro_batch >= 0) Annotate(event, "micro_batch", row.label.micro_batch);
  if (row.label.layer >= 0) Annotate(event, "layer", row.label.layer);
  if (row.kind != sim::TaskKind::kSeat) return;
  const sim::TrafficId traffic = program_.communications[program_.communication_of(slice.task).pos()].traffic;
  Annotate(event, "bytes", program_.traffics[traffic.pos()].size.count());
}

// The end of a receive is later than the begin of its send, so that readers, which sort by time, see an arrow
// begin before it ends.
void PerfettoSink::WriteSlice(const Slice& slice, std::optional<sim::Time>,
                              const std::optional<ArrowEnd>& arrow) {
  Describe(slice, pb::TrackEvent::TYPE_SLICE_BEGIN);
  const auto id = arrow ? static_cast<std::uint64_t>(arrow->id) : 0;
  if (arrow && arrow->sends) packet()->mutable_track_event()->add_flow_ids(id);
  Write(slice.time.from);
  pb::TrackEvent* end = NewEvent(pb::TrackEvent::TYPE_SLICE_END);
  if (arrow && !arrow->sends) end->add_terminating_flow_ids(id);
  Write(slice.time.to);
}

}  // namespace

sim::Result<TraceSummary> WritePerfettoTrace(const sim::Program& program, const sim::Timeline& timeline,
                                             const TraceOptions& options) {
  return WriteTrace(program, timeline, options,
                    [&](OutputFile* file) { return std::make_unique<PerfettoSink>(program, file); });
}

}  // namespace scenarios
