// DataParallel: what a rank sends and gets for data parallelism: buckets of
// gradients reduced beside the backward; parameters gathered beside the next
// step's forward, or unit by unit beside the units that run before (ZERO_3).

#ifndef SCENARIOS_DATA_PARALLEL_H_
#define SCENARIOS_DATA_PARALLEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "scenarios/job.h"
#include "scenarios/sharding.h"
#include "scenarios/whole_units.h"

namespace scenarios {

class DataParallel {
 public:
  // All three must outlive this.
  DataParallel(const Job& job, const StagePlan& plan, RankTape* tape);

  // Before the forwards of every step but the first.
  void StartStep();
  // The next work needs the parameters of `unit`.
  void BeforeForward(const Unit& unit);
  void AfterForward(const Unit& unit);
  void BeforeBackward(const Unit& unit);
  // What is cast of its weights then.
  WeightCast CastForForward(const Unit& unit, bool first_of_chunk);
  WeightCast CastForBackward(const Unit& unit);
  // The gradients of the unit are complete for one micro-batch, the `last` of the step or not.
  void AfterBackward(const Unit& unit, bool last);
  // All gradients of the step are reduced, as far as the optimizer waits for them.
  void BeforeOptimizer();
  // Behind the update: the largest numbers of weights that are cast by shares.
  void ReduceScales();
  void AfterOptimizer();

  // By bucket, behind what its gradients are complete in a step.
  const std::vector<sim::TaskId>& reduced() const { return reduced_; }

 private:
  // The ranks that share a copy with this one, and those that hold the same share of theirs.
  struct Groups {
    Sharing sharing;
    Membership shard, replicas;
  };
  Groups Cut(const std::vector<sim::Rank>& data, const Sharing& sharing) const;

  const Sharding& sharding() const { return job_.scenario.training.sharding; }
  bool GathersOnceAStep() const { return sharing_.optimizer && !sharing_.weights; }
  void GatherUnits(const std::vector<std::uint32_t>& buckets, sim::TaskClass task_class);
  void WaitForParameters(const Unit& unit);
  sim::TaskId GatherBucket(const Bucket& bucket, sim::TaskId after = {});
  sim::TaskId ReduceBucket(std::uint32_t at);
  // Of a share that lies on the host.
  sim::TaskId CopyIn(const Bucket& bucket);
  sim::TaskId ReducePart(std::int64_t numbers, const Groups& groups);
  const Groups& GroupsOf(const Bucket& bucket) const { return bucket.experts ? experts_ : others_; }

  const Job& job_;
  const StagePlan& plan_;
  RankTape* tape_;
  const Sharing sharing_;
  Groups others_, experts_;                    // experts_ means something where the stage has spread experts
  std::optional<WholeUnits> whole_;            // where weights are cut
  std::vector<sim::TaskId> parameters_ready_;  // by bucket; none once waited for
  std::vector<sim::TaskId> reduced_;           // by bucket
  std::map<sim::Bytes, sim::TrafficId> from_host_;
  std::uint16_t cast_name_ = 0, scales_name_ = 0;
  sim::TaskId reducing_experts_;
  sim::TaskId reducing_;  // the last reduction of sharded gradients
};

}  // namespace scenarios

#endif  // SCENARIOS_DATA_PARALLEL_H_
