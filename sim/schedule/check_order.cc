#include "sim/schedule/check_order.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/schedule/play_order.h"

namespace sim {
namespace {

using Kind = PipelineStep::Kind;

std::string Text(const PipelineOrder& order, PipelineStep step) {
  step.joined = false;
  return ToText(std::span(&step, 1), order.shape.chunks, order.shape.parts);
}

std::string StageText(std::uint32_t stage) { return "stage " + std::to_string(stage); }

class Mistakes {
 public:
  void Add(std::uint32_t stage, std::size_t step, std::string message) {
    if (list_.size() < kMostOrderMistakes) list_.push_back({stage, step, std::move(message)});
  }
  bool none() const { return list_.empty(); }
  std::vector<OrderMistake> Take() { return std::move(list_); }

 private:
  std::vector<OrderMistake> list_;
};

// How often a part of a micro-batch passed a chunk, by kind.
struct Passed {
  bool done[4] = {};
  bool& operator[](Kind kind) { return done[static_cast<std::size_t>(kind)]; }
};

// What is wrong with a step after those in `passed`; empty for nothing.
std::string Complaint(Kind kind, Passed passed) {
  const bool backward = passed[Kind::kBackward] || passed[Kind::kBackwardInput];
  switch (kind) {
    case Kind::kForward:
      return passed[kind] ? "its second forward; one is wanted" : "";
    case Kind::kBackward:
    case Kind::kBackwardInput:
      if (backward) return "its second backward; one is wanted";
      return passed[Kind::kForward] ? "" : "comes before its forward";
    case Kind::kBackwardWeight:
      if (passed[Kind::kBackward]) return "its whole backward has made the weight gradient already";
      if (passed[kind]) return "its second weight gradient; one is wanted";
      return passed[Kind::kBackwardInput] ? "" : "comes before its input gradient";
  }
  return "";
}

std::string Missing(Passed passed) {
  if (!passed[Kind::kForward]) return "forward";
  if (passed[Kind::kBackward]) return "";
  if (!passed[Kind::kBackwardInput]) return "backward";
  return passed[Kind::kBackwardWeight] ? "" : "weight gradient";
}

std::string Counted(std::uint32_t n, const char* what, const char* ending) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : ending);
}

// Why a step cannot be on a stage of this shape; empty for nothing.
std::string Misplaced(const PipelineOrder& order, const PipelineStep& step) {
  const PipelineShape& shape = order.shape;
  if (step.microbatch >= shape.microbatches || step.chunk >= shape.chunks || step.part >= shape.parts) {
    return "lies outside of " + Counted(shape.microbatches, "micro-batch", "es") + ", " +
           Counted(shape.chunks, "chunk", "s") + ", " + Counted(shape.parts, "part", "s");
  }
  if (!Passes(order.placement, shape, step.microbatch, step.chunk)) {
    return "micro-batch " + std::to_string(step.microbatch) + " of " + std::to_string(shape.microbatches) +
           " comes from the other end; chunk " + std::to_string(1 - step.chunk) + " is wanted";
  }
  return "";
}

void CheckStage(const PipelineOrder& order, std::uint32_t stage, Mistakes* mistakes) {
  const PipelineShape& shape = order.shape;
  const std::vector<PipelineStep>& steps = order.stages[stage];
  std::vector<Passed> passed(std::size_t{shape.microbatches} * shape.chunks * shape.parts);
  const auto at = [&](const PipelineStep& step) -> Passed& {
    return passed[(std::size_t{step.microbatch} * shape.chunks + step.chunk) * shape.parts + step.part];
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const PipelineStep& step = steps[i];
    std::string wrong = Misplaced(order, step);
    if (wrong.empty()) {
      wrong = Complaint(step.kind, at(step));
      at(step)[step.kind] = true;
    }
    if (wrong.empty() && step.joined &&
        (step.kind != Kind::kForward || i + 1 == steps.size() || steps[i + 1].kind != Kind::kBackward)) {
      wrong = "is joined; a forward and then a whole backward can be";
    }
    if (!wrong.empty()) mistakes->Add(stage, i, wrong);
  }
  for (std::uint32_t microbatch = 0; microbatch < shape.microbatches; ++microbatch) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      if (!Passes(order.placement, shape, microbatch, chunk)) continue;
      for (std::uint32_t part = 0; part < shape.parts; ++part) {
        const PipelineStep step = {Kind::kForward, microbatch, chunk, part};
        const std::string missing = Missing(at(step));
        if (missing.empty()) continue;
        mistakes->Add(stage, steps.size(), "has no " + missing + " of " + Text(order, step).substr(1));
      }
    }
  }
}

struct Transfer {
  std::uint32_t stage = 0;  // where the step is
  std::size_t step = 0;
  StepNeed what;
};
// By sender, receiver and whether it carries a gradient.
using Channels = std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::vector<Transfer>>;

// Sends and receives of all stages, each in the order of the stage it is on.
void CollectTransfers(const PipelineOrder& order, Channels* sends, Channels* receives) {
  const std::uint32_t pieces = PieceCount(order.placement, order.shape);
  const auto stage_of = [&](std::uint32_t piece, std::uint32_t microbatch) {
    return SeatOf(order.placement, order.shape, piece, microbatch).stage;
  };
  for (std::uint32_t stage = 0; stage < order.stages.size(); ++stage) {
    for (std::size_t i = 0; i < order.stages[stage].size(); ++i) {
      const PipelineStep& step = order.stages[stage][i];
      const auto made = MadeBy(order, stage, step);
      if (!made) continue;
      if (made->gradient ? made->piece > 0 : made->piece + 1 < pieces) {
        const std::uint32_t to =
            stage_of(made->gradient ? made->piece - 1 : made->piece + 1, step.microbatch);
        if (to != stage) (*sends)[{stage, to, made->gradient}].push_back({stage, i, *made});
      }
      for (const StepNeed& need : NeedsOf(order, stage, step)) {
        const std::uint32_t from = stage_of(need.piece, step.microbatch);
        if (from != stage) (*receives)[{from, stage, need.gradient}].push_back({stage, i, need});
      }
    }
  }
}

void CheckTransfers(const PipelineOrder& order, Mistakes* mistakes) {
  Channels sends, receives;
  CollectTransfers(order, &sends, &receives);
  for (const auto& [channel, received] : receives) {
    const std::vector<Transfer>& sent = sends[channel];
    CHECK(sent.size() == received.size());  // the stages are complete
    for (std::size_t i = 0; i < received.size(); ++i) {
      if (sent[i].what == received[i].what) continue;
      const Transfer &wanted = received[i], &offered = sent[i];
      mistakes->Add(wanted.stage, wanted.step,
                    "takes what " + StageText(offered.stage) + " sends after " +
                        Text(order, order.stages[offered.stage][offered.step]) + " (its step " +
                        std::to_string(offered.step) +
                        "), which is taken later here: each waits for the other");
      break;
    }
  }
}

// What the next step of a stage that came to a stop waits for.
StepNeed Unmet(const PipelineOrder& order, const PlayedOrder& played, std::uint32_t stage) {
  const std::size_t next = played.spans[stage].size();
  const std::vector<PipelineStep>& steps = order.stages[stage];
  const std::size_t together = steps[next].joined ? 2 : 1;
  for (std::size_t i = next; i < next + together; ++i) {
    for (const StepNeed& need : NeedsOf(order, stage, steps[i])) {
      const std::uint32_t maker = SeatOf(order.placement, order.shape, need.piece, need.microbatch).stage;
      const std::vector<PipelineStep>& others = order.stages[maker];
      const auto end = others.begin() + static_cast<std::ptrdiff_t>(played.spans[maker].size());
      const bool met = std::any_of(
          others.begin(), end, [&](const PipelineStep& step) { return MadeBy(order, maker, step) == need; });
      if (!met) return need;
    }
  }
  CHECK(false);  // it could have gone on
  return {};
}

void CheckProgress(const PipelineOrder& order, Mistakes* mistakes) {
  const Duration unit = Duration::Picoseconds(1);
  const PlayedOrder played = PlayOrder(order, {unit, unit, unit, unit});
  if (played.finished) return;
  std::uint32_t stage = 0;
  while (played.spans[stage].size() == order.stages[stage].size()) ++stage;
  // Follow who waits for whom until a stage comes again: from there it is a circle.
  std::vector<std::uint32_t> chain;
  while (std::find(chain.begin(), chain.end(), stage) == chain.end()) {
    chain.push_back(stage);
    const StepNeed need = Unmet(order, played, stage);
    stage = SeatOf(order.placement, order.shape, need.piece, need.microbatch).stage;
  }
  chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), stage));
  std::string message = "deadlock: waits for ";
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const StepNeed need = Unmet(order, played, chain[i]);
    const std::uint32_t maker = SeatOf(order.placement, order.shape, need.piece, need.microbatch).stage;
    const std::vector<PipelineStep>& steps = order.stages[maker];
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const PipelineStep& other) {
      return MadeBy(order, maker, other) == need;
    });
    message += Text(order, *step) + " of " + StageText(maker);
    if (i + 1 == chain.size()) break;
    const std::size_t next = played.spans[maker].size();
    message += ", which waits at step " + std::to_string(next) + " (" + Text(order, steps[next]) + ") for ";
  }
  mistakes->Add(stage, played.spans[stage].size(), message);
}

}  // namespace

std::string ToText(const OrderMistake& mistake, const PipelineOrder& order) {
  const std::vector<PipelineStep>& steps = order.stages[mistake.stage];
  if (mistake.step >= steps.size()) return StageText(mistake.stage) + ": " + mistake.message;
  return StageText(mistake.stage) + ", step " + std::to_string(mistake.step) + " (" +
         Text(order, steps[mistake.step]) + "): " + mistake.message;
}

std::vector<OrderMistake> CheckOrder(const PipelineOrder& order) {
  CHECK(order.stages.size() == order.shape.stages);
  Mistakes mistakes;
  for (std::uint32_t stage = 0; stage < order.shape.stages; ++stage) CheckStage(order, stage, &mistakes);
  if (mistakes.none()) CheckTransfers(order, &mistakes);
  if (mistakes.none()) CheckProgress(order, &mistakes);
  return mistakes.Take();
}

}  // namespace sim
