// DualPipe: every rank holds two pieces of the model, micro-batches enter at
// both ends, and a forward of one direction runs beside a backward of the other.
//
// Source: DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 3.2.1 and
// figure 5; the order is that of deepseek-ai/DualPipe, dualpipe/dualpipe.py.

#include <deque>
#include <string>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

using Kind = PipelineStep::Kind;

// Numbers the micro-batches of each direction and keeps the weight gradients
// that wait, first in first out.
class Writer {
 public:
  void Forward(std::uint32_t chunk, bool joined = false) {
    steps_.push_back({Kind::kForward, forwards_[chunk]++, chunk, 0, joined});
  }
  void Backward(std::uint32_t chunk) { steps_.push_back({Kind::kBackward, backwards_[chunk]++, chunk}); }
  void Input(std::uint32_t chunk) {
    waiting_.push_back({Kind::kBackwardWeight, backwards_[chunk], chunk});
    steps_.push_back({Kind::kBackwardInput, backwards_[chunk]++, chunk});
  }
  void Weight() {
    steps_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  void Joined(std::uint32_t forward, std::uint32_t backward) {
    Forward(forward, /*joined=*/true);
    Backward(backward);
  }
  std::vector<PipelineStep> Take() {
    CHECK(waiting_.empty());
    return std::move(steps_);
  }

 private:
  std::uint32_t forwards_[2] = {}, backwards_[2] = {};
  std::deque<PipelineStep> waiting_;
  std::vector<PipelineStep> steps_;
};

// The end of a rank: backwards of both directions, the later half of them split
// so that the other ranks get their gradients sooner.
void WriteEnd(std::uint32_t half, std::uint32_t position, Writer* writer) {
  const std::uint32_t both = position + 1, whole = both / 2;
  for (std::uint32_t i = 0; i < both; ++i) {
    const bool split_1 = i > whole || (i == whole && position % 2 == 1);
    const bool split_0 = i >= whole;
    split_1 ? writer->Input(1) : writer->Backward(1);
    split_0 ? writer->Input(0) : writer->Backward(0);
  }
  for (std::uint32_t i = both; i < half; ++i) {
    writer->Weight();
    writer->Input(0);
  }
  for (std::uint32_t i = 0; i < both; ++i) writer->Weight();
}

std::optional<Error> Refuse(const PipelineShape& shape) {
  if (std::optional<Error> error = RefuseAllButTwoChunks(shape, "dualpipe")) return error;
  const std::uint32_t p = shape.stages, m = shape.microbatches;
  if (p % 2 != 0) {
    return Error{"dualpipe: " + std::to_string(p) + " stages; an even number, as they meet in the middle"};
  }
  if (m % 2 != 0 || m < 2 * p) {
    return Error{"dualpipe: " + std::to_string(m) + " micro-batches on " + std::to_string(p) +
                 " stages; an even number from " + std::to_string(2 * p) + " on would do"};
  }
  return std::nullopt;
}

// Ranks of the second half are mirror images: what is near and far changes, and
// so do the numbers of the directions. Reverse micro-batches count from m/2.
std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  const std::uint32_t half = shape.stages / 2, each = shape.microbatches / 2;
  const bool mirrored = stage >= half;
  std::vector<PipelineStep> steps = DualPipeSteps(half, each, mirrored ? shape.stages - 1 - stage : stage);
  for (PipelineStep& step : steps) {
    if (mirrored) step.chunk = 1 - step.chunk;
    step.microbatch += step.chunk * each;
  }
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return DualPipeInFlight(shape.stages);
}

std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  return DualPipeBubbleOf(shape.stages, times);
}

}  // namespace

std::optional<Duration> DualPipeBubbleOf(std::uint32_t pieces, const PassTimes& times) {
  if (times.forward != times.backward_input || times.backward_weight > times.forward) return std::nullopt;
  return DualPipeBubble(pieces, times.joined, times.backward(), times.backward_weight);
}

std::vector<PipelineStep> DualPipeSteps(std::uint32_t half, std::uint32_t microbatches,
                                        std::uint32_t position) {
  CHECK(position < half && microbatches >= 2 * half);
  const std::uint32_t to_middle = half - 1 - position;
  Writer writer;
  for (std::uint32_t i = 0; i < 2 * to_middle; ++i) writer.Forward(0);
  for (std::uint32_t i = 0; i <= position; ++i) {
    writer.Forward(0);
    writer.Forward(1);
  }
  for (std::uint32_t i = 0; i < to_middle; ++i) {
    writer.Input(1);
    writer.Weight();
    writer.Forward(1);
  }
  for (std::uint32_t i = 0; i < microbatches - 2 * half + position + 1; ++i) {
    if (i == 0 && to_middle == 0) {
      writer.Forward(0);  // apart, since both neighbours wait for the first of them
      writer.Backward(1);
    } else {
      writer.Joined(0, 1);
    }
    writer.Joined(1, 0);
  }
  for (std::uint32_t i = 0; i < to_middle; ++i) {
    writer.Backward(1);
    writer.Joined(1, 0);
  }
  WriteEnd(half, position, &writer);
  return writer.Take();
}

const PipelineSchedule kDualPipe = {
    .name = "dualpipe",
    .summary = "DualPipe: from both ends, forwards beside backwards; two copies of the parameters",
    .needs = "2 chunks (directions); even stages p, even micro-batches from 2p on",
    .placement = Placement::kBothEnds,
    .chunks = 2,
    .parameter_copies = kDualPipeParameterCopies,
    .splits_backward = true,
    .joins = true,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
