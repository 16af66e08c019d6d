// Losses: what keeps a step from being useful compute alone, each as a share of it.

#ifndef SCENARIOS_VERDICT_LOSSES_H_
#define SCENARIOS_VERDICT_LOSSES_H_

#include <cstdint>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"

namespace scenarios {

enum class Limit : std::uint8_t {
  kMemory,         // the job does not fit
  kRecomputation,  // textbook, table 17-59: a backward of much more than twice the forward
  kPipelineBubble,
  kStageImbalance,    // one stage has more work than the others
  kExpertImbalance,   // one expert group has more tokens than the others
  kContextImbalance,  // one context rank sees more keys than the others
  kDataParallel,      // the rest, where the compute stream waits for it
  kTiedEmbedding,
  kGradientNorm,
  kTensorParallel,
  kContextParallel,
  kExpertParallel,
  kPipelineTransfers,
  kOffload,
  kHostLaunches,  // the host launches kernels more slowly than the device runs them
  kSaves,         // wait for the copy of a save, or for all of it
  kSaveStalls,    // staging is full: storage is too slow
  kOptimizer,
  kMemoryBandwidth,  // most of compute is kernels that wait for the device's memory
  kCompute,          // nothing of the above is worth the while
};
const char* IdOf(Limit limit);  // "pipeline_bubble"

struct Loss {
  Limit limit = Limit::kCompute;
  double share = 0;  // of the step; of the mean step in the long run for kSaves and kSaveStalls
};

// From the largest to the smallest, those above zero; kMemory, kMemoryBandwidth and kCompute are no losses.
//
// Shares are of the rank that idles least, as the report's breakdown, but for launches, which are of the rank
// whose host is behind most, whoever waits for it, and for the two that the breakdown does not see:
// what the busiest stage works more than the mean one, and what its busiest rank works more than the mean
// of its ranks, which is time that the others wait. So they overlap with nothing of the list: the rank that
// idles least waits for nobody else's work.
std::vector<Loss> LossesOf(const Scenario& scenario, const Report& report);

// The part of a micro-batch's compute, forward and backward, on the stage that is busiest, that is spent in
// kernels which the memory bounds: those that are no products, and products below the ridge of the
// device's roofline.
double MemoryBoundPart(const Scenario& scenario, const Report& report);

// Of the critical path's kernels and launches, the part that is kernels: 1 where launches are free. Where a
// host is behind, shorter kernels save nothing, and the path goes through its launches.
double KernelsPart(const Report& report);

// Compute, without recomputation, as a share of the step on the rank that idles least.
double ComputeShare(const Report& report);

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_LOSSES_H_
