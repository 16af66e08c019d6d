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
  const Training& training = job.scenario.training;
  if (training.launches == Launches::kEager && training.host_waits.token_counts) {
    const RoutedExperts& experts = job.scenario.experts;
    const bool gathers = experts.dispatcher == models::Dispatcher::kAllGather;
    const bool pads = experts.dispatcher == models::Dispatcher::kAllToAll && experts.capacity_factor > 0;
    host_reads_gathered_ = gathers;
    host_reads_routed_ = !gathers && !pads;
  }
  for (const BlockPlan& block : plan.blocks) names_.push_back(job.builder->Name(block.name));
  const Pipeline& pipeline = job.scenario.pipeline;
  if (!pipeline.splits_backward() && !pipeline.delays_weight_gradients) return;
  for (const BlockPlan& block : plan.blocks) {
    names_of_weights_.push_back(job.builder->Name(std::string(block.name) + " weights"));
  }
}

void BlockWriter::CastWeights(const Unit& unit, WeightCast cast, std::int64_t micro_batch,
                              TaskClass task_class) {
  if (cast == WeightCast::kNone) return;
  for (const std::uint32_t at : unit.blocks) {
    const BlockPlan& block = plan_.blocks[at];
    tape_->Work(cast == WeightCast::kOneCopy ? block.one_copy_casts : block.weight_casts, task_class,
                LabelOf(names_[at], micro_batch, unit.layer));
  }
}

void BlockWriter::Forward(const Unit& unit, const sim::PipelineStep& at, TaskClass task_class) {
  for (const std::uint32_t index : unit.blocks) {
    const BlockPlan& block = PartOf(index, at);
    Forward(block, AllOf(block), LabelOf(names_[index], at.microbatch, unit.layer), task_class);
  }
}

void BlockWriter::Backward(const Unit& unit, const sim::PipelineStep& at) {
  for (auto index = unit.blocks.rbegin(); index != unit.blocks.rend(); ++index) {
    const BlockPlan& block = PartOf(*index, at);
    Backward(block, WholeOf(block), LabelOf(names_[*index], at.microbatch, unit.layer));
  }
}

void BlockWriter::BackwardInput(const Unit& unit, const sim::PipelineStep& at) {
  for (auto index = unit.blocks.rbegin(); index != unit.blocks.rend(); ++index) {
    const BlockPlan& block = PartOf(*index, at);
    Backward(block, InputHalfOf(block), LabelOf(names_[*index], at.microbatch, unit.layer));
  }
}

const BlockPlan& BlockWriter::PartOf(std::uint32_t block, const sim::PipelineStep& at) const {
  const std::vector<std::uint32_t>& later = plan_.blocks[block].later_parts;
  return plan_.blocks[at.part == 0 || later.empty() ? block : later[at.part - 1]];
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
    PhaseTimes work = block.split.weights;
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

void BlockWriter::Later(PhaseTimes weights, const sim::Label& label, sim::TaskId gathered) {
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
          .experts = block.experts.empty() ? PhaseTimes() : ExpertsOf(block).backward};
}

BlockWriter::Phases BlockWriter::InputHalfOf(const BlockPlan& block) const {
  return {.head = block.split.head,
          .main = block.split.main,
          .weight = {},
          .tail = block.split.tail,
          .experts = block.experts.empty() ? PhaseTimes() : ExpertsOf(block).backward_input,
          .gathers_again = false};
}

BlockWriter::ForwardPhases BlockWriter::AllOf(const BlockPlan& block) const {
  const bool in_pieces = block.pieced.pieces > 1;
  return {.before_gather = block.before_gather,
          .main = in_pieces ? block.pieced.main : block.main,
          .after_core = in_pieces ? block.pieced.after_core : block.context.after,
          .after_reduce = in_pieces ? block.pieced.sum + block.after_reduce : block.after_reduce,
          .experts = block.experts.empty() ? PhaseTimes() : ExpertsOf(block).forward,
          .gather = block.gather_forward,
          .reduce = block.reduce_forward,
          .gather_output = block.gather_output,
          .small_reduces = block.small_reduces,
          .in_pieces = in_pieces};
}

BlockWriter::ForwardPhases BlockWriter::AgainOf(const BlockPlan& block) const {
  const AgainPlan& again = block.again;
  ForwardPhases phases{.before_gather = again.before_gather,
                       .main = again.main,
                       .after_core = {},
                       .after_reduce = again.after_reduce,
                       .experts = {},
                       .gather = again.gather,
                       .reduce = again.reduce,
                       .core = again.core,
                       .travel = again.travel};
  if (block.experts.empty()) return phases;
  if (again.travel) phases.experts = ExpertsOf(block).forward;
  if (!again.travel) phases.main = phases.main + ExpertsOf(block).again;
  return phases;
}

// Phases with no communication between them run as one task.
void BlockWriter::Forward(const BlockPlan& block, const ForwardPhases& phases, const sim::Label& label,
                          TaskClass task_class) {
  if (!block.experts.empty() && phases.travel) return ForwardSpread(block, phases, label, task_class);
  const bool sequence = job_.scenario.layout.sequence;
  PhaseTimes work = phases.before_gather;
  if (sequence && job_.scenario.layout.tensor > 1 && phases.gather > sim::Bytes()) {
    tape_->Work(work, task_class, label);
    work = {};
    if (phases.in_pieces) {
      work = GatherInPieces(phases.gather, block.pieced.gathered, block.pieced.pieces, label, task_class);
    } else {
      tape_->WaitFor(Tensor(CollectiveKind::kAllGather, phases.gather,
                            LabelOf(job_.names.gather, label.micro_batch, label.layer)));
    }
  }
  work = work + phases.main;
  if (!block.context.pieces.empty() && phases.core) {
    work = context_.Forward(block.context, work, task_class, label) + phases.after_core;
  }
  if (job_.scenario.layout.tensor > 1) {
    for (std::int64_t i = 0; i < phases.small_reduces; ++i) {
      tape_->Work(work, task_class, label);
      work = {};
      tape_->WaitFor(Tensor(CollectiveKind::kAllReduce, block.small_reduce,
                            LabelOf(job_.names.loss, label.micro_batch, label.layer)));
    }
    if (phases.gather_output > sim::Bytes()) {
      tape_->Work(work, task_class, label);
      work = {};
      tape_->WaitFor(Tensor(CollectiveKind::kAllGather, phases.gather_output,
                            LabelOf(job_.names.gather, label.micro_batch, label.layer)));
    }
    if (phases.in_pieces) {
      ScatterInPieces(work, phases.reduce, block.pieced.scattered, block.pieced.pieces, label, task_class);
      work = {};
    } else if (phases.reduce > sim::Bytes()) {
      tape_->Work(work, task_class, label);
      work = {};
      tape_->WaitFor(Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                            phases.reduce, LabelOf(job_.names.reduce, label.micro_batch, label.layer)));
    }
  }
  tape_->Work(work + phases.after_reduce, task_class, label);
}

void BlockWriter::Backward(const BlockPlan& block, const Phases& phases, const sim::Label& label) {
  if (!block.experts.empty()) return BackwardSpread(block, phases, label);
  const bool sequence = job_.scenario.layout.sequence;
  const bool communicates = job_.scenario.layout.tensor > 1;
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  const bool in_pieces = block.pieced.pieces > 1;  // backwards in halves have none
  PhaseTimes work = phases.head;
  sim::TaskId input_gathered;
  if (communicates && sequence && block.gather_backward > sim::Bytes()) {
    tape_->Work(work, TaskClass::kBackward, label);
    work = {};
    if (in_pieces) {
      work = GatherInPieces(block.gather_backward, block.pieced.gathered_back, block.pieced.pieces, label,
                            TaskClass::kBackward);
    } else {
      tape_->WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_backward, named(job_.names.gather)));
    }
  }
  // What runs again with communication of its own does so before anything else is gathered.
  const bool early = block.again.moves();
  if (early) work = RecomputeSelected(block, work, label);
  if (communicates && sequence && phases.gathers_again) {
    input_gathered = Tensor(CollectiveKind::kAllGather, block.gather_again, named(job_.names.gather));
  }
  if (!early) work = RecomputeSelected(block, work, label);
  work = work + (in_pieces ? block.pieced.backward_main : phases.main);
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

PhaseTimes BlockWriter::RecomputeSelected(const BlockPlan& block, PhaseTimes before,
                                          const sim::Label& label) {
  if (job_.scenario.training.recompute != Recompute::kSelective) return before;
  const ForwardPhases phases = AgainOf(block);
  const bool works = (block.again.work() + phases.main).alone > sim::Duration();
  if (!works && !block.again.moves() && !block.again.core) return before;
  tape_->Work(before, TaskClass::kBackward, label);
  Forward(block, phases, label, TaskClass::kRecompute);
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
    collective.homeward = !move.outward;
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

sim::TaskId BlockWriter::SharedForward(const ForwardPhases& phases, const sim::Label& label,
                                       TaskClass task_class) {
  if (phases.main.alone == sim::Duration()) return {};
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  const bool communicates = job_.scenario.layout.tensor > 1;
  if (communicates) {
    tape_->WaitFor(Tensor(CollectiveKind::kAllGather, phases.gather, named(job_.names.gather)));
  }
  tape_->Work(phases.main, task_class, label);
  if (!communicates) return {};
  const bool sequence = job_.scenario.layout.sequence;
  return Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce, phases.reduce,
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

void BlockWriter::ForwardSpread(const BlockPlan& block, const ForwardPhases& phases, const sim::Label& label,
                                TaskClass task_class) {
  const ExpertPlan& experts = ExpertsOf(block);
  const bool overlap = job_.scenario.experts.overlap_shared;
  tape_->Work(phases.before_gather, task_class, label);
  const sim::TaskId routed = tape_->last();
  sim::TaskId shared;
  if (!overlap) shared = SharedForward(phases, label, task_class);
  if (host_reads_routed_) tape_->WaitOnHostFor(routed);
  const sim::TaskId arrived = Move(experts.outward, label);
  if (host_reads_gathered_ && arrived.valid()) tape_->WaitOnHostFor(arrived);
  if (overlap) shared = SharedForward(phases, label, task_class);
  WhileTheyTravel();
  tape_->WaitFor(arrived);
  tape_->Work(phases.experts, task_class, label);
  const sim::TaskId home = MoveHome(experts, label);
  WhileTheyTravel();
  tape_->WaitFor(home);
  tape_->WaitFor(shared);
  tape_->Work(phases.after_reduce, task_class, label);
}

void BlockWriter::BackwardSpread(const BlockPlan& block, const Phases& phases, const sim::Label& label) {
  const ExpertPlan& experts = ExpertsOf(block);
  const bool overlap = job_.scenario.experts.overlap_shared;
  tape_->Work(RecomputeSelected(block, phases.head, label), TaskClass::kBackward, label);
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
