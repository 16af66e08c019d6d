// ZB-V: two chunks a stage, there and back again, so that the first stage also
// has the last piece: no bubble with the memory of 1F1B.
//
// Source: Qi et al., "Zero bubble pipeline parallelism", 2023 (arXiv
// 2401.10241), section 6; the order is that of sail-sg/
// zero-bubble-pipeline-parallelism, megatron/core/pipeline_parallel/
// handcrafted_zb_v, which PyTorch's ScheduleZBVZeroBubble has too. The Qi et al.
// of 2024 ("Pipeline parallelism with controllable memory") call it V-ZB.

#include <algorithm>

#include "sim/schedule/schedules.h"

namespace sim {
namespace {

using Kind = PipelineStep::Kind;

std::optional<Error> Refuse(const PipelineShape& shape) { return RefuseAllButTwoChunks(shape, "zbv"); }

// Writes the steps of a stage, numbering the micro-batches of each chunk and
// kind; those above the last one are left out.
class Writer {
 public:
  explicit Writer(std::uint32_t microbatches) : microbatches_(microbatches) {}

  void Forward(std::uint32_t chunk) { Write(Kind::kForward, chunk, forwards_[chunk]++); }
  void Input(std::uint32_t chunk) { Write(Kind::kBackwardInput, chunk, inputs_[chunk]++); }
  void Weight(std::uint32_t chunk) { Write(Kind::kBackwardWeight, chunk, weights_[chunk]++); }
  void Backward(std::uint32_t chunk) {
    Input(chunk);
    Weight(chunk);
  }
  std::uint32_t forwards(std::uint32_t chunk) const { return forwards_[chunk]; }
  bool Waiting(std::uint32_t chunk) const { return weights_[chunk] < inputs_[chunk]; }
  std::vector<PipelineStep> Take() { return std::move(steps_); }

 private:
  void Write(Kind kind, std::uint32_t chunk, std::uint32_t microbatch) {
    if (microbatch < microbatches_) steps_.push_back({kind, microbatch, chunk});
  }

  std::uint32_t microbatches_;
  std::uint32_t forwards_[2] = {}, inputs_[2] = {}, weights_[2] = {};
  std::vector<PipelineStep> steps_;
};

// Backwards of chunk 1 begin while chunk 0 still fills the pipeline. Then a
// stage does forward, input and weight gradient of each chunk in turn. At the
// end input gradients go first on the later stages, and weight gradients fill.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  const std::uint32_t p = shape.stages;
  const std::uint32_t all = std::max(2 * p - 1, shape.microbatches);  // with fewer, some steps fall away
  Writer writer(shape.microbatches);
  for (std::uint32_t i = 0; i < 2 * (p - stage) - 1; ++i) writer.Forward(0);
  for (std::uint32_t i = 0; i < stage; ++i) {
    writer.Forward(1);
    writer.Forward(0);
  }
  for (std::uint32_t i = stage; i < p; ++i) {
    writer.Forward(1);
    writer.Backward(1);
  }
  while (writer.forwards(1) < all) {
    if (writer.forwards(0) < all) writer.Forward(0);
    writer.Backward(0);
    writer.Forward(1);
    writer.Backward(1);
  }
  for (std::uint32_t i = 0; i < stage; ++i) {
    writer.Input(0);
    writer.Input(1);
  }
  for (std::uint32_t i = stage; i < p; ++i) {
    writer.Input(0);
    writer.Weight(0);
  }
  for (const std::uint32_t chunk : {1U, 0U}) {
    while (writer.Waiting(chunk)) writer.Weight(chunk);
  }
  return writer.Take();
}

// 2p chunks, which is p micro-batches. With few micro-batches the last forwards
// of chunk 1 on stage s find only m-s-1 of chunk 0 still to come.
std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min({2 * shape.stages, 2 * shape.microbatches, shape.microbatches + 1 + stage});
}

// Known for equal times only, as the paper states it: none from 2p-1
// micro-batches on; each that is missing leaves room for two steps.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (times.forward != times.backward_input || times.forward != times.backward_weight) return std::nullopt;
  const std::uint32_t enough = 2 * shape.stages - 1;
  return 2 * std::int64_t{enough - std::min(shape.microbatches, enough)} * times.forward;
}

}  // namespace

const PipelineSchedule kZeroBubbleV = {
    .name = "zbv",
    .summary = "ZB-V: chunks in a V; no bubble when F, I, W take equal times, the memory of 1F1B",
    .needs = "2 chunks; 2p-1 micro-batches to be without a bubble",
    .placement = Placement::kVee,
    .chunks = 2,
    .splits_backward = true,
    .bypasses_optimizer = true,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
