// The functions behind the table of pipeline_schedule.cc: three a schedule, a
// file a schedule. Everybody else includes pipeline_schedule.h.

#ifndef SIM_SCHEDULE_SCHEDULES_H_
#define SIM_SCHEDULE_SCHEDULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/pipeline_schedule.h"

namespace sim {

// gpipe.cc
std::optional<Error> RefuseGPipe(const PipelineShape& shape);
std::vector<PipelineStep> GPipe(const PipelineShape& shape, std::uint32_t stage);
std::uint32_t GPipeInFlight(const PipelineShape& shape, std::uint32_t stage);

// one_f_one_b.cc
std::optional<Error> RefuseOneForwardOneBackward(const PipelineShape& shape);
std::vector<PipelineStep> OneForwardOneBackward(const PipelineShape& shape, std::uint32_t stage);
std::uint32_t OneForwardOneBackwardInFlight(const PipelineShape& shape, std::uint32_t stage);

// interleaved.cc
std::optional<Error> RefuseInterleaved(const PipelineShape& shape);
std::vector<PipelineStep> Interleaved(const PipelineShape& shape, std::uint32_t stage);
std::uint32_t InterleavedInFlight(const PipelineShape& shape, std::uint32_t stage);

// What every schedule refuses: nothing to do, or more than a sane file asks for.
std::optional<Error> RefuseSize(const PipelineShape& shape);

// What a schedule without chunks refuses: RefuseSize, and more than one chunk
// or a group size, which it would silently ignore.
std::optional<Error> RefuseChunks(const PipelineShape& shape, const char* schedule);

}  // namespace sim

#endif  // SIM_SCHEDULE_SCHEDULES_H_
