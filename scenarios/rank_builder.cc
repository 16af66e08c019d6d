#include "scenarios/rank_builder.h"

#include "scenarios/checkpoint_writer.h"
#include "scenarios/turns.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::StreamKind;
using sim::TaskClass;

RankBuilder::RankBuilder(const Job& job, sim::Rank rank)
    : job_(job),
      stage_(job.scenario.layout.Coordinate(rank, Dimension::kPipeline)),
      plan_((*job.stages)[static_cast<std::size_t>(stage_)]),
      tape_(job.builder, rank, job.launch_operation, job.scenario.training.launches == Launches::kBlocking,
            job.further_launch),
      blocks_(job, plan_, &tape_),
      transfers_(job, plan_.boundary, &tape_),
      data_(job, plan_, &tape_),
      world_{job.world, rank.value()} {
  if (Offloads(job.scenario)) offload_.emplace(job.scenario, job.builder, &tape_);
  if (plan_.host_numbers > 0) host_.emplace(job, plan_, &tape_);
  if (plan_.tied_gradient > sim::Bytes()) {
    const std::vector<sim::Rank> column = job.scenario.layout.Group(rank, Dimension::kPipeline);
    tied_ = Join(job, {column.front(), column.back()}, rank);
  }
}

void RankBuilder::Build() {
  for (std::int64_t step = 0; step < job_.scenario.steps; ++step) Step(step);
}

void RankBuilder::Step(std::int64_t step) {
  if (step > 0) data_.StartStep();
  to_start_.assign(plan_.chunks.size(), job_.scenario.pipeline.passes_of_chunk());
  left_ = to_start_;
  const std::vector<sim::PipelineStep>& order = (*job_.orders)[static_cast<std::size_t>(stage_)];
  std::size_t sent = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (transfers_.batched()) sent = Batch(step, order, sent, i);
    if (order[i].joined && TakeTurns(job_.scenario.pipeline, plan_, order[i], order[i + 1])) {
      Pair(step, order[i], order[i + 1]);
      ++i;
    } else {
      Pass(step, order[i]);
    }
  }
  if (transfers_.batched()) Batch(step, order, sent, order.size());
  FinishStep(step);
}

// All that lies between the passes before `at` and those behind it, up to the next batch; returns how many of
// the passes have sent.
std::size_t RankBuilder::Batch(std::int64_t step, std::span<const sim::PipelineStep> order, std::size_t sent,
                               std::size_t at) {
  const auto stage = static_cast<std::uint32_t>(stage_);
  const Pipeline& pipeline = job_.scenario.pipeline;
  if (!BatchBefore(pipeline, stage, order, at)) return sent;
  std::size_t next = at;
  while (next < order.size() && (next == at || !BatchBefore(pipeline, stage, order, next))) ++next;
  transfers_.Batch(step, order.subspan(sent, at - sent), order.subspan(at, next - at));
  return at;
}

// The backward begins: what its gradients travel for is asked for before the forward's attention, and
// so on, as in DeepSeek-V3's figure 4 and Megatron-LM's TransformerLayerSchedulePlan.
void RankBuilder::Pair(std::int64_t step, const sim::PipelineStep& forward,
                       const sim::PipelineStep& backward) {
  tape_.BeginTurns();
  Pass(step, backward, /*in_pair=*/true);
  tape_.NextInTurns();
  Pass(step, forward, /*in_pair=*/true);
  tape_.EndTurns();
}

void RankBuilder::Pass(std::int64_t step, const sim::PipelineStep& at, bool in_pair) {
  using enum sim::PipelineStep::Kind;
  const Pipeline& pipeline = job_.scenario.pipeline;
  const bool completes = at.kind == kBackward || at.kind == kBackwardWeight;  // one micro-batch's gradients
  const bool last = completes && --left_[at.chunk] == 0;
  if (at.kind == kForward) Forward(step, at, to_start_[at.chunk]-- == pipeline.passes_of_chunk());
  if (at.kind == kBackward || at.kind == kBackwardInput) {
    Backward(step, at, last, in_pair && pipeline.delays_weight_gradients);
  }
  if (at.kind == kBackwardWeight) BackwardWeight(at, last);
}

void RankBuilder::Forward(std::int64_t step, const sim::PipelineStep& at, bool first_of_chunk) {
  if (!transfers_.batched()) transfers_.Receive(step, at, /*forward=*/true);
  for (const Unit& unit : plan_.chunks[at.chunk]) {
    data_.BeforeForward(unit);
    if (offload_) offload_->BeforeForward(unit);
    blocks_.CastWeights(unit, data_.CastForForward(unit, first_of_chunk), at.microbatch, TaskClass::kForward);
    blocks_.Forward(unit, at, TaskClass::kForward);
    data_.AfterForward(unit);
    if (offload_) offload_->AfterForward(unit, at.microbatch);
  }
  blocks_.ReduceScales(at.microbatch);
  if (!transfers_.batched()) transfers_.Send(step, at, /*forward=*/true);
}

void RankBuilder::Backward(std::int64_t step, const sim::PipelineStep& at, bool last_of_chunk,
                           bool weights_later) {
  if (!transfers_.batched()) transfers_.Receive(step, at, /*forward=*/false);
  const std::vector<Unit>& units = plan_.chunks[at.chunk];
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    data_.BeforeBackward(*unit);
    if (offload_) offload_->BeforeBackward(units, *unit, at.microbatch);
    blocks_.CastWeights(*unit, data_.CastForBackward(*unit), at.microbatch, TaskClass::kBackward);
    if (unit->recompute == Recompute::kFull && unit->ends_group) {
      for (const Unit* again = &*unit - unit->place_in_group; again <= &*unit; ++again) {
        blocks_.Forward(*again, at, TaskClass::kRecompute);
      }
    }
    if (at.kind == sim::PipelineStep::Kind::kBackwardInput) {
      blocks_.BackwardInput(*unit, at);
      continue;
    }
    if (weights_later) {
      blocks_.BackwardWeightsLater(*unit, at.microbatch);
      if (last_of_chunk) blocks_.MakeWeights();  // they are reduced now
    } else {
      blocks_.Backward(*unit, at);
    }
    if (offload_) offload_->AfterBackward(*unit);
    data_.AfterBackward(*unit, last_of_chunk);
  }
  blocks_.ReduceScales(at.microbatch);
  if (!transfers_.batched()) transfers_.Send(step, at, /*forward=*/false);
  blocks_.MakeWeights();
}

void RankBuilder::BackwardWeight(const sim::PipelineStep& at, bool last_of_chunk) {
  const std::vector<Unit>& units = plan_.chunks[at.chunk];
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    blocks_.BackwardWeight(*unit, at.microbatch);
    data_.AfterBackward(*unit, last_of_chunk);
  }
}

void RankBuilder::FinishStep(std::int64_t step) {
  data_.BeforeOptimizer();
  tape_.WaitFor(
      blocks_.Tensor(CollectiveKind::kAllReduce, plan_.sequence_gradient, LabelOf(job_.names.norms, -1)));
  if (plan_.tied_gradient > sim::Bytes()) {
    tape_.WaitFor(Issue(job_, tied_, {CollectiveKind::kAllReduce, plan_.tied_gradient, TaskClass::kEmbedding},
                        StreamKind::kData, LabelOf(job_.names.tied, -1), &tape_));
  }
  if (job_.scenario.training.gradient_norm) {
    // Of gradients that are reduced, by whichever stream.
    tape_.WaitFor(IssueAtEnd(job_, world_, {CollectiveKind::kAllReduce, sim::Bytes(4), TaskClass::kNorm},
                             StreamKind::kData, LabelOf(job_.names.clip, -1), &tape_));
    tape_.WaitOnHost();  // which reads the norm, to see that it is finite
  }
  if (host_) host_->Start(data_.reduced());
  tape_.Work(plan_.optimizer, TaskClass::kOptimizer, LabelOf(job_.names.optimizer, -1));
  data_.ReduceScales();
  tape_.Work(plan_.share_cast, TaskClass::kOptimizer, LabelOf(job_.names.optimizer, -1));
  if (host_) host_->Finish();
  data_.AfterOptimizer();
  tape_.Mark(TaskClass::kStepEnd, LabelOf(job_.names.step, step));
  if (job_.saves != nullptr) Save(step);
}

void RankBuilder::Save(std::int64_t step) {
  const std::int64_t save = job_.saves->AfterStep(step);
  if (save < 0) return;
  const sim::Rank rank = tape_.rank();
  const Layout& layout = job_.scenario.layout;
  const Membership data = Join(job_, WithCopies(job_.scenario.pipeline, layout, layout.Copies(rank)), rank);
  const sim::TaskId gathered =
      Issue(job_, data, {CollectiveKind::kAllGather, job_.saves->Gathered(rank), TaskClass::kCheckpoint},
            StreamKind::kData, LabelOf(job_.names.state, save), &tape_);
  job_.saves->Add(save, gathered, &tape_);
}

}  // namespace scenarios
