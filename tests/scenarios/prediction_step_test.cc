// Steps that train modules which predict further tokens (MTP): work, parameters, memory, bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hardware/device.h"
#include "models/flops.h"
#include "models/memory.h"
#include "models/transformer.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "tests/scenarios/loading.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;

Scenario WithPredictions(std::int64_t modules, std::int64_t stages = 1) {
  Scenario s = SyntheticScenario(stages, 3, 1, "1f1b", 2);
  s.training.vocabulary_divisor = 1;
  s.model.prediction_modules = modules;
  s.training.mtp = modules > 0;
  return s;
}

// Forward and twice that backward, of three sequences: what MFU counts is what is executed.
TEST(Predictions, TakeTheirProductsForwardAndTwiceBackward) {
  const std::int64_t none = StepTime(WithPredictions(0), FlopCost()).ps();
  for (const std::int64_t modules : {1, 2}) {
    const Scenario s = WithPredictions(modules);
    const sim::Wide forward = models::PredictionFlops(s.model, 3, s.batch.sequence_length).total();
    EXPECT_EQ(StepTime(s, FlopCost()).ps() - none, static_cast<std::int64_t>(3 * forward)) << modules;
  }
}

// Of one token, hidden 8, 2 heads of 4, ffn 16, 32 words, 4 tokens: join 2 x 8 x 8; attention 4 x 8 x 8
// and 2 x 4 x 8 of pairs; feed-forward 3 x 8 x 16; logits 32 x 8; in 2 FLOPs each.
TEST(Predictions, CountEachProductOnce) {
  const models::FlopsOf flops = models::PredictionFlops(WithPredictions(1).model, 1, 4);
  EXPECT_EQ(flops.linear, 4 * 2 * (128 + 256 + 384));
  EXPECT_EQ(flops.attention, 4 * 2 * 2 * 4 * 8);
  EXPECT_EQ(flops.logits, 4 * 2 * 256);
}

TEST(Predictions, RunJoinAndLayerAgainByFullRecomputation) {
  Scenario none = WithPredictions(0), one = WithPredictions(1);
  none.training.recompute = one.training.recompute = Recompute::kFull;
  const models::FlopsOf flops = models::PredictionFlops(one.model, 3, one.batch.sequence_length);
  const sim::Wide again = 4 * (flops.linear + flops.attention) + 3 * flops.logits;
  EXPECT_EQ(StepTime(one, FlopCost()).ps() - StepTime(none, FlopCost()).ps(),
            static_cast<std::int64_t>(again));
}

// What its parts keep on the last stage, and nowhere else.
TEST(Predictions, KeepWhatTheirBlocksKeep) {
  for (const std::int64_t stages : {1, 2}) {
    const auto activations = [&](const Scenario& s, std::uint32_t stage) {
      const std::vector<StagePlan> plans = PlanStages(s, FlopCost());
      const auto order = s.pipeline.schedule->order(s.pipeline.shape, stage);
      for (const BytePart& part : MemoryOfStage(s, plans[stage], order).parts) {
        if (part.name == "activations") return part.bytes;
      }
      return sim::Bytes();
    };
    const Scenario none = WithPredictions(0, stages), two = WithPredictions(2, stages);
    const models::Execution e = ExecutionOf(two);
    const sim::Bytes ends = models::ActivationBytes(models::EmbeddingBlock(two.model, e), Recompute::kNone) +
                            models::ActivationBytes(models::HeadBlock(two.model, e), Recompute::kNone);
    const sim::Bytes module = ends +
                              models::ActivationBytes(models::JoinBlock(two.model, e), Recompute::kNone) +
                              models::LayerActivationBytes(two.model, e, 0, Recompute::kNone);
    const auto last = static_cast<std::uint32_t>(stages - 1);
    EXPECT_EQ(activations(two, last) - activations(none, last), 2 * module);
    if (stages > 1) {
      EXPECT_EQ(activations(two, 0), activations(none, 0));
    }
  }
}

// Join: the embedding's norm reads h numbers of a token, the matrix 2 h.
TEST(Predictions, JoinTwoTensorsByAMatrixOfTwiceTheWidth) {
  const Scenario s = WithPredictions(1);
  models::Execution e = ExecutionOf(s);
  const models::Block join = models::JoinBlock(s.model, e);
  EXPECT_EQ(models::ActivationBytes(join, Recompute::kNone), sim::Bytes(4 * 2 * (8 + 16)));
  EXPECT_EQ(models::TotalFlops(join.main), sim::Wide{2} * 4 * 16 * 8);
  EXPECT_EQ(join.gather_output, sim::Bytes());
  e.tensor = 2;
  e.sequence_parallel = true;
  const models::Block cut = models::JoinBlock(s.model, e);
  EXPECT_EQ(cut.gather_output, sim::Bytes(4 * 2 * 8));     // behind the column-parallel matrix
  EXPECT_EQ(cut.gather_backward, sim::Bytes(4 * 2 * 8));   // its part of the sequence had been taken
  EXPECT_EQ(cut.reduce_backward, sim::Bytes(4 * 2 * 16));  // gradients of both inputs
}

std::int64_t Parameters(const StagePlan& plan) {
  std::int64_t sum = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) sum += unit.parameters + unit.spread;
  }
  return sum;
}

// DeepSeek-V3's module: 11,610,068,224 numbers, and on a last stage of its own the table of 129,280 x 7,168
// again; a rank of 64 expert groups has 4 of the 256 experts of 3 x 7,168 x 2,048.
TEST(Predictions, AddTheirParametersToTheLastStage) {
  const Sets job = {{"model", "deepseek_v3"},
                    {"devices", "256"},
                    {"layout.tensor", "1"},
                    {"layout.pipeline", "4"},
                    {"pipeline.loss_counts_as_layer", "true"},
                    {"pipeline.embedding_counts_as_layer", "true"},
                    {"model.layers", "62"},
                    {"layout.expert", "64"},
                    {"batch.global", "256"}};
  const auto held = [&](const char* mtp) {
    Sets sets = job;
    sets.push_back({"training.mtp", mtp});
    const Loading loading = Load(sets);
    EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    std::vector<std::int64_t> parameters;
    for (const StagePlan& plan : PlanStages(*loading.scenario, FlopCost())) {
      EXPECT_EQ(Parameters(plan), plan.held.total().total());
      parameters.push_back(plan.held.total().total());
    }
    return parameters;
  };
  const auto with = held("true"), without = held("false");
  const std::int64_t experts = 256LL * 3 * 7168 * 2048;
  EXPECT_EQ(with[3] - without[3], 11'610'068'224 - experts / 64 * 63 + 129'280LL * 7168);
  for (const std::size_t stage : {0u, 1u, 2u}) EXPECT_EQ(with[stage], without[stage]);
}

// Units share out what a stage holds: each number once, tied or not, one stage or several.
TEST(Predictions, ShareOutTheVocabularysMatrices) {
  for (const bool tied : {false, true}) {
    for (const std::int64_t stages : {1, 2, 4}) {
      Scenario s = WithPredictions(2, stages);
      s.model.tied_embedding = tied;
      const std::vector<StagePlan> plans = PlanStages(s, FlopCost());
      std::int64_t buckets = 0, held = 0;
      for (const StagePlan& plan : plans) {
        EXPECT_EQ(Parameters(plan), plan.held.total().total());
        for (const Bucket& bucket : plan.buckets) buckets += bucket.parameters;
        held += plan.held.total().total();
      }
      EXPECT_EQ(buckets, held);
      // Both stages' gradients of the table, 32 x 8 FP32 numbers, are added.
      EXPECT_EQ(plans.back().tied_gradient, sim::Bytes(stages > 1 ? 4 * 32 * 8 : 0)) << tied;
      // One copy of it beside the first stage's, and the head's own matrix unless that is the table.
      const std::int64_t ends = plans.back().held.embedding.total() + plans.back().held.head.total();
      EXPECT_EQ(ends, 32 * 8 * (tied ? 1 : 2));
    }
  }
}

// LLaMA-7B with one module: tensor 4, pipeline 2, data 2.
TEST(Predictions, SendTheBytesOfTheClosedForms) {
  for (const char* schedule : {"ONE_F_ONE_B", "ZB1P"}) {
    for (const char* sequence : {"true", "false"}) {
      Sets sets = {{"model.prediction_modules", "1"},
                   {"training.mtp", "true"},
                   {"layout.sequence", sequence},
                   {"pipeline.schedule", schedule}};
      const RunResult run = scenarios::Run(Load(sets).scenario.value(), {.fold = false}).value();
      const sim::Program& p = run.steps.program;
      double tensor = 0, embedding = 0;
      p.ForEachTask([&](sim::TaskId, const sim::Place& at) {
        if (p.row(at).kind != sim::TaskKind::kSeat || p.rank_of(at) != sim::Rank(15)) return;
        const sim::Communication& c = p.communications[p.communication_of(at).pos()];
        const sim::Traffic& traffic = p.traffics[c.traffic.pos()];
        const double n = c.seats, part = static_cast<double>(traffic.size.count()) * (n - 1) / n;
        const double sent = p.names[traffic.name] == "all-reduce" ? 2 * part : part;
        if (p.row(at).task_class == sim::TaskClass::kTensor) tensor += sent;
        if (p.row(at).task_class == sim::TaskClass::kEmbedding) embedding += sent;
      });
      // The last stage has the module, and sends most.
      EXPECT_EQ(tensor, 3 * run.report.closed_form.tensor_bytes_per_rank) << schedule << sequence;
      EXPECT_EQ(embedding, 3 * 4.0 * 32256 / 4 * 4096);  // 32,000 words, padded to a multiple of 4 x 128
      EXPECT_EQ(embedding, 3 * run.report.closed_form.embedding_bytes_per_rank);
    }
  }
}

TEST(Predictions, CountInMfu) {
  const auto flops = [](const char* mtp) {
    const Scenario s = Load({{"model.prediction_modules", "1"}, {"training.mtp", mtp}}).scenario.value();
    const Report report = scenarios::Run(s).value().report;
    return report.mfu * report.step_time.seconds() * 16 *
           hardware::PeakFlopsPerSecond(s.device, s.training.format);
  };
  const Scenario s = Load({{"model.prediction_modules", "1"}}).scenario.value();
  const double module = 3 * static_cast<double>(models::PredictionFlops(s.model, 16, 2048).total());
  EXPECT_NEAR((flops("true") - flops("false")) / module, 1, 1e-9);
}

TEST(Predictions, AreRefusedWhereTheyAreNotSimulated) {
  const Sets mtp = {{"training.mtp", "true"}};
  const auto errors = [&](Sets more) {
    more.insert(more.begin(), mtp.begin(), mtp.end());
    return Load(more).errors();
  };
  const std::string field = "training.mtp: ";
  EXPECT_THAT(errors({}), Contains(HasSubstr(field + "model \"llama_7b\" has no prediction modules")));
  EXPECT_THAT(errors({{"model.prediction_modules", "1"},
                      {"layout.pipeline", "1"},
                      {"training.optimizer_sharding", "ZERO_3"}}),
              Contains(HasSubstr(field + "is not simulated with ZERO_3")));
  EXPECT_THAT(
      errors({{"model.prediction_modules", "1"}, {"layout.virtual", "2"}, {"pipeline.schedule", "ZBV"}}),
      Contains(HasSubstr(field + "is not simulated where a stage holds both ends of the model")));
  EXPECT_THAT(errors({{"model.prediction_modules", "1"}, {"pipeline.piece_layout", "Et*16|t*16L"}}),
              Contains(HasSubstr("piece 1 has 0 MTP layers (m); 1 are trained")));
  EXPECT_THAT(errors({{"model.prediction_modules", "1"}, {"pipeline.piece_layout", "Et*16|t*16mL"}}),
              testing::IsEmpty());
}

}  // namespace
}  // namespace scenarios
