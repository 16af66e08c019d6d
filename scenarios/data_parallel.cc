#include "scenarios/data_parallel.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

DataParallel::DataParallel(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      data_(Join(job, job.scenario.layout.Group(tape->rank(), Dimension::kData), tape->rank())),
      parameters_ready_(plan.buckets.size(), sim::TaskId::None()) {}

// ZeRO-1: each rank has updated its share and gathers the others', bucket by
// bucket in the order the forward needs them (the reverse of the backward's).
void DataParallel::StartStep() {
  const Training& training = job_.scenario.training;
  if (!zero1() || !training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) parameters_ready_[i] = GatherBucket(plan_.buckets[i]);
}

void DataParallel::BeforeForward(const Unit& unit) {
  sim::TaskId& parameters = parameters_ready_[unit.bucket];
  tape_->WaitFor(parameters);
  parameters = sim::TaskId::None();
}

void DataParallel::AfterLastBackward(const Unit& unit) {
  if (job_.scenario.training.overlap_gradient_reduce && unit.closes_bucket) {
    ReduceBucket(plan_.buckets[unit.bucket]);
  }
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
    last = Data(CollectiveKind::kAllGather, sim::Bytes(PartOf(bucket, part) * width), job_.names.parameters);
  }
  return last;
}

void DataParallel::ReduceBucket(const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.gradient_format);
  const CollectiveKind kind = zero1() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = Data(kind, sim::Bytes(PartOf(bucket, part) * width), job_.names.bucket);
  }
  tape_->WaitForAtEnd(last);
}

sim::TaskId DataParallel::Data(CollectiveKind kind, sim::Bytes size, std::uint16_t name) {
  return Issue(job_, data_, {kind, size, TaskClass::kData}, sim::StreamKind::kData, LabelOf(name, -1), tape_);
}

}  // namespace scenarios
