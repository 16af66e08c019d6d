#include "sim/schedule/pipeline_schedule.h"

#include "sim/schedule/schedules.h"

namespace sim {
namespace {

// Far above any real job; keeps the counts below within 32 bits.
constexpr std::uint32_t kMaxStages = 1 << 16;
constexpr std::uint32_t kMaxPieces = 1 << 20;  // micro-batches times chunks times parts

constexpr const PipelineSchedule* kSchedules[] = {
    &kGPipe,        &kOneForwardOneBackward, &kInterleaved, &kSequence, &kZeroBubbleH1,
    &kZeroBubbleH2, &kZeroBubbleV,           &kVHalf,       &kVMin,     &kDualPipe,
    &kDualPipeV,
};

}  // namespace

std::optional<Error> RefuseSize(const PipelineShape& shape) {
  if (shape.stages == 0) return Error{"0 pipeline stages; 1 means no pipeline"};
  if (shape.microbatches == 0) return Error{"0 micro-batches; a step needs at least 1"};
  if (shape.chunks == 0) return Error{"0 chunks a stage; 1 means the stage is not cut"};
  if (shape.parts == 0) return Error{"0 parts of a sequence; 1 means it is not cut"};
  if (shape.stages > kMaxStages) {
    return Error{std::to_string(shape.stages) + " pipeline stages; at most " + std::to_string(kMaxStages) +
                 " would do"};
  }
  const std::uint64_t pieces = std::uint64_t{shape.microbatches} * shape.chunks;
  if (pieces > kMaxPieces) {
    return Error{std::to_string(pieces) + " pieces of work a stage (micro-batches times chunks); at most " +
                 std::to_string(kMaxPieces) + " would do"};
  }
  if (pieces * shape.parts > kMaxPieces) {
    return Error{std::to_string(pieces * shape.parts) +
                 " pieces of work a stage (micro-batches times parts of a sequence); at most " +
                 std::to_string(kMaxPieces) + " would do"};
  }
  return std::nullopt;
}

std::optional<Error> RefuseJoined(const PipelineShape& shape, const char* schedule) {
  if (!shape.joined) return std::nullopt;
  return Error{
      std::string(schedule) +
      ": cannot be asked to join forwards and backwards; schedule \"interleaved\", or \"1f1b\" of one "
      "stage, would do"};
}

std::optional<Error> RefuseExtras(const PipelineShape& shape, const char* schedule) {
  if (std::optional<Error> error = RefuseSize(shape)) return error;
  if (shape.group_size != 0) {
    return Error{std::string(schedule) + ": group size " + std::to_string(shape.group_size) +
                 "; only schedule \"interleaved\" has groups"};
  }
  if (shape.parts > 1) {
    return Error{std::string(schedule) + ": a sequence in " + std::to_string(shape.parts) +
                 " parts; only schedule \"seq1f1b\" cuts sequences"};
  }
  return RefuseJoined(shape, schedule);
}

std::optional<Error> RefuseChunks(const PipelineShape& shape, const char* schedule) {
  if (std::optional<Error> error = RefuseSize(shape)) return error;
  if (shape.chunks > 1) {
    return Error{std::string(schedule) + ": " + std::to_string(shape.chunks) +
                 " chunks a stage; 1, or schedule \"interleaved\""};
  }
  return RefuseExtras(shape, schedule);
}

std::optional<Error> RefuseAllButTwoChunks(const PipelineShape& shape, const char* schedule) {
  if (std::optional<Error> error = RefuseExtras(shape, schedule)) return error;
  if (shape.chunks != 2) {
    return Error{std::string(schedule) + ": " + std::to_string(shape.chunks) +
                 (shape.chunks == 1 ? " chunk" : " chunks") + " a stage; it has 2"};
  }
  return std::nullopt;
}

std::span<const PipelineSchedule* const> PipelineSchedules() { return kSchedules; }

const PipelineSchedule* FindPipelineSchedule(std::string_view name) {
  for (const PipelineSchedule* schedule : kSchedules) {
    if (schedule->name == name) return schedule;
  }
  return nullptr;
}

}  // namespace sim
