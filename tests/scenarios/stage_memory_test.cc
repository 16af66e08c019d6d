// What a stage holds, by what it computes again.

#include "scenarios/stage_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/memory.h"
#include "models/transformer.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using namespace sim::literals;

// One stage of 7 layers, one micro-batch. Groups of n keep ceil(7/n) inputs; while one
// runs backward, all of its n layers exist, but for the input that was kept. The first n
// of the block method keep an input each, the others everything.
TEST(StageMemory, FullRecomputationKeepsTheInputsOfGroups) {
  Scenario s = SyntheticScenario(1, 1, 1, "1f1b", 7);
  s.training.recompute = Recompute::kFull;
  const models::Execution e = ExecutionOf(s);
  const sim::Bytes input = models::LayerInput(s.model, e);
  const sim::Bytes all = models::LayerActivationBytes(s.model, e, 0, Recompute::kNone);
  const sim::Bytes ends = models::ActivationBytes(models::EmbeddingBlock(s.model, e), Recompute::kNone) +
                          models::ActivationBytes(models::HeadBlock(s.model, e), Recompute::kNone);
  for (std::int64_t n = 1; n <= 8; ++n) {
    SCOPED_TRACE(n);
    const std::int64_t together = std::min<std::int64_t>(n, 7);
    s.training.full_recompute = {.first_layers_only = false, .layers = n};
    auto parts = PartsOf(s, LayerCost(7_ns, 13_ns));
    EXPECT_EQ(parts["activations"], ends + (7 + n - 1) / n * input);
    EXPECT_EQ(parts["recomputed"], together * all - input);
    s.training.full_recompute = {.first_layers_only = true, .layers = n};
    parts = PartsOf(s, LayerCost(7_ns, 13_ns));
    EXPECT_EQ(parts["activations"], ends + together * input + (7 - together) * all);
    EXPECT_EQ(parts["recomputed"], all - input);
  }
}

}  // namespace
}  // namespace scenarios
