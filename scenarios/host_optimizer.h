// HostOptimizer: the part of the optimizer that a rank's host runs, as seats behind the
// step's gradients.
//
//   copy out    the gradients of that part: device -> PCIe switch -> host -> memory
//   host adam   reads gradient, master weight and two moments, writes the last three and the weight: one flow
//   over
//               the node's memory, shared with the other ranks of the node, no faster than its processors add
//               up
//   copy in     the weights, unless they live there
//
// The rest of the optimizer runs on the device meanwhile. Without overlap all of it waits for the last
// reduction and for the gradient norm; with it gradients leave bucket by bucket as they are reduced, and
// weights come back beside the next bucket's update.
//
// Leaves out: gradients that are added up on the host over micro-batches, pieces smaller than a bucket, and
// the update of one step beside the next.
//
// Sources: Ren et al., "ZeRO-Offload: democratizing billion-scale model training", USENIX ATC 2021, sections
// 4 and 5; Megatron-LM core 0.12, optimizer/cpu_offloading/hybrid_optimizer.py.

#ifndef SCENARIOS_HOST_OPTIMIZER_H_
#define SCENARIOS_HOST_OPTIMIZER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "scenarios/job.h"
#include "topologies/fabric.h"

namespace scenarios {

class HostOptimizer {
 public:
  // The fabric has ways to the hosts' memory. All must outlive this.
  HostOptimizer(const Job& job, const StagePlan& plan, RankTape* tape);

  // Before the device's part: all gradients and their norm are waited for. `reduced` is by bucket the task
  // behind which its gradients are complete.
  void Start(const std::vector<sim::TaskId>& reduced);
  // Behind it: what comes next has all weights.
  void Finish();

 private:
  // `numbers` of the part, once `ready` has ended.
  void Update(std::int64_t numbers, sim::TaskId ready);
  sim::TaskId Flow(sim::StreamKind kind, std::uint16_t name, const topologies::Route& route, sim::Bytes bytes,
                   sim::ByteRate limit, std::map<sim::Bytes, sim::TrafficId>* known);

  const Job& job_;
  const StagePlan& plan_;
  RankTape* tape_;
  std::uint16_t out_name_, adam_name_, in_name_, go_on_name_;
  std::map<sim::Bytes, sim::TrafficId> out_, adam_, in_;
  sim::TaskId all_there_, last_;
};

}  // namespace scenarios

#endif  // SCENARIOS_HOST_OPTIMIZER_H_
