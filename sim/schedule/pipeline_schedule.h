// Pipeline schedules: the order of forwards and backwards on each stage.
//
// What a step builder needs beside the order:
//   - kBackward is the whole backward; kBackwardInput makes the gradient of the
//     input and lets the stage before go on, kBackwardWeight makes the gradients
//     of the weights and is waited for by nobody but the optimizer. What a chunk
//     reduces over its replicas is complete after its last whole backward or
//     weight gradient; activations live until then.
//   - `placement` says which piece of the model a chunk is. Where a stage trades
//     with both neighbours in one direction (kVee, kBothEnds), it needs a stream
//     a partner, kind and direction: CheckOrder promises no deadlock for these, and
//     with one stream for both partners zbv and dualpipev block from 6 stages on.
//   - `parameter_copies` above 1 means that stages s and p-1-s hold the same
//     weights, whose gradients are to be added up at the end of the step.
//   - a forward that is `joined` runs beside the backward after it.

#ifndef SIM_SCHEDULE_PIPELINE_SCHEDULE_H_
#define SIM_SCHEDULE_PIPELINE_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.h"
#include "sim/base/units.h"
#include "sim/schedule/placement.h"

namespace sim {

struct PipelineStep {
  enum class Kind : std::uint8_t { kForward, kBackward, kBackwardInput, kBackwardWeight };
  Kind kind = Kind::kForward;
  std::uint32_t microbatch = 0;
  std::uint32_t chunk = 0;
  std::uint32_t part = 0;  // of the micro-batch's sequence
  bool joined = false;     // a forward that runs beside the next step, a whole backward
  auto operator<=>(const PipelineStep&) const = default;
};

// "F0 F1 B0 ..."; with several chunks "F0.1" is micro-batch 0 of chunk 1, with
// several parts "F0-1" is part 1 of its sequence. B is a whole backward, I and W
// are its halves (letters as in PyTorch's pipelining schedules), and "F4&B0" are
// joined. ParseOrder (order_text.h) reads the same.
std::string ToText(std::span<const PipelineStep> steps, std::uint32_t chunks = 1, std::uint32_t parts = 1);

// How long the steps of one part of one chunk take, alike on all stages.
struct PassTimes {
  Duration forward, backward_input, backward_weight;
  Duration joined;  // a forward and a whole backward that hide each other's communication
  Duration backward() const { return backward_input + backward_weight; }
};

// One schedule: its name in scenarios, what shapes it takes, and its order.
struct PipelineSchedule {
  std::string_view name;     // "gpipe", "1f1b", "interleaved", ...
  std::string_view summary;  // one line for a user
  std::string_view needs;    // what `refuse` asks for, likewise
  Placement placement = Placement::kLoop;
  std::uint32_t chunks = 1;            // a stage holds at least
  std::uint32_t parts = 1;             // a sequence is cut into at least
  std::uint32_t parameter_copies = 1;  // of every piece, over all stages
  bool splits_backward = false;
  bool joins = false;  // forwards to backwards, in every shape
  // `bubble` counts each stage from its own first step to its own last: there is
  // no bubble only if the optimizer does not wait for all stages (the bypass of
  // Qi et al., section 4). Otherwise it counts the whole step.
  bool bypasses_optimizer = false;
  // `in_flight` is what the busiest stage holds; otherwise it is exact for each.
  bool in_flight_is_the_most = false;

  // What is wrong with the shape, or nothing.
  std::optional<Error> (*refuse)(const PipelineShape& shape) = nullptr;
  // The steps of one stage. REQUIRES: !refuse(shape), stage < shape.stages
  std::vector<PipelineStep> (*order)(const PipelineShape& shape, std::uint32_t stage) = nullptr;
  // The steps of all stages, for a schedule that cannot make one without the others.
  std::vector<std::vector<PipelineStep>> (*orders)(const PipelineShape& shape) = nullptr;
  // Activations (of one part of one chunk each) that `stage` holds at most at
  // once, from forward to whole backward or weight gradient.
  std::uint32_t (*in_flight)(const PipelineShape& shape, std::uint32_t stage) = nullptr;
  // How long the stage that idles most does so, with free communication; nothing
  // where no closed form is known for these times.
  std::optional<Duration> (*bubble)(const PipelineShape& shape, const PassTimes& times) = nullptr;
};

// All schedules, in the order a user sees them.
std::span<const PipelineSchedule* const> PipelineSchedules();

// The one of that name, or null.
const PipelineSchedule* FindPipelineSchedule(std::string_view name);

}  // namespace sim

#endif  // SIM_SCHEDULE_PIPELINE_SCHEDULE_H_
