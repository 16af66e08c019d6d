// Writes the trace of a small training job to the path it is given: two steps
// of 1F1B over four stages, tensor-parallel all-reduces, sends on one shared
// switch. Times are odd numbers of picoseconds, so that most slices touch at
// fractions of a nanosecond.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "scenarios/output/chrome_trace.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"

namespace {

using sim::Duration;
using sim::Rank;
using sim::StreamId;
using sim::StreamKind;
using sim::TaskClass;
using sim::TaskId;

constexpr int kStages = 4, kMicroBatches = 8, kLayers = 3, kSteps = 2;

struct Stage {
  StreamId compute, tensor, to_next, from_previous, to_previous, from_next;
};

class Job {
 public:
  Job()
      : builder_(kStages,
                 std::vector<sim::ByteRate>(kStages, sim::ByteRate::BytesPerSecond(25'000'000'000))) {
    for (int s = 0; s < kStages; ++s) {
      const auto add = [&](StreamKind kind) { return builder_.AddStream(Rank(s), kind); };
      stages_.push_back({add(StreamKind::kCompute), add(StreamKind::kTensor), add(StreamKind::kToNext),
                         add(StreamKind::kFromPrevious), add(StreamKind::kToPrevious),
                         add(StreamKind::kFromNext)});
    }
    for (int s = 0; s < kStages; ++s) reduce_.push_back(Traffic("all-reduce", s, 40'000'000));
    for (int s = 0; s < kStages; ++s) send_.push_back(Traffic("send", s, 70'000'000));
  }

  sim::Program Build() && {
    for (int step = 0; step < kSteps; ++step) {
      forward_.assign(kMicroBatches * kStages, {});
      backward_.assign(kMicroBatches * kStages, {});
      for (int m = 0; m < kMicroBatches; ++m) {
        for (int s = 0; s < kStages; ++s) AddTransfers(s, m);
      }
      for (int s = 0; s < kStages; ++s) AddStage(s, step);
    }
    return std::move(builder_).Build().value();
  }

 private:
  // What one micro-batch passes between a stage and its neighbours.
  struct Seats {
    TaskId receive = TaskId::None(), send = TaskId::None();
  };

  sim::TrafficId Traffic(const char* name, int link, std::int64_t bytes) {
    sim::FlowDescription flow;
    flow.volume = sim::Volume::Of(sim::Bytes(bytes));
    flow.uses = {{sim::LinkId(link), 1}};
    sim::TrafficDescription traffic;
    traffic.name = name;
    traffic.latency = Duration::Picoseconds(7'654'321);
    traffic.flows.push_back(flow);
    return builder_.AddTraffic(traffic);
  }

  TaskId Seat(StreamId stream, sim::CommunicationId c, TaskClass task_class, const char* name, int m) {
    return builder_.Seat(stream, c, task_class, {builder_.Name(name), static_cast<std::int16_t>(m), -1});
  }

  void AddTransfers(int s, int m) {
    if (s + 1 == kStages) return;
    Stage& a = stages_[static_cast<std::size_t>(s)];
    Stage& b = stages_[static_cast<std::size_t>(s + 1)];
    const sim::CommunicationId down = builder_.AddCommunication(send_[static_cast<std::size_t>(s)]);
    At(forward_, s, m).send = Seat(a.to_next, down, TaskClass::kPipeline, "send forward", m);
    At(forward_, s + 1, m).receive = Seat(b.from_previous, down, TaskClass::kPipeline, "receive forward", m);
    const sim::CommunicationId up = builder_.AddCommunication(send_[static_cast<std::size_t>(s + 1)]);
    At(backward_, s + 1, m).send = Seat(b.to_previous, up, TaskClass::kPipeline, "send backward", m);
    At(backward_, s, m).receive = Seat(a.from_next, up, TaskClass::kPipeline, "receive backward", m);
  }

  Seats& At(std::vector<Seats>& seats, int s, int m) {
    return seats[static_cast<std::size_t>(s * kMicroBatches + m)];
  }

  void AddStage(int s, int step) {
    const int warmup = std::min(kStages - 1 - s, kMicroBatches);
    for (int m = 0; m < kMicroBatches + warmup; ++m) {
      if (m < kMicroBatches) AddPass(s, m, TaskClass::kForward, At(forward_, s, m));
      if (m >= warmup) AddPass(s, m - warmup, TaskClass::kBackward, At(backward_, s, m - warmup));
    }
    const StreamId compute = stages_[static_cast<std::size_t>(s)].compute;
    Work(compute, TaskClass::kOptimizer, "adam", 900'123'457, -1, -1);
    builder_.Mark(compute, TaskClass::kStepEnd, {builder_.Name("step"), static_cast<std::int16_t>(step), -1});
  }

  TaskId Work(StreamId stream, TaskClass c, const char* name, std::int64_t ps, int m, int layer) {
    const sim::WorkId work =
        builder_.AddWork({Duration::Picoseconds(ps), Duration::Picoseconds(ps + ps / 9)});
    return builder_.Work(
        stream, work, c,
        {builder_.Name(name), static_cast<std::int16_t>(m), static_cast<std::int16_t>(layer)});
  }

  void AddPass(int s, int m, TaskClass c, const Seats& seats) {
    const Stage& stage = stages_[static_cast<std::size_t>(s)];
    const std::int64_t scale = c == TaskClass::kForward ? 1 : 2;
    TaskId wait = seats.receive;
    for (int layer = 0; layer < kLayers; ++layer) {
      const TaskId first = Work(stage.compute, c, "norm", scale * 61'234'567, m, layer);
      if (wait.valid()) builder_.After(first, wait);
      Work(stage.compute, c, "qkv", scale * 311'111'111, m, layer);
      Work(stage.compute, c, "attention", scale * 523'456'789, m, layer);
      const TaskId last = Work(stage.compute, c, "feed-forward", scale * 987'654'321, m, layer);
      wait = Seat(stage.tensor, builder_.AddCommunication(reduce_[static_cast<std::size_t>(s)]),
                  TaskClass::kTensor, "all-reduce", m);
      builder_.After(wait, last);
    }
    if (seats.send.valid()) builder_.After(seats.send, wait);
  }

  sim::ProgramBuilder builder_;
  std::vector<Stage> stages_;
  std::vector<sim::TrafficId> reduce_, send_;
  std::vector<Seats> forward_, backward_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const sim::Program program = Job().Build();
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program, {.log_rates = true});
  scenarios::TraceOptions options;
  options.path = argv[1];
  for (int s = 0; s < kStages; ++s)
    options.counters.push_back({"stage " + std::to_string(s), {sim::LinkId(s)}});
  const auto written = scenarios::WriteChromeTrace(program, timeline.value(), options);
  if (!written.ok()) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  std::printf("%lld slices, %lld arrows\n", static_cast<long long>(written.value().slices),
              static_cast<long long>(written.value().arrows));
  return 0;
}
