// Which transfers of a pipeline stage its host issues as one batch, and waits for before it goes on.
//
// A host that waited for a send by itself would hang in 1F1B: the stage before sends activations while the
// stage behind sends gradients. Megatron-LM issues together what a stage sends and receives between two
// passes, and of interleaved 1F1B what it does around a forward and the backward behind it; then the batches
// of two stages that trade are the same ones in the same order.
// Source: Megatron-LM, core 0.8, pipeline_parallel/schedules.py and p2p_communication.py (_communicate);
// before and behind the steady state it issues sends and receives apart, which waits for as much.

#ifndef SCENARIOS_TRANSFER_BATCHES_H_
#define SCENARIOS_TRANSFER_BATCHES_H_

#include <cstddef>
#include <span>

#include "scenarios/scenario.h"

namespace scenarios {

// Whether stages that wait for their batches never wait for each other in a circle: GPipe, 1F1B, interleaved
// in groups of as many micro-batches as there are stages.
bool MayBatchTransfers(const Pipeline& pipeline);
// Whether hosts wait for batches: where launches block, or the scenario's host_waits say so.
bool WaitsForBatches(const Scenario& scenario);
// Whether a batch lies between passes `at - 1` and `at` of a stage; one lies at both ends.
// REQUIRES: at <= steps.size()
bool BatchBefore(const Pipeline& pipeline, std::uint32_t stage, std::span<const sim::PipelineStep> steps,
                 std::size_t at);

}  // namespace scenarios

#endif  // SCENARIOS_TRANSFER_BATCHES_H_
