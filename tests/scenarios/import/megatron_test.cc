// Jobs of Megatron-LM: the shipped scenarios come out of their arguments again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/parameters.h"
#include "scenarios/import/megatron.h"
#include "tests/scenarios/import/importing.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Imported FromFlags(const std::string& flags, std::int64_t devices = 8) {
  return Import("megatron", RequestOf("job.txt", flags, devices));
}

// 24 layers of 12 heads, with 8 devices.
const std::string kSmall =
    "--num-layers 24 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 "
    "--max-position-embeddings 1024 --vocab-size 50257 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

// With fewer layers and sequences on both sides, for the sake of time.
TEST(Megatron, Gpt3OfTheLaunchScriptIsTheShippedScenario) {
  ImportRequest request = RequestOf("gpt3_175b.sh", JobText("gpt3_175b.sh"));
  request.hardware = "a100_80_sxm";
  request.topology = "rail_optimised_hdr";
  EXPECT_EQ(models::ParametersOf(Import("megatron", request).job->scenario.model).total(), 174'604'259'328);
  Give(&request,
       {{"num-layers", "24"}, {"num-layers-per-virtual-pipeline-stage", "1"}, {"global-batch-size", "8"}});
  const Imported imported = Import("megatron", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_THAT(imported.job->not_mapped, IsEmpty());
  EXPECT_EQ(DigestOf(imported.job->scenario),
            DigestOf("gpt3_175b_64xa100", {{"model.layers", "24"}, {"batch.global", "8"}}));
}

TEST(Megatron, MixtralOfTheFunctionalTestIsTheShippedScenario) {
  ImportRequest request = RequestOf("mixtral_8x7b.yaml", JobText("mixtral_8x7b.yaml"), 64);
  Give(&request, {{"global-batch-size", "32"}});
  const Imported imported = Import("megatron", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(models::ParametersOf(imported.job->scenario.model).total(), 46'702'792'704);
  EXPECT_EQ(DigestOf(imported.job->scenario), DigestOf("mixtral_8x7b_64xh100", {{"batch.global", "32"}}));
}

// 671,026,419,200 parameters and 37,552,297,472 active; the layout of the shipped scenario.
TEST(Megatron, DeepSeekV3HasItsPublishedShapesAndLayout) {
  ImportRequest request = RequestOf("deepseek_v3.txt", JobText("deepseek_v3.txt"), 2048);
  request.hardware = "h800_sxm";
  const Imported imported = Import("megatron", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  const Scenario& scenario = imported.job->scenario;
  const models::ModelParameters parameters = models::ParametersOf(scenario.model);
  EXPECT_EQ(parameters.total(), 671'026'419'200);
  EXPECT_EQ(parameters.active(), 37'552'297'472);
  proto::Diagnostics diagnostics;
  const auto shipped = LoadScenario("deepseek_v3_2048xh800", {}, &diagnostics);
  ASSERT_TRUE(shipped);
  EXPECT_EQ(scenario.pipeline.layers_of_piece, shipped->pipeline.layers_of_piece);
  EXPECT_EQ(scenario.layout.expert, 64);
  EXPECT_EQ(scenario.layout.expert_tensor, 1);
  EXPECT_EQ(scenario.batch.micro_batches, shipped->batch.micro_batches);
  EXPECT_THAT(imported.job->scenario_text, HasSubstr("dispatcher: DEEPEP"));
  EXPECT_EQ(scenario.predictions(), 1);
}

// Mixtral's job has 4 stages of 8 chunks; of one chunk it is refused, as by Megatron-LM.
TEST(Megatron, MapsTheOverlapOfExpertsWithAnotherMicroBatch) {
  const auto imported = [](std::vector<std::pair<std::string, std::string>> more) {
    ImportRequest request = RequestOf("mixtral_8x7b.yaml", JobText("mixtral_8x7b.yaml"), 64);
    more.insert(more.begin(),
                {{"overlap-moe-expert-parallel-comm", "true"}, {"delay-wgrad-compute", "true"}});
    Give(&request, more);
    return Import("megatron", request);
  };
  const Imported job = imported({});
  ASSERT_TRUE(job.job) << job.errors();
  EXPECT_TRUE(job.job->scenario.pipeline.overlaps_experts);
  EXPECT_TRUE(job.job->scenario.pipeline.delays_weight_gradients);
  EXPECT_THAT(job.job->not_mapped, Not(testing::Contains(HasSubstr("wgrad"))));
  EXPECT_THAT(
      imported({{"num-layers-per-virtual-pipeline-stage", "8"}}).errors(),
      HasSubstr("--overlap-moe-expert-parallel-comm: pipeline.overlap_experts: 1f1b: 4 stages do not join"));
}

// Llama 3 8B and 70B: 8,030,261,248 and 70,553,706,496 parameters, as published.
TEST(Megatron, LlamaThreeHasItsPublishedParameters) {
  const std::string llama =
      "--swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
      "--position-embedding-type rope --group-query-attention --num-query-groups 8 --vocab-size 128256 "
      "--seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 128 --bf16 "
      "--attention-dropout 0 --hidden-dropout 0 ";
  const Imported small = FromFlags(
      llama + "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32");
  ASSERT_TRUE(small.job) << small.errors();
  EXPECT_EQ(models::ParametersOf(small.job->scenario.model).total(), 8'030'261'248);
  const Imported large =
      FromFlags(llama +
                    "--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 "
                    "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel",
                64);
  ASSERT_TRUE(large.job) << large.errors();
  EXPECT_EQ(models::ParametersOf(large.job->scenario.model).total(), 70'553'706'496);
  EXPECT_EQ(large.job->scenario.layout.data, 4);
  EXPECT_FALSE(large.job->scenario.training.dropout);
}

// Defaults of arguments.py: 4 hidden, or 2/3 of it in multiples of 64 with three matrices.
TEST(Megatron, TakesItsDefaults) {
  const auto plain = FromFlags(kSmall).job, gated = FromFlags(kSmall + "--swiglu").job;
  ASSERT_TRUE(plain && gated);
  EXPECT_EQ(plain->scenario.model.ffn, 4 * 768);
  EXPECT_EQ(gated->scenario.model.ffn, 2048);
  EXPECT_TRUE(plain->scenario.model.tied_embedding);
  EXPECT_EQ(plain->scenario.model.learned_positions, 1024);
  EXPECT_TRUE(plain->scenario.training.dropout);
  EXPECT_EQ(plain->scenario.training.optimizer_sharding, OptimizerSharding::kReplicated);
  EXPECT_FALSE(plain->scenario.training.overlap_gradient_reduce);
  EXPECT_EQ(plain->scenario.training.gradient_format, sim::NumberFormat::kFp32);
  EXPECT_EQ(FromFlags(kSmall + "--grad-reduce-in-bf16").job->scenario.training.gradient_format,
            sim::NumberFormat::kBf16);
}

// Defaults of arguments.py: delayed scaling, one layer at each end.
TEST(Megatron, RecipesOfFp8AreRecipes) {
  const auto matmul = [](const std::string& flags) {
    const Imported imported = FromFlags(kSmall + flags);
    EXPECT_TRUE(imported.job) << imported.errors();
    return imported.job ? imported.job->scenario.training.matmul : Matmul();
  };
  EXPECT_EQ(matmul("--fp8-format hybrid").recipe, models::Recipe::kTensorDelayed);
  EXPECT_EQ(matmul("--fp8-format e4m3 --fp8-recipe blockwise").recipe, models::Recipe::kBlock);
  const Matmul current = matmul(
      "--fp8-format hybrid --fp8-recipe tensorwise --first-last-layers-bf16 --num-layers-at-end-in-bf16 2");
  EXPECT_EQ(current.recipe, models::Recipe::kTensorCurrent);
  EXPECT_EQ(current.first_layers_bf16, 1);
  EXPECT_EQ(current.last_layers_bf16, 2);
  EXPECT_TRUE(matmul("--fp8-format hybrid --fp8-param-gather --use-distributed-optimizer").parameter_gather);
}

TEST(Megatron, LayersThatAreOffloadedAreCounted) {
  const Imported imported = FromFlags(kSmall + "--cpu-offloading-num-layers 6");
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.training.offload.activation_layers, 6);
  EXPECT_THAT(FromFlags(kSmall + "--cpu-offloading").errors(),
              HasSubstr("--cpu-offloading: of no layer; --cpu-offloading-num-layers is wanted"));
}

// Source: arguments.py: all of it unless a fraction is given.
TEST(Megatron, TheOptimizerIsOffloadedByFractions) {
  const auto offload = [](const std::string& flags) {
    const Imported imported = FromFlags(kSmall + flags);
    EXPECT_TRUE(imported.job) << imported.errors();
    return imported.job ? imported.job->scenario.training.offload : Offload();
  };
  EXPECT_EQ(offload("--optimizer-cpu-offload").optimizer_parts, 1'000'000'000);
  EXPECT_FALSE(offload("--optimizer-cpu-offload").overlap);
  const Offload half =
      offload("--optimizer-cpu-offload --optimizer-offload-fraction 0.5 --overlap-cpu-optimizer-d2h-h2d");
  EXPECT_EQ(half.optimizer_parts, 500'000'000);
  EXPECT_TRUE(half.overlap);
}

TEST(Megatron, FsdpGathersInEightBits) {
  const Imported imported = FromFlags(
      kSmall + "--use-megatron-fsdp --fp8-format hybrid --fp8-recipe tensorwise --fp8-param-gather");
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.training.optimizer_sharding, OptimizerSharding::kZero3);
  EXPECT_TRUE(imported.job->scenario.training.matmul.parameter_gather);
  EXPECT_FALSE(imported.job->scenario.training.matmul.cast_each_gather);
}

TEST(Megatron, KindsOfContextParallelismAreKinds) {
  const auto context = [](const std::string& flags) {
    const Imported imported = FromFlags(kSmall + "--context-parallel-size 2 " + flags);
    EXPECT_TRUE(imported.job) << imported.errors();
    return imported.job ? imported.job->scenario.layout : Layout();
  };
  EXPECT_EQ(context("").context_kind, models::ContextKind::kRing);
  EXPECT_EQ(context("--cp-comm-type all_gather").context_kind, models::ContextKind::kAllGather);
  EXPECT_EQ(context("--cp-comm-type a2a").ulysses, 2);
}

TEST(Megatron, ReadsTheArgumentsOfACheckpoint) {
  const Imported imported = Import("megatron", RequestOf("args.json", R"({
    "num_layers": 24, "hidden_size": 768, "num_attention_heads": 12, "seq_length": 1024,
    "max_position_embeddings": 1024, "padded_vocab_size": 50304, "micro_batch_size": 1,
    "global_batch_size": 64, "bf16": true, "fp16": false, "add_bias_linear": false, "swiglu": true,
    "num_experts": null, "world_size": 8, "data_parallel_size": 8, "fp8": null,
    "use_distributed_optimizer": true, "overlap_param_gather": true})"));
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.devices, 8);
  EXPECT_FALSE(imported.job->scenario.model.biases.mlp);
  EXPECT_EQ(imported.job->scenario.model.vocabulary, 50'304);
  EXPECT_TRUE(imported.job->scenario.training.overlap_parameter_gather);
}

TEST(Megatron, ListsWhatItLeavesOutAndMarksWhatMatters) {
  const Imported imported = FromFlags(
      kSmall + "--tp-comm-overlap --cuda-graph-impl local --lr 1e-4 --moe-router-topk 2 --log-interval 1");
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_THAT(imported.job->not_mapped,
              ElementsAre("! --tp-comm-overlap: tensor-parallel communication beside its product",
                          "! --cuda-graph-impl: launches from a CUDA graph",
                          "--moe-router-topk: has no effect in this job"));
  EXPECT_THAT(imported.job->scenario_text, HasSubstr("#   ! --tp-comm-overlap: tensor-parallel"));
}

TEST(Megatron, OfEqualFlagsTheLastCounts) {
  const Imported imported = FromFlags(kSmall + "--global-batch-size 32");
  EXPECT_EQ(imported.job->scenario.batch.global, 32);
  EXPECT_THAT(imported.warnings(), HasSubstr("--global-batch-size: is also at job.txt:1:"));
}

TEST(Megatron, RefusesWhatNeedsAShellOnlyWhereItMatters) {
  const std::string script =
      "if [ $SMALL ]; then\n  N=12\nelse\n  N=24\nfi\nOUT=$(date)\n"
      "torchrun --nproc_per_node 8 --nnodes 1 train.py --save $OUT " +
      kSmall + " --num-layers $N\n";
  ImportRequest request = RequestOf("job.sh", script);
  EXPECT_THAT(Import("megatron", request).errors(),
              HasSubstr("--num-layers: line 1: `if` needs a shell; give it with --set num-layers=VALUE"));
  Give(&request, {{"--num-layers", "12"}});
  const Imported imported = Import("megatron", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.model.layers, 12);
}

TEST(MegatronExpressions, ListsAreAsPythonMakesThem) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(EvaluateList("([0]*2+[1]*3)"), (List{0, 0, 1, 1, 1}));
  EXPECT_EQ(EvaluateList("([0,1]*2)"), (List{0, 1, 0, 1}));
  EXPECT_EQ(EvaluateList("[1, 2]"), (List{1, 2}));
  for (const char* wrong : {"", "1", "[1", "[1]*", "([1]", "[1]*-1", "[1]*99999", "[[1]]", "[1]+", "[1] x"}) {
    EXPECT_EQ(EvaluateList(wrong), std::nullopt) << wrong;
  }
}

// Megatron-LM's documentation: DeepSeek-V3 in 32 pieces, 3, 29 times 2, a prediction module, the loss.
TEST(MegatronExpressions, PipelineLayoutsAreWrittenOut) {
  const auto pieces = ExpandPipelineLayout("Et*3|(tt|)*29,m|L");
  ASSERT_TRUE(pieces);
  ASSERT_EQ(pieces->size(), 32u);
  EXPECT_EQ(pieces->front(), "Ettt");
  EXPECT_EQ((*pieces)[29], "tt");
  EXPECT_EQ((*pieces)[30], "m");
  EXPECT_EQ(pieces->back(), "L");
  EXPECT_EQ(ExpandPipelineLayout("EttL"), (std::vector<std::string>{"EttL"}));
  for (const char* wrong : {"Ex", "E(t", "Et)", "t*", "t*99999", "((((((((((((((((((((((((((((((((((t"}) {
    EXPECT_EQ(ExpandPipelineLayout(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace scenarios
