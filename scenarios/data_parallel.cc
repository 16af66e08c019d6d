#include "scenarios/data_parallel.h"

#include <algorithm>

#include "scenarios/checkpoint_writer.h"
#include "scenarios/offload.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::StreamKind;
using sim::TaskClass;

DataParallel::DataParallel(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      sharing_(SharingOf(job.scenario)),
      others_(Cut(
          WithCopies(job.scenario.pipeline, job.scenario.layout, job.scenario.layout.Copies(tape->rank())),
          sharing_)),
      parameters_ready_(plan.buckets.size(), sim::TaskId::None()),
      reduced_(parameters_ready_) {
  if (sharing_.weights) whole_.emplace(job.scenario, plan);
  if (sharing_.weights && job.scenario.training.matmul.parameter_gather) {
    cast_name_ = job.builder->Name("cast share");
    scales_name_ = job.builder->Name("weight scales");
  }
  if (plan.spread == 0) return;
  experts_ = Cut(WithCopies(job.scenario.pipeline, job.scenario.layout,
                            job.scenario.layout.Group(tape->rank(), ExpertDimension::kExpertData)),
                 SharingOf(job.scenario, /*experts=*/true));
}

DataParallel::Groups DataParallel::Cut(const std::vector<sim::Rank>& data, const Sharing& sharing) const {
  const auto count = static_cast<std::int64_t>(data.size());
  const std::int64_t at = std::find(data.begin(), data.end(), tape_->rank()) - data.begin();
  std::vector<sim::Rank> shard, replicas;
  for (std::int64_t i = 0; i < count; ++i) {
    const sim::Rank other = data[static_cast<std::size_t>(i)];
    if (i / sharing.ranks == at / sharing.ranks) shard.push_back(other);
    if (i % sharing.ranks == at % sharing.ranks) replicas.push_back(other);
  }
  return {sharing, Join(job_, shard, tape_->rank()), Join(job_, replicas, tape_->rank())};
}

// ZeRO-1 and 2: each rank has updated its share and gathers the others', bucket by
// bucket in the order the forward needs them (the reverse of the backward's).
void DataParallel::StartStep() {
  if (!GathersOnceAStep() || !job_.scenario.training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) parameters_ready_[i] = GatherBucket(plan_.buckets[i]);
}

void DataParallel::BeforeForward(const Unit& unit) {
  if (whole_) GatherUnits(whole_->BeforeForward(unit), TaskClass::kForward);
  WaitForParameters(unit);
}

void DataParallel::AfterForward(const Unit& unit) {
  if (whole_) whole_->AfterForward(unit);
}

void DataParallel::BeforeBackward(const Unit& unit) {
  if (!whole_) return;
  GatherUnits(whole_->BeforeBackward(unit), TaskClass::kBackward);
  WaitForParameters(unit);
}

void DataParallel::WaitForParameters(const Unit& unit) {
  const auto wait_for = [&](std::uint32_t bucket) {
    tape_->WaitFor(parameters_ready_[bucket]);
    parameters_ready_[bucket] = sim::TaskId::None();
  };
  wait_for(unit.bucket);
  if (unit.spread > 0) wait_for(unit.expert_bucket);
}

WeightCast DataParallel::CastForForward(const Unit& unit, bool first_of_chunk) {
  if (whole_) return whole_->CastForForward(unit);
  return first_of_chunk ? WeightCast::kAllCopies : WeightCast::kNone;
}

WeightCast DataParallel::CastForBackward(const Unit& unit) {
  return whole_ ? whole_->CastForBackward(unit) : WeightCast::kNone;
}

// A gather starts when the unit before the one that runs next has ended, and with
// it given its memory back.
void DataParallel::GatherUnits(const std::vector<std::uint32_t>& buckets, TaskClass task_class) {
  for (const std::uint32_t at : buckets) {
    const Bucket& bucket = plan_.buckets[at];
    tape_->Work(bucket.share_cast, task_class, LabelOf(cast_name_, -1));
    const sim::TaskId copied =
        job_.scenario.training.offload.parameters ? CopyIn(bucket) : sim::TaskId::None();
    parameters_ready_[at] = GatherBucket(bucket, copied);
  }
}

void DataParallel::AfterBackward(const Unit& unit, bool last) {
  if (whole_) whole_->AfterBackward(unit, last);
  if (!last && sharding().no_sync) return;
  const bool overlap = job_.scenario.training.overlap_gradient_reduce;
  if (!overlap && sharding().no_sync) return;
  const bool ends_micro_batch = unit.bucket + 1 == plan_.buckets.size();
  const bool each =
      !sharing_.gradients || !overlap;  // of the buckets is waited for at the end, not the last alone
  // Whole gradients of two buckets, or of two of experts, are in memory at the most.
  if (unit.closes_expert_bucket) {
    if (sharing_.gradients) tape_->WaitFor(reducing_experts_);
    reducing_experts_ = ReduceBucket(unit.expert_bucket);
    if (each) tape_->WaitForAtEnd(reducing_experts_);
  }
  if (!unit.closes_bucket) return;
  if (sharing_.gradients) tape_->WaitFor(reducing_);
  reducing_ = ReduceBucket(unit.bucket);
  if (each || ends_micro_batch) tape_->WaitForAtEnd(reducing_);
  if (!each && ends_micro_batch) tape_->WaitForAtEnd(reducing_experts_);
  // Frameworks end each backward by waiting for what it reduces.
  if (!overlap || (!last && ends_micro_batch)) tape_->TakeEndWaits();
}

void DataParallel::BeforeOptimizer() {
  if (!job_.scenario.training.overlap_gradient_reduce && sharding().no_sync) {
    for (std::uint32_t b = 0; b < plan_.buckets.size(); ++b) tape_->WaitForAtEnd(ReduceBucket(b));
  }
  tape_->TakeEndWaits();
}

void DataParallel::ReduceScales() {
  const auto reduce = [&](const Groups& groups, sim::Bytes size) {
    tape_->WaitFor(Issue(job_, groups.shard, {CollectiveKind::kAllReduce, size, TaskClass::kData},
                         StreamKind::kData, LabelOf(scales_name_, -1), tape_));
  };
  reduce(others_, plan_.share_scales);
  if (plan_.spread > 0) reduce(experts_, plan_.expert_share_scales);
}

void DataParallel::AfterOptimizer() {
  if (!GathersOnceAStep() || job_.scenario.training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) tape_->WaitFor(GatherBucket(plan_.buckets[i]));
}

// The data stream keeps the order of the parts, so the last one ends last.
sim::TaskId DataParallel::GatherBucket(const Bucket& bucket, sim::TaskId after) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.format);
  const Membership& shard = GroupsOf(bucket).shard;
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    const std::int64_t eight_bits =
        bucket.eight_bits * (part + 1) / bucket.parts - bucket.eight_bits * part / bucket.parts;
    const Collective gather{CollectiveKind::kAllGather,
                            sim::Bytes(PartOf(bucket, part) * width - eight_bits * (width - 1)),
                            TaskClass::kData};
    const sim::Label label = LabelOf(job_.names.parameters, -1);
    last = IssueAfter(job_, shard, gather, tape_->stream(StreamKind::kData), label,
                      after.valid() ? after : tape_->last(), {}, tape_);
  }
  return last.valid() ? last : after;
}

sim::TaskId DataParallel::ReduceBucket(std::uint32_t at) {
  const Bucket& bucket = plan_.buckets[at];
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = ReducePart(PartOf(bucket, part), GroupsOf(bucket));
  }
  reduced_[at] = last.valid() ? last : tape_->last();
  return last;
}

// A second stream of its kind, as of activations: the first is the checkpoint's.
sim::TaskId DataParallel::CopyIn(const Bucket& bucket) {
  const sim::Bytes share = ShareOf(job_.scenario, bucket);
  if (share == sim::Bytes()) return sim::TaskId::None();
  const auto [at, is_new] = from_host_.try_emplace(share);
  if (is_new) {
    at->second = job_.builder->AddTraffic(
        StorageTraffic("copy", share, job_.scenario.fabric.storage->to_device[tape_->rank().pos()]));
  }
  const sim::TaskId copy = job_.builder->Seat(tape_->stream(StreamKind::kCopyIn, /*second=*/true),
                                              job_.builder->AddCommunication(at->second), TaskClass::kOffload,
                                              LabelOf(job_.names.parameters, -1));
  if (tape_->last().valid()) job_.builder->After(copy, tape_->last());
  return copy;
}

// Scattered among those who share a copy; each share is then reduced over the
// copies (HSDP), on a stream of its own beside the next scatter. Without sharding
// the second is all there is.
sim::TaskId DataParallel::ReducePart(std::int64_t numbers, const Groups& groups) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.gradient_format);
  const std::int64_t share = (numbers + groups.sharing.ranks - 1) / groups.sharing.ranks;
  const Collective scatter{CollectiveKind::kReduceScatter, sim::Bytes(numbers * width), TaskClass::kData};
  const Collective reduce{CollectiveKind::kAllReduce, sim::Bytes(share * width), TaskClass::kData};
  const sim::Label label = LabelOf(job_.names.bucket, -1);
  const sim::TaskId scattered = Issue(job_, groups.shard, scatter, StreamKind::kData, label, tape_);
  if (groups.sharing.replicas == 1) return scattered;
  if (!scattered.valid()) return Issue(job_, groups.replicas, reduce, StreamKind::kData, label, tape_);
  return IssueAfter(job_, groups.replicas, reduce, tape_->stream(StreamKind::kReplica), label, scattered, {},
                    tape_);
}

}  // namespace scenarios
