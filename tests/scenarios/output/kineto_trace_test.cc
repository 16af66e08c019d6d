// Traces in the manner of PyTorch's profiler: what its readers rely on, convention by convention.

#include "scenarios/output/kineto_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "scenarios/loader.h"
#include "scenarios/run.h"
#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

using nlohmann::json;
using testing::IsEmpty;

struct Played {
  Scenario scenario;
  RunResult run;
};

Played Play(const std::string& name, const std::vector<std::string>& changes) {
  std::vector<proto::Override> overrides;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t equals = changes[i].find('=');
    overrides.push_back(
        {static_cast<int>(i) + 1, changes[i].substr(0, equals), changes[i].substr(equals + 1)});
  }
  proto::Diagnostics diagnostics;
  auto scenario = LoadScenario(name, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value()) << testing::PrintToString(diagnostics.errors());
  RunResult run = scenarios::Run(*scenario, {.fold = false}).value();
  return {*std::move(scenario), std::move(run)};
}

// Two steps of a pipeline of four, and a third; played once.
const Played& Pipeline() {
  static const Played played = Play("llama_70b_64xh800_a", {"steps=3", "batch.global=8", "model.layers=4"});
  return played;
}

std::string Folder() {
  return testing::TempDir() + "kineto_" + testing::UnitTest::GetInstance()->current_test_info()->name();
}

// The text of one rank's file.
std::string TextOf(const Played& played, std::uint32_t rank, std::optional<StepRange> steps = std::nullopt,
                   TraceOptions options = {}) {
  options.path = Folder();
  options.ranks = {sim::Rank(rank)};
  const auto written =
      WriteKinetoTraces(played.scenario, played.run.steps, played.run.timeline, options, steps);
  EXPECT_TRUE(written.ok());
  return ReadMaybeGz(options.path + "/rank_" + std::to_string(rank) + ".json.gz");
}
json TraceOf(const Played& played, std::uint32_t rank, std::optional<StepRange> steps = std::nullopt) {
  return json::parse(TextOf(played, rank, steps));
}

std::vector<json> SlicesOf(const json& trace, const std::string& category) {
  std::vector<json> slices;
  for (const json& x : EventsOf(trace, "X")) {
    if (x["cat"] == category) slices.push_back(x);
  }
  return slices;
}

// Kernels and copies: all that runs on a device.
std::vector<json> OnDevice(const json& trace) {
  std::vector<json> slices = SlicesOf(trace, "kernel");
  const std::vector<json> copies = SlicesOf(trace, "gpu_memcpy");
  slices.insert(slices.end(), copies.begin(), copies.end());
  return slices;
}

// How HolisticTraceAnalysis tells kernels apart, by name alone.
bool IsCommunication(const json& x) {
  static const std::regex pattern("^nccl|^hip|^hccl|.*ncclKernel");
  return std::regex_search(x["name"].get<std::string>(), pattern);
}
bool IsMemory(const json& x) {
  static const std::regex pattern("^(hip)?Memcpy|Memset|^dma");
  return std::regex_search(x["name"].get<std::string>(), pattern);
}

// Slices of one thread may nest, but no two overlap in part: as readers see them that add times as doubles,
// and as those that round each to nanoseconds.
std::vector<std::string> PartialOverlaps(const json& trace) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<json>> threads;
  for (const json& x : EventsOf(trace, "X")) threads[{x["pid"], x["tid"]}].push_back(x);
  std::vector<std::string> problems;
  for (auto& [place, slices] : threads) {
    std::stable_sort(slices.begin(), slices.end(), [](const json& a, const json& b) {
      return a["ts"].get<double>() < b["ts"].get<double>();
    });
    for (std::size_t i = 0; i + 1 < slices.size(); ++i) {
      const double end = slices[i]["ts"].get<double>() + slices[i]["dur"].get<double>();
      if (end > slices[i + 1]["ts"].get<double>())
        problems.push_back(slices[i].dump() + slices[i + 1].dump());
    }
  }
  return problems;
}

// What has to hold of every file.
void ExpectReadable(const json& trace) {
  EXPECT_THAT(PartialOverlaps(trace), IsEmpty());
  static const std::set<std::string> categories = {"kernel", "gpu_memcpy", "cuda_runtime", "user_annotation",
                                                   "cpu_op"};
  std::map<std::int64_t, json> launches;
  for (const json& x : EventsOf(trace, "X")) {
    EXPECT_TRUE(categories.contains(x["cat"])) << x;
    EXPECT_GE(x["ts"].get<double>(), 0);
    EXPECT_GE(x["dur"].get<double>(), 0);
    if (x["cat"] == "cuda_runtime") {
      EXPECT_TRUE(launches.emplace(x["args"]["correlation"], x).second) << "correlation used twice";
    }
  }
  std::map<std::int64_t, json> s, f;
  for (const json& event : EventsOf(trace, "s")) s[event["id"]] = event;
  for (const json& event : EventsOf(trace, "f")) f[event["id"]] = event;
  const std::vector<json> kernels = OnDevice(trace);
  EXPECT_EQ(kernels.size(), launches.size());
  EXPECT_EQ(kernels.size(), s.size());
  EXPECT_EQ(kernels.size(), f.size());
  for (const json& kernel : kernels) {
    const std::int64_t id = kernel["args"]["correlation"];
    ASSERT_TRUE(launches.contains(id) && s.contains(id) && f.contains(id));
    const json& launch = launches[id];
    EXPECT_LE(launch["ts"].get<double>() + launch["dur"].get<double>(), kernel["ts"].get<double>());
    EXPECT_EQ(kernel["tid"], kernel["args"]["stream"]);
    EXPECT_EQ(kernel["pid"], kernel["args"]["device"]);
    for (const auto& [end, at] : {std::pair(s[id], launch), std::pair(f[id], kernel)}) {
      EXPECT_EQ(end["cat"], "ac2g");
      EXPECT_EQ(end["name"], "ac2g");
      EXPECT_EQ(end["ts"], at["ts"]);
      EXPECT_EQ(end["pid"], at["pid"]);
      EXPECT_EQ(end["tid"], at["tid"]);
    }
    EXPECT_EQ(f[id]["bp"], "e");
  }
}

// HolisticTraceAnalysis: the rank is what "rank":\s+(\d+) finds first, line by line; so it stands before the
// events.
TEST(KinetoTrace, SaysItsRankWhereReadersLookForIt) {
  for (const std::uint32_t rank : {0U, 48U}) {
    const std::string text = TextOf(Pipeline(), rank);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, std::regex("\"rank\":\\s+(\\d+)")));
    EXPECT_EQ(found[1], std::to_string(rank));
    EXPECT_LT(static_cast<std::size_t>(found.position()), text.find("traceEvents"));
    EXPECT_LT(text.find("schemaVersion"), text.find("distributedInfo"));
  }
}

TEST(KinetoTrace, HasTheHeadOfTheProfilersFiles) {
  const json trace = TraceOf(Pipeline(), 17);
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["baseTimeNanoseconds"], 0);
  EXPECT_EQ(trace["traceName"], "rank_17.json.gz");
  EXPECT_EQ(trace["deviceProperties"][0]["id"], 1);  // of eight a node
  EXPECT_EQ(trace["deviceProperties"][0]["numSms"], 132);
  const json& info = trace["distributedInfo"];
  EXPECT_EQ(info["backend"], "nccl");
  EXPECT_EQ(info["world_size"], 64);
  EXPECT_EQ(info["pg_count"], info["pg_config"].size());
  EXPECT_EQ(info["nccl_version"], sim::ToText(Pipeline().scenario.device.nccl.version));
  std::set<std::string> names;
  for (const json& group : info["pg_config"]) {
    EXPECT_EQ(group["pg_size"], group["ranks"].size());
    EXPECT_THAT(group["ranks"], testing::Contains(17));
    EXPECT_TRUE(names.insert(group["pg_name"]).second);
  }
}

TEST(KinetoTrace, IsReadableOnEveryRankOfAPipeline) {
  for (const std::uint32_t rank : {0U, 16U, 48U}) {
    SCOPED_TRACE(rank);
    ExpectReadable(TraceOf(Pipeline(), rank));
  }
}

TEST(KinetoTrace, NamesProcessesAndThreads) {
  std::map<std::pair<std::int64_t, std::string>, json> processes;
  std::map<std::int64_t, std::string> threads;
  const json trace = TraceOf(Pipeline(), 0);
  for (const json& m : EventsOf(trace, "M")) {
    if (m["name"] == "thread_name") threads[m["tid"]] = m["args"]["name"];
    processes[{m["pid"], m["name"]}] = m["args"];
  }
  const std::int64_t host = SlicesOf(trace, "cuda_runtime")[0]["pid"];
  EXPECT_EQ(processes.at({0, "process_labels"})["labels"], "GPU 0");
  EXPECT_EQ(processes.at({host, "process_labels"})["labels"], "CPU");
  EXPECT_EQ(processes.at({0, "process_name"})["name"], "python");
  EXPECT_LT(processes.at({host, "process_sort_index"})["sort_index"],
            processes.at({0, "process_sort_index"})["sort_index"]);
  EXPECT_EQ(threads.at(7), "stream 7");
  for (const json& x : EventsOf(trace, "X")) EXPECT_TRUE(threads.contains(x["tid"]));
}

// All computation is on stream 7, and nothing else; what a step computes is what the run computed, but for
// the nanosecond that each kernel may lose.
TEST(KinetoTrace, TellsComputationFromCommunicationByNamesAlone) {
  const Played& played = Pipeline();
  const sim::Program& program = played.run.steps.program;
  double compute_us = 0, communication = 0;
  std::size_t kernels = 0;
  for (const json& x : OnDevice(TraceOf(played, 16))) {
    EXPECT_FALSE(IsMemory(x));
    EXPECT_EQ(x["tid"] == 7, !IsCommunication(x)) << x;
    (IsCommunication(x) ? communication : compute_us) += x["dur"].get<double>();
    kernels += IsCommunication(x) ? 0 : 1;
  }
  sim::Duration computed, moved;
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    if (program.rank_of(at) != sim::Rank(std::uint32_t{16})) return;
    const sim::Duration length = played.run.timeline.end[task.pos()] - played.run.timeline.start[task.pos()];
    if (program.row(at).kind == sim::TaskKind::kWork) computed += length;
    if (program.row(at).kind == sim::TaskKind::kSeat) moved += length;
  });
  EXPECT_NEAR(compute_us, computed.seconds() * 1e6, 2e-3 * static_cast<double>(kernels));
  EXPECT_NEAR(communication, moved.seconds() * 1e6, 1e-3 * moved.seconds() * 1e6);
  EXPECT_GT(communication, 0);
}

// Tensor groups of 4 and data groups of 4 (llama_70b_64xh800_a): a BF16 all-gather's output has four times
// its input, a reduce-scatter's input four times its output.
TEST(KinetoTrace, SaysOfCollectivesWhatTheProfilerDoes) {
  const json trace = TraceOf(Pipeline(), 16);
  std::map<std::string, std::string> group_of;
  for (const json& group : trace["distributedInfo"]["pg_config"])
    group_of[group["pg_name"]] = group["ranks"].dump();
  std::set<std::string> seen;
  for (const json& x : SlicesOf(trace, "kernel")) {
    if (!IsCommunication(x)) continue;
    const json& args = x["args"];
    const std::string collective = args["Collective name"], name = x["name"];
    const std::int64_t in = args["In msg nelems"], out = args["Out msg nelems"], size = args["Group size"];
    seen.insert(collective);
    const json ranks = json::parse(args["Process Group Ranks"].get<std::string>());
    EXPECT_EQ(static_cast<std::int64_t>(ranks.size()), size);
    EXPECT_THAT(ranks, testing::Contains(16));
    EXPECT_EQ(group_of.at(args["Process Group Name"]), ranks.dump());
    EXPECT_EQ(args["Rank"], 16);
    EXPECT_TRUE(name.ends_with("(ncclDevKernelArgsStorage<4096ul>)")) << name;
    const std::string number = args["dtype"] == "Float" ? "f32" : "bf16";
    if (collective == "_allgather_base") {
      EXPECT_EQ(out / size, in);
      EXPECT_TRUE(std::regex_search(name, std::regex("^ncclDevKernel_AllGather_(RING|NVLS|PAT)_"))) << name;
    } else if (collective == "_reduce_scatter_base") {
      EXPECT_EQ(in / size, out);
      EXPECT_THAT(name, testing::StartsWith("ncclDevKernel_ReduceScatter_Sum_" + number + "_"));
    } else if (collective == "allreduce") {
      EXPECT_EQ(in, out);
      EXPECT_THAT(name, testing::StartsWith("ncclDevKernel_AllReduce_Sum_" + number + "_"));
    } else {
      EXPECT_TRUE(collective == "send" || collective == "recv") << collective;
      EXPECT_THAT(name, testing::StartsWith("ncclDevKernel_SendRecv("));
      EXPECT_EQ(size, 2);
      EXPECT_EQ(args[collective == "send" ? "Src Rank" : "Dst Rank"], 16);
      EXPECT_NE(args["Src Rank"], args["Dst Rank"]);
    }
  }
  for (const char* wanted : {"_allgather_base", "_reduce_scatter_base", "allreduce", "send", "recv"})
    EXPECT_TRUE(seen.contains(wanted)) << wanted;
}

// Both ends of a send, and all members of a group, name the group alike.
TEST(KinetoTrace, NamesAGroupAlikeOnAllItsRanks) {
  std::map<std::string, std::string> ranks_of;
  for (const std::uint32_t rank : {0U, 1U, 16U}) {
    const json trace = TraceOf(Pipeline(), rank);
    for (const json& group : trace["distributedInfo"]["pg_config"]) {
      const std::string ranks = group["pg_desc"].get<std::string>() + group["ranks"].dump();
      EXPECT_EQ(ranks_of.emplace(group["pg_name"], ranks).first->second, ranks);
    }
  }
}

// HolisticTraceAnalysis leaves out the last ProfilerStep, and with it all kernels whose launch is not before
// its begin. So of steps 1 and 2 it sees step 1: as many kernels as the run has in it.
TEST(KinetoTrace, HasStepsSuchThatLeavingOutTheLastLeavesWhatWasAskedFor) {
  const Played& played = Pipeline();
  const json trace = TraceOf(played, 16, StepRange{1, 2});
  const std::vector<json> steps = SlicesOf(trace, "user_annotation");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["name"], "ProfilerStep#1");
  EXPECT_EQ(steps[1]["name"], "ProfilerStep#2");
  const double last = steps[1]["ts"];
  EXPECT_LT(steps[0]["ts"].get<double>() + steps[0]["dur"].get<double>(), last);
  std::set<std::int64_t> launched;
  for (const json& launch : SlicesOf(trace, "cuda_runtime")) {
    if (launch["ts"].get<double>() < last) launched.insert(launch["args"]["correlation"].get<std::int64_t>());
  }
  // The rank's own step: between its marks. What the step before left on a stream is shown too.
  const sim::Program& program = played.run.steps.program;
  std::vector<sim::Time> ends;
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    if (program.rank_of(at) == sim::Rank(std::uint32_t{16}) &&
        program.row(at).task_class == sim::TaskClass::kStepEnd)
      ends.push_back(played.run.timeline.end[task.pos()]);
  });
  ASSERT_EQ(ends.size(), 3u);
  std::size_t inside = 0;
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    const sim::Time from = played.run.timeline.start[task.pos()], to = played.run.timeline.end[task.pos()];
    if (program.rank_of(at) == sim::Rank(std::uint32_t{16}) && from < to && from < ends[1] && to > ends[0])
      ++inside;
  });
  EXPECT_EQ(launched.size(), inside);
}

// Short kernels, launched one by one: some launches are tasks of the run, and stand where it has them.
TEST(KinetoTrace, ShowsTheHostsRealLaunchesWhereTheyAreSimulated) {
  const Played played =
      Play("mcore_gpt_1_7b_48xh100", {"steps=2", "training.launches=EAGER", "model.layers=2",
                                      "batch.sequence_length=256", "batch.global=48"});
  const json trace = TraceOf(played, 0);
  ExpectReadable(trace);
  std::map<std::int64_t, std::string> threads;
  for (const json& m : EventsOf(trace, "M")) {
    if (m["name"] == "thread_name") threads[m["tid"]] = m["args"]["name"];
  }
  const sim::Program& program = played.run.steps.program;
  std::set<std::int64_t> begins;  // of launches that something on the device waits for, in ns
  std::size_t wanted = 0;
  program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
    if (program.rank_of(at) != sim::Rank(std::uint32_t{0})) return;
    if (program.stream_kind_of(at) != sim::StreamKind::kLaunch) return;
    bool waited_for = false;
    program.ForEachSuccessor(at, [&](sim::TaskId next) {
      waited_for |= program.stream_kind_of(next) != sim::StreamKind::kLaunch;
    });
    if (!waited_for) return;
    ++wanted;
    begins.insert(played.run.timeline.start[task.pos()].since_start().ps() / 1000);
  });
  std::size_t real = 0;
  for (const json& launch : SlicesOf(trace, "cuda_runtime")) {
    if (threads[launch["tid"]] != "launches") continue;
    ++real;
    EXPECT_TRUE(begins.contains(std::llround(launch["ts"].get<double>() * 1000) - kKinetoOffsetNs)) << launch;
  }
  EXPECT_GT(real, 0u);
  EXPECT_EQ(real, wanted);
}

TEST(KinetoTrace, CallsCopiesToTheHostMemcpy) {
  const Played played = Play("llama_70b_64xh800_checkpoint", {"batch.global=8", "steps=6", "model.layers=4"});
  const json trace = TraceOf(played, 5);
  ExpectReadable(trace);
  const std::vector<json> copies = SlicesOf(trace, "gpu_memcpy");
  EXPECT_FALSE(copies.empty());
  for (const json& copy : copies) {
    EXPECT_EQ(copy["name"], "Memcpy DtoH (Device -> Pinned)");
    EXPECT_GT(copy["args"]["bytes"].get<std::int64_t>(), 0);
    EXPECT_TRUE(IsMemory(copy));
  }
  EXPECT_FALSE(SlicesOf(trace, "cpu_op").empty());  // the host writes
}

TEST(KinetoTrace, GoesIntoAFolderOrByANameWithTheRank) {
  EXPECT_EQ(KinetoPathOf("a/b", sim::Rank(std::uint32_t{3})), "a/b/rank_3.json.gz");
  EXPECT_EQ(KinetoPathOf("a/{rank}.json", sim::Rank(std::uint32_t{3})), "a/3.json");
}

TEST(KinetoTrace, ThatIsToldToStopLeavesNoFile) {
  TraceOptions options{
      .path = Folder(), .ranks = {sim::Rank(std::uint32_t{0})}, .go_on = [] { return false; }};
  const Played& played = Pipeline();
  const auto written = WriteKinetoTraces(played.scenario, played.run.steps, played.run.timeline, options);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, testing::HasSubstr("there is no such file"));
  EXPECT_TRUE(std::filesystem::is_empty(options.path));
}

// Kernels at 0, 0, 500 and 5000 ns; launches take 1000 ns where there is time.
TEST(KinetoLaunches, AreOverBeforeTheirKernelsAndNeverTwoAtATime) {
  const std::vector<LaunchTime> launches = LaunchesBefore({0, 0, 500, 5000}, 1000);
  const std::vector<std::pair<std::int64_t, std::int64_t>> wanted = {
      {-2000, -1000}, {-1000, 0}, {0, 500}, {4000, 5000}};
  ASSERT_EQ(launches.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(launches[i].from, wanted[i].first) << i;
    EXPECT_EQ(launches[i].to, wanted[i].second) << i;
  }
}

}  // namespace
}  // namespace scenarios
