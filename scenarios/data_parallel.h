// DataParallel: what a rank sends and gets for data parallelism: buckets of
// gradients reduced beside the backward, parameters gathered beside the forward.

#ifndef SCENARIOS_DATA_PARALLEL_H_
#define SCENARIOS_DATA_PARALLEL_H_

#include <cstdint>
#include <vector>

#include "scenarios/job.h"

namespace scenarios {

class DataParallel {
 public:
  // All three must outlive this.
  DataParallel(const Job& job, const StagePlan& plan, RankTape* tape);

  // Before the forwards of every step but the first.
  void StartStep();
  // The next work needs the parameters of `unit`.
  void BeforeForward(const Unit& unit);
  // The gradients of the unit's last micro-batch are complete.
  void AfterLastBackward(const Unit& unit);
  // All gradients of the step are reduced, as far as the optimizer waits for them.
  void BeforeOptimizer();
  void AfterOptimizer();

 private:
  bool zero1() const { return job_.scenario.training.optimizer_sharding == OptimizerSharding::kZero1; }
  sim::TaskId GatherBucket(const Bucket& bucket);
  void ReduceBucket(const Bucket& bucket);
  sim::TaskId Data(const Bucket& bucket, sim::CollectiveKind kind, sim::Bytes size, std::uint16_t name);

  const Job& job_;
  const StagePlan& plan_;
  RankTape* tape_;
  Membership data_, expert_data_;
  std::vector<sim::TaskId> parameters_ready_;  // by bucket; none once waited for
};

}  // namespace scenarios

#endif  // SCENARIOS_DATA_PARALLEL_H_
