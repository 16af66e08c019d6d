// Steps whose sequences pass the pipeline in parts (sequence 1F1B): time, work, memory, bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/memory.h"
#include "models/transformer.h"
#include "scenarios/estimate.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using namespace sim::literals;
using testing::Contains;
using testing::HasSubstr;

Scenario InParts(std::int64_t stages, std::int64_t micro_batches, std::int64_t parts) {
  Scenario s = SyntheticScenario(stages, micro_batches, 1, parts > 1 ? "seq1f1b" : "1f1b", 2);
  s.training.attention = sim::AttentionKind::kFlash2;
  s.batch.sequence_length = 16;
  s.pipeline.shape.parts = static_cast<std::uint32_t>(parts);
  return s;
}

// Sun et al. 2024, section 3: m k passes of a part and p - 1 more, where parts take alike.
TEST(SequenceParts, ShrinkTheBubbleByTheirNumber) {
  const LayerCost cost(7_ns, 13_ns);
  for (const std::int64_t p : {2, 3, 4}) {
    for (const std::int64_t m : {1, 4, 5}) {
      for (const std::int64_t k : {2, 4}) {
        const std::int64_t layers = 2;
        EXPECT_EQ(StepTime(InParts(p, m, k), cost).ps(), (m * k + p - 1) * layers * (7 + 13) * 1000)
            << p << ' ' << m << ' ' << k;
      }
    }
  }
}

// On one stage nothing but the work counts: attention of part i sees i + 1 parts, together as many
// pairs as the whole sequence.
TEST(SequenceParts, DoTheWorkOfTheWholeSequence) {
  const std::int64_t whole = StepTime(InParts(1, 3, 1), FlopCost()).ps();
  for (const std::int64_t k : {2, 4, 8}) EXPECT_EQ(StepTime(InParts(1, 3, k), FlopCost()).ps(), whole) << k;
}

TEST(SequenceParts, SeeTheKeysOfAllPartsBeforeThem) {
  const Scenario s = InParts(2, 4, 4);
  models::Execution e = ExecutionOf(s);
  std::int64_t products = 0, before = 0;
  for (e.part.index = 0; e.part.index < 4; ++e.part.index) {
    for (const sim::Kernel& kernel : models::AttentionBlock(s.model, e, 0).main) {
      if (kernel.kind == sim::KernelKind::kGemm) products += kernel.flops.count();
      if (kernel.kind != sim::KernelKind::kAttentionForward) continue;
      EXPECT_EQ(kernel.attention.query_length, 4);
      EXPECT_EQ(kernel.attention.kv_length, 4 * (e.part.index + 1));
      EXPECT_GT(kernel.flops.count(), before);
      before = kernel.flops.count();
    }
  }
  models::Execution whole = ExecutionOf(InParts(2, 4, 1));
  EXPECT_EQ(models::AttentionBlock(s.model, whole, 0).main.size(), 4u);  // qkv, rotary, core, output
  std::int64_t all = 0;
  for (const sim::Kernel& kernel : models::AttentionBlock(s.model, whole, 0).main) {
    if (kernel.kind == sim::KernelKind::kGemm) all += kernel.flops.count();
  }
  EXPECT_EQ(products, all);
}

// All but the last part add to gradients that the parts behind them made: 3 x of what they see.
TEST(SequenceParts, AddUpGradientsOfKeysAndValues) {
  models::Execution e = ExecutionOf(InParts(2, 4, 4));
  const models::Model& m = InParts(2, 4, 4).model;
  for (e.part.index = 0; e.part.index < 4; ++e.part.index) {
    std::int64_t added = 0;
    for (const sim::Kernel& kernel : models::AttentionBlock(m, e, 0).backward_main) {
      if (kernel.name == std::string("add_key_value_gradients")) added += kernel.bytes.count();
    }
    EXPECT_EQ(added, e.part.index == 3 ? 0 : 3 * (e.part.index + 1) * 2 * 2 * 4 * 8);
  }
}

// A part keeps 1/k of what its micro-batch does. Stage s holds p-1-s + k parts at most (of 1F1B: p-s
// micro-batches), and gradients of the keys and values of one sequence.
TEST(SequenceParts, HoldLessInFlight) {
  const auto parts = [](const Scenario& s, std::uint32_t stage) {
    const std::vector<StagePlan> plans = PlanStages(s, FlopCost());
    const StageMemory memory =
        MemoryOfStage(s, plans[stage], s.pipeline.schedule->order(s.pipeline.shape, stage));
    std::map<std::string, std::int64_t> bytes;
    for (const BytePart& part : memory.parts) bytes[part.name] = part.bytes.count();
    return bytes;
  };
  for (const std::uint32_t stage : {1u, 2u}) {  // of 4, without embedding and head
    const auto whole = parts(InParts(4, 8, 1), stage), cut = parts(InParts(4, 8, 4), stage);
    const std::int64_t micro_batch = whole.at("activations") / (4 - stage);
    EXPECT_EQ(cut.at("activations"), (3 - stage + 4) * micro_batch / 4) << stage;
    EXPECT_EQ(cut.at("key_value_gradients"), 2 * 16 * 2 * 8 * 2);  // two layers, 16 tokens
    EXPECT_EQ(whole.count("key_value_gradients"), 0u);
  }
}

// LLaMA-7B: tensor 4 with sequence parallelism, pipeline 2, data 2. As many bytes as whole sequences.
TEST(SequenceParts, SendAsManyBytesInSmallerMessages) {
  const Sets sequence = {{"layout.sequence", "true"}};
  const auto run = [&](const Sets& more) {
    Sets sets = sequence;
    sets.insert(sets.end(), more.begin(), more.end());
    const Loading loading = Load(sets);
    EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    RunResult result = scenarios::Run(*loading.scenario, {.fold = false}).value();
    const double tasks = static_cast<double>(result.steps.program.tasks());
    const double estimate = EstimateOf(*loading.scenario, result.steps.stages).tasks;
    EXPECT_GE(estimate / tasks, 0.98);
    EXPECT_LE(estimate / tasks, 1.15);
    sim::Duration sum;
    for (const TimePart& part : result.report.breakdown) sum += part.time;
    EXPECT_EQ(sum, result.report.step_time);
    return result.report.closed_form;
  };
  const ClosedForm whole = run({});
  const ClosedForm cut = run({{"pipeline.schedule", "SEQ1F1B"}, {"pipeline.sequence_parts", "4"}});
  EXPECT_EQ(cut.tensor_bytes_per_rank, whole.tensor_bytes_per_rank);
  EXPECT_EQ(cut.pipeline_bytes_per_rank, whole.pipeline_bytes_per_rank);
  EXPECT_EQ(cut.gradient_bytes_per_rank, whole.gradient_bytes_per_rank);
}

TEST(SequenceParts, AreRefusedWhereTheyAreNotSimulated) {
  const auto errors = [](const Sets& more) {
    Sets sets = {{"pipeline.schedule", "SEQ1F1B"}, {"pipeline.sequence_parts", "4"}};
    sets.insert(sets.end(), more.begin(), more.end());
    return Load(sets).errors();
  };
  const std::string field = "pipeline.schedule: SEQ1F1B is not simulated with ";
  EXPECT_THAT(errors({}), testing::IsEmpty());
  EXPECT_THAT(errors({{"training.attention", "UNFUSED"}}), Contains(HasSubstr(field + "UNFUSED attention")));
  EXPECT_THAT(errors({{"training.recompute", "FULL"}}),
              Contains(HasSubstr(field + "recomputation that drops")));
  EXPECT_THAT(errors({{"pipeline.sequence_parts", "3"}}),
              Contains(HasSubstr("pipeline.sequence_parts: 2048 tokens are not a multiple of 3, the parts")));
  // On one stage too: parts would gather and reduce once each.
  for (const char* stages : {"1", "2"}) {
    for (const char* kind : {"ZERO_2", "ZERO_3"}) {
      EXPECT_THAT(errors({{"layout.pipeline", stages}, {"training.optimizer_sharding", kind}}),
                  Contains(HasSubstr("training.optimizer_sharding: ZERO_2 and ZERO_3 are not simulated with "
                                     "parts of sequences (seq1f1b)")));
    }
  }
  EXPECT_THAT(errors({{"layout.pipeline", "1"}, {"training.sharding.no_sync", "false"}}),
              Contains(HasSubstr("training.sharding.no_sync: false is not simulated with parts")));
  EXPECT_THAT(Load({{"pipeline.schedule", "SEQ1F1B"}}).errors(),
              Contains(HasSubstr("pipeline.sequence_parts: missing")));
  EXPECT_THAT(Load({{"pipeline.sequence_parts", "4"}}).errors(),
              Contains(HasSubstr("pipeline.sequence_parts: needs schedule SEQ1F1B")));
}

}  // namespace
}  // namespace scenarios
