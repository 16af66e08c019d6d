// Pipeline schedules: the order of forwards and backwards on one stage.

#ifndef SIM_SCHEDULE_PIPELINE_SCHEDULE_H_
#define SIM_SCHEDULE_PIPELINE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace sim {

// The shape of a pipeline. Stage s holds `chunks` pieces of the model (virtual
// stages); chunk c of stage s is piece c * stages + s of the whole.
struct PipelineShape {
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;
  std::uint32_t chunks = 1;
  // Interleaved only: how many micro-batches pass one chunk before the next
  // chunk's turn (Megatron's microbatch-group-size-per-virtual-stage); 0 = stages.
  std::uint32_t group_size = 0;
};

struct PipelineStep {
  enum class Kind : std::uint8_t { kForward, kBackward };
  Kind kind = Kind::kForward;
  std::uint32_t microbatch = 0;
  std::uint32_t chunk = 0;
  auto operator<=>(const PipelineStep&) const = default;
};

// "F0 F1 B0 ..."; with several chunks "F0.1" is micro-batch 0 of chunk 1.
std::string ToText(std::span<const PipelineStep> steps, std::uint32_t chunks = 1);

// One schedule: its name in scenarios, what shapes it takes, and its order.
struct PipelineSchedule {
  std::string_view name;  // "gpipe", "1f1b", "interleaved"
  // What is wrong with the shape, or nothing.
  std::optional<Error> (*refuse)(const PipelineShape& shape);
  // The steps of one stage. REQUIRES: !refuse(shape), stage < shape.stages
  std::vector<PipelineStep> (*order)(const PipelineShape& shape, std::uint32_t stage);
  // Micro-batch activations (of one chunk each) that `stage` holds at most at once.
  std::uint32_t (*in_flight)(const PipelineShape& shape, std::uint32_t stage);
};

// All schedules, in the order a user sees them.
std::span<const PipelineSchedule> PipelineSchedules();

// The one of that name, or null.
const PipelineSchedule* FindPipelineSchedule(std::string_view name);

}  // namespace sim

#endif  // SIM_SCHEDULE_PIPELINE_SCHEDULE_H_
