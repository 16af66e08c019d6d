// StagePlan: what the ranks of one pipeline stage do in a step, before it is
// laid out as tasks: how long each phase of each block takes, what it sends,
// and how its gradients are gathered into buckets. All ranks of a stage share
// one plan.

#ifndef SCENARIOS_STAGE_PLAN_H_
#define SCENARIOS_STAGE_PLAN_H_

#include <cstdint>
#include <span>
#include <vector>

#include "hardware/cost_model.h"
#include "models/block.h"
#include "models/parameters.h"
#include "scenarios/phase_times.h"
#include "scenarios/scenario.h"
#include "sim/program/program.h"

namespace scenarios {

// Routed experts that are spread, as a rank of one expert group sees them.
struct ExpertPlan {
  PhaseTimes forward = {}, backward = {};
  PhaseTimes again = {};  // of `forward`, where selective recomputation moves no tokens
  PhaseTimes backward_input = {}, weights = {};  // the halves of `backward`
  std::vector<models::ExpertMove> outward = {}, homeward = {};
  sim::Bytes gather = {};  // over the tensor group, behind each homeward
};

// The phases of models::ContextCore with their times.
struct ContextPlan {
  struct Piece {
    PhaseTimes forward = {}, backward = {}, backward_merge = {};
  };
  std::vector<Piece> pieces = {};  // none: sequences are whole
  PhaseTimes prepare = {}, arrive = {}, leave = {}, finish = {}, after = {};
  PhaseTimes prepare_back = {}, arrive_back = {}, leave_back = {}, backward_after = {};
  bool gathers = false;
  sim::Bytes passed = {};
  sim::Bytes keys = {}, values = {};
  sim::Bytes query_heads = {}, key_heads = {}, value_heads = {}, output_heads = {};
};

// Of a block whose backward is split, with all that it sends: its phases without
// their weight gradients, and these, those of `backward_weight` among them.
struct SplitBackward {
  PhaseTimes head = {}, main = {}, tail = {};
  PhaseTimes weights = {};
};

// models::Again with its times.
struct AgainPlan {
  PhaseTimes before_gather = {}, main = {}, after_reduce = {};
  sim::Bytes gather = {}, reduce = {};
  bool core = false, travel = false;

  PhaseTimes work() const { return before_gather + main + after_reduce; }
  bool moves() const { return travel || gather + reduce > sim::Bytes(); }
};

// The phases of models::Block with their times.
// A block whose gathers and scatters travel in pieces of the rows, beside products in the same pieces. Each
// phase is of one piece.
struct PiecedPlan {
  std::int64_t pieces = 1;     // 1: it does not
  PhaseTimes gathered = {};    // up to the product behind the forward's gather, which is no part of `main`
  PhaseTimes main = {};        // BlockPlan::main without both
  PhaseTimes after_core = {};  // likewise ContextPlan::after
  PhaseTimes scattered = {};   // from the product in front of the forward's scatter on
  PhaseTimes sum = {};         // adds up what the others sent; of all pieces
  PhaseTimes gathered_back = {}, backward_main = {};  // the same of the backward's gather
};

struct BlockPlan {
  const char* name = "";
  PhaseTimes before_gather = {}, main = {}, after_reduce = {};
  PhaseTimes backward_head = {}, backward_main = {}, backward_weight = {}, backward_tail = {};
  AgainPlan again = {};  // nothing unless recomputation is selective
  // Into all eight-bit copies, at the first micro-batch of a step or behind gathers; or into one of them.
  PhaseTimes weight_casts = {}, one_copy_casts = {};
  sim::Bytes gather_forward = {}, reduce_forward = {}, gather_backward = {}, reduce_backward = {};
  sim::Bytes gather_output = {};
  sim::Bytes gather_again = {};
  std::int64_t small_reduces = 0;  // all-reduces of small_reduce bytes at the end of main
  sim::Bytes small_reduce = {};
  // By expert group, or one for all where they are loaded alike; none where the tensor group alone cuts
  // experts.
  std::vector<ExpertPlan> experts = {};
  ContextPlan context = {};     // of attention
  sim::Bytes activations = {};  // kept per micro-batch (or part) under the scenario's recomputation
  sim::Bytes key_value_gradients =
      {};  // that parts of a sequence add up, of all of it; zero where it is whole
  // StagePlan::blocks: the same of a sequence's second, third, ... part; none where they are as this one.
  std::vector<std::uint32_t> later_parts = {};
  SplitBackward split = {};
  PiecedPlan pieced = {};
};

// What is cast of a unit's weights before a pass.
enum class WeightCast : std::uint8_t { kNone, kOneCopy, kAllCopies };

// A part of a stage whose gradients become ready at one time: a layer, the
// embedding or the head; of a prediction module its layer (with the join before it)
// and its ends, which read the table and the head's matrix.
struct Unit {
  enum class Kind : std::uint8_t { kEmbedding, kLayer, kHead, kPrediction, kPredictionEnd };
  Kind kind = Kind::kLayer;
  std::int64_t layer = -1;                 // of the whole model; prediction modules follow
  std::vector<std::uint32_t> blocks = {};  // StagePlan::blocks, in forward order
  std::int64_t parameters = 0;             // held by one rank, but for `spread`
  std::uint32_t bucket = 0;                // StagePlan::buckets
  bool closes_bucket = false;              // its gradients are the bucket's last
  std::int64_t spread = 0;                 // of routed experts with a layout of their own
  std::uint32_t expert_bucket = 0;         // means something where spread > 0
  bool closes_expert_bucket = false;
  std::int64_t cast_weights = 0, spread_cast_weights = 0;  // in eight bits, of `parameters` and of `spread`
  std::int64_t cast_matrices = 0, spread_cast_matrices = 0;
  sim::Bytes cast_weight_bytes = {};                       // of their copies
  models::Recompute recompute = models::Recompute::kNone;  // of a layer or prediction
  // kFull: layers of one group run again together, from the first one's input, before
  // the last one's backward.
  std::int64_t place_in_group = 0;  // 0 = the first
  bool ends_group = false;
  sim::Bytes offloaded = {};  // activations of a micro-batch that wait in the host's memory
};

// Gradients that become ready together, and in how many reductions they go: one
// unit may be several times the scenario's bucket.
struct Bucket {
  std::int64_t parameters = 0;
  std::int64_t parts = 1;       // near-equal; see PartOf
  bool experts = false;         // reduced over the ranks that hold the same experts
  std::int64_t eight_bits = 0;  // of `parameters`, gathered in eight bits
  bool head = false;            // has the model's last unit
  PhaseTimes share_cast;        // before each gather, of this rank's share
};

// The parameters of one part of a bucket; parts differ by one at most.
constexpr std::int64_t PartOf(const Bucket& bucket, std::int64_t part) {
  return bucket.parameters * (part + 1) / bucket.parts - bucket.parameters * part / bucket.parts;
}

struct StagePlan {
  std::vector<BlockPlan> blocks;          // distinct ones
  std::vector<std::vector<Unit>> chunks;  // by chunk, units in forward order
  std::vector<std::uint32_t> by_end;      // chunks as their gradients are complete
  std::vector<Bucket> buckets;            // in the order their gradients are complete
  models::StageParameters held;           // by one rank, all chunks together
  std::int64_t spread = 0;                // of them, routed experts with a layout of their own
  PhaseTimes optimizer;                   // clip and update of what a rank owns
  // Shares in eight bits: largest numbers, reduced over those who share a copy, and the cast behind that.
  sim::Bytes share_scales, expert_share_scales;
  PhaseTimes share_cast;
  std::int64_t casts = 0;         // of units behind gathers, in a step
  std::int64_t host_numbers = 0;  // parameters that the rank's host updates
  sim::Bytes boundary;            // activations sent to the next piece, one micro-batch, one rank
  sim::Bytes tied_gradient;       // to reduce between first and last stage; zero = none
  sim::Bytes scales;              // kTensorDelayed: largest numbers of a chunk, reduced over the tensor group
  sim::Bytes sequence_gradient;   // norms' gradients, reduced over the tensor group; zero = none
};

// The layers of the model that piece `piece` holds, as [first, last).
struct LayerRange {
  std::int64_t first = 0, last = 0;
};
LayerRange LayersOfPiece(const Pipeline& pipeline, std::int64_t piece);

// What one rank of a stage holds, and of it routed experts with a layout of their own.
models::StageParameters HeldByStage(const Scenario& scenario, std::uint32_t stage);
std::int64_t SpreadOf(const Scenario& scenario, const models::StageParameters& held);
// What a layer or prediction keeps of one micro-batch.
sim::Bytes ActivationsOf(const Scenario& scenario, const Unit& unit, models::Recompute recompute);

// `steps` are those of the stage. REQUIRES: stage < layout.pipeline
StagePlan PlanStage(const Scenario& scenario, const hardware::CostModel& cost, std::uint32_t stage,
                    std::span<const sim::PipelineStep> steps);
StagePlan PlanStage(const Scenario& scenario, const hardware::CostModel& cost, std::uint32_t stage);

}  // namespace scenarios

#endif  // SCENARIOS_STAGE_PLAN_H_
