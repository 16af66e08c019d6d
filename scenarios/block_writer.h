// BlockWriter: writes the forward and the backward of a rank's blocks, with the
// collectives of its tensor, context and expert groups between their phases.
//
// A backward may be split: its input half is all but the weight gradients. With
// sequence parallelism these read the forward's input, gathered again, which the
// weight half does, a block ahead of the one whose gradients it makes.
// Source of that: sail-sg/zero-bubble-pipeline-parallelism, megatron/core/
// tensor_parallel/layers.py, whose stored weight gradients gather first.

#ifndef SCENARIOS_BLOCK_WRITER_H_
#define SCENARIOS_BLOCK_WRITER_H_

#include <cstdint>
#include <vector>

#include "scenarios/context_writer.h"
#include "scenarios/job.h"

namespace scenarios {

class BlockWriter {
 public:
  // All three must outlive this.
  BlockWriter(const Job& job, const StagePlan& plan, RankTape* tape);

  // What a recipe makes of a unit's weights before a pass of that class; nothing without a recipe.
  void CastWeights(const Unit& unit, WeightCast cast, std::int64_t micro_batch, sim::TaskClass task_class);
  // All blocks of a unit in order; recomputation is a forward of another class.
  // `at` says of which micro-batch and part of its sequence.
  void Forward(const Unit& unit, const sim::PipelineStep& at, sim::TaskClass task_class);
  void Backward(const Unit& unit, const sim::PipelineStep& at);
  // The two halves of it.
  void BackwardInput(const Unit& unit, const sim::PipelineStep& at);
  void BackwardWeight(const Unit& unit, std::int64_t micro_batch);
  // All of it, but weight gradients wait until something is on its way beside which they can be made:
  // until tokens leave, or MakeWeights().
  void BackwardWeightsLater(const Unit& unit, std::int64_t micro_batch);
  void MakeWeights();

  // What delayed scaling reduces after each pass through a chunk; nothing else has it.
  void ReduceScales(std::int64_t micro_batch);

  // A collective of the rank's tensor group; none where it moves nothing.
  sim::TaskId Tensor(sim::CollectiveKind kind, sim::Bytes size, sim::Label label);

 private:
  // What runs of a forward: all of it, or what selective recomputation runs again.
  struct ForwardPhases {
    PhaseTimes before_gather, main, after_core, after_reduce, experts;
    sim::Bytes gather, reduce, gather_output;
    std::int64_t small_reduces = 0;
    bool in_pieces = false;  // what is gathered and scattered: as block.pieced
    bool core = true;        // that lies in block.context
    bool travel = true;      // tokens, to experts that are spread
  };
  ForwardPhases AllOf(const BlockPlan& block) const;
  ForwardPhases AgainOf(const BlockPlan& block) const;
  void Forward(const BlockPlan& block, const ForwardPhases& phases, const sim::Label& label,
               sim::TaskClass task_class);
  // Work of a backward between what it communicates: of all of it, or of its input half.
  struct Phases {
    PhaseTimes head, main, weight, tail, experts;
    bool gathers_again = true;
    PhaseTimes expert_weights = {};  // made later, under this name
    std::uint16_t weights_name = 0;
  };
  Phases WholeOf(const BlockPlan& block) const;
  Phases InputHalfOf(const BlockPlan& block) const;
  void Backward(const BlockPlan& block, const Phases& phases, const sim::Label& label);
  // Of a block whose experts are spread: the same, with the tokens' ways between.
  void ForwardSpread(const BlockPlan& block, const ForwardPhases& phases, const sim::Label& label,
                     sim::TaskClass task_class);
  void BackwardSpread(const BlockPlan& block, const Phases& phases, const sim::Label& label);
  // A product in pieces behind a gather, each as soon as its rows are here: the rank's own first, the others
  // passed on round the group meanwhile. Returns the last, which is not written yet.
  PhaseTimes GatherInPieces(sim::Bytes size, const PhaseTimes& piece, std::int64_t pieces,
                            const sim::Label& label, sim::TaskClass task_class);
  // `before` and a product in pieces, each sent to the rank whose rows they are while the next is made, its
  // own last. What comes next waits for the others'.
  void ScatterInPieces(PhaseTimes before, sim::Bytes size, const PhaseTimes& piece, std::int64_t pieces,
                       const sim::Label& label, sim::TaskClass task_class);
  sim::TaskId MovePiece(sim::Bytes size, std::int64_t pieces, std::uint16_t name, const sim::Label& label);
  // The shared experts, which the tensor group cuts. Returns what their result waits for.
  sim::TaskId SharedForward(const ForwardPhases& phases, const sim::Label& label, sim::TaskClass task_class);
  sim::TaskId SharedBackward(const BlockPlan& block, const Phases& phases, const sim::Label& label);
  // Tokens are on their way: what can be made meanwhile, and then another micro-batch's turn.
  void WhileTheyTravel();
  // Weight gradients that are made later. `gathered`: the input, with sequence parallelism.
  void Later(PhaseTimes weights, const sim::Label& label, sim::TaskId gathered = {});
  // One after the other, after what was last computed. Returns the last; none where nothing moves.
  sim::TaskId Move(const std::vector<models::ExpertMove>& moves, const sim::Label& label);
  // The way home, and the gather behind it.
  sim::TaskId MoveHome(const ExpertPlan& experts, const sim::Label& label);
  // What selective recomputation runs again of a block; `before` is not written yet, and what is returned
  // neither.
  PhaseTimes RecomputeSelected(const BlockPlan& block, PhaseTimes before, const sim::Label& label);
  const BlockPlan& PartOf(std::uint32_t block, const sim::PipelineStep& at) const;
  const ExpertPlan& ExpertsOf(const BlockPlan& block) const;

  const Job& job_;
  const StagePlan& plan_;
  RankTape* tape_;
  Membership tensor_;
  ContextWriter context_;
  Membership expert_[3];  // by models::ExpertMove::Group
  std::int64_t expert_group_ = 0;
  // The counts of experts' tokens, before these leave or once all have come.
  bool host_reads_routed_ = false, host_reads_gathered_ = false;
  std::vector<std::uint16_t> names_;             // by plan_.blocks
  std::vector<std::uint16_t> names_of_weights_;  // likewise, where they are made apart
  struct LaterWork {
    PhaseTimes work;
    sim::Label label;
    sim::TaskId gathered;
  };
  std::vector<LaterWork> later_;
};

}  // namespace scenarios

#endif  // SCENARIOS_BLOCK_WRITER_H_
