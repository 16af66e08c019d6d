// PipelineTransfers: what a rank receives from, and sends to, the stages that
// hold the pieces of the model before and behind its own.
//
// Each partner has a stream for each kind (activations, gradients) and direction.
// Where consecutive pieces sit on one stage nothing is sent.

#ifndef SCENARIOS_PIPELINE_TRANSFERS_H_
#define SCENARIOS_PIPELINE_TRANSFERS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "scenarios/job.h"
#include "scenarios/transfer_batches.h"

namespace scenarios {

// How many sends a job has; each has a slot of Communicators.
std::size_t TransferSlots(const Scenario& scenario);

class PipelineTransfers {
 public:
  // `bytes` cross the boundary of two pieces, for one micro-batch or part of it. The job and
  // the tape must outlive this.
  PipelineTransfers(const Job& job, sim::Bytes bytes, RankTape* tape)
      : job_(job),
        boundary_bytes_(bytes),
        tape_(tape),
        batched_(WaitsForBatches(job.scenario)),
        stage_(
            static_cast<std::uint32_t>(job.scenario.layout.Coordinate(tape->rank(), Dimension::kPipeline))) {}

  // The next work waits for what the step needs; nothing at the model's ends.
  void Receive(std::int64_t step, const sim::PipelineStep& at, bool forward);
  // Passes on what the last work made; nothing at the model's ends.
  void Send(std::int64_t step, const sim::PipelineStep& at, bool forward);

  // Whether the host waits for batches: both are then Batch's to call.
  bool batched() const { return batched_; }
  // What the steps behind `sent` send, and those that come, `received`, need; the host waits for all of it.
  void Batch(std::int64_t step, std::span<const sim::PipelineStep> sent,
             std::span<const sim::PipelineStep> received);

 private:
  sim::TaskId Transfer(std::int64_t step, const sim::PipelineStep& at, bool forward, bool sends,
                       std::uint32_t stage);
  // The stage that the step's activations (`forward`) or gradients come from or go to;
  // none at an end of the model, or where it is this one.
  std::optional<std::uint32_t> Partner(const sim::PipelineStep& at, bool forward, bool sends) const;

  const Job& job_;
  const sim::Bytes boundary_bytes_;
  RankTape* tape_;
  const bool batched_;
  const std::uint32_t stage_;
};

}  // namespace scenarios

#endif  // SCENARIOS_PIPELINE_TRANSFERS_H_
