// Program: everything that happens, as tables. Immutable once built.
//
// A rank has streams; a stream is a queue of tasks that run one after another,
// as in CUDA. A task is work on one device, a seat in a communication, or a
// mark. A communication is one rendezvous: it begins when each of its seats
// heads its stream with its dependencies met, and all its seats end together.
//
// Ranks that do the same share one script: its rows are kept once, and each
// rank that plays it adds its streams and the communications it sits in. Every
// rank still has tasks of its own, with ids and times of their own.

#ifndef SIM_PROGRAM_PROGRAM_H_
#define SIM_PROGRAM_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/units.h"
#include "sim/base/work_times.h"
#include "sim/network/flow.h"

namespace sim {

using WorkId = Index<struct WorkTag>;
using TrafficId = Index<struct TrafficTag>;
using CommunicationId = Index<struct CommunicationTag>;

enum class StreamKind : std::uint8_t {
  kCompute,
  kTensor,
  kExpert,
  kData,
  kToNext,
  kFromNext,
  kToPrevious,
  kFromPrevious,
  kCopyOut,
  kCopyIn,
  kHost,
  kReplica,  // between copies of a sharded model
  kContext,
  kLaunch,  // of the host, which launches what the other streams run
};
inline constexpr int kStreamKinds = 14;
const char* ToText(StreamKind kind);  // "compute", "tensor", ...

enum class TaskKind : std::uint8_t { kWork, kSeat, kMark };

// What a task is for; reports add up time by it.
enum class TaskClass : std::uint8_t {
  kForward,
  kBackward,
  kRecompute,
  kOptimizer,  // work
  kTensor,
  kExpert,
  kPipeline,
  kData,
  kEmbedding,
  kNorm,  // communication
  kCheckpoint,
  kLoad,
  kStepEnd,  // the mark that ends one step of one rank
  kContext,  // communication
  kOffload,  // copies to and from the host's memory
  kLaunch,   // of the host
};
inline constexpr int kTaskClasses = 16;
const char* ToText(TaskClass task_class);  // "forward", "tensor", ...
constexpr bool IsWork(TaskClass c) { return c <= TaskClass::kOptimizer; }

// What a task is called. Resolved to text only when printed.
struct Label {
  std::uint16_t name = 0;         // Program::names
  std::int16_t layer = -1;        // of the whole model; -1: none
  std::int32_t micro_batch = -1;  // -1: none; for kStepEnd the step, for kCheckpoint the save
  auto operator<=>(const Label&) const = default;
};

// One coupled flow of a communication.
struct TrafficFlow {
  Volume volume;
  std::uint32_t first_use = 0, uses = 0;  // Program::uses
  std::uint32_t share = 1;
  ByteRate limit = {};  // zero = none
};

// What a communication moves: a latency, then flows side by side.
struct Traffic {
  Duration latency;
  std::uint32_t first_flow = 0, flows = 0;  // Program::flows
  DeviceTaken taken;                        // of each member; nothing: copy engines
  Bytes size;                               // as its kind counts it, for reports
  std::uint16_t name = 0;                   // "all-reduce"; Program::names
};

struct Communication {
  TrafficId traffic;
  std::uint32_t first_seat = 0, seats = 0;  // Program::seats
};

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// What a task is, whoever plays it. Rows and streams are counted in its script.
struct TaskRow {
  TaskKind kind = TaskKind::kMark;
  TaskClass task_class = TaskClass::kForward;
  Label label;
  std::uint32_t stream = 0;           // of the player's
  std::uint32_t amount = 0;           // work: its WorkId; a seat: how many seats the script has before it
  std::uint32_t next = kNoRow;        // the next one on its stream
  std::uint32_t waits_for = 0;        // how many tasks must end first, the one ahead included
  std::uint32_t first_successor = 0;  // Program::successor
  std::uint32_t successors = 0;       // tasks that wait for it, the next one on its stream not counted
  bool operator==(const TaskRow&) const = default;
};

// Rows that one or more players play, and whose tasks lie together: those of
// one row side by side, because players that do the same do it at one time.
struct Script {
  std::uint32_t first_task = 0;  // of row 0 and player 0
  std::uint32_t first_row = 0, rows = 0;
  std::uint32_t first_player = 0, players = 0;
  std::uint32_t first_seat = 0;  // Program::seat_communication
  std::uint32_t end_task() const { return first_task + rows * players; }
};

// Where a task stands.
struct Place {
  const Script* script = nullptr;
  std::uint32_t row = 0, player = 0;  // of the script

  TaskId task() const { return TaskId(script->first_task + row * script->players + player); }
};

struct Program {
  // Streams, by StreamId.
  std::vector<Rank> stream_rank;
  std::vector<StreamKind> stream_kind;
  std::vector<TaskId> stream_head;  // first task, or none
  std::uint32_t ranks = 0;
  // By rank: how many ranks it is played for, itself among them, which do the same at the same times; none of
  // its tasks are here where another is played for it: 0. Empty: each is played for itself.
  std::vector<std::uint32_t> plays_for;

  // Tasks, as scripts in the order of TaskId.
  std::vector<Script> scripts;
  std::vector<StreamId> player_streams;  // by player: the first of its streams
  std::vector<TaskRow> rows;
  std::vector<std::uint32_t> successor;             // rows of the script
  std::vector<CommunicationId> seat_communication;  // by seat of a script, then player
  // The script in which each block of 2^block_shift tasks begins.
  std::vector<std::uint32_t> script_of_block;
  std::uint32_t block_shift = 31;

  std::vector<WorkTimes> works;
  std::vector<Traffic> traffics;
  std::vector<TrafficFlow> flows;
  std::vector<Use> uses;
  std::vector<Communication> communications;
  std::vector<TaskId> seats;
  std::vector<std::string> names;

  std::vector<ByteRate> link_capacity;  // by LinkId
  std::uint32_t weight_denominator = 1;

  std::size_t tasks() const { return scripts.empty() ? 0 : scripts.back().end_task(); }
  std::uint32_t PlaysFor(Rank rank) const { return plays_for.empty() ? 1 : plays_for[rank.pos()]; }
  std::uint64_t TasksOfAllRanks() const;

  Place PlaceOf(TaskId task) const {
    const Script* script = &scripts[script_of_block[task.value() >> block_shift]];
    while (task.value() >= script->end_task()) ++script;
    const std::uint32_t at = task.value() - script->first_task;
    const std::uint32_t row = at / script->players;
    return {script, row, at - row * script->players};
  }

  // Each takes a task, or its place where that is known.
  const TaskRow& row(const Place& p) const { return rows[p.script->first_row + p.row]; }
  StreamId stream_of(const Place& p) const {
    return StreamId(player_streams[p.script->first_player + p.player].value() + row(p).stream);
  }
  Rank rank_of(const Place& p) const { return stream_rank[stream_of(p).pos()]; }
  StreamKind stream_kind_of(const Place& p) const { return stream_kind[stream_of(p).pos()]; }
  TaskId next_in_stream(const Place& p) const {
    const std::uint32_t next = row(p).next;
    return next == kNoRow ? TaskId::None() : Place{p.script, next, p.player}.task();
  }
  // REQUIRES: a seat
  CommunicationId communication_of(const Place& p) const {
    return seat_communication[p.script->first_seat + row(p).amount * p.script->players + p.player];
  }
  // REQUIRES: work
  const WorkTimes& times_of(const Place& p) const { return works[row(p).amount]; }
  // Calls f(TaskId) for each task that waits for this one by a dependency.
  template <class F>
  void ForEachSuccessor(const Place& p, F&& f) const {
    const TaskRow& r = row(p);
    for (std::uint32_t i = 0; i < r.successors; ++i)
      f(Place{p.script, successor[r.first_successor + i], p.player}.task());
  }

  const TaskRow& row(TaskId task) const { return row(PlaceOf(task)); }
  StreamId stream_of(TaskId task) const { return stream_of(PlaceOf(task)); }
  Rank rank_of(TaskId task) const { return rank_of(PlaceOf(task)); }
  StreamKind stream_kind_of(TaskId task) const { return stream_kind_of(PlaceOf(task)); }
  TaskId next_in_stream(TaskId task) const { return next_in_stream(PlaceOf(task)); }
  CommunicationId communication_of(TaskId task) const { return communication_of(PlaceOf(task)); }
  const WorkTimes& times_of(TaskId task) const { return times_of(PlaceOf(task)); }
  template <class F>
  void ForEachSuccessor(TaskId task, F&& f) const {
    ForEachSuccessor(PlaceOf(task), f);
  }

  // Calls f(TaskId, Place) for every task, in the order of their ids.
  template <class F>
  void ForEachTask(F&& f) const {
    for (const Script& script : scripts) {
      Place at{&script, 0, 0};
      std::uint32_t task = script.first_task;
      for (at.row = 0; at.row < script.rows; ++at.row) {
        for (at.player = 0; at.player < script.players; ++at.player) f(TaskId(task++), at);
      }
    }
  }

  std::span<const TaskId> seats_of(CommunicationId c) const {
    const Communication& row = communications[c.pos()];
    return std::span(seats).subspan(row.first_seat, row.seats);
  }

  // "qkv mb3 layer 7"
  std::string NameOf(TaskId task) const;
};

// One line a task, at most `lines` of them; the golden tests read it.
std::string ToText(const Program& program, std::size_t lines = SIZE_MAX);

}  // namespace sim

#endif  // SIM_PROGRAM_PROGRAM_H_
