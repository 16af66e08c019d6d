// Offload: how much of a job's activations waits in the hosts' memory, and the
// buffers that it passes through. The tasks are offload_writer.h's.
//
// The saved activations of the first layers of each piece leave the device after
// their forward and come back before their backward. A rank has two buffers of the
// largest such layer: one in use by the layer that computes, one for the copy.
// Source: NVIDIA, Transformer Engine, transformer_engine/pytorch/cpu_offload.py
// (get_cpu_offload_context: num_layers, double buffer).
//
// A part of the optimizer's state may be there for good, and all shares of the weights; the
// host then updates them (host_optimizer.h).
//
// Leaves out: its spreading of copies over layers that stay on the device, and what copies take
// from the device's memory rate.

#ifndef SCENARIOS_OFFLOAD_H_
#define SCENARIOS_OFFLOAD_H_

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

inline bool Offloads(const Scenario& scenario) { return scenario.training.offload.activation_layers > 0; }

inline bool OffloadsOptimizer(const Scenario& scenario) {
  return scenario.training.offload.optimizer_parts > 0;
}
inline bool UsesHosts(const Scenario& scenario) { return Offloads(scenario) || OffloadsOptimizer(scenario); }

// Of so many numbers that a rank owns, those that its host updates.
std::int64_t HostNumbers(const Scenario& scenario, std::int64_t owned);
// The same of all that a rank holds, `spread` of it experts with a layout of their own.
std::int64_t HostNumbers(const Scenario& scenario, std::int64_t held, std::int64_t spread);

// Bytes of one such number: of the gradient that travels down, of what the update reads and writes, of the
// weight that travels up, and of all that the host keeps of it.
struct HostWidths {
  std::int64_t gradient = 0, update = 0, weight = 0, kept = 0;
};
HostWidths HostWidthsOf(const Scenario& scenario);

// Bytes of gradients that a rank sends down in a step, of the stage that sends most.
sim::Bytes HostGradientsPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages);
// Bytes of weights that a rank's host sends up in a step for gathers, of the stage that gets most.
sim::Bytes HostWeightsPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages);
// This rank's share of one gathered unit.
sim::Bytes ShareOf(const Scenario& scenario, const Bucket& bucket);

// Buffers of a rank on its device.
inline constexpr std::int64_t kOffloadBuffers = 2;
sim::Bytes OffloadBuffers(const StagePlan& plan);

// What a rank copies in a step, each way: of the stage that copies most.
sim::Bytes OffloadedPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages);

// What one layer leaves behind on one rank for one micro-batch; where experts are loaded unevenly, on
// the busiest. Known without a plan.
sim::Bytes ActivationsOfLayer(const Scenario& scenario, std::int64_t layer);

// What the ranks of one node have in its memory at their peaks, a place in memory being taken from a
// layer's forward to the end of that micro-batch's backward, and what their hosts update: of the node that
// holds most.
sim::Bytes HostBytesOfNode(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_OFFLOAD_H_
