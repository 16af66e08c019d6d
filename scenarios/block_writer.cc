#include "scenarios/block_writer.h"

#include <iterator>
#include <string>

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

BlockWriter::BlockWriter(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      tensor_(Join(job, job.scenario.layout.Group(tape->rank(), Dimension::kTensor), tape->rank())),
      context_(job, tape) {
  const Layout& layout = job.scenario.layout;
  if (layout.spreads_experts() && job.scenario.model.experts.routed > 0) {
    expert_group_ = layout.ExpertOf(tape->rank());
    constexpr ExpertDimension kGroups[] = {ExpertDimension::kExpert, ExpertDimension::kExpertTensor,
                                           ExpertDimension::kExpertModel};
    for (std::size_t i = 0; i < std::size(kGroups); ++i) {
      expert_[i] = Join(job, layout.Group(tape->rank(), kGroups[i]), tape->rank());
    }
  }
  for (const BlockPlan& block : plan.blocks) names_.push_back(job.builder->Name(block.name));
  const Pipeline& pipeline = job.scenario.pipeline;
  if (!pipeline.splits_backward() && !pipeline.delays_weight_gradients) return;
  for (const BlockPlan& block : plan.blocks) {
    names_of_weights_.push_back(job.builder->Name(std::string(block.name) + " weights"));
  }
}

void BlockWriter::CastWeights(const Unit& unit, std::int64_t micro_batch) {
  for (const std::uint32_t block : unit.blocks) {
    tape_->Work(plan_.blocks[block].weight_casts, TaskClass::kForward,
                LabelOf(names_[block], micro_batch, unit.layer));
  }
}

void BlockWriter::Forward(const Unit& unit, std::int64_t micro_batch, TaskClass task_class) {
  for (const std::uint32_t block : unit.blocks) {
    Forward(plan_.blocks[block], LabelOf(names_[block], micro_batch, unit.layer), task_class);
  }
}

void BlockWriter::Backward(const Unit& unit, std::int64_t micro_batch) {
  for (auto at = unit.blocks.rbegin(); at != unit.blocks.rend(); ++at) {
    const BlockPlan& block = plan_.blocks[*at];
    Backward(block, WholeOf(block), LabelOf(names_[*at], micro_batch, unit.layer));
  }
}

void BlockWriter::BackwardInput(const Unit& unit, std::int64_t micro_batch) {
  for (auto at = unit.blocks.rbegin(); at != unit.blocks.rend(); ++at) {
    const BlockPlan& block = plan_.blocks[*at];
    Backward(block, InputHalfOf(block), LabelOf(names_[*at], micro_batch, unit.layer));
  }
}

void BlockWriter::BackwardWeight(const Unit& unit, std::int64_t micro_batch) {
  const auto gather = [&](std::uint32_t block) {
    if (job_.scenario.layout.tensor == 1) return sim::TaskId::None();
    return Tensor(CollectiveKind::kAllGather, plan_.blocks[block].gather_again,
                  LabelOf(job_.names.gather, micro_batch, unit.layer));
  };
  sim::TaskId gathered = gather(unit.blocks.back());
  for (auto at = unit.blocks.rbegin(); at != unit.blocks.rend(); ++at) {
    const BlockPlan& block = plan_.blocks[*at];
    tape_->WaitFor(gathered);
    if (at + 1 != unit.blocks.rend()) gathered = gather(*(at + 1));
    sim::WorkTimes work = block.split.weights;
    if (!block.experts.empty()) work = work + ExpertsOf(block).weights;
    tape_->Work(work, TaskClass::kBackward, LabelOf(names_of_weights_[*at], micro_batch, unit.layer));
  }
}

// The weight half of a block is gathered for and waits as soon as its input half is written,
// that of its routed experts before their gradients go home.
void BlockWriter::BackwardWeightsLater(const Unit& unit, std::int64_t micro_batch) {
  for (auto at = unit.blocks.rbegin(); at != unit.blocks.rend(); ++at) {
    const BlockPlan& block = plan_.blocks[*at];
    Phases phases = InputHalfOf(block);
    phases.weights_name = names_of_weights_[*at];
    if (!block.experts.empty()) phases.expert_weights = ExpertsOf(block).weights;
    Backward(block, phases, LabelOf(names_[*at], micro_batch, unit.layer));
    sim::TaskId gathered;
    if (job_.scenario.layout.tensor > 1) {
      gathered = Tensor(CollectiveKind::kAllGather, block.gather_again,
                        LabelOf(job_.names.gather, micro_batch, unit.layer));
    }
    Later(block.split.weights, LabelOf(phases.weights_name, micro_batch, unit.layer), gathered);
  }
}

void BlockWriter::Later(sim::WorkTimes weights, const sim::Label& label, sim::TaskId gathered) {
  later_.push_back({weights, label, gathered});
}

void BlockWriter::MakeWeights() {
  for (const LaterWork& later : later_) {
    tape_->WaitFor(later.gathered);
    tape_->Work(later.work, TaskClass::kBackward, later.label);
  }
  later_.clear();
}

void BlockWriter::WhileTheyTravel() {
  MakeWeights();
  tape_->EndTurn();
}

BlockWriter::Phases BlockWriter::WholeOf(const BlockPlan& block) const {
  return {.head = block.backward_head,
          .main = block.backward_main,
          .weight = block.backward_weight,
          .tail = block.backward_tail,
          .experts = block.experts.empty() ? sim::WorkTimes() : ExpertsOf(block).backward};
}

BlockWriter::Phases BlockWriter::InputHalfOf(const BlockPlan& block) const {
  return {.head = block.split.head,
          .main = block.split.main,
          .weight = {},
          .tail = block.split.tail,
          .experts = block.experts.empty() ? sim::WorkTimes() : ExpertsOf(block).backward_input,
          .gathers_again = false};
}

// Phases with no communication between them run as one task.
void BlockWriter::Forward(const BlockPlan& block, const sim::Label& label, TaskClass task_class) {
  if (!block.experts.empty()) return ForwardSpread(block, label, task_class);
  const bool sequence = job_.scenario.layout.sequence;
  sim::WorkTimes work = block.before_gather;
  if (sequence && job_.scenario.layout.tensor > 1 && block.gather_forward > sim::Bytes()) {
    tape_->Work(work, task_class, label);
    work = {};
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_forward,
                          LabelOf(job_.names.gather, label.micro_batch, label.layer)));
  }
  work = work + block.main;
  if (!block.context.pieces.empty()) {
    work = context_.Forward(block.context, work, task_class, label) + block.context.after;
  }
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

void BlockWriter::Backward(const BlockPlan& block, const Phases& phases, const sim::Label& label) {
  if (!block.experts.empty()) return BackwardSpread(block, phases, label);
  const bool sequence = job_.scenario.layout.sequence;
  const bool communicates = job_.scenario.layout.tensor > 1;
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  sim::WorkTimes work = phases.head;
  sim::TaskId input_gathered;
  if (communicates && sequence && block.gather_backward > sim::Bytes()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_backward, named(job_.names.gather)));
  }
  if (communicates && sequence && phases.gathers_again) {
    input_gathered = Tensor(CollectiveKind::kAllGather, block.gather_again, named(job_.names.gather));
  }
  work = RecomputeSelected(block, work, label) + phases.main;
  if (!block.context.pieces.empty()) work = context_.Backward(block.context, work, label);
  if (communicates && block.reduce_backward > sim::Bytes()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    const sim::TaskId reduced = Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                                       block.reduce_backward, named(job_.names.reduce));
    tape_->WaitFor(input_gathered);
    tape_->Work(phases.weight, TaskClass::kBackward, label);
    tape_->WaitFor(reduced);
  } else {
    tape_->WaitFor(input_gathered);
    work = work + phases.weight;
  }
  tape_->Work(work + phases.tail, TaskClass::kBackward, label);
}

sim::WorkTimes BlockWriter::RecomputeSelected(const BlockPlan& block, sim::WorkTimes before,
                                              const sim::Label& label) {
  const Training& training = job_.scenario.training;
  if (training.recompute != Recompute::kSelective) return before;
  sim::WorkTimes again = block.selective_recompute;
  const bool core = training.selective.attention_core && !block.context.pieces.empty();
  if (!core && again.alone == sim::Duration()) return before;
  tape_->Work(before, TaskClass::kBackward, label);
  if (core) again = context_.Forward(block.context, again, TaskClass::kRecompute, label);
  tape_->Work(again, TaskClass::kRecompute, label);
  return {};
}

const ExpertPlan& BlockWriter::ExpertsOf(const BlockPlan& block) const {
  return block.experts[block.experts.size() > 1 ? static_cast<std::size_t>(expert_group_) : 0];
}

sim::TaskId BlockWriter::Move(const std::vector<models::ExpertMove>& moves, const sim::Label& label) {
  sim::TaskId last;
  for (const models::ExpertMove& move : moves) {
    Collective collective{move.kind, move.size, TaskClass::kExpert, move.inside};
    if (move.uneven) {
      collective.uneven = move.outward ? sim::Uneven::kByReceiver : sim::Uneven::kBySender;
    }
    const std::uint16_t name = move.outward ? job_.names.dispatch : job_.names.combine;
    // The stream keeps their order, so the last one ends last.
    const sim::TaskId moved =
        Issue(job_, expert_[static_cast<std::size_t>(move.group)], collective, sim::StreamKind::kExpert,
              LabelOf(name, label.micro_batch, label.layer), tape_);
    if (moved.valid()) last = moved;
  }
  return last;
}

sim::TaskId BlockWriter::MoveHome(const ExpertPlan& experts, const sim::Label& label) {
  const sim::TaskId home = Move(experts.homeward, label);
  if (experts.gather == sim::Bytes()) return home;
  const sim::TaskId gathered = Tensor(CollectiveKind::kAllGather, experts.gather,
                                      LabelOf(job_.names.gather, label.micro_batch, label.layer));
  if (home.valid()) job_.builder->After(gathered, home);
  return gathered;
}

sim::TaskId BlockWriter::SharedForward(const BlockPlan& block, const sim::Label& label,
                                       TaskClass task_class) {
  if (block.main.alone == sim::Duration()) return {};
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  const bool communicates = job_.scenario.layout.tensor > 1;
  if (communicates) {
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_forward, named(job_.names.gather)));
  }
  tape_->Work(block.main, task_class, label);
  if (!communicates) return {};
  const bool sequence = job_.scenario.layout.sequence;
  return Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, block.reduce_forward,
                named(job_.names.reduce));
}

sim::TaskId BlockWriter::SharedBackward(const BlockPlan& block, const Phases& phases,
                                        const sim::Label& label) {
  if (block.backward_main.alone == sim::Duration()) return {};
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  const bool communicates = job_.scenario.layout.tensor > 1;
  sim::TaskId again, reduced;
  if (communicates) {
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_backward, named(job_.names.gather)));
    if (phases.gathers_again) {
      again = Tensor(CollectiveKind::kAllGather, block.gather_again, named(job_.names.gather));
    }
  }
  tape_->Work(phases.main, TaskClass::kBackward, label);
  if (communicates) {
    reduced =
        Tensor(job_.scenario.layout.sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
               block.reduce_backward, named(job_.names.reduce));
    tape_->WaitFor(again);
  }
  tape_->Work(phases.weight, TaskClass::kBackward, label);
  return reduced;
}

void BlockWriter::ForwardSpread(const BlockPlan& block, const sim::Label& label, TaskClass task_class) {
  const ExpertPlan& experts = ExpertsOf(block);
  const bool overlap = job_.scenario.experts.overlap_shared;
  tape_->Work(block.before_gather, task_class, label);
  sim::TaskId shared;
  if (!overlap) shared = SharedForward(block, label, task_class);
  const sim::TaskId arrived = Move(experts.outward, label);
  if (overlap) shared = SharedForward(block, label, task_class);
  WhileTheyTravel();
  tape_->WaitFor(arrived);
  tape_->Work(experts.forward, task_class, label);
  const sim::TaskId home = MoveHome(experts, label);
  WhileTheyTravel();
  tape_->WaitFor(home);
  tape_->WaitFor(shared);
  tape_->Work(block.after_reduce, task_class, label);
}

void BlockWriter::BackwardSpread(const BlockPlan& block, const Phases& phases, const sim::Label& label) {
  const ExpertPlan& experts = ExpertsOf(block);
  const bool overlap = job_.scenario.experts.overlap_shared;
  tape_->Work(phases.head, TaskClass::kBackward, label);
  const sim::TaskId arrived = Move(experts.outward, label);
  sim::TaskId shared;
  if (overlap) shared = SharedBackward(block, phases, label);
  WhileTheyTravel();
  tape_->WaitFor(arrived);
  tape_->Work(phases.experts, TaskClass::kBackward, label);
  const sim::TaskId home = MoveHome(experts, label);
  Later(phases.expert_weights, LabelOf(phases.weights_name, label.micro_batch, label.layer));
  WhileTheyTravel();
  if (!overlap) {
    tape_->WaitFor(home);
    shared = SharedBackward(block, phases, label);
  }
  tape_->WaitFor(home);
  tape_->WaitFor(shared);
  tape_->Work(phases.tail, TaskClass::kBackward, label);
}

void BlockWriter::ReduceScales(std::int64_t micro_batch) {
  if (plan_.scales == sim::Bytes()) return;
  tape_->WaitFor(Tensor(CollectiveKind::kAllReduce, plan_.scales, LabelOf(job_.names.reduce, micro_batch)));
}

sim::TaskId BlockWriter::Tensor(CollectiveKind kind, sim::Bytes size, sim::Label label) {
  return Issue(job_, tensor_, {kind, size, TaskClass::kTensor}, sim::StreamKind::kTensor, label, tape_);
}

}  // namespace scenarios
