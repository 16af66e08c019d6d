// ProgramFromBytes: any bytes are a small program. For fuzzers and properties,
// which shrink the bytes when they find something.

#ifndef TESTS_SIM_PROGRAM_PROGRAM_FROM_BYTES_H_
#define TESTS_SIM_PROGRAM_PROGRAM_FROM_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/program/program_builder.h"

namespace sim {

// Choices, one byte each; zeros when the bytes are used up.
class ByteSource {
 public:
  explicit ByteSource(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return next_ >= bytes_.size(); }
  // 0 ... n-1. REQUIRES: 1 <= n <= 256
  std::uint32_t Below(std::uint32_t n) { return empty() ? 0 : bytes_[next_++] % n; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

struct ByteProgram {
  // Work takes as long beside communication as alone. Else 2/3 longer: then the
  // slow player, which has no slow-down, does not apply.
  bool constant_speed = true;
  // Tasks wait for earlier ones only, so Build() succeeds. Else for any.
  bool acyclic = true;
};

// Up to 4 ranks, 3 streams each, 3 links; a task for every few bytes. Seats of a
// communication may sit in different orders on different ranks, so it may
// deadlock.
inline Result<Program> ProgramFromBytes(std::span<const std::uint8_t> bytes, const ByteProgram& options) {
  ByteSource source(bytes);
  const std::uint32_t ranks = 1 + source.Below(4), links = 1 + source.Below(3);
  std::vector<ByteRate> capacity;
  for (std::uint32_t l = 0; l < links; ++l) {
    capacity.push_back(ByteRate::BytesPerSecond(1'000'000'007 * std::int64_t{1 + source.Below(7)}));
  }
  ProgramBuilder builder(ranks, capacity);
  std::vector<StreamId> streams;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (const StreamKind kind : {StreamKind::kCompute, StreamKind::kTensor, StreamKind::kData}) {
      streams.push_back(builder.AddStream(Rank(r), kind));
    }
  }
  const Label label{builder.Name("task"), -1, -1};
  std::vector<TaskId> tasks;
  std::vector<std::pair<TaskId, std::uint32_t>> any_waits;  // for the task of that number, modulo all
  const auto wait = [&](TaskId task, std::size_t before) {
    for (std::uint32_t n = source.Below(3); n > 0; --n) {
      const std::uint32_t back = source.Below(16);
      if (options.acyclic && before > 0) builder.After(task, tasks[before - 1 - back % before]);
      if (!options.acyclic) any_waits.emplace_back(task, static_cast<std::uint32_t>(before) + 8 - back);
    }
    tasks.push_back(task);
  };
  while (!source.empty()) {
    const std::size_t before = tasks.size();
    const std::uint32_t choice = source.Below(8);
    if (choice < 4) {
      const std::int64_t alone = source.Below(32), more = options.constant_speed ? 0 : (alone * 2 + 2) / 3;
      const WorkId work = builder.AddWork(
          {Duration::Picoseconds(alone), Duration::Picoseconds(alone == 0 ? 0 : alone + more)});
      const StreamId stream = streams[source.Below(static_cast<std::uint32_t>(streams.size()))];
      wait(builder.Work(stream, work, TaskClass::kForward, label), before);
    } else if (choice == 4) {
      wait(builder.Mark(streams[3 * source.Below(ranks)], TaskClass::kStepEnd, label), before);
    } else {
      TrafficDescription traffic{.name = "move",
                                 .size = {},
                                 .latency = Duration::Picoseconds(source.Below(6)),
                                 .taken = {.sms = static_cast<std::int32_t>(source.Below(3) * 11),
                                           .memory = static_cast<std::int32_t>(source.Below(3) * 400)},
                                 .flows = {}};
      for (std::uint32_t f = source.Below(3); f > 0; --f) {
        FlowDescription flow;
        flow.volume = Volume::FemtoBytes(Wide{1'000'000'000'003} * source.Below(64));
        for (std::uint32_t l = 0; l < links; ++l) {
          if (source.Below(2) == 0) flow.uses.push_back({LinkId(l), 1 + source.Below(3)});
        }
        flow.share = 1 + source.Below(3);
        flow.weight_denominator = 1 + source.Below(2);
        if (source.Below(4) == 0) flow.limit = ByteRate::BytesPerSecond(500'000'003);
        traffic.flows.push_back(std::move(flow));
      }
      const TrafficId id = builder.AddTraffic(traffic);
      std::vector<CommunicationId> pair = {builder.AddCommunication(id)};
      if (choice == 7) pair.push_back(builder.AddCommunication(id));
      const std::uint32_t first = source.Below(ranks), seats = 1 + source.Below(ranks);
      const std::uint32_t stream = source.Below(3);
      for (std::uint32_t i = 0; i < seats; ++i) {
        // Two ranks that take a pair in different orders wait for each other.
        if (choice == 7 && source.Below(4) == 0) std::swap(pair.front(), pair.back());
        for (const CommunicationId c : pair) {
          wait(builder.Seat(streams[(first + i) % ranks * 3 + stream], c, TaskClass::kTensor, label), before);
        }
      }
    }
  }
  for (const auto& [task, number] : any_waits) {
    const TaskId earlier = tasks[number % tasks.size()];
    if (earlier != task) builder.After(task, earlier);
  }
  return std::move(builder).Build();
}

// The same for 2 to 5 ranks that do the same, or of which the odd ones leave out
// some work and some pairwise communication, each a script of its own: so that
// equal ones share their rows. Tasks wait for earlier ones of their rank.
inline Result<Program> ScriptsFromBytes(std::span<const std::uint8_t> bytes) {
  ByteSource source(bytes);
  const std::uint32_t ranks = 2 + source.Below(4);
  ProgramBuilder builder(ranks,
                         {ByteRate::BytesPerSecond(3'000'000'019), ByteRate::BytesPerSecond(1'000'000'007)});
  const Label label{builder.Name("task"), -1, -1};
  struct Action {
    bool of_all = true;  // else of even ranks only
    std::uint32_t stream = 0, wait = 0;
    std::int64_t ps = 0;              // of work
    CommunicationId communication{};  // none: work
  };
  std::vector<Action> actions;
  while (!source.empty()) {
    Action action{source.Below(4) != 0, source.Below(3), source.Below(8), 0, CommunicationId::None()};
    if (source.Below(3) > 0) {
      action.ps = source.Below(32);
    } else {
      TrafficDescription traffic{
          .name = "move", .size = {}, .latency = Duration::Picoseconds(source.Below(6)), .taken = {}};
      FlowDescription flow{.volume = Volume::FemtoBytes(Wide{1'000'000'000'003} * source.Below(64))};
      flow.uses.push_back({LinkId(source.Below(2)), 1 + source.Below(3)});
      traffic.flows.push_back(std::move(flow));
      action.communication = builder.AddCommunication(builder.AddTraffic(traffic));
    }
    actions.push_back(action);
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::vector<StreamId> streams;
    for (const StreamKind kind : {StreamKind::kCompute, StreamKind::kTensor, StreamKind::kData}) {
      streams.push_back(builder.AddStream(Rank(r), kind));
    }
    std::vector<TaskId> tasks;
    for (const Action& action : actions) {
      if (!action.of_all && r % 2 == 1) continue;
      const Duration time = Duration::Picoseconds(action.ps);
      const StreamId stream = streams[action.stream];
      const TaskId task =
          action.communication.valid()
              ? builder.Seat(stream, action.communication, TaskClass::kTensor, label)
              : builder.Work(stream, builder.AddWork({time, time}), TaskClass::kForward, label);
      if (action.wait > 0 && action.wait <= tasks.size())
        builder.After(task, tasks[tasks.size() - action.wait]);
      tasks.push_back(task);
    }
    builder.CloseScript();
  }
  return std::move(builder).Build();
}

}  // namespace sim

#endif  // TESTS_SIM_PROGRAM_PROGRAM_FROM_BYTES_H_
