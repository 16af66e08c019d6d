// Offload: how much of a job's activations waits in the hosts' memory, and the
// buffers that it passes through. The tasks are offload_writer.h's.
//
// The saved activations of the first layers of each piece leave the device after
// their forward and come back before their backward. A rank has two buffers of the
// largest such layer: one in use by the layer that computes, one for the copy.
// Source: NVIDIA, Transformer Engine, transformer_engine/pytorch/cpu_offload.py
// (get_cpu_offload_context: num_layers, double buffer).
//
// Leaves out: its spreading of copies over layers that stay on the device, weights
// and optimizer state on the host, and what copies take from the device's memory rate.

#ifndef SCENARIOS_OFFLOAD_H_
#define SCENARIOS_OFFLOAD_H_

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

inline bool Offloads(const Scenario& scenario) { return scenario.training.offload.activation_layers > 0; }

// Buffers of a rank on its device.
inline constexpr std::int64_t kOffloadBuffers = 2;
sim::Bytes OffloadBuffers(const StagePlan& plan);

// What a rank copies in a step, each way: of the stage that copies most.
sim::Bytes OffloadedPerStep(const Scenario& scenario, const std::vector<StagePlan>& stages);

// What one layer leaves behind on one rank for one micro-batch; where experts are loaded unevenly, on
// the busiest. Known without a plan.
sim::Bytes ActivationsOfLayer(const Scenario& scenario, std::int64_t layer);

// What the ranks of one node have in its memory at their peaks, a place in memory being taken from a
// layer's forward to the end of that micro-batch's backward: of the node that holds most.
sim::Bytes HostBytesOfNode(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_OFFLOAD_H_
