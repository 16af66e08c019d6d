// Which piece of the model sits where in a pipeline.

#ifndef SIM_SCHEDULE_PLACEMENT_H_
#define SIM_SCHEDULE_PLACEMENT_H_

#include <cstdint>

namespace sim {

// The shape of a pipeline. Each stage holds `chunks` pieces of the model.
struct PipelineShape {
  std::uint32_t stages = 1;
  std::uint32_t microbatches = 1;
  std::uint32_t chunks = 1;
  // Interleaved only: how many micro-batches pass one chunk before the next
  // chunk's turn (Megatron's microbatch-group-size-per-virtual-stage); 0 = stages.
  std::uint32_t group_size = 0;
  // Sequence 1F1B only: into how many parts a micro-batch's sequence is cut.
  std::uint32_t parts = 1;
  // 1F1B of one stage and interleaved: each forward after the warm-up, which is one longer, is joined
  // to the backward that follows, of another micro-batch. DualPipe joins without being asked.
  bool joined = false;
};

// Piece 0 takes the input, the last one makes the loss. With p stages, chunk c
// of stage s is
enum class Placement : std::uint8_t {
  kLoop,      // piece c p + s: every chunk runs from the first stage to the last
  kVee,       // for even c piece c p + s, for odd c piece c p + p-1-s: there and back again
  kBothEnds,  // two chunks, each the whole model in p pieces: piece s of chunk 0, p-1-s of chunk 1.
              // The first half of the micro-batches takes chunk 0, the others chunk 1.
};

// How many different pieces the model is cut into.
std::uint32_t PieceCount(Placement placement, const PipelineShape& shape);

// REQUIRES: stage < shape.stages, chunk < shape.chunks
std::uint32_t PieceOf(Placement placement, const PipelineShape& shape, std::uint32_t stage,
                      std::uint32_t chunk);

// Whether a micro-batch passes that chunk of the stages.
bool Passes(Placement placement, const PipelineShape& shape, std::uint32_t microbatch, std::uint32_t chunk);

// Where a micro-batch meets a piece.
struct Seat {
  std::uint32_t stage = 0, chunk = 0;
};
// REQUIRES: piece < PieceCount, microbatch < shape.microbatches
Seat SeatOf(Placement placement, const PipelineShape& shape, std::uint32_t piece, std::uint32_t microbatch);

// Into how many chunk parts a stage cuts the work on one micro-batch.
std::uint64_t CutsOf(Placement placement, const PipelineShape& shape);

}  // namespace sim

#endif  // SIM_SCHEDULE_PLACEMENT_H_
