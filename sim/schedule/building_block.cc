#include "sim/schedule/building_block.h"

#include <algorithm>
#include <deque>
#include <string>

#include "sim/schedule/schedules.h"

namespace sim {
namespace {

using Slot = std::int64_t;
using Kind = PipelineStep::Kind;

constexpr std::size_t kPasses = 4;  // a micro-batch's passes through a stage but its weight gradients
struct Pass {
  std::uint32_t type = 0;  // 0, 1: forward of chunk 0, 1; 2, 3: input gradient of chunk 1, 0
  std::uint32_t microbatch = 0;
};
constexpr Pass kNothing = {kPasses, 0};

// One stage: what runs in each slot, and the slot of each pass.
class Lane {
 public:
  Lane(const std::array<std::uint32_t, kPasses>& block, std::uint32_t microbatches)
      : microbatches_(microbatches) {
    for (std::uint32_t type = 0; type < kPasses; ++type) {
      for (std::uint32_t i = 0; i < microbatches; ++i) {
        Put({type, i}, Slot{block[type]} + Slot{kBlockInterval} * i);
      }
    }
  }

  Slot SlotOf(Pass pass) const { return slot_of_[pass.type][pass.microbatch]; }
  bool Free(Slot slot) const { return At(slot).type == kPasses; }
  void Move(Pass pass, Slot to) {
    at_[static_cast<std::size_t>(SlotOf(pass))] = kNothing;
    Put(pass, to);
  }

  // The most chunks held at once, from forward to weight gradient.
  std::uint32_t Peak() const {
    std::uint32_t held = 0, peak = 0, waiting = 0;
    for (std::size_t slot = 0; slot < at_.size(); ++slot) {
      if (at_[slot].type < 2) {
        peak = std::max(peak, ++held);
      } else if (at_[slot].type < kPasses) {
        ++waiting;
      } else if (waiting > 0) {
        --waiting;
        --held;
      }
    }
    return peak;
  }

  std::vector<PipelineStep> Steps() const {
    std::vector<PipelineStep> steps;
    steps.reserve(std::size_t{6} * microbatches_);
    std::deque<PipelineStep> weights;
    const auto weight = [&] {
      steps.push_back(weights.front());
      weights.pop_front();
    };
    for (const Pass& pass : at_) {
      const std::uint32_t chunk = pass.type == 1 || pass.type == 2 ? 1 : 0;
      if (pass.type < 2) {
        steps.push_back({Kind::kForward, pass.microbatch, chunk});
      } else if (pass.type < kPasses) {
        steps.push_back({Kind::kBackwardInput, pass.microbatch, chunk});
        weights.push_back({Kind::kBackwardWeight, pass.microbatch, chunk});
      } else if (!weights.empty()) {
        weight();
      }
    }
    while (!weights.empty()) weight();
    return steps;
  }

 private:
  Pass At(Slot slot) const {
    const auto i = static_cast<std::size_t>(slot);
    return i < at_.size() ? at_[i] : kNothing;
  }
  void Put(Pass pass, Slot slot) {
    CHECK(Free(slot));
    const auto i = static_cast<std::size_t>(slot);
    if (i >= at_.size()) at_.resize(i + 1, kNothing);
    at_[i] = pass;
    slot_of_[pass.type].resize(microbatches_);
    slot_of_[pass.type][pass.microbatch] = slot;
  }

  std::uint32_t microbatches_;
  std::vector<Pass> at_;  // by slot
  std::array<std::vector<Slot>, kPasses> slot_of_;
};

// The first slot after everything that a pass needs: the same pass of the stage
// before it in the V, the pass before it on its stage, the micro-batch before it.
Slot Earliest(const std::vector<Lane>& lanes, std::size_t stage, Pass pass) {
  Slot after = -1;
  const bool down = pass.type % 2 == 0;  // from the first stage to the last
  if (down && stage > 0) after = std::max(after, lanes[stage - 1].SlotOf(pass));
  if (!down && stage + 1 < lanes.size()) after = std::max(after, lanes[stage + 1].SlotOf(pass));
  if (pass.type > 0) after = std::max(after, lanes[stage].SlotOf({pass.type - 1, pass.microbatch}));
  if (pass.microbatch > 0) after = std::max(after, lanes[stage].SlotOf({pass.type, pass.microbatch - 1}));
  return after + 1;
}

void Reorder(std::vector<Lane>* lanes, std::uint32_t microbatches) {
  struct Item {
    Slot slot;
    std::size_t stage;
    Pass pass;
  };
  const Slot filled = (*lanes)[0].SlotOf({3, 0}), emptied = (*lanes)[0].SlotOf({0, microbatches - 1});
  std::uint32_t most = 0;
  std::vector<Item> items;
  for (std::size_t stage = 0; stage < lanes->size(); ++stage) {
    most = std::max(most, (*lanes)[stage].Peak());
    for (std::uint32_t type = 0; type < kPasses; ++type) {
      for (std::uint32_t i = 0; i < microbatches; ++i) {
        const Slot slot = (*lanes)[stage].SlotOf({type, i});
        if (slot < filled || slot > emptied) items.push_back({slot, stage, {type, i}});
      }
    }
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.slot != b.slot ? a.slot < b.slot : a.stage < b.stage;
  });
  for (const Item& item : items) {
    Lane& lane = (*lanes)[item.stage];
    for (Slot slot = Earliest(*lanes, item.stage, item.pass); slot < item.slot; ++slot) {
      if (!lane.Free(slot)) continue;
      lane.Move(item.pass, slot);
      if (lane.Peak() <= most) break;
      lane.Move(item.pass, item.slot);
    }
  }
}

}  // namespace

std::optional<Error> RefuseBlock(const PipelineShape& shape, const char* schedule) {
  if (std::optional<Error> error = RefuseAllButTwoChunks(shape, schedule)) return error;
  constexpr std::uint32_t kMostStages = 256;
  constexpr std::uint64_t kMostWork = std::uint64_t{1} << 17;  // stages times micro-batches
  if (shape.stages > kMostStages || std::uint64_t{shape.stages} * shape.microbatches > kMostWork) {
    return Error{std::string(schedule) + ": " + std::to_string(shape.stages) + " stages and " +
                 std::to_string(shape.microbatches) + " micro-batches; at most " +
                 std::to_string(kMostStages) + " stages, and stages times micro-batches at most " +
                 std::to_string(kMostWork)};
  }
  return std::nullopt;
}

std::vector<std::vector<PipelineStep>> RepeatBlock(const BuildingBlock& block, std::uint32_t microbatches) {
  CHECK(!block.empty() && microbatches > 0);
  std::vector<Lane> lanes;
  for (const auto& stage : block) lanes.emplace_back(stage, microbatches);
  Reorder(&lanes, microbatches);
  std::vector<std::vector<PipelineStep>> orders;
  for (const Lane& lane : lanes) orders.push_back(lane.Steps());
  return orders;
}

}  // namespace sim
