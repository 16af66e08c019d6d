#include "scenarios/block_writer.h"

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

BlockWriter::BlockWriter(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      tensor_(Join(job, job.scenario.layout.Group(tape->rank(), Dimension::kTensor), tape->rank())) {
  for (const BlockPlan& block : plan.blocks) names_.push_back(job.builder->Name(block.name));
}

void BlockWriter::Forward(const Unit& unit, std::int64_t micro_batch, TaskClass task_class) {
  for (const std::uint32_t block : unit.blocks) {
    Forward(plan_.blocks[block], LabelOf(names_[block], micro_batch, unit.layer), task_class);
  }
}

void BlockWriter::Backward(const Unit& unit, std::int64_t micro_batch) {
  for (auto block = unit.blocks.rbegin(); block != unit.blocks.rend(); ++block) {
    Backward(plan_.blocks[*block], LabelOf(names_[*block], micro_batch, unit.layer));
  }
}

// Phases with no communication between them run as one task.
void BlockWriter::Forward(const BlockPlan& block, const sim::Label& label, TaskClass task_class) {
  const bool sequence = job_.scenario.layout.sequence;
  sim::WorkTimes work = block.before_gather;
  if (sequence && job_.scenario.layout.tensor > 1 && block.gather_forward > sim::Bytes()) {
    tape_->Work(work, task_class, label);
    work = {};
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_forward,
                          LabelOf(job_.names.gather, label.micro_batch, label.layer)));
  }
  work = work + block.main;
  if (job_.scenario.layout.tensor > 1) {
    for (std::int64_t i = 0; i < block.small_reduces; ++i) {
      tape_->Work(work, task_class, label);
      work = {};
      tape_->WaitFor(Tensor(CollectiveKind::kAllReduce, block.small_reduce,
                            LabelOf(job_.names.loss, label.micro_batch, label.layer)));
    }
    if (block.reduce_forward > sim::Bytes()) {
      tape_->Work(work, task_class, label);
      work = {};
      tape_->WaitFor(Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                            block.reduce_forward,
                            LabelOf(job_.names.reduce, label.micro_batch, label.layer)));
    }
  }
  tape_->Work(work + block.after_reduce, task_class, label);
}

void BlockWriter::Backward(const BlockPlan& block, const sim::Label& label) {
  const bool sequence = job_.scenario.layout.sequence;
  const bool communicates = job_.scenario.layout.tensor > 1;
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  sim::WorkTimes work = block.backward_head;
  sim::TaskId input_gathered;
  if (communicates && sequence && block.gather_backward > sim::Bytes()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_backward, named(job_.names.gather)));
  }
  if (communicates && sequence) {
    input_gathered = Tensor(CollectiveKind::kAllGather, block.gather_again, named(job_.names.gather));
  }
  if (job_.scenario.training.recompute == Recompute::kSelective &&
      block.selective_recompute.alone > sim::Duration()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    tape_->Work(block.selective_recompute, TaskClass::kRecompute, label);
  }
  work = work + block.backward_main;
  if (communicates && block.reduce_backward > sim::Bytes()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    const sim::TaskId reduced = Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                                       block.reduce_backward, named(job_.names.reduce));
    tape_->WaitFor(input_gathered);
    tape_->Work(block.backward_weight, TaskClass::kBackward, label);
    tape_->WaitFor(reduced);
  } else {
    tape_->WaitFor(input_gathered);
    work = work + block.backward_weight;
  }
  tape_->Work(work + block.backward_tail, TaskClass::kBackward, label);
}

sim::TaskId BlockWriter::Tensor(CollectiveKind kind, sim::Bytes size, sim::Label label) {
  return Issue(job_, tensor_, {kind, size, TaskClass::kTensor}, sim::StreamKind::kTensor, label, tape_);
}

}  // namespace scenarios
