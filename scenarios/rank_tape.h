// RankTape: writes the tasks of one rank, in order, with what each waits for.
//
// Two micro-batches can take turns on the rank's streams, so that what one of them sends
// travels beside the other's work. Each is written in full, one after the other, and ends a
// turn where it would wait for what it has just asked for; then their turns are put on the
// streams alternately, the first one's first, and what is left of the longer one last.

#ifndef SCENARIOS_RANK_TAPE_H_
#define SCENARIOS_RANK_TAPE_H_

#include <array>
#include <vector>

#include "scenarios/launch_queue.h"
#include "sim/program/program_builder.h"

namespace scenarios {

class RankTape {
 public:
  // `operation`: what a communication takes the host to launch; zero where launches are free. `blocking`: the
  // host launches nothing before what it launched last has ended.
  // `further`: a communication that an operation issues beside others.
  RankTape(sim::ProgramBuilder* builder, sim::Rank rank, sim::Duration operation = {}, bool blocking = false,
           sim::Duration further = {})
      : builder_(builder), rank_(rank), blocking_(blocking), launches_(builder, rank, operation, further) {}

  sim::Rank rank() const { return rank_; }

  // The rank's stream of this kind, or a second one; made when first asked for.
  sim::StreamId stream(sim::StreamKind kind, bool second = false) {
    sim::StreamId& id = streams_[second ? 1 : 0][static_cast<std::size_t>(kind)];
    if (!id.valid()) id = builder_->AddStream(rank_, kind);
    return id;
  }

  // The next work on the compute stream waits for `task` too (none: ignored).
  void WaitFor(sim::TaskId task) {
    if (task.valid()) waits_.push_back(task);
  }

  // What the next work on the compute stream waits for, beside what is before it there.
  const std::vector<sim::TaskId>& waits() const { return waits_; }

  // The optimizer waits for `task`: kept until TakeEndWaits().
  void WaitForAtEnd(sim::TaskId task) {
    if (task.valid()) end_waits_.push_back(task);
  }
  void TakeEndWaits() {
    waits_.insert(waits_.end(), end_waits_.begin(), end_waits_.end());
    end_waits_.clear();
  }

  // Work on the compute stream. Work that takes no time is no task.
  void Work(const PhaseTimes& times, sim::TaskClass task_class, sim::Label label);

  // What the next communication waits for beside its data.
  std::vector<sim::TaskId> LaunchCommunication(sim::Label label, bool further = false);
  // It is this task.
  void Communicate(sim::TaskId task);
  // Communications from here to EndBatch are issued together, and the host waits until all that its device
  // has to do has ended.
  void BeginBatch() { in_batch_ = true; }
  void EndBatch();

  // The host reads what was last computed, and what the next work waits for.
  void WaitOnHost() {
    std::vector<sim::TaskId> tasks = waits_;
    tasks.push_back(last_);
    launches_.WaitFor(tasks);
  }
  // It reads what `task` made, whatever runs behind it.
  void WaitOnHostFor(sim::TaskId task) { launches_.WaitFor({task}, /*all=*/false); }

  void Mark(sim::TaskClass task_class, sim::Label label) {
    waits_.insert(waits_.end(), launched_.begin(), launched_.end());
    last_ = builder_->Mark(stream(sim::StreamKind::kCompute), task_class, label);
    TakeWaits();
  }

  // The last work on the compute stream, of this micro-batch where two take turns; none at first.
  sim::TaskId last() const { return last_; }

  // What is written from here on is of the first of two micro-batches, from NextInTurns() on of the
  // second, until EndTurns(). Both wait for what is waited for here.
  void BeginTurns();
  void NextInTurns();
  void EndTurns();
  // The other micro-batch's turn comes, if there are two.
  void EndTurn() {
    if (writes_ >= 0) turns_[static_cast<std::size_t>(writes_)].push_back(builder_->tasks());
  }

 private:
  void TakeWaits() {
    for (const sim::TaskId task : waits_) builder_->After(last_, task);
    waits_.clear();
    if (blocking_) launched_ = {last_};
  }

  sim::ProgramBuilder* builder_;
  sim::Rank rank_;
  std::array<std::array<sim::StreamId, sim::kStreamKinds>, 2> streams_;  // by StreamKind
  const bool blocking_;
  LaunchQueue launches_;
  std::vector<sim::TaskId> waits_, end_waits_;
  std::vector<sim::TaskId> launched_;  // last, where launches block: one task, or a batch
  std::vector<sim::TaskId> batch_;     // so far
  bool in_batch_ = false;
  sim::TaskId last_;

  // While two micro-batches take turns: which of them is written (-1: one by itself), where each turn
  // of theirs begins, as a count of tasks, and at last where the last one ends.
  int writes_ = -1;
  std::array<std::vector<std::size_t>, 2> turns_;
  struct {
    sim::TaskId last;
    std::vector<sim::TaskId> waits;
  } before_;                        // both
  std::vector<sim::TaskId> after_;  // what the first one's next work would wait for
};

}  // namespace scenarios

#endif  // SCENARIOS_RANK_TAPE_H_
