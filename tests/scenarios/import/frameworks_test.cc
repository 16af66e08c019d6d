// Jobs of DeepSpeed, nanotron, NeMo and torchtitan.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/parameters.h"
#include "scenarios/import/translate.h"
#include "tests/scenarios/import/importing.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The default scenario but for what DeepSpeed does otherwise: the last unit is given back too.
TEST(DeepSpeed, ZeroThreeIsTheShippedScenario) {
  ImportRequest request = RequestOf("ds.json", JobText("llama_7b_zero3.json"), 32);
  request.hardware = "h800_sxm";
  request.model = "llama_7b";
  request.sequence_length = 4096;
  Give(&request, {{"train_batch_size", "128"}});
  const Imported imported = Import("deepspeed", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(DigestOf(imported.job->scenario),
            DigestOf("llama_7b_256xh800", {{"devices", "32"},
                                           {"batch.global", "128"},
                                           {"training.recompute", "NONE"},
                                           {"training.sharding.reshard_last_unit", "true"}}));
  EXPECT_THAT(
      imported.job->not_mapped,
      ElementsAre("! zero_optimization.stage3_param_persistence_threshold: small weights that stay whole"));
}

// Two figures of the batch give the third: train_batch = micro x accumulation x data.
TEST(DeepSpeed, DerivesTheBatchFromTwoOfItsFigures) {
  const auto batch = [](const std::string& keys) {
    ImportRequest request = RequestOf("ds.json", "{" + keys + ", \"bf16\": {\"enabled\": true}}", 8);
    request.model = "llama_7b";
    request.sequence_length = 2048;
    const Imported imported = Import("deepspeed", request);
    if (!imported.job) return imported.errors();
    const Batch& found = imported.job->scenario.batch;
    return std::to_string(found.global) + " " + std::to_string(found.micro) + " " +
           std::to_string(found.micro_batches);
  };
  EXPECT_EQ(batch("\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 2"), "64 2 4");
  EXPECT_EQ(batch("\"train_batch_size\": 64, \"gradient_accumulation_steps\": 2"), "64 4 2");
  EXPECT_EQ(batch("\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 3"), "48 2 3");
  EXPECT_EQ(batch("\"train_batch_size\": 64"), "64 8 1");
  EXPECT_EQ(batch("\"train_micro_batch_size_per_gpu\": 2"), "16 2 1");
}

TEST(DeepSpeed, HasDefaultsOfItsOwn) {
  ImportRequest request = RequestOf("ds.json",
                                    "{\"train_batch_size\": 8, \"fp16\": {\"enabled\": true}, "
                                    "\"zero_optimization\": {\"stage\": 1}}",
                                    8);
  request.model = "llama_7b";
  request.sequence_length = 2048;
  const Imported imported = Import("deepspeed", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  const Training& training = imported.job->scenario.training;
  EXPECT_EQ(training.bucket.count(), 1'000'000'000);  // 5e8 numbers of two bytes
  EXPECT_EQ(training.gradient_format, sim::NumberFormat::kFp16);
  EXPECT_FALSE(training.overlap_gradient_reduce);
  EXPECT_FALSE(training.overlap_parameter_gather);
}

TEST(DeepSpeed, OffloadsOptimizerAndWeights) {
  ImportRequest request = RequestOf("ds.json", R"({"train_batch_size": 8, "bf16": {"enabled": true},
      "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
                            "offload_param": {"device": "cpu"}}})",
                                    8);
  request.model = "llama_7b";
  request.sequence_length = 2048;
  const Imported imported = Import("deepspeed", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  const Offload& offload = imported.job->scenario.training.offload;
  EXPECT_EQ(offload.optimizer_parts, 1'000'000'000);
  EXPECT_TRUE(offload.parameters);
  EXPECT_TRUE(offload.overlap);
}

// Of no other kind than Ulysses.
TEST(DeepSpeed, SharesSequencesByExchangingHeads) {
  ImportRequest request = RequestOf("ds.json", R"({"train_batch_size": 8,
      "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},
      "zero_optimization": {"stage": 1}, "sequence_parallel_size": 4})",
                                    8);
  request.model = "llama_7b";
  request.sequence_length = 2048;
  const Imported imported = Import("deepspeed", request);
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.layout.context, 4);
  EXPECT_EQ(imported.job->scenario.layout.ulysses, 4);
}

TEST(Nanotron, LlamaThreeComesWithItsModel) {
  const Imported imported = Import("nanotron", RequestOf("n.yaml", JobText("llama3_8b_nanotron.yaml")));
  ASSERT_TRUE(imported.job) << imported.errors();
  const Scenario& scenario = imported.job->scenario;
  EXPECT_EQ(models::ParametersOf(scenario.model).total(), 8'030'261'248);
  EXPECT_EQ(scenario.devices, 64);  // 8 x 2 x 4
  EXPECT_EQ(scenario.batch.global, 32);
  EXPECT_EQ(scenario.batch.micro_batches, 8);
  EXPECT_TRUE(scenario.layout.sequence);
  EXPECT_EQ(scenario.training.optimizer_sharding, OptimizerSharding::kZero1);
  EXPECT_EQ(scenario.training.bucket.count(), 25 * 1024 * 1024);
  EXPECT_THAT(imported.job->not_mapped,
              ElementsAre("! parallelism.tp_linear_async_communication: tensor-parallel communication beside "
                          "its product"));
}

// The same job as arguments of Megatron-LM has the same tasks.
TEST(Nemo, IsTheSameJobAsItsArguments) {
  ImportRequest nemo = RequestOf("n.yaml", JobText("llama3_70b_nemo.yaml"));
  const Imported full = Import("nemo", nemo);
  ASSERT_TRUE(full.job) << full.errors();
  EXPECT_EQ(models::ParametersOf(full.job->scenario.model).total(), 70'553'706'496);
  EXPECT_EQ(full.job->scenario.batch.global, 128);  // ${multiply:8, 16}
  EXPECT_EQ(full.job->scenario.model.max_positions, 8192);
  EXPECT_THAT(full.job->not_mapped, IsEmpty());
  Give(&nemo, {{"model.num_layers", "20"}, {"model.global_batch_size", "8"}});
  const Imported imported = Import("nemo", nemo);
  ASSERT_TRUE(imported.job) << imported.errors();
  const Imported megatron = Import(
      "megatron",
      RequestOf(
          "job.txt",
          "--num-layers 20 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --swiglu "
          "--group-query-attention --num-query-groups 8 --normalization RMSNorm --disable-bias-linear "
          "--untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128256 "
          "--seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 8 "
          "--bf16 --grad-reduce-in-bf16 --attention-dropout 0 --hidden-dropout 0 "
          "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel "
          "--num-virtual-stages-per-pipeline-rank 5 --use-distributed-optimizer --overlap-grad-reduce "
          "--overlap-param-gather",
          64));
  ASSERT_TRUE(megatron.job) << megatron.errors();
  EXPECT_EQ(DigestOf(imported.job->scenario), DigestOf(megatron.job->scenario));
}

TEST(Torchtitan, FillsTheRestWithShards) {
  const Imported imported =
      Import("torchtitan", RequestOf("t.toml", JobText("llama3_8b_torchtitan.toml"), 32));
  ASSERT_TRUE(imported.job) << imported.errors();
  const Scenario& scenario = imported.job->scenario;
  EXPECT_EQ(scenario.model.name, "llama3_8b");
  EXPECT_EQ(scenario.layout.data, 16);             // 32 / tensor 2
  EXPECT_EQ(scenario.training.sharding.ranks, 8);  // 16 / 2 copies
  EXPECT_EQ(scenario.batch.global, 16);            // a sequence a data rank
  EXPECT_EQ(scenario.training.optimizer_sharding, OptimizerSharding::kZero3);
  EXPECT_EQ(scenario.training.recompute, Recompute::kFull);
}

// job_config.py: selective, every second layer, unless the file says otherwise.
TEST(Torchtitan, RecomputesByOperationsOrEveryNthLayer) {
  const auto imported = [](const std::string& checkpoint) {
    const Imported job = Import(
        "torchtitan", RequestOf("t.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + checkpoint, 8));
    EXPECT_TRUE(job.job) << job.errors();
    return job.job->scenario.training;
  };
  const Training usual = imported("");
  EXPECT_EQ(usual.recompute, Recompute::kFull);
  EXPECT_EQ(usual.full_recompute.every, 2);
  const Training operations = imported("[activation_checkpoint]\nselective_ac_option = \"op\"\n");
  EXPECT_EQ(operations.recompute, Recompute::kSelective);
  EXPECT_TRUE(operations.selective.operations);
  EXPECT_EQ(imported("[activation_checkpoint]\nselective_ac_option = \"1\"\n").full_recompute.every, 1);
}

TEST(Torchtitan, SchedulesInAVAreTheirOwn) {
  const Imported imported =
      Import("torchtitan", RequestOf("t.json", R"({"model": {"name": "llama3", "flavor": "405B"},
          "training": {"local_batch_size": 16, "seq_len": 8192},
          "parallelism": {"pipeline_parallel_degree": 4, "data_parallel_shard_degree": 1,
                          "data_parallel_replicate_degree": 2, "tensor_parallel_degree": 2,
                          "pipeline_parallel_schedule": "ZBVZeroBubble"},
          "activation_checkpoint": {"mode": "none"}})",
                                     16));
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.pipeline.name(), "zbv");
  EXPECT_EQ(imported.job->scenario.layout.virtual_stages, 2);
  EXPECT_EQ(imported.job->scenario.pipeline.layers_of_piece.back(), 15);  // 128 / 8, less the head
}

// Eight shards of Llama 3 8B with these sections beside.
Imported Shards(const std::string& sections) {
  return Import("torchtitan", RequestOf("t.toml",
                                        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + sections +
                                            "\n[activation_checkpoint]\nmode = \"full\"\n",
                                        8));
}

TEST(Torchtitan, CastsBeforeItGathersWhereItIsTold) {
  const Imported behind = Shards("converters = [\"float8\"]");
  ASSERT_TRUE(behind.job) << behind.errors();
  EXPECT_EQ(behind.job->scenario.training.matmul.recipe, models::Recipe::kTensorCurrent);
  EXPECT_FALSE(behind.job->scenario.training.matmul.parameter_gather);
  const Imported before = Shards("converters = [\"float8\"]\n[float8]\nenable_fsdp_float8_all_gather = true");
  ASSERT_TRUE(before.job) << before.errors();
  EXPECT_TRUE(before.job->scenario.training.matmul.parameter_gather);
  EXPECT_TRUE(before.job->scenario.training.matmul.cast_each_gather);
}

// Weights, gradients' shares and optimizer.
TEST(Torchtitan, OffloadsAllThatIsCut) {
  const Imported imported = Shards("[training]\nenable_cpu_offload = true");
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.training.offload.optimizer_parts, 1'000'000'000);
  EXPECT_TRUE(imported.job->scenario.training.offload.parameters);
}

// Source: parallelize_llama.py: weights stay for the step where there is a pipeline.
TEST(Torchtitan, KeepsWeightsForTheStepInAPipeline) {
  const Imported imported =
      Shards("[parallelism]\npipeline_parallel_degree = 2\n[training]\nlocal_batch_size = 4\nseq_len = 2048");
  ASSERT_TRUE(imported.job) << imported.errors();
  EXPECT_EQ(imported.job->scenario.training.optimizer_sharding, OptimizerSharding::kZero3);
  EXPECT_FALSE(imported.job->scenario.training.sharding.reshard_after_forward);
  EXPECT_TRUE(imported.job->scenario.training.sharding.no_sync);
}

TEST(Torchtitan, IsTheSameInJson) {
  const Imported toml = Import("torchtitan", RequestOf("t.toml", JobText("llama3_8b_torchtitan.toml"), 16));
  const Imported json =
      Import("torchtitan", RequestOf("t.json", R"({"model": {"name": "llama3", "flavor": "8B"},
          "training": {"local_batch_size": 1, "seq_len": 8192},
          "parallelism": {"data_parallel_replicate_degree": 2, "tensor_parallel_degree": 2},
          "activation_checkpoint": {"mode": "full"}})",
                                     16));
  ASSERT_TRUE(toml.job && json.job) << json.errors();
  EXPECT_EQ(DigestOf(toml.job->scenario), DigestOf(json.job->scenario));
}

// "text" at a.b of { a: { b: ..., c: 6, d: x }, e: 4 }, or the doubt in brackets.
std::string Resolve(const std::string& text) {
  std::vector<Setting> all = {{"a.b", "a.b", "f:1:1", ScalarNode(text), ""},
                              {"a.c", "a.c", "f:2:1", ScalarNode("6"), ""},
                              {"a.d", "a.d", "f:3:1", ScalarNode("${..e}0"), ""},
                              {"e", "e", "f:4:1", ScalarNode("4"), ""}};
  ResolveInterpolations(&all);
  return all[0].doubt.empty() ? all[0].value.text : "[" + all[0].doubt + "]";
}

TEST(Interpolation, IsResolvedAsOmegaConfDoes) {
  EXPECT_EQ(Resolve("${e}"), "4");
  EXPECT_EQ(Resolve("${.c}"), "6");
  EXPECT_EQ(Resolve("${..e}"), "4");
  EXPECT_EQ(Resolve("${a.d}"), "40");
  EXPECT_EQ(Resolve("x${e}y${.c}"), "x4y6");
  EXPECT_EQ(Resolve("${multiply:4, ${.c}}"), "24");
  EXPECT_EQ(Resolve("${divide:${multiply:${e},${.c}},8}"), "3");
  EXPECT_EQ(Resolve("plain"), "plain");
}

TEST(Interpolation, KeepsADoubtWhereItIsNot) {
  EXPECT_THAT(Resolve("${x}"), HasSubstr("[${x} names no value of this file"));
  EXPECT_THAT(Resolve("${a.b}"), HasSubstr("leads in a circle"));
  EXPECT_THAT(Resolve("${oc.env:HOME}"), HasSubstr("oc.env is unknown here"));
  EXPECT_THAT(Resolve("${divide:7,2}"), HasSubstr("is not resolved"));
  EXPECT_THAT(Resolve("${multiply:9223372036854775807,2}"), HasSubstr("is not resolved"));
  EXPECT_THAT(Resolve("${e"), HasSubstr("never closed"));
}

}  // namespace
}  // namespace scenarios
