#include "scenarios/rank_work.h"

#include <algorithm>
#include <vector>

namespace scenarios {
namespace {

// As RankWork, of one pass of a micro-batch.
struct PassWork {
  PhaseTimes compute, again;
};

// The phases of a plan that are this rank's: by its places among context ranks and experts.
class PhasesOfRank {
 public:
  PhasesOfRank(const Scenario& scenario, sim::Rank rank) : scenario_(scenario) {
    const Layout& layout = scenario.layout;
    const std::vector<sim::Rank> ring = layout.RingGroup(rank);
    ring_ = ring.size();
    member_ = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
    if (layout.spreads_experts() && scenario.model.experts.routed > 0) {
      expert_ = static_cast<std::size_t>(layout.ExpertOf(rank));
    }
  }

  // In one step.
  RankWork Of(const StagePlan& plan) const {
    RankWork work{.compute = {}, .again = {}, .optimizer = plan.optimizer};
    PassWork pass;
    for (const std::vector<Unit>& units : plan.chunks) {
      for (const Unit& unit : units) {
        for (const std::uint32_t at : unit.blocks) {
          work.compute = work.compute + plan.blocks[at].weight_casts;
          for (std::uint32_t part = 0; part < scenario_.pipeline.shape.parts; ++part) {
            const std::vector<std::uint32_t>& later = plan.blocks[at].later_parts;
            AddPass(plan.blocks[part == 0 || later.empty() ? at : later[part - 1]], unit, &pass);
          }
        }
      }
    }
    AddPasses(pass.compute, &work.compute);
    AddPasses(pass.again, &work.again);
    return work;
  }

 private:
  void AddPasses(const PhaseTimes& pass, PhaseTimes* sum) const {
    const std::int64_t passes = scenario_.pipeline.microbatches_of_chunk();
    sum->alone = sum->alone + passes * pass.alone;
    sum->host = sum->host + passes * pass.host;
  }

  // Forward and backward of a block, and what runs again.
  void AddPass(const BlockPlan& block, const Unit& unit, PassWork* sum) const {
    const PhaseTimes forward = Forward(block);
    sum->compute = sum->compute + forward + Backward(block);
    if (unit.recompute == Recompute::kFull) sum->again = sum->again + forward;
    if (unit.recompute != Recompute::kSelective) return;
    sum->again = sum->again + block.again.work();
    if (block.again.core && !block.context.pieces.empty()) {
      sum->again = sum->again + ContextForward(block.context);
    }
    if (block.experts.empty()) return;
    sum->again = sum->again + (block.again.travel ? ExpertsOf(block).forward : ExpertsOf(block).again);
  }

  // A product in pieces, one for each tensor rank.
  PhaseTimes Pieces(PhaseTimes piece) const {
    piece.alone = scenario_.layout.tensor * piece.alone;
    piece.host = scenario_.layout.tensor * piece.host;
    return piece;
  }

  PhaseTimes Forward(const BlockPlan& block) const {
    const PiecedPlan& pieced = block.pieced;
    const bool in_pieces = pieced.pieces > 1;
    PhaseTimes sum = block.before_gather + (in_pieces ? pieced.main : block.main) + block.after_reduce;
    if (in_pieces) sum = sum + pieced.sum + Pieces(pieced.gathered) + Pieces(pieced.scattered);
    if (!block.experts.empty()) sum = sum + ExpertsOf(block).forward;
    if (block.context.pieces.empty()) return sum;
    return sum + ContextForward(block.context) + (in_pieces ? pieced.after_core : block.context.after);
  }

  PhaseTimes Backward(const BlockPlan& block) const {
    const bool in_pieces = block.pieced.pieces > 1;
    PhaseTimes sum = block.backward_head + block.backward_weight + block.backward_tail +
                     (in_pieces ? block.pieced.backward_main : block.backward_main);
    if (in_pieces) sum = sum + Pieces(block.pieced.gathered_back);
    if (!block.experts.empty()) sum = sum + ExpertsOf(block).backward;
    return block.context.pieces.empty() ? sum : sum + ContextBackward(block.context);
  }

  PhaseTimes ContextForward(const ContextPlan& plan) const {
    PhaseTimes sum = plan.prepare + plan.arrive + plan.leave + plan.finish;
    if (plan.gathers) return sum + plan.pieces[member_].forward;
    sum = sum + plan.pieces[0].forward;
    for (std::size_t round = 1; round < ring_; ++round) {
      sum = sum + plan.pieces[round <= member_ ? 1 : 2].forward;
    }
    return sum;
  }

  PhaseTimes ContextBackward(const ContextPlan& plan) const {
    PhaseTimes sum = plan.prepare_back + plan.arrive_back + plan.leave_back + plan.backward_after;
    if (plan.gathers) return sum + plan.pieces[member_].backward;
    for (std::size_t round = 0; round < ring_; ++round) {
      const bool last = round + 1 == ring_, behind = member_ + 1 + round < ring_;
      const ContextPlan::Piece& piece = plan.pieces[last ? 0 : behind ? 2 : 1];
      sum = sum + piece.backward;
      if (round > 0) sum = sum + piece.backward_merge;
    }
    return sum;
  }

  const ExpertPlan& ExpertsOf(const BlockPlan& block) const {
    return block.experts[block.experts.size() > 1 ? expert_ : 0];
  }

  const Scenario& scenario_;
  std::size_t ring_ = 1, member_ = 0, expert_ = 0;
};

}  // namespace

RankWork WorkOfRank(const Scenario& scenario, const StagePlan& plan, sim::Rank rank) {
  return PhasesOfRank(scenario, rank).Of(plan);
}

}  // namespace scenarios
