#include "sim/program/program_builder.h"

#include <algorithm>
#include <numeric>

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
  program_.stream_head.push_back(TaskId::None());
  stream_tail_.push_back(TaskId::None());
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
  CHECK(times.alone >= Duration() && times.beside_communication >= times.alone);
  // Work that takes no time alone has no speed that could be stretched.
  CHECK(times.alone > Duration() || times.beside_communication == Duration());
  const auto [at, is_new] = work_ids_.try_emplace(times, program_.works.size());
  if (is_new) program_.works.push_back(times);
  return at->second;
}

TrafficId ProgramBuilder::AddTraffic(const TrafficDescription& traffic) {
  CHECK(traffic.latency >= Duration());
  Traffic row{.latency = traffic.latency,
              .first_flow = static_cast<std::uint32_t>(program_.flows.size()),
              .flows = static_cast<std::uint32_t>(traffic.flows.size()),
              .holds_sms = traffic.holds_sms,
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
  return Add(stream, TaskKind::kSeat, communication.value(), task_class, label);
}

TaskId ProgramBuilder::Mark(StreamId stream, TaskClass task_class, Label label) {
  return Add(stream, TaskKind::kMark, 0, task_class, label);
}

TaskId ProgramBuilder::Add(StreamId stream, TaskKind kind, std::uint32_t amount, TaskClass task_class,
                           Label label) {
  CHECK(stream.pos() < stream_tail_.size());
  const TaskId task(program_.kind.size());
  CHECK(task.value() < (std::uint32_t{1} << 30));  // the executor packs two more bits beside it
  program_.kind.push_back(kind);
  program_.task_class.push_back(task_class);
  program_.label.push_back(label);
  program_.stream.push_back(stream);
  program_.amount.push_back(amount);
  program_.next_in_stream.push_back(TaskId::None());
  TaskId& tail = stream_tail_[stream.pos()];
  program_.waits_for.push_back(tail.valid() ? 1 : 0);
  (tail.valid() ? program_.next_in_stream[tail.pos()] : program_.stream_head[stream.pos()]) = task;
  tail = task;
  return task;
}

void ProgramBuilder::After(TaskId task, TaskId earlier) {
  CHECK(task.pos() < tasks() && earlier.pos() < tasks());
  after_.push_back(task);
  before_.push_back(earlier);
  ++program_.waits_for[task.pos()];
}

// Dependencies as a CSR table by the earlier task, in the order they were given.
void ProgramBuilder::LinkSuccessors() {
  std::vector<std::uint32_t>& first = program_.first_successor;
  first.assign(tasks() + 1, 0);
  for (const TaskId earlier : before_) ++first[earlier.pos() + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  program_.successor.resize(after_.size());
  std::vector<std::uint32_t> at(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < after_.size(); ++i) program_.successor[at[before_[i].pos()]++] = after_[i];
}

void ProgramBuilder::LinkSeats() {
  std::uint32_t total = 0;
  for (Communication& c : program_.communications) {
    c.first_seat = total;
    total += c.seats;
  }
  program_.seats.resize(total);
  std::vector<std::uint32_t> filled(program_.communications.size(), 0);
  for (std::size_t task = 0; task < tasks(); ++task) {
    if (program_.kind[task] != TaskKind::kSeat) continue;
    const std::uint32_t c = program_.amount[task];
    program_.seats[program_.communications[c].first_seat + filled[c]++] = TaskId(task);
  }
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

// Kahn's algorithm over streams and dependencies. What it cannot order waits
// in a cycle (or behind one): walk backwards from there until a task repeats.
std::optional<Error> ProgramBuilder::FindCycle() const {
  std::vector<std::uint32_t> waits = program_.waits_for;
  std::vector<TaskId> ready;
  for (std::size_t task = 0; task < tasks(); ++task) {
    if (waits[task] == 0) ready.emplace_back(task);
  }
  std::size_t ordered = 0;
  const auto release = [&](TaskId task) {
    if (task.valid() && --waits[task.pos()] == 0) ready.push_back(task);
  };
  while (!ready.empty()) {
    const TaskId task = ready.back();
    ready.pop_back();
    ++ordered;
    release(program_.next_in_stream[task.pos()]);
    for (const TaskId next : program_.successors_of(task)) release(next);
  }
  if (ordered == tasks()) return std::nullopt;

  std::vector<TaskId> blocker(tasks(), TaskId::None());  // some unordered task that each one waits for
  for (std::size_t task = 0; task < tasks(); ++task) {
    if (waits[task] == 0) continue;
    const auto blocks = [&](TaskId next) {
      if (next.valid() && waits[next.pos()] > 0) blocker[next.pos()] = TaskId(task);
    };
    blocks(program_.next_in_stream[task]);
    for (const TaskId next : program_.successors_of(TaskId(task))) blocks(next);
  }
  std::size_t at = 0;
  while (waits[at] == 0) ++at;
  std::vector<bool> seen(tasks(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = blocker[at].pos();
  }
  std::string text = "tasks wait for each other in a cycle:";
  const std::size_t first = at;
  int named = 0;
  do {
    text += (named == 0 ? " rank " : " <- rank ") + std::to_string(program_.rank_of(TaskId(at)).value()) +
            " " + program_.NameOf(TaskId(at));
    at = blocker[at].pos();
  } while (at != first && ++named < 8);
  return Error{text};
}

Result<Program> ProgramBuilder::Build() && {
  if (tasks() == 0) return Error{"nothing to run: the program has no tasks"};
  LinkSuccessors();
  if (std::optional<Error> cycle = FindCycle()) return *cycle;
  LinkSeats();
  if (std::optional<Error> error = ScaleWeights()) return *error;
  return std::move(program_);
}

}  // namespace sim
