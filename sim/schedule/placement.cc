#include "sim/schedule/placement.h"

#include "sim/base/check.h"

namespace sim {
namespace {

bool Reversed(Placement placement, std::uint32_t chunk) {
  return placement != Placement::kLoop && chunk % 2 == 1;
}

std::uint32_t DirectionOf(const PipelineShape& shape, std::uint32_t microbatch) {
  return microbatch < shape.microbatches / 2 ? 0 : 1;
}

}  // namespace

std::uint32_t PieceCount(Placement placement, const PipelineShape& shape) {
  return placement == Placement::kBothEnds ? shape.stages : shape.stages * shape.chunks;
}

std::uint32_t PieceOf(Placement placement, const PipelineShape& shape, std::uint32_t stage,
                      std::uint32_t chunk) {
  CHECK(stage < shape.stages && chunk < shape.chunks);
  const std::uint32_t along = Reversed(placement, chunk) ? shape.stages - 1 - stage : stage;
  return placement == Placement::kBothEnds ? along : chunk * shape.stages + along;
}

bool Passes(Placement placement, const PipelineShape& shape, std::uint32_t microbatch, std::uint32_t chunk) {
  return placement != Placement::kBothEnds || DirectionOf(shape, microbatch) == chunk;
}

Seat SeatOf(Placement placement, const PipelineShape& shape, std::uint32_t piece, std::uint32_t microbatch) {
  CHECK(piece < PieceCount(placement, shape) && microbatch < shape.microbatches);
  const std::uint32_t along = piece % shape.stages;
  const std::uint32_t chunk =
      placement == Placement::kBothEnds ? DirectionOf(shape, microbatch) : piece / shape.stages;
  return {Reversed(placement, chunk) ? shape.stages - 1 - along : along, chunk};
}

std::uint64_t CutsOf(Placement placement, const PipelineShape& shape) {
  return std::uint64_t{shape.parts} * (placement == Placement::kBothEnds ? 1 : shape.chunks);
}

}  // namespace sim
