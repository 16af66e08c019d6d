#include "scenarios/pipeline_transfers.h"

#include "scenarios/fold.h"

namespace scenarios {

using sim::StreamKind;

namespace {

std::int64_t BoundariesOf(const Pipeline& pipeline) {
  return std::int64_t{PieceCount(pipeline.placement(), pipeline.shape)} - 1;
}

}  // namespace

std::size_t TransferSlots(const Scenario& scenario) {
  const Layout& layout = scenario.layout;
  return static_cast<std::size_t>(scenario.steps * 2 * scenario.batch.micro_batches *
                                  scenario.pipeline.shape.parts * BoundariesOf(scenario.pipeline) *
                                  (layout.ranks() / layout.pipeline));
}

// Activations go from a piece to the next one, gradients the other way.
std::optional<std::uint32_t> PipelineTransfers::Partner(const sim::PipelineStep& at, bool forward,
                                                        bool sends) const {
  const Pipeline& pipeline = job_.scenario.pipeline;
  const auto partner =
      forward == sends ? StageBehind(pipeline, stage_, at.chunk) : StageBefore(pipeline, stage_, at.chunk);
  return partner == stage_ ? std::nullopt : partner;
}

void PipelineTransfers::Receive(std::int64_t step, const sim::PipelineStep& at, bool forward) {
  const auto partner = Partner(at, forward, /*sends=*/false);
  if (!partner) return;
  const sim::TaskId received = Transfer(step, at, forward, /*sends=*/false, *partner);
  tape_->WaitFor(received);
  const Training& training = job_.scenario.training;
  if (training.launches == Launches::kEager &&
      training.host_waits.transfers == HostWaits::Transfers::kReceives) {
    tape_->WaitOnHostFor(received);
  }
}

void PipelineTransfers::Batch(std::int64_t step, std::span<const sim::PipelineStep> sent,
                              std::span<const sim::PipelineStep> received) {
  const auto forward = [](const sim::PipelineStep& at) {
    return at.kind == sim::PipelineStep::Kind::kForward;
  };
  tape_->BeginBatch();
  for (const sim::PipelineStep& at : sent) Send(step, at, forward(at));
  for (const sim::PipelineStep& at : received) Receive(step, at, forward(at));
  tape_->EndBatch();
}

void PipelineTransfers::Send(std::int64_t step, const sim::PipelineStep& at, bool forward) {
  const auto partner = Partner(at, forward, /*sends=*/true);
  if (partner) Transfer(step, at, forward, /*sends=*/true, *partner);
}

sim::TaskId PipelineTransfers::Transfer(std::int64_t step, const sim::PipelineStep& at, bool forward,
                                        bool sends, std::uint32_t stage) {
  const Layout& layout = job_.scenario.layout;
  const Pipeline& pipeline = job_.scenario.pipeline;
  const std::vector<sim::Rank> column = layout.Group(tape_->rank(), Dimension::kPipeline);
  const sim::Rank partner = column[stage];
  const std::int64_t piece = pipeline.piece_of(stage_, at.chunk);
  const std::int64_t boundary = forward == sends ? piece : piece - 1;

  // A slot for each (step, boundary, direction, micro-batch, part of its sequence, column of ranks).
  std::int64_t slot = step;
  slot = slot * BoundariesOf(pipeline) + boundary;
  slot = slot * 2 + (forward ? 1 : 0);
  slot = slot * job_.scenario.batch.micro_batches + at.microbatch;
  slot = slot * pipeline.shape.parts + at.part;
  const PointToPoint here{sends ? tape_->rank() : partner, sends ? partner : tape_->rank(), boundary_bytes_};
  const PointToPoint send = job_.fold == nullptr ? here : job_.fold->send_for.at(here);
  slot = slot * (layout.ranks() / layout.pipeline) + layout.ColumnOf(send.from);

  // Chunks that run from the last stage to the first trade with the other neighbour.
  const bool back = pipeline.placement() != sim::Placement::kLoop && at.chunk % 2 == 1;
  const bool next = (forward == sends) != back;
  StreamKind stream = next ? StreamKind::kToNext : StreamKind::kToPrevious;
  if (!sends) stream = next ? StreamKind::kFromNext : StreamKind::kFromPrevious;
  const std::uint16_t name = forward ? job_.names.send : job_.names.send_gradient;
  const sim::Label label = LabelOf(name, at.microbatch);
  const std::vector<sim::TaskId> launch = tape_->LaunchCommunication(label);
  const sim::TaskId seat =
      job_.communicators->SendOrReceive(static_cast<std::size_t>(slot), send, tape_->stream(stream, back),
                                        label, sends || batched_ ? tape_->last() : sim::TaskId::None());
  for (const sim::TaskId task : launch) job_.builder->After(seat, task);
  tape_->Communicate(seat);
  return seat;
}

}  // namespace scenarios
