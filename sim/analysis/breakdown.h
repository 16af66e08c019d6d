// Breakdown: what one rank spends its step on, instant by instant.

#ifndef SIM_ANALYSIS_BREAKDOWN_H_
#define SIM_ANALYSIS_BREAKDOWN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sim/analysis/intervals.h"
#include "sim/analysis/predecessors.h"
#include "sim/program/program.h"
#include "sim/program/timeline.h"

namespace sim {

enum class Cause : std::uint8_t {
  kCompute,  // forward and backward
  kRecompute,
  kOptimizer,
  // Exposed communication: the compute stream is idle and waits for it, while
  // it moves bytes or waits for a late partner of the same stage.
  kTensor,
  kContext,
  kExpert,
  kPipeline,  // moving only: waiting for another stage is kBubble, also in kEmbedding and kNorm
  kData,
  kEmbedding,
  kNorm,
  kOffload,
  kCheckpoint,
  kLoad,
  kBubble,  // idle because another stage has not come that far
  kHost,    // idle because the host has not launched what is next
  kOther,
};
inline constexpr int kCauses = 16;
const char* ToText(Cause cause);  // "compute", "tensor", "bubble", ...

// What an instant counts as at which a task of this class runs.
Cause CauseOf(TaskClass task_class);

struct Breakdown {
  std::array<Duration, kCauses> time;  // by Cause
  Duration of(Cause cause) const { return time[static_cast<std::size_t>(cause)]; }
  Duration total() const;
};

// Partitions `window` of one rank; exact in picoseconds: total() is the
// window's length. While the compute stream works, the work's cause counts.
// While it is idle, the chain of predecessors that ended last is walked back
// from the next task on it, and an instant counts as what that chain did then.
// The chain stays with this rank's seats: what made a partner late is the
// critical path's to say. Work of another rank that is waited for is kBubble.
// REQUIRES: predecessors are of this program
Breakdown BreakdownOf(const Program& program, const Timeline& timeline, const Predecessors& predecessors,
                      Rank rank, Interval window);

// What the streams of one rank did in a window.
struct RankTimes {
  Duration compute_busy;                        // work on compute streams
  std::array<Duration, kTaskClasses> by_class;  // work running and traffic in flight, added over streams
  Duration waiting;                             // seats that waited for partners, added over streams
};

// By rank. One pass over the program.
std::vector<RankTimes> RankTimesOf(const Program& program, const Timeline& timeline, Interval window);

// The rank whose compute streams idle least in the window; of equals, the
// lowest. REQUIRES: program.ranks > 0
Rank LeastIdleRank(const Program& program, const Timeline& timeline, Interval window);

}  // namespace sim

#endif  // SIM_ANALYSIS_BREAKDOWN_H_
