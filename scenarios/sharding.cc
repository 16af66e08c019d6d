#include "scenarios/sharding.h"

#include <algorithm>

namespace scenarios {

Sharing SharingOf(const Scenario& scenario, bool experts) {
  const OptimizerSharding kind = scenario.training.optimizer_sharding;
  const std::int64_t data =
      scenario.pipeline.copies() * (experts ? scenario.layout.expert_data() : scenario.layout.data);
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
  return sim::Bytes(bucket.parameters * sim::ByteWidth(scenario.training.format));
}

sim::Bytes GradientsOf(const Scenario& scenario, const Bucket& bucket) {
  return sim::Bytes(bucket.parameters * sim::ByteWidth(scenario.training.gradient_format));
}

void WholeUnits::Take(std::uint32_t bucket, std::vector<std::uint32_t>* missing) {
  if (whole_[bucket]) return;
  whole_[bucket] = true;
  missing->push_back(bucket);
}

// The forward goes from the last bucket to the first.
std::vector<std::uint32_t> WholeUnits::BeforeForward(std::uint32_t bucket) {
  std::vector<std::uint32_t> missing;
  const std::int64_t last = std::max<std::int64_t>(0, bucket - scenario_.training.sharding.prefetch);
  for (std::int64_t b = bucket; b >= last; --b) Take(static_cast<std::uint32_t>(b), &missing);
  return missing;
}

std::vector<std::uint32_t> WholeUnits::BeforeBackward(std::uint32_t bucket) {
  std::vector<std::uint32_t> missing;
  const std::int64_t last = std::min<std::int64_t>(static_cast<std::int64_t>(whole_.size()) - 1,
                                                   bucket + scenario_.training.sharding.prefetch);
  for (std::int64_t b = bucket; b <= last; ++b) Take(static_cast<std::uint32_t>(b), &missing);
  return missing;
}

void WholeUnits::AfterForward(std::uint32_t bucket) {
  if (!StaysWhole(scenario_, plan_, bucket)) whole_[bucket] = false;
}

sim::Bytes WholeUnits::bytes() const {
  sim::Bytes sum;
  for (std::size_t b = 0; b < whole_.size(); ++b) {
    if (whole_[b]) sum += WeightsOf(scenario_, plan_.buckets[b]);
  }
  return sum;
}

}  // namespace scenarios
