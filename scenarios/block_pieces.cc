// Gathers and scatters of tensor groups in pieces beside their products; see training.tensor_overlap.
//
// With g for a piece of the product and s for the move of one, both phases of t pieces take
//
//   g + (t - 1) * max(g, s)
//
// A gather exposes the first piece, which waits for nothing, and then whatever is longer; a scatter ends with
// the last piece or what is sent behind the one before, whichever is later. Pieces have fewer rows, in whole
// waves of their own, which the cost model sees.
//
// Sources: NVIDIA Transformer Engine 2, common/comm_gemm_overlap (ring exchange by copy engines); PyTorch,
// torch/distributed/_symmetric_memory (fused_all_gather_matmul, fused_matmul_reduce_scatter).

#include "scenarios/block_writer.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

sim::TaskId BlockWriter::MovePiece(sim::Bytes size, std::int64_t pieces, std::uint16_t name,
                                   const sim::Label& label) {
  return Issue(job_, tensor_,
               {.kind = CollectiveKind::kRingShift,
                .size = sim::Bytes(size.count() / pieces),
                .task_class = TaskClass::kTensor,
                .copy_engines = true},
               sim::StreamKind::kTensor, LabelOf(name, label.micro_batch, label.layer), tape_);
}

PhaseTimes BlockWriter::GatherInPieces(sim::Bytes size, const PhaseTimes& piece, std::int64_t pieces,
                                       const sim::Label& label, TaskClass task_class) {
  std::vector<sim::TaskId> here;
  for (std::int64_t i = 1; i < pieces; ++i) here.push_back(MovePiece(size, pieces, job_.names.gather, label));
  for (const sim::TaskId arrived : here) {
    tape_->Work(piece, task_class, label);
    tape_->WaitFor(arrived);
  }
  return piece;
}

void BlockWriter::ScatterInPieces(PhaseTimes before, sim::Bytes size, const PhaseTimes& piece,
                                  std::int64_t pieces, const sim::Label& label, TaskClass task_class) {
  sim::TaskId sent;
  for (std::int64_t i = 1; i < pieces; ++i) {
    tape_->Work(before + piece, task_class, label);
    before = {};
    sent = MovePiece(size, pieces, job_.names.reduce, label);
  }
  tape_->Work(piece, task_class, label);
  tape_->WaitFor(sent);
}

}  // namespace scenarios
