#include "sim/program/program.h"

namespace sim {

const char* ToText(StreamKind kind) {
  switch (kind) {
    case StreamKind::kCompute:
      return "compute";
    case StreamKind::kTensor:
      return "tensor";
    case StreamKind::kExpert:
      return "expert";
    case StreamKind::kData:
      return "data";
    case StreamKind::kToNext:
      return "to next";
    case StreamKind::kFromNext:
      return "from next";
    case StreamKind::kToPrevious:
      return "to previous";
    case StreamKind::kFromPrevious:
      return "from previous";
    case StreamKind::kCopyOut:
      return "copy out";
    case StreamKind::kCopyIn:
      return "copy in";
    case StreamKind::kHost:
      return "host";
    case StreamKind::kReplica:
      return "replica";
    case StreamKind::kContext:
      return "context";
    case StreamKind::kLaunch:
      return "launches";
  }
  return "?";
}

const char* ToText(TaskClass task_class) {
  switch (task_class) {
    case TaskClass::kForward:
      return "forward";
    case TaskClass::kBackward:
      return "backward";
    case TaskClass::kRecompute:
      return "recomputation";
    case TaskClass::kOptimizer:
      return "optimizer";
    case TaskClass::kTensor:
      return "tensor";
    case TaskClass::kExpert:
      return "expert";
    case TaskClass::kPipeline:
      return "pipeline";
    case TaskClass::kData:
      return "data";
    case TaskClass::kEmbedding:
      return "embedding";
    case TaskClass::kNorm:
      return "gradient norm";
    case TaskClass::kCheckpoint:
      return "checkpoint";
    case TaskClass::kLoad:
      return "loading";
    case TaskClass::kStepEnd:
      return "step end";
    case TaskClass::kContext:
      return "context";
    case TaskClass::kOffload:
      return "offload";
    case TaskClass::kLaunch:
      return "launch";
  }
  return "?";
}

std::uint64_t Program::TasksOfAllRanks() const {
  if (plays_for.empty()) return tasks();
  std::uint64_t all = 0;
  for (const Script& script : scripts) {
    for (std::uint32_t player = 0; player < script.players; ++player)
      all += std::uint64_t{script.rows} * PlaysFor(rank_of(Place{&script, 0, player}));
  }
  return all;
}

std::string Program::NameOf(TaskId task) const {
  const TaskRow& r = row(task);
  const Label& l = r.label;
  std::string text = names[l.name];
  if (l.micro_batch >= 0) {
    const bool numbered = r.task_class == TaskClass::kStepEnd || r.task_class == TaskClass::kCheckpoint;
    text += numbered ? " " : " mb";
    text += std::to_string(l.micro_batch);
  }
  if (l.layer >= 0) text += " layer " + std::to_string(l.layer);
  return text;
}

namespace {

std::string AmountText(const Program& p, TaskId task) {
  switch (p.row(task).kind) {
    case TaskKind::kWork:
      return std::to_string(p.times_of(task).alone.ps()) + " ps";
    case TaskKind::kSeat: {
      const CommunicationId c = p.communication_of(task);
      const Traffic& traffic = p.traffics[p.communications[c.pos()].traffic.pos()];
      return "#" + std::to_string(c.value()) + " " + p.names[traffic.name] + " " +
             std::to_string(traffic.size.count()) + " B";
    }
    case TaskKind::kMark:
      return "mark";
  }
  return "?";
}

}  // namespace

std::string ToText(const Program& program, std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < program.tasks() && i < lines; ++i) {
    const TaskId task(i);
    text += std::to_string(i) + ". rank " + std::to_string(program.rank_of(task).value()) + " " +
            ToText(program.stream_kind_of(task)) + ": " + program.NameOf(task) + " (" +
            ToText(program.row(task).task_class) + ") " + AmountText(program, task);
    if (program.row(task).successors > 0) text += " ->";
    program.ForEachSuccessor(task, [&](TaskId next) { text += " " + std::to_string(next.value()); });
    text += '\n';
  }
  return text;
}

}  // namespace sim
