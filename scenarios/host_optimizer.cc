#include "scenarios/host_optimizer.h"

#include "scenarios/checkpoint_writer.h"
#include "scenarios/offload.h"

namespace scenarios {

using sim::StreamKind;

HostOptimizer::HostOptimizer(const Job& job, const StagePlan& plan, RankTape* tape)
    : job_(job),
      plan_(plan),
      tape_(tape),
      out_name_(job.builder->Name("gradients to host")),
      adam_name_(job.builder->Name("host optimizer")),
      in_name_(job.builder->Name("weights from host")),
      go_on_name_(job.builder->Name("go on with host")) {}

// Buckets have their parts of the whole in proportion, which add up exactly.
void HostOptimizer::Start(const std::vector<sim::TaskId>& reduced) {
  tape_->Mark(sim::TaskClass::kOffload, LabelOf(go_on_name_, -1));
  all_there_ = tape_->last();
  // The gradients of a tied table, or of what sees a part of the tokens, are summed once more behind
  // reductions.
  const bool later = plan_.tied_gradient + plan_.sequence_gradient > sim::Bytes();
  if (!job_.scenario.training.offload.overlap || later) return Update(plan_.host_numbers, all_there_);
  sim::Wide all = 0, until = 0;
  for (const Bucket& bucket : plan_.buckets) all += bucket.parameters;
  for (std::size_t b = 0; b < plan_.buckets.size(); ++b) {
    const sim::Wide before = plan_.host_numbers * until / all;
    until += plan_.buckets[b].parameters;
    Update(static_cast<std::int64_t>(plan_.host_numbers * until / all - before), reduced[b]);
  }
}

void HostOptimizer::Update(std::int64_t numbers, sim::TaskId ready) {
  if (numbers == 0) return;
  const topologies::StorageRoutes& routes = *job_.scenario.fabric.storage;
  const std::size_t rank = tape_->rank().pos();
  const HostWidths widths = HostWidthsOf(job_.scenario);
  const Offload& offload = job_.scenario.training.offload;
  const sim::TaskId out = Flow(StreamKind::kCopyOut, out_name_, routes.to_host[rank],
                               sim::Bytes(numbers * widths.gradient), {}, &out_);
  if (ready.valid()) job_.builder->After(out, ready);
  last_ = Flow(StreamKind::kHost, adam_name_, {.uses = {{routes.memory[rank]}}},
               sim::Bytes(numbers * widths.update), offload.host_rate, &adam_);
  job_.builder->After(last_, out);
  if (offload.overlap) job_.builder->After(last_, all_there_);
  if (offload.parameters) return;
  const sim::TaskId in = Flow(StreamKind::kCopyIn, in_name_, routes.to_device[rank],
                              sim::Bytes(numbers * widths.weight), {}, &in_);
  job_.builder->After(in, last_);
  last_ = in;
}

void HostOptimizer::Finish() {
  tape_->WaitFor(last_);
  tape_->Mark(sim::TaskClass::kOffload, LabelOf(go_on_name_, -1));
}

// Second streams of their kinds: the first are the checkpoint's.
sim::TaskId HostOptimizer::Flow(StreamKind kind, std::uint16_t name, const topologies::Route& route,
                                sim::Bytes bytes, sim::ByteRate limit,
                                std::map<sim::Bytes, sim::TrafficId>* known) {
  const auto [at, is_new] = known->try_emplace(bytes);
  if (is_new) at->second = job_.builder->AddTraffic(StorageTraffic("copy", bytes, route, limit));
  return job_.builder->Seat(tape_->stream(kind, /*second=*/true), job_.builder->AddCommunication(at->second),
                            sim::TaskClass::kOffload, LabelOf(name, -1));
}

}  // namespace scenarios
