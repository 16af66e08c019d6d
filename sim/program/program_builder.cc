#include "sim/program/program_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/digest.h"
#include "sim/program/cycle.h"

namespace sim {

ProgramBuilder::ProgramBuilder(std::uint32_t ranks, std::vector<ByteRate> link_capacity) {
  for (const ByteRate capacity : link_capacity) CHECK(capacity >= ByteRate::BytesPerSecond(1000));
  program_.ranks = ranks;
  program_.link_capacity = std::move(link_capacity);
}

StreamId ProgramBuilder::AddStream(Rank rank, StreamKind kind) {
  CHECK(rank.value() < program_.ranks);
  program_.stream_rank.push_back(rank);
  program_.stream_kind.push_back(kind);
  stream_tail_.push_back(kNoRow);
  return StreamId(program_.stream_rank.size() - 1);
}

std::uint16_t ProgramBuilder::Name(std::string_view name) {
  const auto [at, is_new] = name_ids_.try_emplace(std::string(name), program_.names.size());
  if (is_new) {
    CHECK(program_.names.size() < UINT16_MAX);
    program_.names.emplace_back(name);
  }
  return at->second;
}

WorkId ProgramBuilder::AddWork(WorkTimes times) {
  CHECK(times.alone >= Duration() && times.memory >= Duration());
  CHECK(times.beside.front() >= times.alone && std::is_sorted(times.beside.begin(), times.beside.end()));
  // Work that takes no time alone has no speed that could be stretched.
  CHECK(times.alone > Duration() || times.longest() == Duration());
  const auto [at, is_new] = work_ids_.try_emplace(times, program_.works.size());
  if (is_new) program_.works.push_back(times);
  return at->second;
}

TrafficId ProgramBuilder::AddTraffic(const TrafficDescription& traffic) {
  CHECK(traffic.latency >= Duration());
  CHECK(traffic.taken.sms >= 0 && traffic.taken.memory >= 0);
  Traffic row{.latency = traffic.latency,
              .first_flow = static_cast<std::uint32_t>(program_.flows.size()),
              .flows = static_cast<std::uint32_t>(traffic.flows.size()),
              .taken = traffic.taken,
              .size = traffic.size,
              .name = Name(traffic.name)};
  for (const FlowDescription& flow : traffic.flows) {
    CHECK(flow.weight_denominator >= 1 && flow.share >= 1);
    program_.flows.push_back({.volume = flow.volume,
                              .first_use = static_cast<std::uint32_t>(program_.uses.size()),
                              .uses = static_cast<std::uint32_t>(flow.uses.size()),
                              .share = flow.share,
                              .limit = flow.limit});
    flow_denominator_.push_back(flow.weight_denominator);
    program_.uses.insert(program_.uses.end(), flow.uses.begin(), flow.uses.end());
  }
  program_.traffics.push_back(row);
  return TrafficId(program_.traffics.size() - 1);
}

CommunicationId ProgramBuilder::AddCommunication(TrafficId traffic) {
  CHECK(traffic.pos() < program_.traffics.size());
  program_.communications.push_back({.traffic = traffic});
  return CommunicationId(program_.communications.size() - 1);
}

TaskId ProgramBuilder::Work(StreamId stream, WorkId work, TaskClass task_class, Label label) {
  CHECK(work.pos() < program_.works.size());
  return Add(stream, TaskKind::kWork, work.value(), task_class, label);
}

TaskId ProgramBuilder::Seat(StreamId stream, CommunicationId communication, TaskClass task_class,
                            Label label) {
  CHECK(communication.pos() < program_.communications.size());
  ++program_.communications[communication.pos()].seats;
  seats_.push_back(communication);
  return Add(stream, TaskKind::kSeat, static_cast<std::uint32_t>(seats_.size() - 1), task_class, label);
}

TaskId ProgramBuilder::Mark(StreamId stream, TaskClass task_class, Label label) {
  return Add(stream, TaskKind::kMark, 0, task_class, label);
}

TaskId ProgramBuilder::Add(StreamId stream, TaskKind kind, std::uint32_t amount, TaskClass task_class,
                           Label label) {
  // Streams of a closed script are full.
  CHECK(stream.value() >= first_stream_ && stream.value() - first_stream_ < stream_tail_.size());
  const TaskId task(tasks());
  CHECK(task.value() < (std::uint32_t{1} << 30));  // the executor packs two more bits beside it
  const std::uint32_t local = stream.value() - first_stream_;
  const auto row = static_cast<std::uint32_t>(rows_.size());
  rows_.push_back(
      {.kind = kind, .task_class = task_class, .label = label, .stream = local, .amount = amount});
  if (holds_) {
    ++held_;
  } else {
    Append(row);
  }
  return task;
}

void ProgramBuilder::Append(std::uint32_t row) {
  std::uint32_t& tail = stream_tail_[rows_[row].stream];
  if (tail != kNoRow) {
    rows_[tail].next = row;
    ++rows_[row].waits_for;
  }
  tail = row;
}

void ProgramBuilder::Hold() {
  CHECK(!holds_);
  holds_ = true;
}

void ProgramBuilder::Enqueue(std::size_t first, std::size_t end) {
  CHECK(holds_ && first <= end && end - first <= held_);
  for (std::size_t task = first; task < end; ++task) Append(RowOf(TaskId(task)));
  held_ -= end - first;
}

void ProgramBuilder::Release() {
  CHECK(holds_ && held_ == 0);
  holds_ = false;
}

TaskId ProgramBuilder::Last(StreamId stream) const {
  CHECK(stream.value() >= first_stream_);
  const std::uint32_t tail = stream_tail_[stream.value() - first_stream_];
  return tail == kNoRow ? TaskId::None() : TaskId(closed_tasks_ + tail);
}

std::uint32_t ProgramBuilder::RowOf(TaskId task) const {
  CHECK(task.pos() >= closed_tasks_ && task.pos() < tasks());
  return static_cast<std::uint32_t>(task.pos() - closed_tasks_);
}

void ProgramBuilder::After(TaskId task, TaskId earlier) {
  after_.push_back(RowOf(task));
  before_.push_back(RowOf(earlier));
  ++rows_[after_.back()].waits_for;
  ++rows_[before_.back()].successors;
}

// Dependencies as a table by the earlier task, in the order they were given.
void ProgramBuilder::LinkSuccessors() {
  std::uint32_t first = 0;
  for (TaskRow& row : rows_) {
    row.first_successor = first;
    first += row.successors;
  }
  successor_.resize(after_.size());
  for (std::size_t i = 0; i < after_.size(); ++i) successor_[rows_[before_[i]].first_successor++] = after_[i];
  for (TaskRow& row : rows_) row.first_successor -= row.successors;
}

// Scripts that begin alike have one digest; most differ there, in their layers.
ProgramBuilder::Closed* ProgramBuilder::FindEqual() {
  constexpr std::size_t kRowsToDigest = 64;
  Digest digest;
  digest.Add(rows_.size()).Add(successor_.size()).Add(stream_tail_.size());
  for (std::size_t i = 0; i < rows_.size() && i < kRowsToDigest; ++i) {
    digest.Add(rows_[i].amount).Add(static_cast<std::uint64_t>(rows_[i].label.layer));
  }
  const auto [first, last] = closed_by_digest_.equal_range(digest.value());
  for (auto at = first; at != last; ++at) {
    Closed& closed = closed_[at->second];
    if (closed.rows == rows_ && closed.successor == successor_) return &closed;
  }
  closed_by_digest_.emplace(digest.value(), closed_.size());
  return nullptr;
}

void ProgramBuilder::CloseScript() {
  CHECK(!holds_);
  if (rows_.empty()) return;
  LinkSuccessors();
  closed_tasks_ += rows_.size();
  Closed* closed = FindEqual();
  if (closed == nullptr) {
    closed = &closed_.emplace_back();
    closed->seats_of_player = static_cast<std::uint32_t>(seats_.size());
    closed->rows = std::move(rows_);
    closed->successor = std::move(successor_);
    rows_ = {};
    rows_.reserve(closed->rows.size());  // the next script is as long as a rule
  }
  closed->first_stream.emplace_back(first_stream_);
  closed->seats.insert(closed->seats.end(), seats_.begin(), seats_.end());
  ForgetScript();
}

void ProgramBuilder::DropScript() {
  CHECK(!holds_);
  ForgetScript();
}

void ProgramBuilder::ForgetScript() {
  first_stream_ = static_cast<std::uint32_t>(program_.stream_rank.size());
  rows_.clear();
  successor_.clear();
  after_.clear();
  before_.clear();
  seats_.clear();
  stream_tail_.clear();
}

// The closed scripts one after the other, as the program has them.
void ProgramBuilder::LayOut() {
  std::size_t rows = 0, successors = 0;
  for (const Closed& closed : closed_) {
    rows += closed.rows.size();
    successors += closed.successor.size();
  }
  program_.rows.reserve(rows);
  program_.successor.reserve(successors);
  std::uint32_t task = 0;
  for (Closed& closed : closed_) {
    const Script script{.first_task = task,
                        .first_row = static_cast<std::uint32_t>(program_.rows.size()),
                        .rows = static_cast<std::uint32_t>(closed.rows.size()),
                        .first_player = static_cast<std::uint32_t>(program_.player_streams.size()),
                        .players = static_cast<std::uint32_t>(closed.first_stream.size()),
                        .first_seat = static_cast<std::uint32_t>(program_.seat_communication.size())};
    task = script.end_task();
    const auto first_successor = static_cast<std::uint32_t>(program_.successor.size());
    for (TaskRow& row : closed.rows) row.first_successor += first_successor;
    program_.rows.insert(program_.rows.end(), closed.rows.begin(), closed.rows.end());
    program_.successor.insert(program_.successor.end(), closed.successor.begin(), closed.successor.end());
    program_.player_streams.insert(program_.player_streams.end(), closed.first_stream.begin(),
                                   closed.first_stream.end());
    LayOutSeats(script, closed);
    program_.scripts.push_back(script);
    closed = {};
  }
  closed_.clear();
}

// By seat, then player.
void ProgramBuilder::LayOutSeats(const Script& script, const Closed& closed) {
  program_.seat_communication.resize(script.first_seat + closed.seats.size());
  for (std::uint32_t player = 0; player < script.players; ++player) {
    for (std::uint32_t seat = 0; seat < closed.seats_of_player; ++seat) {
      program_.seat_communication[script.first_seat + seat * script.players + player] =
          closed.seats[std::size_t{player} * closed.seats_of_player + seat];
    }
  }
}

// In the order of their first seats: what players do at one time then lies
// together here too.
void ProgramBuilder::NumberCommunications() {
  std::vector<CommunicationId> number(program_.communications.size(), CommunicationId::None());
  std::vector<Communication> ordered;
  ordered.reserve(number.size());
  const auto take = [&](std::size_t old) {
    if (number[old].valid()) return;
    number[old] = CommunicationId(ordered.size());
    ordered.push_back(program_.communications[old]);
  };
  for (const CommunicationId c : program_.seat_communication) take(c.pos());
  for (std::size_t c = 0; c < number.size(); ++c) take(c);  // those without a seat
  for (CommunicationId& c : program_.seat_communication) c = number[c.pos()];
  program_.communications = std::move(ordered);
}

// As many blocks as there are scripts or up to four times more, so that a task
// is hardly ever more than one script away from its block's.
void ProgramBuilder::MakeBlocks() {
  const std::size_t least = 2 * program_.scripts.size();
  std::uint32_t& shift = program_.block_shift;
  while (shift > 0 && (program_.tasks() >> shift) < least) --shift;
  program_.script_of_block.resize((program_.tasks() >> shift) + 1);
  std::uint32_t script = 0;
  for (std::size_t block = 0; block < program_.script_of_block.size(); ++block) {
    while (script + 1 < program_.scripts.size() && (block << shift) >= program_.scripts[script].end_task())
      ++script;
    program_.script_of_block[block] = script;
  }
}

// A stream begins with the row that is nobody's next, which need not be its first.
void ProgramBuilder::LinkHeads() {
  program_.stream_head.assign(program_.stream_rank.size(), TaskId::None());
  for (const Script& script : program_.scripts) {
    std::vector<bool> follows(script.rows, false);
    for (std::uint32_t row = 0; row < script.rows; ++row) {
      const std::uint32_t next = program_.rows[script.first_row + row].next;
      if (next != kNoRow) follows[next] = true;
    }
    for (std::uint32_t row = 0; row < script.rows; ++row) {
      if (follows[row]) continue;
      for (std::uint32_t player = 0; player < script.players; ++player) {
        const Place at{&script, row, player};
        program_.stream_head[program_.stream_of(at).pos()] = at.task();
      }
    }
  }
}

void ProgramBuilder::LinkSeats() {
  std::uint32_t total = 0;
  for (Communication& c : program_.communications) {
    c.first_seat = total;
    total += std::exchange(c.seats, 0);
  }
  program_.seats.resize(total);
  program_.ForEachTask([this](TaskId task, const Place& at) {
    if (program_.row(at).kind != TaskKind::kSeat) return;
    Communication& c = program_.communications[program_.communication_of(at).pos()];
    program_.seats[c.first_seat + c.seats++] = task;
  });
}

// All weights in one unit, so that the network compares whole numbers.
std::optional<Error> ProgramBuilder::ScaleWeights() {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
  std::uint64_t common = 1;
  for (const std::uint32_t denominator : flow_denominator_) {
    common = std::lcm(common, std::uint64_t{denominator});
    if (common >= kLimit) return Error{"the traffic weights have no common denominator below 2^32"};
  }
  for (std::size_t f = 0; f < program_.flows.size(); ++f) {
    const std::uint64_t scale = common / flow_denominator_[f];
    for (std::uint32_t u = 0; u < program_.flows[f].uses; ++u) {
      std::uint32_t& weight = program_.uses[program_.flows[f].first_use + u].weight;
      if (weight * scale >= kLimit) return Error{"a traffic weight exceeds 2^32 in common units"};
      weight = static_cast<std::uint32_t>(weight * scale);
    }
  }
  program_.weight_denominator = static_cast<std::uint32_t>(common);
  return std::nullopt;
}

Result<Program> ProgramBuilder::Build() && {
  if (tasks() == 0) return Error{"nothing to run: the program has no tasks"};
  CloseScript();
  LayOut();
  if (program_.scripts.size() > 1) NumberCommunications();
  MakeBlocks();
  LinkHeads();
  for (const Script& script : program_.scripts) {
    if (std::optional<Error> cycle = FindCycle(program_, script)) return *cycle;
  }
  LinkSeats();
  if (std::optional<Error> error = ScaleWeights()) return *error;
  return std::move(program_);
}

}  // namespace sim
