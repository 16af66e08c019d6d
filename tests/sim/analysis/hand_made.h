// Timelines written by hand: the reader is tested, not the simulator.

#ifndef TESTS_SIM_ANALYSIS_HAND_MADE_H_
#define TESTS_SIM_ANALYSIS_HAND_MADE_H_

#include <vector>

#include "sim/program/program_builder.h"
#include "sim/program/timeline.h"

namespace sim {

inline Time At(std::int64_t ps) { return Time::Start() + Duration::Picoseconds(ps); }

// Traffic that loads no link.
inline TrafficDescription Latency(std::string name, Duration latency = {}) {
  TrafficDescription traffic;
  traffic.name = std::move(name);
  traffic.latency = latency;
  return traffic;
}

struct Span {
  std::int64_t start, end;  // ps
};

// `spans` by task, `begin` by communication.
inline Timeline HandMade(const Program& program, const std::vector<Span>& spans,
                         const std::vector<std::int64_t>& begin = {}) {
  CHECK(spans.size() == program.tasks() && begin.size() == program.communications.size());
  Timeline timeline;
  for (const Span& span : spans) {
    timeline.start.push_back(At(span.start));
    timeline.end.push_back(At(span.end));
    if (timeline.finish < At(span.end)) timeline.finish = At(span.end);
  }
  for (const std::int64_t b : begin) timeline.begin.push_back(At(b));
  return timeline;
}

}  // namespace sim

#endif  // TESTS_SIM_ANALYSIS_HAND_MADE_H_
