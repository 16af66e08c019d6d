// Small runs written by hand, for tests of what is written of them.

#ifndef TESTS_SCENARIOS_OUTPUT_MADE_RUNS_H_
#define TESTS_SCENARIOS_OUTPUT_MADE_RUNS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/sim/analysis/hand_made.h"

namespace scenarios {

inline constexpr std::int64_t kMs = 1'000'000'000;  // ps

struct Made {
  sim::Program program;
  sim::Timeline timeline;
};

// Works on one compute stream with these spans.
inline Made WorksAt(const std::vector<sim::Span>& spans) {
  sim::ProgramBuilder builder(1, {});
  const sim::StreamId compute = builder.AddStream(sim::Rank(0), sim::StreamKind::kCompute);
  const sim::WorkId work = builder.AddWork({});
  for (std::size_t i = 0; i < spans.size(); ++i) {
    builder.Work(compute, work, sim::TaskClass::kForward,
                 {builder.Name("qkv"), 7, static_cast<std::int32_t>(i)});
  }
  sim::Program program = std::move(builder).Build().value();
  sim::Timeline timeline = sim::HandMade(program, spans);
  return {std::move(program), std::move(timeline)};
}

// Stage 0 sends to stage 1. The receiver waits 4 ms; the transfer takes [10, 12) ms.
inline Made OneSend() {
  sim::ProgramBuilder builder(2, {});
  const sim::StreamId to = builder.AddStream(sim::Rank(0), sim::StreamKind::kToNext);
  const sim::StreamId compute = builder.AddStream(sim::Rank(0), sim::StreamKind::kCompute);
  const sim::StreamId from = builder.AddStream(sim::Rank(1), sim::StreamKind::kFromPrevious);
  const sim::CommunicationId c = builder.AddCommunication(builder.AddTraffic(sim::Latency("send")));
  builder.Seat(from, c, sim::TaskClass::kPipeline, {builder.Name("receive forward"), -1, 0});
  builder.Work(compute, builder.AddWork({}), sim::TaskClass::kForward, {builder.Name("layers"), -1, 0});
  builder.Seat(to, c, sim::TaskClass::kPipeline, {builder.Name("send forward"), -1, 0});
  builder.Mark(compute, sim::TaskClass::kStepEnd, {builder.Name("step"), -1, 0});
  sim::Program program = std::move(builder).Build().value();
  sim::Timeline timeline = sim::HandMade(
      program, {{6 * kMs, 12 * kMs}, {0, 10 * kMs}, {10 * kMs, 12 * kMs}, {10 * kMs, 10 * kMs}}, {10 * kMs});
  return {std::move(program), std::move(timeline)};
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_OUTPUT_MADE_RUNS_H_
