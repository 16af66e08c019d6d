#include "scenarios/data_parallel.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

DataParallel::DataParallel(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      data_(Join(job, job.scenario.layout.Group(tape->rank(), Dimension::kData), tape->rank())),
      expert_data_(plan.spread == 0
                       ? data_
                       : Join(job, job.scenario.layout.Group(tape->rank(), ExpertDimension::kExpertData),
                              tape->rank())),
      parameters_ready_(plan.buckets.size(), sim::TaskId::None()) {}

// ZeRO-1: each rank has updated its share and gathers the others', bucket by
// bucket in the order the forward needs them (the reverse of the backward's).
void DataParallel::StartStep() {
  const Training& training = job_.scenario.training;
  if (!zero1() || !training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) parameters_ready_[i] = GatherBucket(plan_.buckets[i]);
}

void DataParallel::BeforeForward(const Unit& unit) {
  const auto wait_for = [&](std::uint32_t bucket) {
    tape_->WaitFor(parameters_ready_[bucket]);
    parameters_ready_[bucket] = sim::TaskId::None();
  };
  wait_for(unit.bucket);
  if (unit.spread > 0) wait_for(unit.expert_bucket);
}

void DataParallel::AfterLastBackward(const Unit& unit) {
  if (!job_.scenario.training.overlap_gradient_reduce) return;
  if (unit.closes_expert_bucket) ReduceBucket(plan_.buckets[unit.expert_bucket]);
  if (unit.closes_bucket) ReduceBucket(plan_.buckets[unit.bucket]);
}

void DataParallel::BeforeOptimizer() {
  if (!job_.scenario.training.overlap_gradient_reduce) {
    for (const Bucket& bucket : plan_.buckets) ReduceBucket(bucket);
  }
  tape_->TakeEndWaits();
}

void DataParallel::AfterOptimizer() {
  if (!zero1() || job_.scenario.training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) tape_->WaitFor(GatherBucket(plan_.buckets[i]));
}

// The data stream keeps the order of the parts, so the last one ends last.
sim::TaskId DataParallel::GatherBucket(const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.format);
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = Data(bucket, CollectiveKind::kAllGather, sim::Bytes(PartOf(bucket, part) * width),
                job_.names.parameters);
  }
  return last;
}

void DataParallel::ReduceBucket(const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.gradient_format);
  const CollectiveKind kind = zero1() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = Data(bucket, kind, sim::Bytes(PartOf(bucket, part) * width), job_.names.bucket);
  }
  tape_->WaitForAtEnd(last);
}

sim::TaskId DataParallel::Data(const Bucket& bucket, CollectiveKind kind, sim::Bytes size,
                               std::uint16_t name) {
  return Issue(job_, bucket.experts ? expert_data_ : data_, {kind, size, TaskClass::kData},
               sim::StreamKind::kData, LabelOf(name, -1), tape_);
}

}  // namespace scenarios
