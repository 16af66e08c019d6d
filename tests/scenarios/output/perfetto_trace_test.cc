// Perfetto's format, read by protoc, by field numbers, and beside trace events of the same run.

#include "scenarios/output/perfetto_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "proto/perfetto_trace.pb.h"
#include "scenarios/loader.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/run.h"
#include "tests/scenarios/output/made_runs.h"
#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

namespace pb = orrery::perfetto;
using testing::ElementsAre;

std::string PathOf(const std::string& ending) {
  return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ending;
}

std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

// A message as its bytes have it: field numbers, and numbers or bytes.
struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;  // 0 a varint, 1 eight bytes, 2 bytes
  std::uint64_t value = 0;
  std::string bytes;
};
std::uint64_t Varint(const std::string& bytes, std::size_t* at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at((*at)++));
    value |= std::uint64_t{byte & 127U} << shift;
    if (byte < 128) return value;
  }
}
std::vector<Field> FieldsOf(const std::string& bytes) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::uint64_t key = Varint(bytes, &at);
    Field field{static_cast<std::uint32_t>(key >> 3), static_cast<std::uint32_t>(key & 7), 0, ""};
    if (field.wire == 0) {
      field.value = Varint(bytes, &at);
    } else if (field.wire == 1) {
      for (int i = 0; i < 8; ++i)
        field.value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
    } else {
      EXPECT_EQ(field.wire, 2u);
      const std::uint64_t length = Varint(bytes, &at);
      field.bytes = bytes.substr(at, length);
      at += length;
    }
    fields.push_back(field);
  }
  return fields;
}
// "8=10000000 10=1 11{9=1 ...}"; what lies at these paths ("60.3") is a message, other bytes are text.
const std::set<std::string> kMessages = {"11", "11.4", "12", "12.1", "12.2", "12.3", "60", "60.3", "60.8"};
std::string Spelled(const std::string& bytes, const std::string& above = "") {
  std::string text;
  for (const Field& f : FieldsOf(bytes)) {
    const std::string path = above + std::to_string(f.number);
    text += (text.empty() ? "" : " ") + std::to_string(f.number);
    if (f.wire != 2) {
      text += (f.wire == 1 ? "=fixed " : "=") + std::to_string(f.value);
    } else if (kMessages.contains(path)) {
      text += "{" + Spelled(f.bytes, path + ".") + "}";
    } else {
      text += "=\"" + f.bytes + "\"";
    }
  }
  return text;
}

// The numbers are Perfetto's: TracePacket timestamp 8, sequence 10, track_event 11, interned_data 12,
// sequence_flags 13, track_descriptor 60; TrackDescriptor uuid 1, name 2, process 3 {pid 1, name 6},
// parent 5, child_ordering 11, rank 12; TrackEvent category_iids 3, annotations 4 {name_iid 1, int 4},
// type 9, name_iid 10, track 11, flows 47 and 48; InternedData 1, 2 and 3, each {iid 1, name 2}.
TEST(PerfettoTrace, HasThePacketsOfOneSendByTheirFieldNumbers) {
  const Made made = OneSend();
  const std::string path = PathOf(".pftrace");
  ASSERT_TRUE(WritePerfettoTrace(made.program, made.timeline, {.path = path}).ok());
  std::vector<std::string> packets;
  for (const Field& packet : FieldsOf(ReadMaybeGz(path))) {
    EXPECT_EQ(packet.number, 1u);
    packets.push_back(Spelled(packet.bytes));
  }
  EXPECT_THAT(
      packets,
      ElementsAre(
          "10=1 13=1 60{1=1 3{1=1 6=\"rank 0\"} 11=3}", "10=1 13=2 60{1=2 2=\"compute\" 5=1 12=0}",
          "8=0 10=1 11{3=1 4{1=1 4=0} 9=1 10=1 11=2} 12{1{1=1 2=\"forward\"} 2{1=1 2=\"layers\"} "
          "3{1=1 2=\"micro_batch\"}} 13=2",
          "8=10000000 10=1 11{9=2 11=2} 13=2",
          "8=10000000 10=1 11{3=2 4{1=1 4=0} 9=3 10=2 11=2} 12{1{1=2 2=\"step end\"} 2{1=2 2=\"step\"}} 13=2",
          "10=1 13=2 60{1=3 2=\"to next\" 5=1 12=1}",
          "8=10000000 10=1 11{3=3 4{1=1 4=0} 4{1=2 4=0} 9=1 10=3 11=3 47=fixed 1} 12{1{1=3 2=\"pipeline\"} "
          "2{1=3 2=\"send forward\"} 3{1=2 2=\"bytes\"}} 13=2",
          "8=12000000 10=1 11{9=2 11=3} 13=2", "10=1 13=2 60{1=4 3{1=2 6=\"rank 1\"} 11=3}",
          "10=1 13=2 60{1=5 2=\"from previous\" 5=4 12=0}",
          "8=6000000 10=1 11{3=4 4{1=1 4=0} 4{1=2 4=0} 9=1 10=4 11=5} 12{1{1=4 2=\"waiting\"} "
          "2{1=4 2=\"receive forward (waiting)\"}} 13=2",
          "8=10000000 10=1 11{9=2 11=5} 13=2",
          "8=10000000 10=1 11{3=3 4{1=1 4=0} 4{1=2 4=0} 9=1 10=5 11=5} 12{2{1=5 2=\"receive forward\"}} 13=2",
          "8=12000000 10=1 11{9=2 11=5 48=fixed 1} 13=2"));
}

// TrackDescriptor counter 8 {unit_name 6}; TrackEvent type 4 and counter_value 30.
TEST(PerfettoTrace, HasACounterASetOfLinks) {
  sim::ProgramBuilder builder(1, {sim::ByteRate::BytesPerSecond(1000)});
  builder.Work(builder.AddStream(sim::Rank(0), sim::StreamKind::kCompute), builder.AddWork({}),
               sim::TaskClass::kForward, {builder.Name("work"), -1, -1});
  const sim::Program program = std::move(builder).Build().value();
  const sim::Timeline timeline = sim::HandMade(program, {{0, kMs}});
  const std::string path = PathOf(".pftrace");
  TraceOptions options{.path = path, .counters = {{"NIC", {sim::LinkId(0)}}}};
  ASSERT_TRUE(WritePerfettoTrace(program, timeline, options).ok());
  std::vector<std::string> packets;
  for (const Field& packet : FieldsOf(ReadMaybeGz(path))) packets.push_back(Spelled(packet.bytes));
  ASSERT_EQ(packets.size(), 7u);
  EXPECT_EQ(packets[4], "10=1 13=2 60{1=3 3{1=2 6=\"links\"} 11=3}");
  EXPECT_EQ(packets[5], "10=1 13=2 60{1=4 2=\"NIC\" 5=3 8{6=\"B/s\"}}");
  EXPECT_EQ(packets[6], "8=0 10=1 11{9=4 11=4 30=0} 13=2");
}

TEST(PerfettoTrace, IsDecodedByProtocWithNothingUnknown) {
  if (std::system("protoc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no protoc here";
  const Made made = OneSend();
  const std::string path = PathOf(".pftrace");
  ASSERT_TRUE(WritePerfettoTrace(made.program, made.timeline, {.path = path}).ok());
  const std::string text = OutputOf(std::string("protoc --decode=orrery.perfetto.Trace -I") +
                                    ORRERY_SOURCE_DIR + " proto/perfetto_trace.proto < " + path);
  EXPECT_THAT(text, testing::HasSubstr("packet {\n  timestamp: 10000000\n  trusted_packet_sequence_id: 1\n"
                                       "  track_event {\n    category_iids: 3\n"));
  EXPECT_THAT(text, testing::HasSubstr("    flow_ids: 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("    terminating_flow_ids: 1\n"));
  // What the schema does not know is printed by its number.
  for (const std::string digit : {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
    EXPECT_EQ(text.find("\n  " + digit), std::string::npos);
    EXPECT_EQ(text.find("\n    " + digit), std::string::npos);
    EXPECT_EQ(text.find("\n      " + digit), std::string::npos);
  }
}

// What a trace says, without how: (process, track, name, category, begin, end) in ns, and so on.
using Slices = std::multiset<
    std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint64_t>>;
using Loads = std::multiset<std::tuple<std::string, std::uint64_t, std::int64_t>>;  // name, ns, MB/s
using End = std::tuple<std::string, std::string, std::uint64_t>;  // process, slice, its begin
struct Said {
  Slices slices;
  std::multiset<std::tuple<std::string, std::string, std::uint64_t>> instants;
  Loads loads;
  std::map<std::int64_t, std::pair<End, End>> flows;
};

// Reads strictly: each slice ends on its track before the next begins, iids were told before.
Said Read(const pb::Trace& trace) {
  Said said;
  std::map<std::uint64_t, pb::TrackDescriptor> tracks;
  std::map<std::uint64_t, std::string> names, categories;
  struct Open {
    std::string name, category;
    std::uint64_t from;
  };
  std::map<std::uint64_t, Open> open;
  for (const pb::TracePacket& packet : trace.packet()) {
    if (packet.has_track_descriptor()) {
      tracks[packet.track_descriptor().uuid()] = packet.track_descriptor();
      continue;
    }
    for (const auto& name : packet.interned_data().event_names()) names[name.iid()] = name.name();
    for (const auto& name : packet.interned_data().event_categories()) categories[name.iid()] = name.name();
    const pb::TrackEvent& event = packet.track_event();
    const pb::TrackDescriptor& track = tracks.at(event.track_uuid());
    const std::string process = tracks.at(track.parent_uuid()).process().process_name();
    if (event.type() == pb::TrackEvent::TYPE_COUNTER) {
      said.loads.emplace(track.name(), packet.timestamp(), event.counter_value() / 1'000'000);
    } else if (event.type() == pb::TrackEvent::TYPE_INSTANT) {
      said.instants.emplace(process, names.at(event.name_iid()), packet.timestamp());
    } else if (event.type() == pb::TrackEvent::TYPE_SLICE_BEGIN) {
      const Open slice{names.at(event.name_iid()), categories.at(event.category_iids(0)), packet.timestamp()};
      EXPECT_TRUE(open.emplace(event.track_uuid(), slice).second);
      for (const std::uint64_t id : event.flow_ids())
        said.flows[static_cast<std::int64_t>(id)].first = {process, slice.name, slice.from};
    } else {
      const Open slice = open.at(event.track_uuid());
      open.erase(event.track_uuid());
      EXPECT_LE(slice.from, packet.timestamp());
      said.slices.emplace(process, track.name(), slice.name, slice.category, slice.from, packet.timestamp());
      for (const std::uint64_t id : event.terminating_flow_ids())
        said.flows[static_cast<std::int64_t>(id)].second = {process, slice.name, slice.from};
    }
  }
  EXPECT_TRUE(open.empty());
  return said;
}

// The same of trace events, whose text has picoseconds: rounded down to nanoseconds.
Said Read(const nlohmann::json& trace) {
  const auto ns = [](const nlohmann::json& us) {
    return static_cast<std::uint64_t>(std::llround(us.get<double>() * 1e6)) / 1000;
  };
  Said said;
  std::map<std::int64_t, std::string> processes, threads;
  std::map<std::int64_t, std::vector<nlohmann::json>> by_track;
  for (const auto& m : EventsOf(trace, "M")) {
    if (m["name"] == "process_name") processes[m["pid"]] = m["args"]["name"];
    if (m["name"] == "thread_name") threads[m["tid"]] = m["args"]["name"];
  }
  for (const auto& x : EventsOf(trace, "X")) by_track[x["tid"]].push_back(x);
  for (auto& [tid, slices] : by_track) {
    const std::string lane = threads[tid], track = lane.substr(0, lane.find(" ("));
    for (const nlohmann::json& x : slices) {
      const double to = x["ts"].get<double>() + x["dur"].get<double>();
      said.slices.emplace(processes[x["pid"]], track, x["name"], x["cat"], ns(x["ts"]), ns(to));
    }
  }
  for (const auto& i : EventsOf(trace, "i"))
    said.instants.emplace(processes[i["pid"]], i["name"], ns(i["ts"]));
  for (const auto& c : EventsOf(trace, "C")) {
    said.loads.emplace(c["name"], ns(c["ts"]), std::llround(c["args"]["GB/s"].get<double>() * 1000));
  }
  const auto around = [&](const nlohmann::json& event) -> End {
    for (const auto& x : by_track[event["tid"]]) {
      const double at = event["ts"], from = x["ts"], dur = x["dur"];
      if (from <= at && at < from + dur) return {processes[x["pid"]], x["name"], ns(x["ts"])};
    }
    return {};
  };
  for (const auto& s : EventsOf(trace, "s")) said.flows[s["id"]].first = around(s);
  for (const auto& f : EventsOf(trace, "f")) said.flows[f["id"]].second = around(f);
  return said;
}

// What the run itself has, rounded down.
Slices SlicesOf(const RunResult& run, const std::vector<sim::Rank>& ranks) {
  const sim::Program& program = run.steps.program;
  const auto ns = [](sim::Time t) { return static_cast<std::uint64_t>(t.since_start().ps() / 1000); };
  const auto streams = StreamsToShow(program, ranks, {});
  Slices slices;
  for (const sim::Rank rank : ranks) {
    for (const Track& track : TracksOf(program, run.timeline, streams[rank.pos()])) {
      for (const Slice& s : track.slices) {
        slices.emplace("rank " + std::to_string(rank.value()), track.stream, scenarios::NameOf(program, s),
                       CategoryOf(program, s), ns(s.time.from), ns(s.time.to));
      }
    }
  }
  return slices;
}

// But for the nanosecond by which trace events may end early.
void ExpectAlmostEqual(const Slices& packets, const Slices& events) {
  ASSERT_EQ(packets.size(), events.size());
  auto event = events.begin();
  for (const auto& [process, track, name, category, from, to] : packets) {
    const auto& [process2, track2, name2, category2, from2, to2] = *event++;
    EXPECT_EQ(std::tie(process, track, name, category, from),
              std::tie(process2, track2, name2, category2, from2));
    EXPECT_LE(to2, to);
    EXPECT_LE(to, to2 + 1);
  }
}

TEST(PerfettoTrace, SaysWhatTraceEventsOfTheSameRunSay) {
  proto::Diagnostics diagnostics;
  const auto scenario =
      LoadScenario("llama_70b_64xh800_a",
                   {{1, "steps", "2"}, {2, "batch.global", "8"}, {3, "model.layers", "4"}}, &diagnostics);
  ASSERT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  const RunResult run = scenarios::Run(*scenario, {.log_rates = true, .fold = false}).value();
  TraceOptions options{.path = PathOf(".json")};
  options.ranks = scenario->layout.Group(sim::Rank(std::uint32_t{0}), Dimension::kPipeline);
  TraceCounter nvlink{.name = "NVLink"};
  for (std::size_t l = 0; l < scenario->fabric.links.size(); ++l) {
    if (scenario->fabric.links[l].tier == topologies::Tier::kNvlink) nvlink.links.emplace_back(l);
  }
  options.counters = {nvlink};
  const TraceSummary as_json = WriteChromeTrace(run.steps.program, run.timeline, options).value();
  const Said events = Read(nlohmann::json::parse(ReadMaybeGz(options.path)));
  for (const char* ending : {".pftrace", ".pftrace.gz"}) {
    options.path = PathOf(ending);
    const TraceSummary summary = WritePerfettoTrace(run.steps.program, run.timeline, options).value();
    pb::Trace trace;
    ASSERT_TRUE(trace.ParseFromString(ReadMaybeGz(options.path)));
    const Said packets = Read(trace);
    EXPECT_EQ(packets.slices, SlicesOf(run, options.ranks));
    ExpectAlmostEqual(packets.slices, events.slices);
    EXPECT_EQ(packets.instants, events.instants);
    EXPECT_EQ(packets.loads, events.loads);
    EXPECT_EQ(packets.flows, events.flows);
    EXPECT_EQ(static_cast<std::int64_t>(packets.slices.size()), summary.slices);
    EXPECT_EQ(summary.arrows, 2 * 4 * 3 * 2);  // steps x micro-batches x boundaries x there and back
    EXPECT_EQ(summary.slices, as_json.slices);
    EXPECT_LT(summary.bytes, as_json.bytes / 2);
  }
}

}  // namespace
}  // namespace scenarios
