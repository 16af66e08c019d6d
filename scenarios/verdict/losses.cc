#include "scenarios/verdict/losses.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "hardware/roofline.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

double Of(sim::Duration part, sim::Duration whole) { return part.seconds() / whole.seconds(); }

double ShareOf(const std::vector<TimePart>& parts, const Report& report, std::string_view name) {
  for (const TimePart& part : parts) {
    if (part.name == name) return Of(part.time, report.step_time);
  }
  return 0;
}

double ShareOf(const Report& report, std::string_view name) {
  return ShareOf(report.breakdown, report, name);
}

const StageReport& BusiestStage(const Report& report) {
  return *std::max_element(report.stages.begin(), report.stages.end(),
                           [](const StageReport& a, const StageReport& b) { return a.busy < b.busy; });
}

double StageImbalance(const Report& report) {
  sim::Duration all;
  for (const StageReport& stage : report.stages) all += stage.busy;
  const double mean = all.seconds() / static_cast<double>(report.stages.size());
  return (BusiestStage(report).busy.seconds() - mean) / report.step_time.seconds();
}

// The most that any stage's rank waits for its host: others wait for that stage.
double ShareOfLaunches(const Report& report) {
  double most = 0;
  for (const StageReport& stage : report.stages) {
    most = std::max(most, ShareOf(stage.breakdown, report, "host"));
  }
  return most;
}

// Steps without saves and with them, in the long run.
double ShareOfSaves(const Report& report) {
  const auto& saves = report.checkpoint;
  if (!saves || saves->effective_step_time <= report.step_time) return 0;
  return 1 - Of(report.step_time, saves->effective_step_time);
}

// Times of kernels that the memory bounds, as another model has them; of all others zero.
class MemoryBoundOnly final : public hardware::CostModel {
 public:
  explicit MemoryBoundOnly(const hardware::Device& device) : device_(device), cost_(device) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    return Bound(kernel) ? cost_.TimeOf(kernel) : hardware::KernelTimes{};
  }

 private:
  bool Bound(const sim::Kernel& kernel) const {
    if (kernel.kind == sim::KernelKind::kMemory) return true;
    if (kernel.bytes == sim::Bytes()) return false;
    const double intensity =
        static_cast<double>(kernel.flops.count()) / static_cast<double>(kernel.bytes.count());
    return intensity < hardware::RoofOf(device_, kernel.format).ridge();
  }

  const hardware::Device& device_;
  hardware::DeviceCostModel cost_;
};

PhaseTimes WorkOf(const BlockPlan& block) {
  PhaseTimes work = block.before_gather + block.main + block.after_reduce + block.backward_head +
                    block.backward_main + block.backward_weight + block.backward_tail;
  if (!block.experts.empty()) work = work + block.experts.front().forward + block.experts.front().backward;
  const ContextPlan& context = block.context;
  for (const ContextPlan::Piece& piece : context.pieces) {
    work = work + piece.forward + piece.backward + piece.backward_merge;
  }
  return work + context.prepare + context.arrive + context.leave + context.finish + context.after +
         context.prepare_back + context.arrive_back + context.leave_back + context.backward_after;
}

double SecondsOf(const StagePlan& plan) {
  sim::Duration time;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      for (const std::uint32_t block : unit.blocks) time += WorkOf(plan.blocks[block]).alone;
    }
  }
  return time.seconds();
}

}  // namespace

const char* IdOf(Limit limit) {
  switch (limit) {
    case Limit::kMemory:
      return "memory";
    case Limit::kRecomputation:
      return "recomputation";
    case Limit::kPipelineBubble:
      return "pipeline_bubble";
    case Limit::kStageImbalance:
      return "stage_imbalance";
    case Limit::kExpertImbalance:
      return "expert_imbalance";
    case Limit::kContextImbalance:
      return "context_imbalance";
    case Limit::kDataParallel:
      return "data_parallel";
    case Limit::kTiedEmbedding:
      return "tied_embedding";
    case Limit::kGradientNorm:
      return "gradient_norm";
    case Limit::kTensorParallel:
      return "tensor_parallel";
    case Limit::kContextParallel:
      return "context_parallel";
    case Limit::kExpertParallel:
      return "expert_parallel";
    case Limit::kPipelineTransfers:
      return "pipeline_transfers";
    case Limit::kOffload:
      return "offload";
    case Limit::kHostLaunches:
      return "host_launches";
    case Limit::kSaves:
      return "saves";
    case Limit::kSaveStalls:
      return "save_stalls";
    case Limit::kOptimizer:
      return "optimizer";
    case Limit::kMemoryBandwidth:
      return "memory_bandwidth";
    case Limit::kCompute:
      return "compute";
  }
  return "";
}

double ComputeShare(const Report& report) { return ShareOf(report, "compute"); }

std::vector<Loss> LossesOf(const Scenario& scenario, const Report& report) {
  const StageReport& busiest = BusiestStage(report);
  const double inside = Of(busiest.busy - busiest.mean_busy, report.step_time);
  const bool of_experts = scenario.experts.Imbalance() > 1;
  const bool stalls = report.checkpoint && report.checkpoint->backlog_per_interval > sim::Bytes();
  std::vector<Loss> losses = {{Limit::kRecomputation, ShareOf(report, "recomputation")},
                              {Limit::kPipelineBubble, ShareOf(report, "bubble")},
                              {Limit::kStageImbalance, StageImbalance(report)},
                              {of_experts ? Limit::kExpertImbalance : Limit::kContextImbalance,
                               of_experts || scenario.layout.context > 1 ? inside : 0},
                              {Limit::kDataParallel, ShareOf(report, "data")},
                              {Limit::kTiedEmbedding, ShareOf(report, "embedding")},
                              {Limit::kGradientNorm, ShareOf(report, "gradient norm")},
                              {Limit::kTensorParallel, ShareOf(report, "tensor")},
                              {Limit::kContextParallel, ShareOf(report, "context")},
                              {Limit::kExpertParallel, ShareOf(report, "expert")},
                              {Limit::kPipelineTransfers, ShareOf(report, "pipeline")},
                              {Limit::kOffload, ShareOf(report, "offload")},
                              {Limit::kHostLaunches, ShareOfLaunches(report)},
                              {stalls ? Limit::kSaveStalls : Limit::kSaves, ShareOfSaves(report)},
                              {Limit::kOptimizer, ShareOf(report, "optimizer")}};
  std::erase_if(losses, [](const Loss& loss) { return loss.share <= 0; });
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.share > b.share; });
  return losses;
}

double KernelsPart(const Report& report) {
  double kernels = 0;
  for (const char* work : {"forward", "backward", "recomputation"}) {
    kernels += ShareOf(report.critical_path, report, work);
  }
  const double launches = ShareOf(report.critical_path, report, "launch");
  return launches > 0 ? kernels / (kernels + launches) : 1;
}

double MemoryBoundPart(const Scenario& scenario, const Report& report) {
  const auto stage = static_cast<std::uint32_t>(BusiestStage(report).stage);
  const double all = SecondsOf(PlanStage(scenario, CostModelOf(scenario), stage));
  return all > 0 ? SecondsOf(PlanStage(scenario, MemoryBoundOnly(scenario.device), stage)) / all : 0;
}

}  // namespace scenarios
