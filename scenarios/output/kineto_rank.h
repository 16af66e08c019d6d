// One rank of a run as kernels on streams, launches on threads and steps: what its Kineto file holds.

#ifndef SCENARIOS_OUTPUT_KINETO_RANK_H_
#define SCENARIOS_OUTPUT_KINETO_RANK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/output/kineto_launches.h"
#include "scenarios/output/trace.h"

namespace scenarios {

// All times in ns of the run's clock, rounded down.
struct KinetoSlice {
  sim::TaskId task;
  std::int64_t from = 0, to = 0;
  std::int64_t length = 0;   // as it is written: shorter where the next slice touches
  LaunchTime launch;         // of kernels and copies
  bool real_launch = false;  // a task of the host's stream is the launch
};

struct KinetoTrack {
  sim::StreamKind kind = sim::StreamKind::kCompute;
  std::int64_t stream = 0;  // 7 for compute
  std::vector<KinetoSlice> slices;
};

// Steps from 0, both included.
struct StepRange {
  std::int64_t first = 0, last = 0;
};

struct KinetoStep {
  std::int64_t number = 0, from = 0, to = 0;
};

struct KinetoRank {
  std::vector<KinetoTrack> device;  // streams of the device
  std::vector<KinetoTrack> host;    // writes of the host, and those of its launches that no kernel has
  std::vector<KinetoStep> steps;    // each ends where the next begins
};

// Before the first launch of what starts at once.
inline constexpr std::int64_t kKinetoOffsetNs = 1'000'000;

// What the options' window and shortest length leave of these streams. With `shown`, the window is the rank's
// own: from where it ended the step before to where it ended the last.
KinetoRank KinetoRankOf(const sim::Program& program, const sim::Timeline& timeline,
                        const std::vector<sim::StreamId>& streams, const TraceOptions& options,
                        const std::optional<StepRange>& shown = std::nullopt);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_KINETO_RANK_H_
