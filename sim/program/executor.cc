#include "sim/program/executor.h"

#include <algorithm>

#include "sim/base/digest.h"

namespace sim {
namespace {

// What a wakeup of the executor means; two bits beside a 30-bit index.
enum class Event : std::uint32_t { kWorkEnds, kTrafficStarts, kFlowEnds };

constexpr std::uint32_t kIndexMask = (std::uint32_t{1} << 30) - 1;

constexpr std::uint32_t Token(Event event, std::uint32_t index) {
  return (static_cast<std::uint32_t>(event) << 30) | index;
}

class Executor final : public Actor {
 public:
  Executor(const Program& program, const SimulateOptions& options);
  Result<Timeline> Run(const SimulateOptions& options);
  void Wake(Time now, std::uint32_t token) override;

 private:
  // The work that runs on a stream, if any.
  struct Running {
    TaskId task;
    Time since;     // when `left` was true
    Duration left;  // at the current speed
    Time ends;
    DeviceTaken beside = {};  // the current speed
  };

  struct Room {
    std::size_t flows = 0, uses = 0;
  };

  void CountWaits();
  void CountSeats();
  void ListFlows();
  void ReserveNetwork();
  void Settle();  // starts everything that can start now
  void Start(TaskId task);
  void StartWork(TaskId task, const Place& at);
  void Arrive(TaskId seat, const Place& at);
  void StartTraffic(CommunicationId communication);
  void EndCommunication(CommunicationId communication);
  void End(TaskId task, const Place& at);
  void Release(TaskId task);
  void Take(Rank rank, const DeviceTaken& more);
  bool BeyondTheClock(Duration length, TaskId task);
  std::string DigestOf() const;
  Error DescribeDeadlock() const;
  Error TooLong(TaskId task) const;
  TaskId FirstLeft(TaskId seat) const;

  const Traffic& traffic_of(CommunicationId c) const {
    return program_.traffics[program_.communications[c.pos()].traffic.pos()];
  }
  // Until a task can start, its place in Timeline::start counts what must still
  // end, as a negative time: no table of counts, and one place in memory less.
  static Time Waiting(std::uint32_t count) {
    return Time::Start() + Duration::Picoseconds(-std::int64_t{count});
  }
  bool has_started(TaskId task) const { return timeline_.start[task.pos()] >= Time::Start(); }
  bool has_ended(TaskId task) const { return timeline_.end[task.pos()] != Time::Never(); }

  const Program& program_;
  Simulator simulator_;
  FlowNetwork network_;
  Timeline timeline_;
  Time now_;
  std::size_t ended_ = 0;
  TaskId too_long_;

  std::vector<TaskId> ready_;             // can start now; filled and drained within one wake
  std::vector<Running> running_;          // by stream
  std::vector<StreamId> compute_stream_;  // by rank
  std::vector<DeviceTaken> taken_;        // by rank: by all communications that sit on it
  // By communication: seats that have not arrived; once it has begun, flows that have not ended.
  std::vector<std::uint32_t> left_;
  std::vector<std::uint32_t> first_instance_;  // by communication: Timeline::flow_of, if rates are logged
};

Executor::Executor(const Program& program, const SimulateOptions& options)
    : program_(program),
      network_(simulator_, program.link_capacity, program.weight_denominator),
      running_(program.stream_rank.size()),
      compute_stream_(program.ranks, StreamId::None()),
      taken_(program.ranks) {
  CountWaits();
  for (std::size_t s = 0; s < program.stream_rank.size(); ++s) {
    if (program.stream_kind[s] == StreamKind::kCompute)
      compute_stream_[program.stream_rank[s].pos()] = StreamId(s);
  }
  CountSeats();
  if (options.log_rates) {
    network_.LogRatesTo(&timeline_.rates);
    ListFlows();
  }
  ReserveNetwork();
  ready_.reserve(program.stream_rank.size());
  simulator_.Reserve(4 * program.stream_rank.size() + 16);
}

void Executor::CountWaits() {
  timeline_.start.reserve(program_.tasks());
  program_.ForEachTask(
      [this](TaskId, const Place& at) { timeline_.start.push_back(Waiting(program_.row(at).waits_for)); });
  timeline_.end.assign(program_.tasks(), Time::Never());
}

void Executor::CountSeats() {
  timeline_.begin.assign(program_.communications.size(), Time::Never());
  left_.reserve(program_.communications.size());
  for (const Communication& c : program_.communications) left_.push_back(c.seats);
}

// Each flow of each communication by itself, so that the log can tell them apart.
void Executor::ListFlows() {
  for (std::size_t c = 0; c < program_.communications.size(); ++c) {
    const Traffic& traffic = traffic_of(CommunicationId(c));
    first_instance_.push_back(static_cast<std::uint32_t>(timeline_.flow_of.size()));
    for (std::uint32_t f = 0; f < traffic.flows; ++f) {
      timeline_.flow_of.push_back({CommunicationId(c), traffic.first_flow + f});
    }
  }
  CHECK(timeline_.flow_of.size() < (std::size_t{1} << 30));
}

// Communications that run at one time have their first seats at the heads of
// different streams, so the largest of each stream together are room enough.
void Executor::ReserveNetwork() {
  std::vector<Room> most(program_.stream_rank.size());
  for (std::size_t c = 0; c < program_.communications.size(); ++c) {
    const Communication& row = program_.communications[c];
    const Traffic& traffic = traffic_of(CommunicationId(c));
    if (row.seats == 0) continue;
    std::size_t uses = 0;
    for (std::uint32_t f = 0; f < traffic.flows; ++f) uses += program_.flows[traffic.first_flow + f].uses;
    Room& room = most[program_.stream_of(program_.seats[row.first_seat]).pos()];
    room.flows = std::max<std::size_t>(room.flows, traffic.flows);
    room.uses = std::max(room.uses, uses);
  }
  Room all;
  for (const Room& room : most) all = {all.flows + room.flows, all.uses + room.uses};
  network_.Reserve(all.flows, all.uses);
}

Result<Timeline> Executor::Run(const SimulateOptions& options) {
  // What waits for nothing heads its stream.
  for (const TaskId head : program_.stream_head) {
    if (head.valid() && program_.row(head).waits_for == 0) ready_.push_back(head);
  }
  Settle();
  const auto go_on = [&] { return !options.go_on || options.go_on({ended_, program_.tasks(), now_}); };
  bool left = true;
  while (left && go_on()) left = simulator_.Run(kWakeupsBetweenQuestions);
  timeline_.finish = now_;
  timeline_.events = simulator_.events();
  timeline_.ended = ended_;
  timeline_.stopped = left;
  if (!left && ended_ < program_.tasks()) return DescribeDeadlock();
  if (!left) timeline_.digest = DigestOf();
  for (RateChange& change : timeline_.rates) change.token &= kIndexMask;
  return std::move(timeline_);
}

void Executor::Wake(Time now, std::uint32_t token) {
  now_ = now;
  const std::uint32_t index = token & kIndexMask;
  switch (static_cast<Event>(token >> 30)) {
    case Event::kWorkEnds: {
      const TaskId task(index);
      const Place at = program_.PlaceOf(task);
      Running& running = running_[program_.stream_of(at).pos()];
      // Work that was retimed leaves its old wakeups behind.
      if (running.task != task || running.ends != now) return;
      running.task = TaskId::None();
      End(task, at);
      break;
    }
    case Event::kTrafficStarts:
      StartTraffic(CommunicationId(index));
      break;
    case Event::kFlowEnds: {
      const CommunicationId c =
          first_instance_.empty() ? CommunicationId(index) : timeline_.flow_of[index].communication;
      if (--left_[c.pos()] == 0) EndCommunication(c);
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
  const Place at = program_.PlaceOf(task);
  switch (program_.row(at).kind) {
    case TaskKind::kWork:
      StartWork(task, at);
      break;
    case TaskKind::kSeat:
      Arrive(task, at);
      break;
    case TaskKind::kMark:
      End(task, at);
      break;
  }
}

void Executor::StartWork(TaskId task, const Place& at) {
  const WorkTimes& times = program_.times_of(at);
  const StreamId stream = program_.stream_of(at);
  const bool computes = program_.stream_kind[stream.pos()] == StreamKind::kCompute;
  const DeviceTaken beside = computes ? taken_[program_.stream_rank[stream.pos()].pos()] : DeviceTaken();
  const Duration length = times.Beside(beside);
  if (length == Duration()) return End(task, at);
  if (BeyondTheClock(length, task)) return;
  running_[stream.pos()] = {task, now_, length, now_ + length, beside};
  simulator_.WakeAt(now_ + length, Phase::kFinish, *this, Token(Event::kWorkEnds, task.value()));
}

void Executor::Arrive(TaskId seat, const Place& at) {
  const CommunicationId c = program_.communication_of(at);
  const Traffic& traffic = traffic_of(c);
  // One without flows stands for others' that move meanwhile.
  const DeviceTaken taken = {.sms = traffic.taken.sms,
                             .memory = traffic.flows > 0 ? 0 : traffic.taken.memory};
  if (taken != DeviceTaken()) Take(program_.rank_of(at), taken);
  if (--left_[c.pos()] > 0) return;
  timeline_.begin[c.pos()] = now_;
  left_[c.pos()] = traffic.flows;
  if (BeyondTheClock(traffic.latency, seat)) return;
  if (traffic.latency > Duration()) {
    simulator_.WakeAt(now_ + traffic.latency, Phase::kStart, *this, Token(Event::kTrafficStarts, c.value()));
  } else {
    StartTraffic(c);
  }
}

void Executor::StartTraffic(CommunicationId c) {
  const Traffic& traffic = traffic_of(c);
  if (traffic.flows == 0) return EndCommunication(c);
  if (traffic.taken.memory > 0) {
    for (const TaskId seat : program_.seats_of(c)) {
      Take(program_.rank_of(seat), {.sms = 0, .memory = traffic.taken.memory});
    }
  }
  for (std::uint32_t f = 0; f < traffic.flows; ++f) {
    const TrafficFlow& flow = program_.flows[traffic.first_flow + f];
    const std::uint32_t index = first_instance_.empty() ? c.value() : first_instance_[c.pos()] + f;
    network_.Start({.volume = flow.volume,
                    .uses = std::span(program_.uses).subspan(flow.first_use, flow.uses),
                    .share = flow.share,
                    .limit = flow.limit},
                   *this, Token(Event::kFlowEnds, index));
  }
}

void Executor::EndCommunication(CommunicationId c) {
  const Traffic& traffic = traffic_of(c);
  const DeviceTaken given = {.sms = -traffic.taken.sms, .memory = -traffic.taken.memory};
  for (const TaskId seat : program_.seats_of(c)) {
    const Place at = program_.PlaceOf(seat);
    if (given != DeviceTaken()) Take(program_.rank_of(at), given);
    End(seat, at);
  }
}

void Executor::End(TaskId task, const Place& at) {
  timeline_.end[task.pos()] = now_;
  ++ended_;
  Release(program_.next_in_stream(at));
  program_.ForEachSuccessor(at, [this](TaskId next) { Release(next); });
}

void Executor::Release(TaskId task) {
  if (!task.valid()) return;
  Time& start = timeline_.start[task.pos()];
  start = start + Duration::Picoseconds(1);
  if (start == Time::Start()) ready_.push_back(task);
}

// Whether something would end beyond the clock's range. It then never ends, and
// the run fails with its name.
bool Executor::BeyondTheClock(Duration length, TaskId task) {
  if (length <= Time::Never() - now_) return false;
  if (!too_long_.valid()) too_long_ = task;
  return true;
}

// More of the rank's device is taken, or given back: what is left of its work changes speed.
void Executor::Take(Rank rank, const DeviceTaken& more) {
  DeviceTaken& taken = taken_[rank.pos()];
  taken.sms += more.sms;
  taken.memory += more.memory;
  const StreamId stream = compute_stream_[rank.pos()];
  if (!stream.valid()) return;
  Running& running = running_[stream.pos()];
  if (!running.task.valid()) return;
  const DeviceTaken beside = taken;
  const WorkTimes& times = program_.times_of(running.task);
  const Wide from = times.Beside(running.beside).ps();
  const Wide to = times.Beside(beside).ps();
  running.beside = beside;
  if (from == to) return;
  const Wide left = (running.left - (now_ - running.since)).ps();
  running.left = Duration::Picoseconds(static_cast<std::int64_t>((left * to + from - 1) / from));
  running.since = now_;
  if (BeyondTheClock(running.left, running.task)) return;
  running.ends = now_ + running.left;
  simulator_.WakeAt(running.ends, Phase::kFinish, *this, Token(Event::kWorkEnds, running.task.value()));
}

// Summed over tasks, so that it does not depend on their order.
std::string Executor::DigestOf() const {
  std::uint64_t sum = 0;
  program_.ForEachTask([&](TaskId task, const Place& at) {
    const TaskRow& row = program_.row(at);
    const std::uint64_t digest =
        Digest()
            .Add(static_cast<std::uint64_t>(row.kind))
            .Add(static_cast<std::uint64_t>(row.task_class))
            .Add(static_cast<std::uint64_t>(timeline_.start[task.pos()].since_start().ps()))
            .Add(static_cast<std::uint64_t>(timeline_.end[task.pos()].since_start().ps()))
            .value();
    sum += program_.plays_for.empty() ? digest : program_.PlaysFor(program_.rank_of(at)) * digest;
  });
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
    if (seats.empty() || left_[c] == 0) continue;
    // The network never wakes for an end beyond the clock's range.
    if (timeline_.begin[c] != Time::Never()) return TooLong(seats.front());
    if (left_[c] == seats.size()) continue;
    std::string here, away;
    for (const TaskId seat : seats) {
      const std::string rank = std::to_string(program_.rank_of(seat).value());
      if (has_started(seat)) {
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
          " would end after more than the 106 days that a simulation may last; faster rates or fewer steps "
          "are wanted"};
}

// The first task of the seat's stream that has not ended.
TaskId Executor::FirstLeft(TaskId seat) const {
  TaskId task = program_.stream_head[program_.stream_of(seat).pos()];
  while (has_ended(task)) task = program_.next_in_stream(task);
  return task;
}

}  // namespace

Result<Timeline> Simulate(const Program& program, const SimulateOptions& options) {
  return Executor(program, options).Run(options);
}

}  // namespace sim
