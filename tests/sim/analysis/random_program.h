// Random programs that can run, for properties that must hold of every run.

#ifndef TESTS_SIM_ANALYSIS_RANDOM_PROGRAM_H_
#define TESTS_SIM_ANALYSIS_RANDOM_PROGRAM_H_

#include <algorithm>
#include <vector>

#include "sim/base/random.h"
#include "sim/program/program_builder.h"

namespace sim {

// Tasks are added in one global order and wait only for earlier ones, so the
// program cannot deadlock. Works take 0 ... 40 ps, and so about do flows alone,
// so that a slow oracle can look at each picosecond.
inline Program RandomProgram(std::uint64_t seed, int steps) {
  Random random(seed, "random program");
  const auto below = [&](std::uint32_t n) { return random.Below(n); };
  const std::uint32_t ranks = 1 + below(4), links = 1 + below(4);
  std::vector<ByteRate> capacity;
  for (std::uint32_t l = 0; l < links; ++l)
    capacity.push_back(ByteRate::BytesPerSecond(1'000'000'000 * (1 + below(3))));
  ProgramBuilder builder(ranks, capacity);

  const StreamKind kinds[] = {StreamKind::kCompute, StreamKind::kTensor, StreamKind::kFromPrevious,
                              StreamKind::kHost};
  std::vector<std::vector<StreamId>> streams(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (const StreamKind kind : kinds) streams[r].push_back(builder.AddStream(Rank(r), kind));
  }
  const std::uint16_t name = builder.Name("task");
  // `before`: a seat must not wait for another seat of its own communication.
  const auto wait_for_some = [&](TaskId task, std::uint32_t before) {
    for (std::uint32_t n = below(3); n > 0 && before > 0; --n) {
      builder.After(task, TaskId(before - 1 - below(std::min(before, std::uint32_t{12}))));
    }
  };
  const auto add_work = [&] {
    const auto r = below(ranks), s = below(2) == 0 ? 0 : below(4);
    const Duration alone = Duration::Picoseconds(below(8) == 0 ? 0 : 1 + below(40));
    const Duration more = alone == Duration() ? alone : Duration::Picoseconds(below(10));
    const WorkId work = builder.AddWork({alone, alone + more});
    const auto before = static_cast<std::uint32_t>(builder.tasks());
    wait_for_some(builder.Work(streams[r][s], work, static_cast<TaskClass>(below(4)), {name, -1, -1}),
                  before);
  };
  const auto add_communication = [&] {
    std::vector<Use> uses;
    for (std::uint32_t l = 0; l < links; ++l) {
      if (below(2) == 0) uses.push_back({LinkId(l), 1 + below(3)});
    }
    TrafficDescription traffic;
    traffic.name = "move";
    traffic.latency = Duration::Picoseconds(below(5));
    traffic.taken = {.sms = static_cast<std::int32_t>(below(3) * 11),
                     .memory = static_cast<std::int32_t>(below(3) * 400)};
    if (!uses.empty()) {
      FlowDescription flow;
      flow.volume = Volume::FemtoBytes(Wide{1'000'000'000'000} * below(40));
      flow.uses = uses;
      flow.weight_denominator = 1 + below(2);
      traffic.flows.push_back(flow);
    }
    const CommunicationId c = builder.AddCommunication(builder.AddTraffic(traffic));
    const auto task_class = static_cast<TaskClass>(4 + below(6));
    const std::uint32_t first = below(ranks), seats = 1 + below(ranks);
    const auto s = below(8) == 0 ? 0 : 1 + below(3);
    const auto before = static_cast<std::uint32_t>(builder.tasks());
    for (std::uint32_t i = 0; i < seats; ++i) {
      wait_for_some(builder.Seat(streams[(first + i) % ranks][s], c, task_class, {name, -1, -1}), before);
    }
  };
  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < 30; ++i) below(3) == 0 ? add_communication() : add_work();
    const auto before = static_cast<std::uint32_t>(builder.tasks());
    for (std::uint32_t r = 0; r < ranks; ++r) {
      wait_for_some(
          builder.Mark(streams[r][0], TaskClass::kStepEnd, {name, -1, static_cast<std::int32_t>(step)}),
          before);
    }
  }
  return std::move(builder).Build().value();
}

}  // namespace sim

#endif  // TESTS_SIM_ANALYSIS_RANDOM_PROGRAM_H_
