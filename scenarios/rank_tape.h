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
  // `operation`: what a communication takes the host to launch; zero where launches are free.
  RankTape(sim::ProgramBuilder* builder, sim::Rank rank, sim::Duration operation = {})
      : builder_(builder), rank_(rank), launches_(builder, rank, operation) {}

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
  void Work(const PhaseTimes& times, sim::TaskClass task_class, sim::Label label) {
    if (times.alone == sim::Duration()) return;
    WaitFor(launches_.LaunchWork(times, label));
    last_ = builder_->Work(stream(sim::StreamKind::kCompute), builder_->AddWork(times), task_class, label);
    TakeWaits();
  }

  // What the next communication waits for beside its data; none: nothing.
  sim::TaskId LaunchCommunication(sim::Label label) { return launches_.LaunchCommunication(label); }
  // The host reads what was last computed, and what the next work waits for.
  void WaitOnHost() {
    std::vector<sim::TaskId> tasks = waits_;
    tasks.push_back(last_);
    launches_.WaitFor(tasks);
  }

  void Mark(sim::TaskClass task_class, sim::Label label) {
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
  }

  sim::ProgramBuilder* builder_;
  sim::Rank rank_;
  std::array<std::array<sim::StreamId, sim::kStreamKinds>, 2> streams_;  // by StreamKind
  LaunchQueue launches_;
  std::vector<sim::TaskId> waits_, end_waits_;
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
