#include "scenarios/launch_queue.h"

#include <algorithm>

namespace scenarios {

sim::TaskId LaunchQueue::LaunchWork(const PhaseTimes& times, sim::Label label) {
  if (times.host == sim::Duration()) return sim::TaskId::None();
  label_ = label;
  const sim::Duration launched = host_ + times.lead;
  host_ += times.host;
  sim::TaskId task;
  if (any_order_ || launched > device_) {
    task = Release(launched, label);
    device_ = launched;
  }
  device_ += times.alone;
  return task;
}

sim::TaskId LaunchQueue::LaunchCommunication(sim::Label label, bool further) {
  if (operation_ == sim::Duration()) return sim::TaskId::None();
  label_ = label;
  host_ += further ? further_ : operation_;
  return any_order_ || host_ > device_ ? Release(host_, label) : sim::TaskId::None();
}

sim::TaskId LaunchQueue::Release(sim::Duration now, sim::Label label) {
  // A lead within what was launched already, of a communication.
  const sim::Duration length = now > released_ ? now - released_ : sim::Duration();
  if (!stream_.valid()) stream_ = builder_->AddStream(rank_, sim::StreamKind::kLaunch);
  const sim::TaskId task =
      builder_->Work(stream_, builder_->AddWork({length, length}), sim::TaskClass::kLaunch, label);
  released_ = std::max(released_, now);
  for (const sim::TaskId wait : waits_) builder_->After(task, wait);
  waits_.clear();
  return task;
}

void LaunchQueue::WaitFor(const std::vector<sim::TaskId>& tasks, bool all) {
  // Communications, behind all work; or work behind what is waited for.
  if ((host_ > device_ || !all) && host_ > released_) Release(host_, label_);
  for (const sim::TaskId task : tasks) {
    if (task.valid()) waits_.push_back(task);
  }
  host_ = released_ = device_ = sim::Duration();
}

void LaunchQueue::EndAnyOrder() {
  any_order_ = false;
  // Both go on from where the last launch was; what was left to launch behind it is still to come.
  host_ = host_ > released_ ? host_ - released_ : sim::Duration();
  released_ = device_ = sim::Duration();
}

}  // namespace scenarios
