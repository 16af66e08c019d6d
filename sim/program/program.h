// Program: everything that happens, in columns. Immutable once built.
//
// A rank has streams; a stream is a queue of tasks that run one after another,
// as in CUDA. A task is work on one device, a seat in a communication, or a
// mark. A communication is one rendezvous: it begins when each of its seats
// heads its stream with its dependencies met, and all its seats end together.

#ifndef SIM_PROGRAM_PROGRAM_H_
#define SIM_PROGRAM_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/units.h"
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
};
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
};
inline constexpr int kTaskClasses = 13;
const char* ToText(TaskClass task_class);  // "forward", "tensor", ...
constexpr bool IsWork(TaskClass c) { return c <= TaskClass::kOptimizer; }

// What a task is called. Resolved to text only when printed.
struct Label {
  std::uint16_t name = 0;         // Program::names
  std::int16_t layer = -1;        // of the whole model; -1: none
  std::int32_t micro_batch = -1;  // -1: none; for kStepEnd the step, for kCheckpoint the save
  auto operator<=>(const Label&) const = default;
};

// The slow-down table of one kind of work: how long it takes alone, and while
// communication holds some of the device's SMs.
struct WorkTimes {
  Duration alone;
  Duration beside_communication;
  auto operator<=>(const WorkTimes&) const = default;
  friend WorkTimes operator+(WorkTimes a, WorkTimes b) {
    return {a.alone + b.alone, a.beside_communication + b.beside_communication};
  }
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
  bool holds_sms = true;                    // false: copy engines
  Bytes size;                               // as its kind counts it, for reports
  std::uint16_t name = 0;                   // "all-reduce"; Program::names
};

struct Communication {
  TrafficId traffic;
  std::uint32_t first_seat = 0, seats = 0;  // Program::seats
};

struct Program {
  // Streams, by StreamId.
  std::vector<Rank> stream_rank;
  std::vector<StreamKind> stream_kind;
  std::vector<TaskId> stream_head;  // first task, or none
  std::uint32_t ranks = 0;

  // Tasks, by TaskId.
  std::vector<TaskKind> kind;
  std::vector<TaskClass> task_class;
  std::vector<Label> label;
  std::vector<StreamId> stream;
  std::vector<std::uint32_t> amount;  // WorkId or CommunicationId
  std::vector<TaskId> next_in_stream;
  std::vector<std::uint32_t> waits_for;        // how many tasks must end first, the one ahead included
  std::vector<std::uint32_t> first_successor;  // CSR, one more entry than tasks
  std::vector<TaskId> successor;

  std::vector<WorkTimes> works;
  std::vector<Traffic> traffics;
  std::vector<TrafficFlow> flows;
  std::vector<Use> uses;
  std::vector<Communication> communications;
  std::vector<TaskId> seats;
  std::vector<std::string> names;

  std::vector<ByteRate> link_capacity;  // by LinkId
  std::uint32_t weight_denominator = 1;

  std::size_t tasks() const { return kind.size(); }
  Rank rank_of(TaskId task) const { return stream_rank[stream[task.pos()].pos()]; }
  std::span<const TaskId> successors_of(TaskId task) const {
    const std::uint32_t first = first_successor[task.pos()];
    return std::span(successor).subspan(first, first_successor[task.pos() + 1] - first);
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
