#include "scenarios/output/kineto_trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "scenarios/output/kineto_kernels.h"
#include "scenarios/output/trace_text.h"

namespace scenarios {
namespace {

constexpr const char* kRankMark = "{rank}";
constexpr std::int64_t kSlicesBetweenAnswers = 4096;

// One rank's file.
class KinetoWriter {
 public:
  KinetoWriter(const Scenario& scenario, const StepProgram& steps, sim::Rank rank, const KinetoRank& read,
               const TraceOptions& options, OutputFile* file)
      : scenario_(scenario),
        rank_(rank),
        read_(read),
        options_(options),
        kernels_(scenario, steps),
        device_(rank.value() % static_cast<std::uint32_t>(std::max(scenario.device.node.devices, 1))),
        process_(kHostProcesses + rank.value()),
        file_(*file) {}

  // False: told not to go on.
  bool Write(const std::string& name);
  TraceSummary summary;

 private:
  // Processes of hosts, above the devices of any node, which are processes by their number.
  static constexpr std::uint32_t kHostProcesses = 100'000;
  enum Thread : std::uint32_t { kMain, kLaunches, kOtherLaunches, kFirstHostTrack };

  void WriteHead();
  void WriteNames();
  void WriteProcess(std::uint32_t pid, const char* name, const std::string& label, std::uint32_t order);
  void WriteThread(std::uint32_t pid, std::int64_t tid, const std::string& name);
  void WriteSteps();
  bool WriteKernels(const KinetoTrack& track);
  void WriteLaunch(const KinetoSlice& slice, const KinetoKernel& kernel, std::int64_t correlation);
  void WriteFlow(const char* phase, std::uint32_t pid, std::int64_t tid, std::int64_t at, std::int64_t id);
  void WriteSlice(const char* category, const std::string& name, std::uint32_t pid, std::int64_t tid,
                  std::int64_t from, std::int64_t length, const std::string& arguments);
  void WriteEvent(const std::string& fields) {
    file_.Write((first_event_ ? "{" : ",\n{") + fields + "}");
    first_event_ = false;
  }
  std::int64_t ThreadOf(std::uint32_t thread) const { return process_ + std::int64_t{thread}; }

  const Scenario& scenario_;
  const sim::Rank rank_;
  const KinetoRank& read_;
  const TraceOptions& options_;
  KinetoKernels kernels_;
  const std::uint32_t device_, process_;
  OutputFile& file_;
  std::int64_t correlation_ = 0;
  bool first_event_ = true;
};

std::string At(std::int64_t ns) { return NanosecondsAsMicroseconds(ns + kKinetoOffsetNs); }

// HolisticTraceAnalysis takes the rank from the first line with a space behind the colon, before the events.
// Source: facebookresearch/HolisticTraceAnalysis#107
void KinetoWriter::WriteHead() {
  // All groups are known before the first event.
  for (const KinetoTrack& track : read_.device) {
    for (const KinetoSlice& slice : track.slices) kernels_.Of(slice.task);
  }
  const hardware::Device& device = scenario_.device;
  file_.Write("{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": " + std::to_string(device_) +
              ", \"name\": " + Quoted(device.name) + ", \"totalGlobalMem\": " +
              std::to_string(device.memory.count()) + ", \"numSms\": " + std::to_string(device.sms) +
              "}],\n\"distributedInfo\": {\"backend\": \"nccl\", " +
              "\"rank\": " + std::to_string(rank_.value()) +
              ", \"world_size\": " + std::to_string(scenario_.layout.ranks()) +
              ", \"pg_count\": " + std::to_string(kernels_.groups().size()) + ", \"pg_config\": [");
  for (std::size_t g = 0; g < kernels_.groups().size(); ++g) {
    const ProcessGroup& group = kernels_.groups()[g];
    std::string ranks;
    for (const sim::Rank rank : group.ranks)
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank.value());
    file_.Write((g == 0 ? "" : ", ") + std::string("{\"pg_name\": ") + Quoted(group.name) +
                ", \"pg_desc\": " + Quoted(group.description) + ", \"backend_config\": \"cuda:nccl\", " +
                "\"pg_size\": " + std::to_string(group.ranks.size()) + ", \"ranks\": [" + ranks + "]}");
  }
  file_.Write("], \"nccl_version\": " + Quoted(sim::ToText(device.nccl.version)) +
              "},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": 0,\n");
}

void KinetoWriter::WriteProcess(std::uint32_t pid, const char* name, const std::string& label,
                                std::uint32_t order) {
  const std::string where = ",\"ts\":0.000,\"pid\":" + std::to_string(pid) + ",\"tid\":0,\"args\":{";
  WriteEvent("\"name\":\"process_name\",\"ph\":\"M\"" + where + "\"name\":\"" + name + "\"}");
  WriteEvent("\"name\":\"process_labels\",\"ph\":\"M\"" + where + "\"labels\":\"" + label + "\"}");
  WriteEvent("\"name\":\"process_sort_index\",\"ph\":\"M\"" + where +
             "\"sort_index\":" + std::to_string(order) + "}");
}

void KinetoWriter::WriteThread(std::uint32_t pid, std::int64_t tid, const std::string& name) {
  const std::string where =
      ",\"ts\":0.000,\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid);
  WriteEvent("\"name\":\"thread_name\",\"ph\":\"M\"" + where + ",\"args\":{\"name\":" + Quoted(name) + "}");
  WriteEvent("\"name\":\"thread_sort_index\",\"ph\":\"M\"" + where +
             ",\"args\":{\"sort_index\":" + std::to_string(tid) + "}");
}

// Devices come behind hosts.
void KinetoWriter::WriteNames() {
  constexpr std::uint32_t kBehindHosts = 5'000'000;
  WriteProcess(process_, "python", "CPU", process_);
  WriteProcess(device_, "python", "GPU " + std::to_string(device_), kBehindHosts + device_);
  WriteThread(process_, ThreadOf(kMain), "python");
  WriteThread(process_, ThreadOf(kLaunches), "launches");
  WriteThread(process_, ThreadOf(kOtherLaunches), "launches that are not simulated");
  for (std::uint32_t i = 0; i < read_.host.size(); ++i) {
    WriteThread(process_, ThreadOf(kFirstHostTrack + i), sim::ToText(read_.host[i].kind));
  }
  for (const KinetoTrack& track : read_.device) {
    WriteThread(device_, track.stream, "stream " + std::to_string(track.stream));
  }
}

void KinetoWriter::WriteSlice(const char* category, const std::string& name, std::uint32_t pid,
                              std::int64_t tid, std::int64_t from, std::int64_t length,
                              const std::string& arguments) {
  WriteEvent("\"ph\":\"X\",\"cat\":\"" + std::string(category) + "\",\"name\":" + Quoted(name) +
             ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ",\"ts\":" + At(from) +
             ",\"dur\":" + NanosecondsAsMicroseconds(length) + ",\"args\":{" + arguments + "}");
  ++summary.slices;
}

// An arrow from the launch to its kernel: "s" at the one, "f" at the other, behind their slices in the file.
void KinetoWriter::WriteFlow(const char* phase, std::uint32_t pid, std::int64_t tid, std::int64_t at,
                             std::int64_t id) {
  WriteEvent("\"ph\":\"" + std::string(phase) + "\",\"id\":" + std::to_string(id) +
             ",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ",\"ts\":" + At(at) +
             ",\"cat\":\"ac2g\",\"name\":\"ac2g\"" + (phase[0] == 'f' ? ",\"bp\":\"e\"" : ""));
}

void KinetoWriter::WriteSteps() {
  for (std::size_t i = 0; i < read_.steps.size(); ++i) {
    const KinetoStep& step = read_.steps[i];
    std::int64_t length = std::max<std::int64_t>(step.to - step.from, 0);
    if (i + 1 < read_.steps.size() && length > 0) --length;  // the next one touches
    WriteSlice("user_annotation", "ProfilerStep#" + std::to_string(step.number), process_, ThreadOf(kMain),
               step.from, length, "");
  }
}

bool KinetoWriter::WriteKernels(const KinetoTrack& track) {
  for (std::size_t i = 0; i < track.slices.size(); ++i) {
    if (static_cast<std::int64_t>(i) % kSlicesBetweenAnswers == 0 && options_.go_on && !options_.go_on())
      return false;
    const KinetoSlice& slice = track.slices[i];
    const KinetoKernel kernel = kernels_.Of(slice.task);
    const std::int64_t correlation = ++correlation_;
    WriteSlice(kernel.category, kernel.name, device_, track.stream, slice.from, slice.length,
               "\"External id\": " + std::to_string(correlation) + ",\"device\": " + std::to_string(device_) +
                   ",\"context\": 1,\"stream\": " + std::to_string(track.stream) +
                   ",\"correlation\": " + std::to_string(correlation) + kernel.arguments);
    WriteFlow("f", device_, track.stream, slice.from, correlation);
    WriteLaunch(slice, kernel, correlation);
    ++summary.arrows;
  }
  return true;
}

void KinetoWriter::WriteLaunch(const KinetoSlice& slice, const KinetoKernel& kernel,
                               std::int64_t correlation) {
  const std::int64_t tid = ThreadOf(slice.real_launch ? kLaunches : kOtherLaunches);
  const std::int64_t length = std::max<std::int64_t>(slice.launch.to - slice.launch.from - 1, 0);
  WriteSlice(
      "cuda_runtime", kernel.launch, process_, tid, slice.launch.from, length,
      "\"External id\": " + std::to_string(correlation) + ",\"correlation\": " + std::to_string(correlation));
  WriteFlow("s", process_, tid, slice.launch.from, correlation);
}

bool KinetoWriter::Write(const std::string& name) {
  WriteHead();
  file_.Write("\"traceName\": " + Quoted(name) + ",\n\"traceEvents\": [\n");
  WriteNames();
  WriteSteps();
  for (const KinetoTrack& track : read_.device) {
    if (file_.failed()) break;
    if (!WriteKernels(track)) return false;
  }
  for (std::uint32_t i = 0; i < read_.host.size(); ++i) {
    for (const KinetoSlice& slice : read_.host[i].slices) {
      WriteSlice("cpu_op", kernels_.Of(slice.task).name, process_, ThreadOf(kFirstHostTrack + i), slice.from,
                 slice.length, "");
    }
  }
  file_.Write("\n]}\n");
  return true;
}

void AddTo(const TraceSummary& one, TraceSummary* all) {
  all->slices += one.slices;
  all->arrows += one.arrows;
  all->bytes += one.bytes;
}

}  // namespace

std::string KinetoPathOf(const std::string& path, sim::Rank rank) {
  const std::string number = std::to_string(rank.value());
  const std::size_t mark = path.find(kRankMark);
  if (mark == std::string::npos) return path + "/rank_" + number + ".json.gz";
  std::string named = path;
  return named.replace(mark, std::string(kRankMark).size(), number);
}

sim::Result<TraceSummary> WriteKinetoTraces(const Scenario& scenario, const StepProgram& steps,
                                            const sim::Timeline& timeline, const TraceOptions& options,
                                            const std::optional<StepRange>& steps_shown) {
  CHECK(scenario.fidelity == Fidelity::kFlow);
  const auto ranks = RanksToShow(steps.program, options.ranks);
  if (!ranks.ok()) return ranks.error();
  if (options.path.find(kRankMark) == std::string::npos) {
    std::error_code error;
    std::filesystem::create_directories(options.path, error);
    if (error) return sim::Error{"cannot make the folder " + options.path + ": " + error.message()};
  }
  const auto streams = StreamsToShow(steps.program, ranks.value(), options.streams);
  TraceSummary all;
  for (const sim::Rank rank : ranks.value()) {
    const std::string path = KinetoPathOf(options.path, rank);
    sim::Result<OutputFile> created = OutputFile::Create(path);
    if (!created.ok()) return created.error();
    OutputFile file = std::move(created).value();
    const KinetoRank read = KinetoRankOf(steps.program, timeline, streams[rank.pos()], options, steps_shown);
    KinetoWriter writer(scenario, steps, rank, read, options, &file);
    if (!writer.Write(std::filesystem::path(path).filename().string()))
      return sim::Error{"interrupted while " + path + " was written; there is no such file"};
    const auto bytes = file.Finish();
    if (!bytes.ok()) return bytes.error();
    writer.summary.bytes = bytes.value();
    AddTo(writer.summary, &all);
  }
  return all;
}

}  // namespace scenarios
