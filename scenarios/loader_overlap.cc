// Forwards beside the backwards of other micro-batches: whether they are, and what that does not go with.
//
// Source of what is refused: Megatron-LM, core 0.14, arguments.py and transformer_config.py, at
// overlap_moe_expert_parallel_comm and delay_wgrad_compute; docs/user-guide/features/moe_a2a_overlap.md.

#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"
#include "scenarios/offload.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

// Asks the schedule to join its steps.
void Join(const Block& block, Pipeline* pipeline) {
  if (pipeline->order != nullptr) {
    return block.Error("overlap_experts", "true, but no steps of " + pipeline->order_file +
                                              " are joined (\"F4&B0\"); they are wanted");
  }
  if (pipeline->schedule == nullptr || pipeline->schedule->refuse(pipeline->shape)) return;  // said already
  pipeline->shape.joined = true;
  const auto error = pipeline->schedule->refuse(pipeline->shape);
  if (!error) return;
  block.Error("overlap_experts", error->message);
  pipeline->shape.joined = false;
}

// What Megatron-LM refuses with the schedule that it makes of 1F1B.
void CheckCombined(const Block& top, const Scenario& scenario) {
  const char* whose = " does not go with pipeline.overlap_experts; ";
  const Training& training = scenario.training;
  if (training.recompute == Recompute::kFull) {
    top.Of("training").Error("recompute", std::string("FULL") + whose + "SELECTIVE or NONE is wanted");
  }
  if (training.format != sim::NumberFormat::kBf16 && training.format != sim::NumberFormat::kFp16) {
    top.Of("training").Error("format", std::string("of 4 bytes a number") + whose + "BF16 or FP16 is wanted");
  }
  if (scenario.experts.dispatcher == models::Dispatcher::kAllGather) {
    top.Of("experts").Error("dispatcher", std::string("ALLGATHER") + whose + "ALLTOALL or DEEPEP is wanted");
  }
  if (scenario.experts.overlap_shared) {
    top.Of("experts").Error("overlap_shared", std::string("true") + whose + "leave it out");
  }
}

}  // namespace

void ReadOverlap(const config::Pipeline& in, const Block& block, Scenario* scenario) {
  Pipeline& pipeline = scenario->pipeline;
  const bool of_itself = pipeline.joins();
  pipeline.overlaps_experts = in.has_overlap_experts() ? in.overlap_experts() : of_itself;
  if (pipeline.overlaps_experts && !of_itself) Join(block, &pipeline);
  const bool by_schedule = of_itself && pipeline.order == nullptr;
  pipeline.delays_weight_gradients = in.has_delay_weight_gradients()
                                         ? in.delay_weight_gradients()
                                         : by_schedule && pipeline.overlaps_experts;
  if (pipeline.delays_weight_gradients && !pipeline.overlaps_experts) {
    block.Error("delay_weight_gradients", "true needs overlap_experts: they wait until tokens travel");
  }
}

void CheckOverlap(const config::Scenario& in, const Block& top, Scenario* scenario) {
  Pipeline& pipeline = scenario->pipeline;
  if (!pipeline.overlaps_experts) return;
  const Block block = top.Of("pipeline");
  if (scenario->model.experts.routed == 0 || !scenario->layout.spreads_experts()) {
    if (in.pipeline().overlap_experts()) {
      block.Error("overlap_experts",
                  "true, but no token leaves its tensor group; leave it out, or give layout.expert above 1");
    }
    pipeline.overlaps_experts = pipeline.delays_weight_gradients = false;
    return;
  }
  if (Offloads(*scenario)) {
    top.Of("training")
        .Of("offload")
        .Error("activation_layers",
               "offload is not simulated beside joined steps; pipeline.overlap_experts: false is wanted");
  }
  if (!pipeline.shape.joined) return;
  CheckCombined(top, *scenario);
  if (pipeline.shape.microbatches == 1) {
    block.Warn("overlap_experts", "pipeline.overlap_experts",
               "has no effect: the step has one micro-batch, and none beside it", scenario);
  }
}

}  // namespace scenarios
