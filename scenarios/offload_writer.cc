#include "scenarios/offload_writer.h"

#include "scenarios/checkpoint_writer.h"
#include "scenarios/job.h"
#include "sim/base/check.h"

namespace scenarios {

using sim::StreamKind;

OffloadWriter::OffloadWriter(const Scenario& scenario, sim::ProgramBuilder* builder, RankTape* tape)
    : routes_(*scenario.fabric.storage),
      builder_(builder),
      tape_(tape),
      out_name_(builder->Name("offload activations")),
      in_name_(builder->Name("reload activations")) {}

void OffloadWriter::BeforeForward(const Unit& unit) {
  if (unit.offloaded > sim::Bytes()) tape_->WaitFor(TakeBuffer());
}

void OffloadWriter::AfterForward(const Unit& unit, std::int64_t micro_batch) {
  if (unit.offloaded == sim::Bytes()) return;
  const sim::TrafficId traffic =
      TrafficOf(routes_.to_host[tape_->rank().pos()], unit.offloaded, &out_traffic_);
  const sim::TaskId copy = Copy(StreamKind::kCopyOut, traffic, out_name_, unit, micro_batch);
  copied_out_[{unit.layer, micro_batch}] = copy;
  GiveBack(copy);
}

// The last unit of a chunk has none behind it: it comes back from when the rank has
// ended what it computed before, which may be long before the gradient arrives.
void OffloadWriter::BeforeBackward(const std::vector<Unit>& units, const Unit& unit,
                                   std::int64_t micro_batch) {
  if (&unit == &units.back()) Reload(unit, micro_batch);
  tape_->WaitFor(copied_in_);
  copied_in_ = {};
  if (&unit != &units.front()) Reload(*(&unit - 1), micro_batch);
}

void OffloadWriter::AfterBackward(const Unit& unit) {
  if (unit.offloaded > sim::Bytes()) GiveBack(tape_->last());
}

void OffloadWriter::Reload(const Unit& unit, std::int64_t micro_batch) {
  if (unit.offloaded == sim::Bytes()) return;
  const sim::TrafficId traffic =
      TrafficOf(routes_.to_device[tape_->rank().pos()], unit.offloaded, &in_traffic_);
  const auto out = copied_out_.find({unit.layer, micro_batch});
  CHECK(out != copied_out_.end());
  const sim::TaskId buffer = TakeBuffer();
  copied_in_ = Copy(StreamKind::kCopyIn, traffic, in_name_, unit, micro_batch);
  builder_->After(copied_in_, out->second);
  if (buffer.valid() && buffer != out->second && buffer != tape_->last()) builder_->After(copied_in_, buffer);
  copied_out_.erase(out);
}

sim::TaskId OffloadWriter::TakeBuffer() {
  CHECK(taken_ - returned_ < given_back_.size());
  return given_back_[taken_++ % given_back_.size()];
}

void OffloadWriter::GiveBack(sim::TaskId task) { given_back_[returned_++ % given_back_.size()] = task; }

// A second stream of its kind: the first is the checkpoint's, and neither waits for the other's turn.
sim::TaskId OffloadWriter::Copy(StreamKind kind, sim::TrafficId traffic, std::uint16_t name, const Unit& unit,
                                std::int64_t micro_batch) {
  const sim::TaskId copy =
      builder_->Seat(tape_->stream(kind, /*second=*/true), builder_->AddCommunication(traffic),
                     sim::TaskClass::kOffload, LabelOf(name, micro_batch, unit.layer));
  if (tape_->last().valid()) builder_->After(copy, tape_->last());
  return copy;
}

sim::TrafficId OffloadWriter::TrafficOf(const topologies::Route& route, sim::Bytes bytes,
                                        std::map<sim::Bytes, sim::TrafficId>* known) {
  const auto [at, is_new] = known->try_emplace(bytes);
  if (is_new) at->second = builder_->AddTraffic(StorageTraffic("copy", bytes, route));
  return at->second;
}

}  // namespace scenarios
