#include "scenarios/rank_tape.h"

#include <algorithm>
#include <utility>

namespace scenarios {

void RankTape::Work(const PhaseTimes& times, sim::TaskClass task_class, sim::Label label) {
  if (times.alone == sim::Duration()) return;
  if (blocking_) {
    // Kernels one by one, each behind its launch: all launches and all kernels, in whatever order.
    waits_.insert(waits_.end(), launched_.begin(), launched_.end());
    launches_.WaitFor(waits_);
    PhaseTimes in_turn = times;
    in_turn.lead = in_turn.host;
    WaitFor(launches_.LaunchWork(in_turn, label));
  } else {
    WaitFor(launches_.LaunchWork(times, label));
  }
  last_ = builder_->Work(stream(sim::StreamKind::kCompute), builder_->AddWork(times), task_class, label);
  TakeWaits();
}

std::vector<sim::TaskId> RankTape::LaunchCommunication(sim::Label label, bool further) {
  if (blocking_) launches_.WaitFor(launched_);
  const sim::TaskId launch = launches_.LaunchCommunication(label, further);
  std::vector<sim::TaskId> after;
  if (blocking_) after = launched_;
  if (launch.valid()) after.push_back(launch);
  return after;
}

void RankTape::Communicate(sim::TaskId task) {
  if (!task.valid()) return;  // members disagree, and nothing is built
  if (in_batch_) batch_.push_back(task);
  if (blocking_ && !in_batch_) launched_ = {task};
}

void RankTape::EndBatch() {
  in_batch_ = false;
  if (batch_.empty()) return;
  for (const sim::TaskId task : batch_) WaitFor(task);
  if (blocking_) {
    launched_ = batch_;
  } else {
    std::vector<sim::TaskId> all = waits_;
    for (const auto& streams : streams_) {
      for (const sim::StreamId id : streams) {
        if (id.valid()) all.push_back(builder_->Last(id));
      }
    }
    launches_.WaitFor(all);
  }
  batch_.clear();
}

void RankTape::BeginTurns() {
  builder_->Hold();
  launches_.BeginAnyOrder();
  before_ = {last_, waits_};
  turns_[0] = {builder_->tasks()};
  turns_[1].clear();
  writes_ = 0;
}

void RankTape::NextInTurns() {
  EndTurn();
  turns_[1] = {builder_->tasks()};
  writes_ = 1;
  after_ = std::exchange(waits_, before_.waits);
  last_ = before_.last;
}

void RankTape::EndTurns() {
  EndTurn();
  const std::size_t most = std::max(turns_[0].size(), turns_[1].size());
  for (std::size_t turn = 0; turn + 1 < most; ++turn) {
    for (const std::vector<std::size_t>& begins : turns_) {
      if (turn + 1 < begins.size()) builder_->Enqueue(begins[turn], begins[turn + 1]);
    }
  }
  builder_->Release();
  launches_.EndAnyOrder();
  writes_ = -1;
  waits_.insert(waits_.end(), after_.begin(), after_.end());
  last_ = builder_->Last(stream(sim::StreamKind::kCompute));
}

}  // namespace scenarios
