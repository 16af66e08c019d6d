#include "scenarios/checkpoint_writer.h"

#include <utility>

#include "sim/base/check.h"

namespace scenarios {

using sim::StreamKind;
using sim::TaskClass;

sim::TrafficDescription StorageTraffic(std::string name, sim::Bytes bytes, const topologies::Route& route,
                                       sim::ByteRate limit) {
  sim::FlowDescription flow{
      .volume = sim::Volume::Of(bytes), .weight_denominator = route.denominator, .limit = limit};
  for (const topologies::RouteUse& use : route.uses) flow.uses.push_back({use.link, use.parts});
  return {.name = std::move(name),
          .size = bytes,
          .latency = route.latency,
          .taken = {},
          .flows = {std::move(flow)}};
}

CheckpointWriter::CheckpointWriter(const Scenario& scenario, sim::ProgramBuilder* builder)
    : scenario_(scenario),
      builder_(builder),
      plan_(PlanCheckpoint(scenario)),
      copy_(builder->Name("copy to host")),
      write_(builder->Name("write checkpoint")),
      written_(builder->Name("all have written")),
      go_on_(builder->Name("go on after save")),
      nothing_(builder->AddTraffic({.name = "rendezvous", .taken = {}})),
      copies_(plan_.rank_bytes.size()),
      writes_(plan_.rank_bytes.size()),
      written_at_(plan_.rank_bytes.size()) {
  CHECK(scenario.fabric.storage != nullptr);
  const topologies::StorageRoutes& routes = *scenario.fabric.storage;
  for (std::size_t rank = 0; rank < plan_.rank_bytes.size(); ++rank) {
    const sim::Bytes bytes = plan_.rank_bytes[rank];
    if (bytes == sim::Bytes()) continue;
    copies_[rank] = builder->AddTraffic(StorageTraffic("copy", bytes, routes.to_host[rank]));
    writes_[rank] = builder->AddTraffic(
        StorageTraffic("write", bytes, routes.write[rank], scenario.checkpoint->serialise));
  }
}

void CheckpointWriter::Add(std::int64_t save, sim::TaskId gathered, RankTape* tape) {
  sim::TaskId done = gathered;  // what the state may not change before
  if (copies_[tape->rank().pos()].valid()) {
    done = Write(save, gathered.valid() ? gathered : tape->last(), tape);
  }
  if (scenario_.checkpoint->mode == SaveMode::kSync) {
    done = Meet(save, done.valid() ? done : tape->last(), tape);
  } else if (scenario_.checkpoint->copy == SaveCopy::kOverlapped) {
    return tape->WaitForAtEnd(done);
  }
  if (!done.valid()) return;
  // A mark, so that what the rank sends next on other streams waits as well.
  tape->WaitFor(done);
  tape->Mark(TaskClass::kCheckpoint, LabelOf(go_on_, save));
}

// Returns the copy.
sim::TaskId CheckpointWriter::Write(std::int64_t save, sim::TaskId after, RankTape* tape) {
  const std::size_t rank = tape->rank().pos();
  std::vector<sim::TaskId>& written = written_at_[rank];
  const auto slots = static_cast<std::size_t>(plan_.slots[rank]);
  const sim::TaskId copy =
      builder_->Seat(tape->stream(StreamKind::kCopyOut), builder_->AddCommunication(copies_[rank]),
                     TaskClass::kCheckpoint, LabelOf(copy_, save));
  builder_->After(copy, after);
  if (written.size() >= slots) builder_->After(copy, written[written.size() - slots]);
  const sim::TaskId write =
      builder_->Seat(tape->stream(StreamKind::kHost), builder_->AddCommunication(writes_[rank]),
                     TaskClass::kCheckpoint, LabelOf(write_, save));
  builder_->After(write, copy);
  written.push_back(write);
  return copy;
}

// The host stream keeps the seat behind the rank's own write.
sim::TaskId CheckpointWriter::Meet(std::int64_t save, sim::TaskId after, RankTape* tape) {
  const auto number = static_cast<std::size_t>(save);
  if (number == meetings_.size()) meetings_.push_back(builder_->AddCommunication(nothing_));
  const sim::TaskId seat = builder_->Seat(tape->stream(StreamKind::kHost), meetings_[number],
                                          TaskClass::kCheckpoint, LabelOf(written_, save));
  builder_->After(seat, after);
  return seat;
}

}  // namespace scenarios
