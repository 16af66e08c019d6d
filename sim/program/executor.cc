#include "sim/program/executor.h"

#include <algorithm>

#include "sim/base/digest.h"

namespace sim {
namespace {

// What a wakeup of the executor means; two bits beside a 30-bit index.
enum class Event : std::uint32_t { kWorkEnds, kTrafficStarts, kFlowEnds };

constexpr std::uint32_t kEnded = UINT32_MAX;  // in place of a count of what a task waits for
constexpr std::uint32_t kIndexMask = (std::uint32_t{1} << 30) - 1;

constexpr std::uint32_t Token(Event event, std::uint32_t index) {
  return (static_cast<std::uint32_t>(event) << 30) | index;
}

class Executor final : public Actor {
 public:
  Executor(const Program& program, const SimulateOptions& options);
  Result<Timeline> Run();
  void Wake(Time now, std::uint32_t token) override;

 private:
  // The work that runs on a stream, if any.
  struct Running {
    TaskId task;
    Time since;     // when `left` was true
    Duration left;  // at the current speed
    Time ends;
    bool beside = false;  // the current speed
  };

  struct Room {
    std::size_t flows = 0, uses = 0;
  };

  void ReserveNetwork();
  void Settle();  // starts everything that can start now
  void Start(TaskId task);
  void StartWork(TaskId task);
  void Arrive(TaskId seat);
  void StartTraffic(CommunicationId communication);
  void EndCommunication(CommunicationId communication);
  void End(TaskId task);
  void Release(TaskId task);
  void Retime(Rank rank);
  bool BeyondTheClock(Duration length, TaskId task);
  std::string DigestOf() const;
  Error DescribeDeadlock() const;
  Error TooLong(TaskId task) const;
  TaskId FirstLeft(TaskId seat) const;

  const Program& program_;
  Simulator simulator_;
  FlowNetwork network_;
  Timeline timeline_;
  Time now_;
  std::size_t ended_ = 0;
  TaskId too_long_;

  std::vector<std::uint32_t> waits_;           // by task: how many must still end
  std::vector<TaskId> ready_;                  // can start now; filled and drained within one wake
  std::vector<Running> running_;               // by stream
  std::vector<StreamId> compute_stream_;       // by rank
  std::vector<std::uint32_t> holders_;         // by rank: communications that hold its SMs
  std::vector<std::uint32_t> missing_;         // by communication: seats that have not arrived
  std::vector<std::uint32_t> flows_left_;      // by communication
  std::vector<std::uint32_t> first_instance_;  // by communication: Timeline::flow_of
};

std::size_t CountFlows(const Program& program) {
  std::size_t flows = 0;
  for (const Communication& c : program.communications) flows += program.traffics[c.traffic.pos()].flows;
  return flows;
}

Executor::Executor(const Program& program, const SimulateOptions& options)
    : program_(program),
      network_(simulator_, program.link_capacity, program.weight_denominator),
      waits_(program.waits_for),
      running_(program.stream_rank.size()),
      compute_stream_(program.ranks, StreamId::None()),
      holders_(program.ranks, 0) {
  timeline_.start.resize(program.tasks());
  timeline_.end.resize(program.tasks());
  timeline_.begin.resize(program.communications.size());
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    if (program.stream_kind[s] == StreamKind::kCompute)
      compute_stream_[program.stream_rank[s].pos()] = StreamId(s);
  }
  timeline_.flow_of.reserve(CountFlows(program));
  for (std::size_t c = 0; c < program.communications.size(); ++c) {
    const Communication& row = program.communications[c];
    const Traffic& traffic = program.traffics[row.traffic.pos()];
    missing_.push_back(row.seats);
    flows_left_.push_back(traffic.flows);
    first_instance_.push_back(static_cast<std::uint32_t>(timeline_.flow_of.size()));
    for (std::uint32_t f = 0; f < traffic.flows; ++f) {
      timeline_.flow_of.push_back({CommunicationId(c), traffic.first_flow + f});
    }
  }
  CHECK(timeline_.flow_of.size() < (std::size_t{1} << 30));
  ReserveNetwork();
  ready_.reserve(program.stream_rank.size());
  simulator_.Reserve(4 * program.stream_rank.size() + 16);
  if (options.log_rates) network_.LogRatesTo(&timeline_.rates);
}

// Communications that run at one time have their first seats at the heads of
// different streams, so the largest of each stream together are room enough.
void Executor::ReserveNetwork() {
  std::vector<Room> most(program_.stream_rank.size());
  for (std::size_t c = 0; c < program_.communications.size(); ++c) {
    const Communication& row = program_.communications[c];
    const Traffic& traffic = program_.traffics[row.traffic.pos()];
    if (row.seats == 0) continue;
    std::size_t uses = 0;
    for (std::uint32_t f = 0; f < traffic.flows; ++f) uses += program_.flows[traffic.first_flow + f].uses;
    Room& room = most[program_.stream[program_.seats[row.first_seat].pos()].pos()];
    room.flows = std::max<std::size_t>(room.flows, traffic.flows);
    room.uses = std::max(room.uses, uses);
  }
  Room all;
  for (const Room& room : most) all = {all.flows + room.flows, all.uses + room.uses};
  network_.Reserve(all.flows, all.uses);
}

Result<Timeline> Executor::Run() {
  for (std::size_t task = 0; task < program_.tasks(); ++task) {
    if (waits_[task] == 0) ready_.emplace_back(task);
  }
  Settle();
  simulator_.Run();
  if (ended_ < program_.tasks()) return DescribeDeadlock();
  timeline_.finish = now_;
  timeline_.events = simulator_.events();
  timeline_.digest = DigestOf();
  for (RateChange& change : timeline_.rates) change.token &= kIndexMask;
  return std::move(timeline_);
}

void Executor::Wake(Time now, std::uint32_t token) {
  now_ = now;
  const std::uint32_t index = token & kIndexMask;
  switch (static_cast<Event>(token >> 30)) {
    case Event::kWorkEnds: {
      const TaskId task(index);
      Running& running = running_[program_.stream[index].pos()];
      // Work that was retimed leaves its old wakeups behind.
      if (running.task != task || running.ends != now) return;
      running.task = TaskId::None();
      End(task);
      break;
    }
    case Event::kTrafficStarts:
      StartTraffic(CommunicationId(index));
      break;
    case Event::kFlowEnds: {
      const CommunicationId c = timeline_.flow_of[index].communication;
      if (--flows_left_[c.pos()] == 0) EndCommunication(c);
      break;
    }
  }
  Settle();
}

// Tasks of zero length end here, inside the wake that starts them, so an
// instant is over after one pass however long the chain of them is.
void Executor::Settle() {
  for (std::size_t i = 0; i < ready_.size(); ++i) Start(ready_[i]);
  ready_.clear();
}

void Executor::Start(TaskId task) {
  timeline_.start[task.pos()] = now_;
  switch (program_.kind[task.pos()]) {
    case TaskKind::kWork:
      StartWork(task);
      break;
    case TaskKind::kSeat:
      Arrive(task);
      break;
    case TaskKind::kMark:
      End(task);
      break;
  }
}

void Executor::StartWork(TaskId task) {
  const WorkTimes& times = program_.works[program_.amount[task.pos()]];
  const StreamId stream = program_.stream[task.pos()];
  const bool beside = program_.stream_kind[stream.pos()] == StreamKind::kCompute &&
                      holders_[program_.stream_rank[stream.pos()].pos()] > 0;
  const Duration length = beside ? times.beside_communication : times.alone;
  if (length == Duration()) return End(task);
  if (BeyondTheClock(length, task)) return;
  running_[stream.pos()] = {task, now_, length, now_ + length, beside};
  simulator_.WakeAt(now_ + length, Phase::kFinish, *this, Token(Event::kWorkEnds, task.value()));
}

void Executor::Arrive(TaskId seat) {
  const CommunicationId c(program_.amount[seat.pos()]);
  const Traffic& traffic = program_.traffics[program_.communications[c.pos()].traffic.pos()];
  if (traffic.holds_sms) {
    const Rank rank = program_.rank_of(seat);
    ++holders_[rank.pos()];
    Retime(rank);
  }
  if (--missing_[c.pos()] > 0) return;
  timeline_.begin[c.pos()] = now_;
  if (BeyondTheClock(traffic.latency, seat)) return;
  if (traffic.latency > Duration()) {
    simulator_.WakeAt(now_ + traffic.latency, Phase::kStart, *this, Token(Event::kTrafficStarts, c.value()));
  } else {
    StartTraffic(c);
  }
}

void Executor::StartTraffic(CommunicationId c) {
  const Traffic& traffic = program_.traffics[program_.communications[c.pos()].traffic.pos()];
  if (traffic.flows == 0) return EndCommunication(c);
  for (std::uint32_t f = 0; f < traffic.flows; ++f) {
    const TrafficFlow& flow = program_.flows[traffic.first_flow + f];
    network_.Start({.volume = flow.volume,
                    .uses = std::span(program_.uses).subspan(flow.first_use, flow.uses),
                    .share = flow.share,
                    .limit = flow.limit},
                   *this, Token(Event::kFlowEnds, first_instance_[c.pos()] + f));
  }
}

void Executor::EndCommunication(CommunicationId c) {
  const bool holds_sms = program_.traffics[program_.communications[c.pos()].traffic.pos()].holds_sms;
  for (const TaskId seat : program_.seats_of(c)) {
    if (holds_sms) {
      const Rank rank = program_.rank_of(seat);
      --holders_[rank.pos()];
      Retime(rank);
    }
    End(seat);
  }
}

void Executor::End(TaskId task) {
  timeline_.end[task.pos()] = now_;
  waits_[task.pos()] = kEnded;
  ++ended_;
  Release(program_.next_in_stream[task.pos()]);
  for (const TaskId next : program_.successors_of(task)) Release(next);
}

void Executor::Release(TaskId task) {
  if (task.valid() && --waits_[task.pos()] == 0) ready_.push_back(task);
}

// Whether something would end beyond the clock's range. It then never ends, and
// the run fails with its name.
bool Executor::BeyondTheClock(Duration length, TaskId task) {
  if (length <= Time::Never() - now_) return false;
  if (!too_long_.valid()) too_long_ = task;
  return true;
}

// The rank's SMs were taken or given back: what is left of its work changes
// speed. Nothing happens while the number of holders stays above zero.
void Executor::Retime(Rank rank) {
  const StreamId stream = compute_stream_[rank.pos()];
  if (!stream.valid()) return;
  Running& running = running_[stream.pos()];
  const bool beside = holders_[rank.pos()] > 0;
  if (!running.task.valid() || running.beside == beside) return;
  const WorkTimes& times = program_.works[program_.amount[running.task.pos()]];
  const Wide from = (running.beside ? times.beside_communication : times.alone).ps();
  const Wide to = (beside ? times.beside_communication : times.alone).ps();
  const Wide left = (running.left - (now_ - running.since)).ps();
  running.left = Duration::Picoseconds(static_cast<std::int64_t>((left * to + from - 1) / from));
  running.since = now_;
  running.beside = beside;
  if (BeyondTheClock(running.left, running.task)) return;
  running.ends = now_ + running.left;
  simulator_.WakeAt(running.ends, Phase::kFinish, *this, Token(Event::kWorkEnds, running.task.value()));
}

// Summed over tasks, so that it does not depend on their order.
std::string Executor::DigestOf() const {
  std::uint64_t sum = 0;
  for (std::size_t task = 0; task < program_.tasks(); ++task) {
    sum += Digest()
               .Add(static_cast<std::uint64_t>(program_.kind[task]))
               .Add(static_cast<std::uint64_t>(program_.task_class[task]))
               .Add(static_cast<std::uint64_t>(timeline_.start[task].since_start().ps()))
               .Add(static_cast<std::uint64_t>(timeline_.end[task].since_start().ps()))
               .value();
  }
  return ToHex(Mix(sum));  // equal ranks would leave zeros at its end
}

// A cycle of dependencies was refused when the program was built, so what is
// left waits in a rendezvous that cannot happen.
Error Executor::DescribeDeadlock() const {
  if (too_long_.valid()) return TooLong(too_long_);
  constexpr int kMost = 6;
  std::string text = "deadlock: " + std::to_string(ended_) + " of " + std::to_string(program_.tasks()) +
                     " tasks ended, the others wait for each other";
  int named = 0;
  for (std::size_t c = 0; c < program_.communications.size() && named < kMost; ++c) {
    const auto seats = program_.seats_of(CommunicationId(c));
    if (seats.empty() || missing_[c] == seats.size()) continue;
    // The network never wakes for an end beyond the clock's range.
    if (missing_[c] == 0 && flows_left_[c] > 0) return TooLong(seats.front());
    if (missing_[c] == 0) continue;
    std::string here, away;
    for (const TaskId seat : seats) {
      const std::string rank = std::to_string(program_.rank_of(seat).value());
      if (waits_[seat.pos()] == 0) {
        here += (here.empty() ? "" : ", ") + rank;
      } else {
        away += (away.empty() ? "" : ", ") + rank + " (at \"" + program_.NameOf(FirstLeft(seat)) + "\")";
      }
    }
    text += "; in \"" + program_.NameOf(seats.front()) + "\" rank " + here + " waits for rank " + away;
    ++named;
  }
  return Error{text};
}

Error Executor::TooLong(TaskId task) const {
  return {"\"" + program_.NameOf(task) + "\" of rank " + std::to_string(program_.rank_of(task).value()) +
          " would end after more than the 106 days that a simulation may last"};
}

// The first task of the seat's stream that has not ended.
TaskId Executor::FirstLeft(TaskId seat) const {
  TaskId task = program_.stream_head[program_.stream[seat.pos()].pos()];
  while (waits_[task.pos()] == kEnded) task = program_.next_in_stream[task.pos()];
  return task;
}

}  // namespace

Result<Timeline> Simulate(const Program& program, const SimulateOptions& options) {
  return Executor(program, options).Run();
}

}  // namespace sim
