#include "scenarios/context_writer.h"

#include <vector>

namespace scenarios {

using sim::CollectiveKind;
using sim::TaskClass;

ContextWriter::ContextWriter(const Job& job, RankTape* tape) : job_(job), tape_(tape) {
  const Layout& layout = job.scenario.layout;
  if (layout.context == 1) return;
  ulysses_ = Join(job, layout.UlyssesGroup(tape->rank()), tape->rank());
  ring_ = Join(job, layout.RingGroup(tape->rank()), tape->rank());
  pass_ = job.builder->Name("pass keys and values");
  gather_ = job.builder->Name("gather keys and values");
  scatter_ = job.builder->Name("scatter gradients");
  exchange_ = job.builder->Name("exchange heads");
}

PhaseTimes ContextWriter::Forward(const ContextPlan& plan, PhaseTimes before, TaskClass task_class,
                                  const sim::Label& label) {
  tape_->Work(before + plan.prepare, task_class, label);
  ExchangeInputs(plan, label);
  tape_->Work(plan.arrive, task_class, label);
  if (plan.gathers) {
    Gather(plan, label);
    tape_->Work(plan.pieces[ring_.member].forward, task_class, label);
  } else {
    RingForward(plan, task_class, label);
  }
  tape_->Work(plan.leave, task_class, label);
  ExchangeOutput(plan, label);
  return plan.finish;
}

PhaseTimes ContextWriter::Backward(const ContextPlan& plan, PhaseTimes before, const sim::Label& label) {
  tape_->Work(before + plan.prepare_back, TaskClass::kBackward, label);
  ExchangeOutput(plan, label);
  tape_->Work(plan.arrive_back, TaskClass::kBackward, label);
  if (plan.gathers) {
    Gather(plan, label);
    tape_->Work(plan.pieces[ring_.member].backward, TaskClass::kBackward, label);
    tape_->WaitFor(Move(ring_, CollectiveKind::kReduceScatter, plan.keys, scatter_, label));
    tape_->WaitFor(Move(ring_, CollectiveKind::kReduceScatter, plan.values, scatter_, label));
  } else {
    RingBackward(plan, label);
  }
  tape_->Work(plan.leave_back, TaskClass::kBackward, label);
  ExchangeInputs(plan, label);
  return plan.backward_after;
}

// Rank i works on its own block, then on those of i-1, ..., 0, then of n-1, ..., i+1.
void ContextWriter::RingForward(const ContextPlan& plan, TaskClass task_class, const sim::Label& label) {
  const std::uint32_t ranks = job_.communicators->size(ring_.group), rank = ring_.member;
  std::vector<sim::TaskId> passed;
  for (std::uint32_t round = 1; round < ranks; ++round) {
    passed.push_back(Move(ring_, CollectiveKind::kRingShift, plan.passed, pass_, label));
  }
  tape_->Work(plan.pieces[0].forward, task_class, label);
  for (std::uint32_t round = 1; round < ranks; ++round) {
    tape_->WaitFor(passed[round - 1]);
    tape_->Work(plan.pieces[round <= rank ? 1u : 2u].forward, task_class, label);
  }
}

// Blocks come back in the reverse order, the rank's own last. In round r the block of
// round r + 1 arrives, and the gradients that other ranks have added up for that of r.
void ContextWriter::RingBackward(const ContextPlan& plan, const sim::Label& label) {
  const std::uint32_t ranks = job_.communicators->size(ring_.group), rank = ring_.member;
  for (std::uint32_t round = 0; round < ranks; ++round) {
    const bool first = round == 0, last = round + 1 == ranks;
    const sim::TaskId passed =
        Move(ring_, CollectiveKind::kRingShift, first || last ? plan.passed : 2 * plan.passed, pass_, label);
    const bool behind = rank + 1 + round < ranks;
    const ContextPlan::Piece& piece = plan.pieces[last ? 0u : behind ? 2u : 1u];
    tape_->Work(piece.backward, TaskClass::kBackward, label);
    tape_->WaitFor(passed);
    if (!first) tape_->Work(piece.backward_merge, TaskClass::kBackward, label);
  }
}

void ContextWriter::Gather(const ContextPlan& plan, const sim::Label& label) {
  tape_->WaitFor(Move(ring_, CollectiveKind::kAllGather, plan.keys, gather_, label));
  tape_->WaitFor(Move(ring_, CollectiveKind::kAllGather, plan.values, gather_, label));
}

void ContextWriter::ExchangeInputs(const ContextPlan& plan, const sim::Label& label) {
  for (const sim::Bytes size : {plan.query_heads, plan.key_heads, plan.value_heads}) {
    tape_->WaitFor(Move(ulysses_, CollectiveKind::kAllToAll, size, exchange_, label));
  }
}

void ContextWriter::ExchangeOutput(const ContextPlan& plan, const sim::Label& label) {
  tape_->WaitFor(Move(ulysses_, CollectiveKind::kAllToAll, plan.output_heads, exchange_, label));
}

sim::TaskId ContextWriter::Move(const Membership& group, CollectiveKind kind, sim::Bytes size,
                                std::uint16_t name, const sim::Label& label) {
  return Issue(job_, group, {kind, size, TaskClass::kContext}, sim::StreamKind::kContext,
               LabelOf(name, label.micro_batch, label.layer), tape_);
}

}  // namespace scenarios
