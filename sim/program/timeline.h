// Timeline: when each task of a program started and ended. The only result of
// a simulation; everything else reads it. Immutable.

#ifndef SIM_PROGRAM_TIMELINE_H_
#define SIM_PROGRAM_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/network/flow_network.h"
#include "sim/program/program.h"

namespace sim {

struct Timeline {
  // By TaskId. What did not start or end before the run was stopped does so at
  // a negative time or never. A seat starts when it arrives (it heads its stream and its
  // dependencies are met) and may wait there for the others.
  std::vector<Time> start, end;
  std::vector<Time> begin;  // by CommunicationId: when the last seat arrived

  // Rates of flows over time, when asked for; the token is a FlowInstance's
  // position in `flow_of`. Empty otherwise.
  std::vector<RateChange> rates;
  struct FlowInstance {
    CommunicationId communication;
    std::uint32_t flow = 0;  // Program::flows
  };
  std::vector<FlowInstance> flow_of;

  Time finish;               // the last end
  bool stopped = false;      // not all tasks ended, because nobody wanted to wait; there is no digest then
  std::uint64_t ended = 0;   // tasks
  std::uint64_t events = 0;  // wakeups it took
  std::string digest;        // sixteen hex digits over (kind, class, start, end) of every task
};

}  // namespace sim

#endif  // SIM_PROGRAM_TIMELINE_H_
