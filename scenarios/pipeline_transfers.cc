#include "scenarios/pipeline_transfers.h"

#include <algorithm>

namespace scenarios {

using sim::StreamKind;

std::size_t TransferSlots(const Scenario& scenario) {
  const Layout& layout = scenario.layout;
  return static_cast<std::size_t>(scenario.steps * 2 * scenario.batch.micro_batches *
                                  (layout.pipeline * layout.virtual_stages - 1) *
                                  (layout.ranks() / layout.pipeline));
}

// Activations go from a piece to the next one, gradients the other way.
void PipelineTransfers::Receive(std::int64_t step, const sim::PipelineStep& at, bool forward) {
  const std::int64_t piece = PieceOf(at);
  const std::int64_t last = job_.scenario.layout.pipeline * job_.scenario.layout.virtual_stages - 1;
  if (forward ? piece > 0 : piece < last) tape_->WaitFor(Transfer(step, at, forward, /*sends=*/false));
}

void PipelineTransfers::Send(std::int64_t step, const sim::PipelineStep& at, bool forward) {
  const std::int64_t piece = PieceOf(at);
  const std::int64_t last = job_.scenario.layout.pipeline * job_.scenario.layout.virtual_stages - 1;
  if (forward ? piece < last : piece > 0) Transfer(step, at, forward, /*sends=*/true);
}

sim::TaskId PipelineTransfers::Transfer(std::int64_t step, const sim::PipelineStep& at, bool forward,
                                        bool sends) {
  const Layout& layout = job_.scenario.layout;
  const std::vector<sim::Rank> column = layout.Group(tape_->rank(), Dimension::kPipeline);
  const std::int64_t piece = PieceOf(at), stages = layout.pipeline;
  const bool to_next = forward == sends;  // the partner holds the next piece
  const std::int64_t partner_piece = to_next ? piece + 1 : piece - 1;
  const sim::Rank partner = column[static_cast<std::size_t>(partner_piece % stages)];
  const std::int64_t boundary = std::min(piece, partner_piece);

  // A slot for each (step, boundary, direction, micro-batch, column of ranks).
  const std::int64_t columns = layout.ranks() / stages;
  const std::int64_t boundaries = stages * layout.virtual_stages - 1;
  std::int64_t slot = step;
  slot = slot * boundaries + boundary;
  slot = slot * 2 + (forward ? 1 : 0);
  slot = slot * job_.scenario.batch.micro_batches + at.microbatch;
  slot = slot * columns + layout.ColumnOf(tape_->rank());

  StreamKind stream = StreamKind::kToNext;
  if (sends && !forward) stream = StreamKind::kToPrevious;
  if (!sends) stream = forward ? StreamKind::kFromPrevious : StreamKind::kFromNext;
  const std::uint16_t name = forward ? job_.names.send : job_.names.send_gradient;
  const sim::Rank from = sends ? tape_->rank() : partner, to = sends ? partner : tape_->rank();
  return job_.communicators->SendOrReceive(static_cast<std::size_t>(slot), from, to, boundary_bytes_,
                                           tape_->stream(stream), LabelOf(name, at.microbatch),
                                           sends ? tape_->last() : sim::TaskId::None());
}

}  // namespace scenarios
