// LaunchQueue: one rank's host, which launches the rank's kernels and communications one after another and
// runs ahead of the device as far as it can.
//
// It is a stream of its own in the program. Only launches that the device could come to wait for are tasks:
// between two places where the host waits for the device, both are known from there on to be at least so far,
// and a device that is later anyhow needs no task to be held back by. So a step whose kernels are long has a
// few, and one whose kernels are short as many as the device has work.

#ifndef SCENARIOS_LAUNCH_QUEUE_H_
#define SCENARIOS_LAUNCH_QUEUE_H_

#include <vector>

#include "scenarios/phase_times.h"
#include "sim/program/program_builder.h"

namespace scenarios {

class LaunchQueue {
 public:
  // `operation`: what a communication takes the host; `further`: one that an operation issues beside others.
  LaunchQueue(sim::ProgramBuilder* builder, sim::Rank rank, sim::Duration operation,
              sim::Duration further = {})
      : builder_(builder), rank_(rank), operation_(operation), further_(further) {}

  // What the next work on the compute stream waits for, so that it ends when its kernels do; none where it
  // begins later anyhow.
  sim::TaskId LaunchWork(const PhaseTimes& times, sim::Label label);
  // The same of a communication.
  sim::TaskId LaunchCommunication(sim::Label label, bool further = false);

  // The host goes on once these have ended, as where it reads a number that the device computed.
  // `all`: nothing was launched that ends later.
  void WaitFor(const std::vector<sim::TaskId>& tasks, bool all = true);

  // What follows is written in another order than it runs in: every launch is a task from here on, until End.
  void BeginAnyOrder() { any_order_ = true; }
  void EndAnyOrder();

 private:
  // The host has come to `now`, and no sooner.
  sim::TaskId Release(sim::Duration now, sim::Label label);

  sim::ProgramBuilder* builder_;
  sim::Rank rank_;
  sim::Duration operation_, further_;
  sim::StreamId stream_;
  bool any_order_ = false;
  // From the last place where both were at one time:
  sim::Duration host_;              // when the host has launched all so far
  sim::Duration released_;          // where its last task ends
  sim::Duration device_;            // when the compute stream can be free, at the soonest
  std::vector<sim::TaskId> waits_;  // of its next task
  sim::Label label_;                // of what was launched last
};

}  // namespace scenarios

#endif  // SCENARIOS_LAUNCH_QUEUE_H_
