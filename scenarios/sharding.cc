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
  if (sharing.optimizer && given > 0 && experts) {
    const Layout& layout = scenario.layout;
    sharing.ranks = given * layout.tensor / (layout.expert * layout.expert_tensor);
  }
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
  if (plan.buckets[bucket].head && !sharding.reshard_last_unit) return true;
  // The head reads the embedding's table.
  return scenario.model.tied_embedding && bucket + 1 == plan.buckets.size();
}

// In a pipeline a backward leaves units whole until the step's last: forwards gather but where a backward
// came just before, and backwards where a forward did. Of m and m, of which r backwards follow a forward, so
// that r - 1 forwards follow a backward, that is m - (r - 1) + r.
std::int64_t GathersOfStep(const Scenario& scenario, const StagePlan& plan, std::uint32_t bucket) {
  const bool stays = StaysWhole(scenario, plan, bucket);
  if (scenario.layout.pipeline > 1) return stays ? 1 : scenario.pipeline.microbatches_of_chunk() + 1;
  return scenario.batch.micro_batches * (stays ? 1 : 2);
}

sim::Bytes WeightsOf(const Scenario& scenario, const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(scenario.training.format);
  return sim::Bytes(bucket.parameters * width - bucket.eight_bits * (width - 1));
}

sim::Bytes GradientsOf(const Scenario& scenario, const Bucket& bucket) {
  return sim::Bytes(bucket.parameters * sim::ByteWidth(scenario.training.gradient_format));
}

}  // namespace scenarios
