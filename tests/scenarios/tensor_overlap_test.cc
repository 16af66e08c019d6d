// training.tensor_overlap: gathers and scatters of tensor groups in pieces beside their products.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/estimate.h"
#include "scenarios/run.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Kernels of one name take so long each, whatever their size.
class Named final : public hardware::CostModel {
 public:
  Named(std::string name, sim::Duration time) : name_(std::move(name)), time_(time) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const sim::Duration time = kernel.name == name_ ? time_ : sim::Duration();
    return {time, time};
  }

 private:
  std::string name_;
  sim::Duration time_;
};

constexpr std::int64_t kRanks = 4;
constexpr std::int64_t kMove = 1000;  // picoseconds that every communication takes

// One layer on one tensor group.
Scenario OneLayer() {
  Scenario s = SyntheticScenario(1, 1, 1, "1f1b");
  s.model.heads = s.model.kv_heads = kRanks;
  s.model.head_dim = 2;
  s.layout.tensor = s.devices = kRanks;
  s.layout.sequence = true;
  s.batch.sequence_length = 2 * kRanks;
  s.training.tensor_overlap = true;
  s.fabric.domain.assign(kRanks, 0);
  s.fabric.rail.clear();
  for (std::uint32_t d = 0; d < kRanks; ++d) s.fabric.rail.push_back(d);
  s.device.collective_timing = {{.base = sim::Duration::Picoseconds(kMove)}};
  return s;
}

// Of t pieces that take g each, moved in s each:
//
//   gather    piece 0 is here; piece i is here at i s, and made after piece i - 1:
//             it ends at g + i max(g, s), the last at g + (t - 1) max(g, s)
//   scatter   piece i is made by (i + 1) g and sent after piece i - 1; the last is not sent. The sends end at
//             g + (t - 1) s where they are longer, the products at t g where these are: again
//             g + (t - 1) max(g, s)
//
// With g = 0 only (t - 1) s is left, and the rest of the step is the same.
TEST(TensorOverlap, TakesAPieceAndThenWhateverIsLonger) {
  const Scenario scenario = OneLayer();
  for (const char* product : {"qkv", "attention_output", "gate_up", "down"}) {
    const std::int64_t without = StepTime(scenario, Named(product, {})).ps();
    for (const std::int64_t g : {1, 400, 1000, 1001, 5000}) {
      const std::int64_t more = g + (kRanks - 1) * (std::max(g, kMove) - kMove);
      EXPECT_EQ(StepTime(scenario, Named(product, sim::Duration::Picoseconds(g))).ps() - without, more)
          << product << ' ' << g;
    }
  }
}

// In the backward the forward's input is gathered again behind the pieces and beside the last product, or the
// one before: from the later of (t - 1) s and g + (t - 2) max(g, s) on. What comes next waits for both, so
// that with g = 0 it is t s.
TEST(TensorOverlap, GathersTheInputOfWeightGradientsBehindThePieces) {
  const Scenario scenario = OneLayer();
  for (const char* product : {"attention_output_dgrad", "down_dgrad"}) {
    const std::int64_t without = StepTime(scenario, Named(product, {})).ps();
    for (const std::int64_t g : {1, 400, 1000, 1001, 5000}) {
      const std::int64_t longer = std::max(g, kMove);
      const std::int64_t products = g + (kRanks - 1) * longer;
      const std::int64_t again = std::max((kRanks - 1) * kMove, g + (kRanks - 2) * longer) + kMove;
      EXPECT_EQ(StepTime(scenario, Named(product, sim::Duration::Picoseconds(g))).ps() - without,
                std::max(products, again) - kRanks * kMove)
          << product << ' ' << g;
    }
  }
}

// Rows are shared out over the pieces, so all of them make what the whole product makes.
TEST(TensorOverlap, MakesAllOfAProductInItsPieces) {
  const Scenario scenario = OneLayer();
  int pieced = 0;
  const std::vector<StagePlan> stages = PlanStages(scenario, FlopCost());
  for (const BlockPlan& block : stages[0].blocks) {
    const PiecedPlan& p = block.pieced;
    if (p.pieces == 1) continue;
    ++pieced;
    EXPECT_EQ(p.pieces, kRanks);
    EXPECT_EQ(p.pieces * (p.gathered.alone + p.scattered.alone) + p.main.alone, block.main.alone)
        << block.name;
    EXPECT_EQ(p.pieces * p.gathered_back.alone + p.backward_main.alone, block.backward_main.alone)
        << block.name;
  }
  EXPECT_EQ(pieced, 2);  // attention and feed-forward; not embedding and head
}

const Sets kWhole = {{"layout.sequence", "true"}, {"model.layers", "4"}, {"batch.global", "4"}};
Sets WithPieces() {
  Sets sets = kWhole;
  sets.emplace_back("training.tensor_overlap", "PIPELINED");
  return sets;
}

TEST(TensorOverlap, SendsAsManyBytesAndTakesLessTime) {
  const Scenario pieces = Loaded(WithPieces()), whole = Loaded(kWhole);
  const hardware::DeviceCostModel cost(pieces.device);
  const StepProgram in_pieces = BuildSteps(pieces, cost).value(), at_once = BuildSteps(whole, cost).value();
  EXPECT_DOUBLE_EQ(BytesSent(in_pieces.program, sim::TaskClass::kTensor),
                   BytesSent(at_once.program, sim::TaskClass::kTensor));
  EXPECT_LT(StepTime(pieces, cost), StepTime(whole, cost));
}

TEST(TensorOverlap, IsCountedByTheEstimate) {
  for (const char* context : {"1", "2"}) {
    for (const char* recompute : {"NONE", "FULL", "SELECTIVE"}) {
      Sets sets = WithPieces();
      sets.emplace_back("layout.context", context);
      sets.emplace_back("training.recompute", recompute);
      const Scenario scenario = Loaded(sets);
      const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
      const double built = static_cast<double>(steps.program.tasks());
      const double estimated = EstimateOf(scenario, steps.stages).tasks;
      EXPECT_GE(estimated / built, 0.98) << context << ' ' << recompute;
      EXPECT_LE(estimated / built, 1.15) << context << ' ' << recompute;
      EXPECT_TRUE(sim::Simulate(steps.program).ok());
    }
  }
}

TEST(TensorOverlap, GoesTransferByTransferToo) {
  Sets sets = WithPieces();
  const Scenario flows = Loaded(sets);
  sets.emplace_back("fidelity", "CHUNK");
  const Scenario chunks = Loaded(sets);
  const hardware::DeviceCostModel cost(flows.device);
  EXPECT_NEAR(StepTime(chunks, cost).seconds() / StepTime(flows, cost).seconds(), 1, 0.02);
}

std::vector<std::string> ErrorsWith(Sets sets) {
  sets.emplace_back("training.tensor_overlap", "PIPELINED");
  return Load(sets).errors();
}

TEST(TensorOverlap, IsRefusedWhereItIsNotSimulated) {
  EXPECT_THAT(ErrorsWith({{"layout.sequence", "false"}}), ElementsAre(HasSubstr("without layout.sequence")));
  EXPECT_THAT(ErrorsWith({{"layout.tensor", "1"}}), ElementsAre(HasSubstr("layout.tensor is 1")));
  EXPECT_THAT(ErrorsWith({{"layout.sequence", "true"}, {"pipeline.schedule", "ZB1P"}}),
              ElementsAre(HasSubstr("backwards in halves")));
  EXPECT_THAT(
      ErrorsWith({{"layout.sequence", "true"}, {"model", "deepseek_v2_lite"}, {"layout.pipeline", "1"}}),
      ElementsAre(HasSubstr("latent attention")));
}

}  // namespace
}  // namespace scenarios
