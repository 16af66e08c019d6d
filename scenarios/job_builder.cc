#include "scenarios/job_builder.h"

#include <utility>

#include "scenarios/fold.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/pipeline_transfers.h"

namespace scenarios {
namespace {

std::vector<sim::ByteRate> Capacities(const Scenario& scenario, const Fold* fold) {
  std::vector<sim::ByteRate> capacities = CapacitiesOf(scenario.fabric);
  const std::size_t links = capacities.size();
  if (fold == nullptr || !fold->apart) return capacities;
  capacities.reserve(2 * links);
  for (std::size_t link = 0; link < links; ++link) capacities.push_back(capacities[link]);
  return capacities;
}

}  // namespace

JobBuilder::JobBuilder(const Scenario& scenario, const std::vector<StagePlan>& stages, const Fold* fold,
                       std::vector<GroupId>* joined)
    : builder_(static_cast<std::uint32_t>(scenario.layout.ranks()), Capacities(scenario, fold)),
      communicators_(scenario, &builder_, fold),
      orders_(OrderOf(scenario.pipeline).stages),
      saves_(scenario.checkpoint ? std::make_unique<CheckpointWriter>(scenario, &builder_) : nullptr),
      job_{.scenario = scenario,
           .builder = &builder_,
           .communicators = &communicators_,
           .stages = &stages,
           .orders = &orders_,
           .world = communicators_.Group(scenario.layout.AllRanks()),
           .names = Names(&builder_),
           .saves = saves_.get(),
           .launch_operation = LaunchOperationOf(scenario),
           .further_launch = CostModelOf(scenario).FurtherLaunch(),
           .fold = fold,
           .joined = joined} {
  communicators_.ReserveSlots(TransferSlots(scenario));
  if (fold != nullptr) builder_.PlayRanksFor(fold->plays_for);
}

// Transfers of chunks tie the ranks of a group together.
void JobBuilder::CloseRank() {
  if (job_.scenario.fidelity == Fidelity::kFlow) builder_.CloseScript();
}

sim::Result<sim::Program> JobBuilder::Build() && {
  if (communicators_.mismatch()) return *communicators_.mismatch();
  return std::move(builder_).Build();
}

}  // namespace scenarios
