// PlayPlainly: what Simulate must give, in the plainest way: at every instant it
// looks at every task, and solves the rates of all flows in full. The oracle of
// the executor. It knows no slow-down: work takes what it takes alone.

#ifndef TESTS_SIM_PROGRAM_PLAIN_PLAYER_H_
#define TESTS_SIM_PROGRAM_PLAIN_PLAYER_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/network/max_min.h"
#include "sim/program/program.h"

namespace sim {

struct PlainTimeline {
  bool finished = false;         // false: tasks wait for each other for ever
  std::vector<Time> start, end;  // by TaskId
  std::vector<Time> begin;       // by CommunicationId
};

class PlainPlayer {
 public:
  explicit PlainPlayer(const Program& program)
      : program_(program),
        waits_(program.tasks()),
        states_(program.tasks(), State::kWaits),
        missing_(program.communications.size()),
        flows_left_(program.communications.size()) {
    timeline_.start.resize(program.tasks());
    timeline_.end.resize(program.tasks());
    timeline_.begin.resize(program.communications.size());
    program.ForEachTask(
        [&](TaskId task, const Place& at) { waits_[task.pos()] = program.row(at).waits_for; });
    for (std::size_t c = 0; c < missing_.size(); ++c) {
      missing_[c] = program.communications[c].seats;
      flows_left_[c] = TrafficOf(CommunicationId(c)).flows;
    }
  }

  PlainTimeline Play() && {
    do {
      while (Pass()) {
      }
    } while (Advance());
    timeline_.finished = ended_ == program_.tasks();
    return std::move(timeline_);
  }

 private:
  enum class State { kWaits, kRuns, kEnded };
  struct Work {
    TaskId task;
    Time ends;
  };
  struct Pending {
    CommunicationId communication;
    Time starts;
  };
  struct Flow {
    CommunicationId communication;
    FlowSpec spec;
    Wide left;  // 10^-15 B
    ByteRate rate;
  };

  const Traffic& TrafficOf(CommunicationId c) const {
    return program_.traffics[program_.communications[c.pos()].traffic.pos()];
  }

  // Everything that can happen now, once; whether something did.
  bool Pass() {
    bool happened = false;
    for (std::size_t task = 0; task < program_.tasks(); ++task) {
      if (states_[task] != State::kWaits || waits_[task] > 0) continue;
      Start(TaskId(task));
      happened = true;
    }
    happened |= TakeDue(
        works_, [&](const Work& work) { return work.ends == now_; },
        [&](const Work& work) { End(work.task); });
    happened |= TakeDue(
        pending_, [&](const Pending& pending) { return pending.starts == now_; },
        [&](const Pending& pending) { StartTraffic(pending.communication); });
    happened |= TakeDue(
        flows_, [&](const Flow& flow) { return flow.left == 0; },
        [&](const Flow& flow) {
          if (--flows_left_[flow.communication.pos()] == 0) EndSeats(flow.communication);
        });
    return happened;
  }

  template <class T, class Is, class Do>
  static bool TakeDue(std::vector<T>& all, Is is_due, Do handle) {
    const std::vector<T> before = all;
    std::erase_if(all, is_due);
    for (const T& one : before) {
      if (is_due(one)) handle(one);
    }
    return all.size() < before.size() || std::any_of(before.begin(), before.end(), is_due);
  }

  void Start(TaskId task) {
    states_[task.pos()] = State::kRuns;
    timeline_.start[task.pos()] = now_;
    switch (program_.row(task).kind) {
      case TaskKind::kWork:
        works_.push_back({task, now_ + program_.times_of(task).alone});
        break;
      case TaskKind::kMark:
        works_.push_back({task, now_});
        break;
      case TaskKind::kSeat: {
        const CommunicationId c = program_.communication_of(task);
        if (--missing_[c.pos()] > 0) break;
        timeline_.begin[c.pos()] = now_;
        pending_.push_back({c, now_ + TrafficOf(c).latency});
        break;
      }
    }
  }

  void StartTraffic(CommunicationId c) {
    const Traffic& traffic = TrafficOf(c);
    if (traffic.flows == 0) EndSeats(c);
    for (std::uint32_t f = 0; f < traffic.flows; ++f) {
      const TrafficFlow& flow = program_.flows[traffic.first_flow + f];
      const FlowSpec spec{.volume = flow.volume,
                          .uses = std::span(program_.uses).subspan(flow.first_use, flow.uses),
                          .share = flow.share,
                          .limit = flow.limit};
      const bool at_once = flow.uses == 0 && flow.limit == ByteRate();
      flows_.push_back({c, spec, at_once ? 0 : flow.volume.femto_bytes(), {}});
    }
  }

  void EndSeats(CommunicationId c) {
    for (const TaskId seat : program_.seats_of(c)) End(seat);
  }

  void End(TaskId task) {
    states_[task.pos()] = State::kEnded;
    timeline_.end[task.pos()] = now_;
    ++ended_;
    const TaskId next = program_.next_in_stream(task);
    if (next.valid()) --waits_[next.pos()];
    program_.ForEachSuccessor(task, [&](TaskId successor) { --waits_[successor.pos()]; });
  }

  // To the next instant at which something ends or starts; false if there is none.
  bool Advance() {
    std::vector<FlowSpec> specs;
    for (const Flow& flow : flows_) specs.push_back(flow.spec);
    const std::vector<ByteRate> rates =
        MaxMinRates(program_.link_capacity, program_.weight_denominator, specs);
    std::optional<Time> next;
    const auto at = [&](Time time) { next = next ? std::min(*next, time) : time; };
    for (const Work& work : works_) at(work.ends);
    for (const Pending& pending : pending_) at(pending.starts);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      flows_[i].rate = rates[i];
      const Wide rate = rates[i].milli();
      at(now_ + Duration::Picoseconds(static_cast<std::int64_t>((flows_[i].left + rate - 1) / rate)));
    }
    if (!next) return false;
    const Wide ps = (*next - now_).ps();
    for (Flow& flow : flows_) flow.left = std::max<Wide>(flow.left - ps * flow.rate.milli(), 0);
    now_ = *next;
    return true;
  }

  const Program& program_;
  PlainTimeline timeline_;
  Time now_;
  std::size_t ended_ = 0;
  std::vector<std::uint32_t> waits_;                 // by task: how many must still end
  std::vector<State> states_;                        // by task
  std::vector<std::uint32_t> missing_, flows_left_;  // by communication
  std::vector<Work> works_;
  std::vector<Pending> pending_;
  std::vector<Flow> flows_;  // in the order of starting
};

inline PlainTimeline PlayPlainly(const Program& program) { return PlainPlayer(program).Play(); }

}  // namespace sim

#endif  // TESTS_SIM_PROGRAM_PLAIN_PLAYER_H_
