// ProgramBuilder: streams, work, traffic and tasks go in; a Program that can
// run comes out, or the cycle that prevents it.

#ifndef SIM_PROGRAM_PROGRAM_BUILDER_H_
#define SIM_PROGRAM_PROGRAM_BUILDER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
  bool holds_sms = true;
  std::vector<FlowDescription> flows = {};
};

class ProgramBuilder {
 public:
  // REQUIRES: every capacity >= 1 kB/s
  ProgramBuilder(std::uint32_t ranks, std::vector<ByteRate> link_capacity);

  StreamId AddStream(Rank rank, StreamKind kind);
  std::uint16_t Name(std::string_view name);  // the id of a name, for labels
  WorkId AddWork(WorkTimes times);            // the same times give the same id
  TrafficId AddTraffic(const TrafficDescription& traffic);
  CommunicationId AddCommunication(TrafficId traffic);

  // Tasks go to the end of their stream.
  TaskId Work(StreamId stream, WorkId work, TaskClass task_class, Label label);
  TaskId Seat(StreamId stream, CommunicationId communication, TaskClass task_class, Label label);
  TaskId Mark(StreamId stream, TaskClass task_class, Label label);

  // `task` starts after `earlier` has ended. REQUIRES: both exist
  void After(TaskId task, TaskId earlier);

  std::size_t tasks() const { return program_.kind.size(); }
  StreamKind kind_of(StreamId stream) const { return program_.stream_kind[stream.pos()]; }

  // Fails when tasks wait for each other in a cycle (named), when there is no
  // task at all, or when the weights have no common denominator below 2^32.
  Result<Program> Build() &&;

 private:
  TaskId Add(StreamId stream, TaskKind kind, std::uint32_t amount, TaskClass task_class, Label label);
  void LinkSuccessors();
  void LinkSeats();
  std::optional<Error> ScaleWeights();
  std::optional<Error> FindCycle() const;

  Program program_;
  std::vector<TaskId> stream_tail_;
  std::vector<std::uint32_t> flow_denominator_;  // by flow
  std::vector<TaskId> after_, before_;           // dependency i: after_[i] waits for before_[i]
  std::unordered_map<std::string, std::uint16_t> name_ids_;
  std::map<WorkTimes, WorkId> work_ids_;
};

}  // namespace sim

#endif  // SIM_PROGRAM_PROGRAM_BUILDER_H_
