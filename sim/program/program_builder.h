// ProgramBuilder: streams, work, traffic and tasks go in; a Program that can
// run comes out, or the cycle that prevents it. Tasks are given one by one, for
// every rank; that many ranks do the same is found here, not told.

#ifndef SIM_PROGRAM_PROGRAM_BUILDER_H_
#define SIM_PROGRAM_PROGRAM_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/result.h"
#include "sim/program/program.h"

namespace sim {

// One flow of a traffic as the builder takes it: weights count in units of
// 1 / weight_denominator bytes of link per byte of progress.
struct FlowDescription {
  Volume volume = {};
  std::vector<Use> uses = {};  // each link once
  std::uint32_t weight_denominator = 1;
  std::uint32_t share = 1;
  ByteRate limit = {};
};

struct TrafficDescription {
  std::string name = {};
  Bytes size = {};
  Duration latency = {};
  // Of each member: SMs from when it comes, memory while bytes flow. Nothing: copy engines.
  DeviceTaken taken = {.sms = 1, .memory = 0};
  std::vector<FlowDescription> flows = {};
};

class ProgramBuilder {
 public:
  // REQUIRES: every capacity >= 1 kB/s
  ProgramBuilder(std::uint32_t ranks, std::vector<ByteRate> link_capacity);

  // Ranks that have no tasks because others are played for them; see Program::plays_for.
  void PlayRanksFor(std::vector<std::uint32_t> plays_for) { program_.plays_for = std::move(plays_for); }

  StreamId AddStream(Rank rank, StreamKind kind);
  std::uint16_t Name(std::string_view name);  // the id of a name, for labels
  WorkId AddWork(WorkTimes times);            // the same times give the same id
  TrafficId AddTraffic(const TrafficDescription& traffic);
  CommunicationId AddCommunication(TrafficId traffic);

  // Tasks go to the end of their stream.
  TaskId Work(StreamId stream, WorkId work, TaskClass task_class, Label label);
  TaskId Seat(StreamId stream, CommunicationId communication, TaskClass task_class, Label label);
  TaskId Mark(StreamId stream, TaskClass task_class, Label label);

  // Between Hold and Release tasks join no stream; Enqueue puts those from `first` to before `end`
  // at the ends of theirs, in order. So what is written one after the other can take turns.
  // REQUIRES: by Release every one is put, once
  void Hold();
  void Enqueue(std::size_t first, std::size_t end);
  void Release();
  // The last task on a stream of the open script; none at first.
  TaskId Last(StreamId stream) const;

  // `task` starts after `earlier` has ended. REQUIRES: both are of the open script
  void After(TaskId task, TaskId earlier);

  // Everything since the last call is a script; if it equals an earlier one,
  // its rows are kept once and it adds a player. Ids of its tasks, streams and
  // communications mean nothing any more: the program numbers them anew. A
  // program that is built without a call is one script, and keeps its ids.
  void CloseScript();
  // Everything since then is left out, as if it had not been given; streams, traffic and communications stay.
  void DropScript();

  std::size_t tasks() const { return closed_tasks_ + rows_.size(); }
  StreamKind kind_of(StreamId stream) const { return program_.stream_kind[stream.pos()]; }

  // Fails when tasks wait for each other in a cycle (named), when there is no
  // task at all, or when the weights have no common denominator below 2^32.
  Result<Program> Build() &&;

 private:
  // A script with its players, in the order in which they were added.
  struct Closed {
    std::vector<TaskRow> rows;
    std::vector<std::uint32_t> successor;
    std::vector<StreamId> first_stream;  // by player
    std::vector<CommunicationId> seats;  // by player, then seat
    std::uint32_t seats_of_player = 0;
  };

  TaskId Add(StreamId stream, TaskKind kind, std::uint32_t amount, TaskClass task_class, Label label);
  void Append(std::uint32_t row);  // to its stream
  std::uint32_t RowOf(TaskId task) const;
  void ForgetScript();
  void LinkSuccessors();
  Closed* FindEqual();
  void LayOut();
  void LayOutSeats(const Script& script, const Closed& closed);
  void NumberCommunications();
  void MakeBlocks();
  void LinkHeads();
  void LinkSeats();
  std::optional<Error> ScaleWeights();

  Program program_;
  std::vector<std::uint32_t> flow_denominator_;  // by flow
  std::unordered_map<std::string, std::uint16_t> name_ids_;
  std::map<WorkTimes, WorkId> work_ids_;

  // The open script. Its tasks are counted from the closed ones on.
  std::vector<TaskRow> rows_;
  std::vector<std::uint32_t> successor_;
  std::vector<std::uint32_t> after_, before_;  // dependency i: row after_[i] waits for row before_[i]
  std::vector<CommunicationId> seats_;
  std::vector<std::uint32_t> stream_tail_;  // by stream from first_stream_ on: its last row
  std::uint32_t first_stream_ = 0;
  bool holds_ = false;
  std::size_t held_ = 0;  // tasks that are on no stream yet

  std::vector<Closed> closed_;
  std::unordered_multimap<std::uint64_t, std::size_t> closed_by_digest_;
  std::size_t closed_tasks_ = 0;
};

}  // namespace sim

#endif  // SIM_PROGRAM_PROGRAM_BUILDER_H_
