// Interleaved 1F1B: each stage holds several chunks of the model, so that the
// bubble shrinks by their number.
//
// Source: Narayanan et al., SC 2021, figure 4 (bottom); the order, the warm-up
// and what is refused are those of Megatron-LM,
// megatron/core/pipeline_parallel/schedules.py: get_schedule_table,
// get_pp_rank_microbatches, forward_backward_pipelining_with_interleaving (there also
// the warm-up of --overlap-moe-expert-parallel-comm).

#include <algorithm>
#include <string>

#include "sim/schedule/bubble.h"
#include "sim/schedule/schedules.h"

namespace sim {
namespace {

std::uint32_t GroupSize(const PipelineShape& shape) {
  return shape.group_size == 0 ? shape.stages : shape.group_size;
}

// One forward of a chunk; the backwards take the chunks from the last.
struct Piece {
  std::uint32_t microbatch, chunk;
};

// The order in which every stage runs its forwards: a group of micro-batches
// passes chunk 0, then chunk 1, ..., then the next group. A remainder makes
// the last group the smaller one.
std::vector<Piece> ForwardOrder(const PipelineShape& shape) {
  const std::uint32_t group = GroupSize(shape);
  std::vector<Piece> order;
  order.reserve(std::size_t{shape.microbatches} * shape.chunks);
  for (std::uint32_t first = 0; first < shape.microbatches; first += group) {
    const std::uint32_t end = std::min(first + group, shape.microbatches);
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::uint32_t microbatch = first; microbatch < end; ++microbatch) {
        order.push_back({microbatch, chunk});
      }
    }
  }
  return order;
}

// Forwards before the first backward. All chunks but the last must be passed by
// one group; and the gradient comes back over p-1-s stages as the input came,
// hence the factor 2. One more where the last stage's first forward is not to wait in a
// pair with its own backward.
std::uint32_t Warmup(const PipelineShape& shape, std::uint32_t stage) {
  const std::uint32_t all = shape.microbatches * shape.chunks;
  return std::min(
      all, 2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * GroupSize(shape) + (shape.joined ? 1 : 0));
}

std::string Number(std::uint32_t n) { return std::to_string(n); }

// Why this many micro-batches do not fit stages and group size, or nothing.
std::optional<Error> RefuseGroups(const PipelineShape& shape) {
  const std::uint32_t p = shape.stages, m = shape.microbatches, group = GroupSize(shape);
  if (shape.group_size == 0) {
    if (m % p == 0) return std::nullopt;
    const std::string below = m > p ? Number(m - m % p) + " and " : "";
    return Error{"interleaved: " + Number(m) + " micro-batches are not a multiple of the " + Number(p) +
                 " stages; " + below + Number(m + p - m % p) + " would do, or a group size"};
  }
  if (group < p || group > m) {
    const std::string wanted = m < p ? "it needs at least as many micro-batches as stages"
                                     : Number(p) + " to " + Number(m) + " would do";
    return Error{"interleaved: group size " + Number(group) + " is not between the " + Number(p) +
                 " stages and the " + Number(m) + " micro-batches; " + wanted};
  }
  const std::uint32_t last = m % group;
  if (last != 0 && last < p) {
    return Error{"interleaved: group size " + Number(group) + " leaves " + Number(last) + " of " + Number(m) +
                 " micro-batches for the last group; 0, or at least the " + Number(p) +
                 " stages, would do, else the pipeline stalls"};
  }
  return std::nullopt;
}

// Any group size from p to m is legal, if the last group is not smaller than
// p: then no stage ever waits in the steady state, and the step takes
// (m v + p - 1)(f + b) in times of one chunk. Smaller groups stall or deadlock.
std::optional<Error> Refuse(const PipelineShape& shape) {
  if (std::optional<Error> error = RefuseSize(shape)) return error;
  if (shape.chunks < 2) {
    return Error{"interleaved: 1 chunk a stage is nothing to interleave; 2 or more, or schedule \"1f1b\""};
  }
  if (shape.stages < 2) {
    return Error{"interleaved: 1 stage has no bubble to shrink; 2 or more stages, or schedule \"1f1b\""};
  }
  if (shape.parts > 1) {
    return Error{"interleaved: a sequence in " + Number(shape.parts) +
                 " parts; only schedule \"seq1f1b\" cuts sequences"};
  }
  return RefuseGroups(shape);
}

std::vector<PipelineStep> Order(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  using enum PipelineStep::Kind;
  const std::vector<Piece> pieces = ForwardOrder(shape);
  const std::size_t warmup = Warmup(shape, stage);
  std::vector<PipelineStep> steps;
  steps.reserve(2 * pieces.size());

  // The i-th forward, and the i-th backward, of this stage.
  const auto forward = [&](std::size_t i, bool joined = false) {
    steps.push_back({kForward, pieces[i].microbatch, pieces[i].chunk, 0, joined});
  };
  const auto backward = [&](std::size_t i) {
    steps.push_back({kBackward, pieces[i].microbatch, shape.chunks - 1 - pieces[i].chunk});
  };
  for (std::size_t i = 0; i < warmup; ++i) forward(i);
  for (std::size_t i = warmup; i < pieces.size(); ++i) {
    forward(i, shape.joined);
    backward(i - warmup);
  }
  for (std::size_t i = pieces.size() - warmup; i < pieces.size(); ++i) backward(i);
  return steps;
}

std::uint32_t InFlight(const PipelineShape& shape, std::uint32_t stage) {
  CHECK(!Refuse(shape) && stage < shape.stages);
  return std::min(shape.microbatches * shape.chunks, Warmup(shape, stage) + 1);
}

// Of joined pairs, which end later than a forward by itself, none is known.
std::optional<Duration> Bubble(const PipelineShape& shape, const PassTimes& times) {
  if (shape.joined) return std::nullopt;
  return OneForwardOneBackwardBubble(shape.stages, times.forward, times.backward());
}

}  // namespace

const PipelineSchedule kInterleaved = {
    .name = "interleaved",
    .summary = "1F1B over several chunks a stage: the bubble shrinks by their number",
    .needs = "2 or more chunks and stages; micro-batches a multiple of p, or a group size",
    .chunks = 2,
    .refuse = Refuse,
    .order = Order,
    .in_flight = InFlight,
    .bubble = Bubble,
};

}  // namespace sim
