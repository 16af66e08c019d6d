#include "scenarios/transfer_batches.h"

#include <string_view>

namespace scenarios {

namespace {

bool Interleaved(const Pipeline& pipeline) {
  return pipeline.schedule != nullptr && std::string_view(pipeline.schedule->name) == "interleaved";
}

std::uint32_t GroupSize(const sim::PipelineShape& shape) {
  return shape.group_size == 0 ? shape.stages : shape.group_size;
}

}  // namespace

bool MayBatchTransfers(const Pipeline& pipeline) {
  if (pipeline.schedule == nullptr || pipeline.order != nullptr) return false;
  // In larger groups the first stage takes up later what the last one sends, and would be waited for.
  if (Interleaved(pipeline)) return GroupSize(pipeline.shape) == pipeline.shape.stages;
  const std::string_view name = pipeline.schedule->name;
  return name == "gpipe" || name == "1f1b";
}

bool WaitsForBatches(const Scenario& scenario) {
  const Pipeline& pipeline = scenario.pipeline;
  if (scenario.layout.pipeline == 1 || !MayBatchTransfers(pipeline) || pipeline.overlaps_experts)
    return false;
  if (scenario.training.launches == Launches::kBlocking) return true;
  if (scenario.training.launches != Launches::kEager) return false;
  using enum HostWaits::Transfers;
  const HostWaits::Transfers waits = scenario.training.host_waits.transfers;
  return waits == kAlways || (waits == kUnlessInterleaved && !Interleaved(pipeline));
}

bool BatchBefore(const Pipeline& pipeline, std::uint32_t stage, std::span<const sim::PipelineStep> steps,
                 std::size_t at) {
  using enum sim::PipelineStep::Kind;
  if (at == 0 || at == steps.size() || !Interleaved(pipeline)) return true;
  if (steps[at - 1].kind != kForward || steps[at].kind != kBackward) return true;
  // A pair of the steady state, or the last forward of a warm-up that has all of them.
  const sim::PipelineShape& shape = pipeline.shape;
  const std::size_t warmup = 2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * GroupSize(shape);
  return at <= warmup;
}

}  // namespace scenarios
