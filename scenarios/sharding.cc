#include "scenarios/sharding.h"

namespace scenarios {

Sharing SharingOf(const Scenario& scenario, bool experts) {
  const OptimizerSharding kind = scenario.training.optimizer_sharding;
  const std::int64_t data =
      scenario.pipeline.copies() * (experts ? scenario.layout.expert_data() : scenario.layout.copies());
  const std::int64_t given = scenario.training.sharding.ranks;
  Sharing sharing{.optimizer = kind >= OptimizerSharding::kZero1};
  sharing.gradients = kind >= OptimizerSharding::kZero2;
  sharing.weights = kind >= OptimizerSharding::kZero3;
  if (sharing.optimizer) sharing.ranks = given > 0 ? given : data;
  sharing.replicas = data / sharing.ranks;
  return sharing;
}

models::Shares SharesOf(const Scenario& scenario, bool experts) {
  const Sharing sharing = SharingOf(scenario, experts);
  const bool scattered = sharing.gradients && !scenario.training.sharding.no_sync;
  return {.weights = sharing.weights ? sharing.ranks : 1,
          .gradients = scattered ? sharing.ranks : 1,
          .optimizer = sharing.ranks};
}

bool HoldsEightBits(const Scenario& scenario) {
  const Matmul& matmul = scenario.training.matmul;
  return matmul.parameter_gather && !matmul.cast_each_gather;
}

std::int64_t ReductionsOfStep(const Scenario& scenario) {
  return scenario.training.sharding.no_sync ? 1 : scenario.batch.micro_batches;
}

bool StaysWhole(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket) {
  const Sharding& sharding = scenario.training.sharding;
  if (!sharding.reshard_after_forward) return true;
  if (bucket == 0 && !sharding.reshard_last_unit) return true;
  // The head reads the embedding's table.
  return scenario.model.tied_embedding && bucket + 1 == plan.buckets.size();
}

std::int64_t GathersOfStep(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket) {
  return scenario.batch.micro_batches * (StaysWhole(scenario, plan, bucket) ? 1 : 2);
}

sim::Bytes WeightsOf(const Scenario& scenario, const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(scenario.training.format);
  return sim::Bytes(bucket.parameters * width - bucket.eight_bits * (width - 1));
}

sim::Bytes GradientsOf(const Scenario& scenario, const Bucket& bucket) {
  return sim::Bytes(bucket.parameters * sim::ByteWidth(scenario.training.gradient_format));
}

}  // namespace scenarios
