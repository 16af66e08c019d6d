// What is wrong with a job is said at the line that the user wrote, all of it in one run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/import/importing.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// GPT-13B: 40 layers of 5,120 channels, as HB-218 has it.
std::string Flags(const std::string& more) {
  return "--num-layers 40\n--hidden-size 5120\n--num-attention-heads 40\n--seq-length 2048\n"
         "--max-position-embeddings 2048\n--vocab-size 50257\n--micro-batch-size 1\n--bf16\n" +
         more;
}

std::string ErrorsOf(const std::string& more, std::int64_t devices) {
  return Import("megatron", RequestOf("job.txt", Flags(more), devices)).errors();
}

// HB-218: 1,472 / (8 x 8) = 23 data ranks, and 32 % 23 = 9.
TEST(Mistakes, ABatchThatDataRanksDoNotShare) {
  EXPECT_THAT(
      ErrorsOf("--tensor-model-parallel-size 8\n--pipeline-model-parallel-size 8\n--global-batch-size 32\n",
               1472),
      HasSubstr("job.txt:11:1: --global-batch-size: batch.global: 32 % (1*23) = 9"));
}

// HB-210: 16 > 8, 8 % 3, and a data degree of 3 where 4 x 3 != 8.
TEST(Mistakes, DegreesThatDoNotMultiplyToTheDevices) {
  const std::string batch = "--global-batch-size 24\n";
  EXPECT_THAT(ErrorsOf(batch + "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4", 8),
              HasSubstr("--devices: devices: tensor 4 x context 1 x pipeline 4 > 8 devices"));
  EXPECT_THAT(ErrorsOf(batch + "--tensor-model-parallel-size 3", 8),
              HasSubstr("8 devices are not a multiple of"));
  EXPECT_THAT(ErrorsOf(batch + "--tensor-model-parallel-size 4 --data-parallel-size 3", 8),
              HasSubstr("job.txt:10:32: --data-parallel-size: layout.data: data 3 x tensor 4 x context 1 x "
                        "pipeline 1 = 12 != 8 devices"));
  EXPECT_EQ(ErrorsOf(batch + "--tensor-model-parallel-size 4 --data-parallel-size 2", 8), "");
}

// HB-203.
TEST(Mistakes, DeepSpeedsBatchShowsAllItsNumbers) {
  ImportRequest request = RequestOf("ds.json",
                                    "{\n\"train_batch_size\": 256,\n\"train_micro_batch_size_per_gpu\": 2,\n"
                                    "\"gradient_accumulation_steps\": 18, \"bf16\": {\"enabled\": true}}",
                                    7);
  request.model = "llama_7b";
  request.sequence_length = 2048;
  EXPECT_THAT(Import("deepspeed", request).errors(),
              HasSubstr("ds.json:2:1: train_batch_size: batch.accumulation: 256 != 2*18*7 = 252"));
}

// HB-214: a slip, and a key in the wrong place, each with its path and what it should be.
TEST(Mistakes, UnknownKeysComeWithTheNearestOne) {
  ImportRequest request = RequestOf("n.yaml", JobText("llama3_8b_nanotron.yaml") + "sequence_length: 8\n");
  const std::size_t at = request.text.find("  micro_batch_size");
  request.text.replace(at, 18, "  micro_batchsize");
  const std::string errors = Import("nanotron", request).errors();
  EXPECT_THAT(errors,
              HasSubstr("tokens.micro_batchsize: unknown key; did you mean tokens.micro_batch_size?"));
  EXPECT_THAT(errors, HasSubstr("sequence_length: unknown key; did you mean tokens.sequence_length?"));
  EXPECT_THAT(ErrorsOf("--global-batch-size 8 --tensor-model-parallel-sise 2", 8),
              HasSubstr("job.txt:9:23: --tensor-model-parallel-sise: unknown key; did you mean "
                        "--tensor-model-parallel-size?"));
  ImportRequest kept = RequestOf("job.txt", Flags("--global-batch-size 8 --my-own 2"), 8);
  kept.keep_unknown = true;
  EXPECT_THAT(Import("megatron", kept).job->not_mapped, ElementsAre("--my-own: unknown"));
}

TEST(Mistakes, AllOfThemInOneRun) {
  const Imported imported =
      Import("megatron",
             RequestOf("job.txt",
                       "--num-layers x\n--hidden-size 0\n--fp16 --bf16\n--optimizer sgd\n--fp4-format e2m1\n"
                       "--seq-length 4096 --max-position-embeddings 2048\n--nonsense 3\n"));
  const std::string errors = imported.errors();
  for (const char* line :
       {"job.txt:1:1: --num-layers: \"x\" is no whole number",
        "job.txt:2:1: --hidden-size: 0 is out of range",
        "job.txt:3:1: --fp16: with job.txt:3:8: --bf16; one is wanted",
        "job.txt:4:1: --optimizer: \"sgd\" is not simulated", "job.txt:5:1: --fp4-format: not simulated: FP4",
        "job.txt:6:19: --max-position-embeddings: 2048 are fewer", "job.txt:7:1: --nonsense: unknown key",
        "job.txt: --num-attention-heads: missing", "job.txt: --vocab-size: missing",
        "job.txt: --micro-batch-size: missing", "job.txt: --global-batch-size: missing",
        "--devices: missing"}) {
    EXPECT_THAT(errors, HasSubstr(line));
  }
}

struct Malformed {
  const char* format;
  const char* file;
  const char* text;
  const char* error;  // part of it
};

constexpr Malformed kMalformed[] = {
    {"megatron", "a.sh", "", "no command"},
    {"megatron", "a.txt", "--num-layers 'x", "a quote ' that is never closed"},
    {"megatron", "a.txt", "--bf16 --x=", "--x: unknown key"},
    {"megatron", "a.txt", "--recompute-granularity full", "--recompute-method: missing"},
    {"megatron", "a.txt", "--recompute-granularity half",
     "\"half\" is not simulated; one of full, selective"},
    {"megatron", "a.txt", "--recompute-granularity selective --recompute-modules mlps",
     "--recompute-modules: training.recompute_modules"},
    {"megatron", "a.txt", "--num-query-groups", "\"true\" is no whole number"},
    {"megatron", "a.txt", "--num-layers 4 --moe-layer-freq [0]*3 --num-experts 8", "3 entries for 4 layers"},
    {"megatron", "a.txt", "--pipeline-model-parallel-layout 'tL|E'",
     "E is wanted in the first piece and L in the last"},
    {"megatron", "a.txt", "--pipeline-model-parallel-layout Q", "\"Q\" is no layout"},
    {"megatron", "a.txt", "--num-layers 5 --num-layers-per-virtual-pipeline-stage 2",
     "5 layers are not a multiple of 1 stages x 2 layers"},
    {"megatron", "a.txt", "--overlap-param-gather", "needs --use-distributed-optimizer"},
    {"megatron", "a.txt", "--window-size 5", "tokens to the left and 0 are wanted"},
    {"megatron", "a.txt", "--swiglu --squared-relu", "one nonlinearity is wanted"},
    {"megatron", "a.txt", "--num-experts 8 --expert-model-parallel-size 2 --moe-token-dispatcher-type flex",
     "flex without --moe-enable-deepep"},
    {"megatron", "a.txt", "--cpu-offloading-weights", "not simulated: weights on the host"},
    {"megatron", "a.txt", "--mamba-state-dim 128", "not simulated: state-space layers"},
    {"megatron", "a.txt", "--hidden-size 5 --num-attention-heads 2", "2 does not divide the hidden size 5"},
    {"megatron", "a.json", "", "there is nothing in it"},
    {"megatron", "a.json", "{\"num_layers\": }", "a.json:1:"},
    {"megatron", "a.json", "{\"num_layers\": [1]}", "a list is no whole number"},
    {"megatron", "a.yaml", "x: 1", "no MODEL_ARGS"},
    {"megatron", "a.yaml", "MODEL_ARGS: {--lr: [1}", "a.yaml:1:"},
    {"deepspeed", "a.json", "[]", "a.json"},
    {"deepspeed", "a.json", "{\"train_batch_size\": \"auto\"}", "\"auto\" is filled in by the program"},
    {"deepspeed", "a.json", "{\"train_batch_size\": 1, \"train_batch_size\": 2}", "once is wanted"},
    {"deepspeed", "a.json", "{\"bf16\": {\"enabled\": 3}}", "\"3\"; true or false is wanted"},
    {"deepspeed", "a.json", "{\"zero_optimization\": {\"stage\": 4}}", "4 is out of range"},
    {"deepspeed", "a.json", "{\"zero_optimization\": {\"offload_param\": {\"device\": \"nvme\"}}}",
     "offload to drives is not simulated"},
    {"deepspeed", "a.json", "{\"zero_optimization\": {\"zero_hpz_partition_size\": 8}}", "not simulated"},
    {"deepspeed", "a.json", "{\"stage\": 3}", "did you mean zero_optimization.stage?"},
    {"deepspeed", "a.json", "{}", "--sequence-length: missing"},
    {"deepspeed", "a.json", "{}", "--model: missing"},
    {"nanotron", "a.yaml", "", "a.yaml"},
    {"nanotron", "a.yaml", "- 1", "no keys"},
    {"nanotron", "a.yaml", "a: 1\n---\nb: 2", "several documents"},
    {"nanotron", "a.yaml", "a: &x {b: 1}\nc:\n  <<: *x", "merging with << is not supported"},
    {"nanotron", "a.yaml", "? [a]\n: 1", "a key that is no word"},
    {"nanotron", "a.yaml", "a: 'x", "no YAML"},
    {"nanotron", "a.yaml", "model: {model_config: {is_llama_config: false}}", "neither is_llama_config nor"},
    {"nanotron", "a.yaml", "model: {model_config: {is_llama_config: true}}",
     "model.model_config.hidden_size: missing"},
    {"nanotron", "a.yaml", "optimizer: {zero_stag: 1}", "unknown key; did you mean optimizer.zero_stage?"},
    {"nanotron", "a.yaml", "optimizer: {zero_stage: 3}", "3 is out of range"},
    {"nemo", "a.yaml", "model: {num_layers: '${x.y}'}", "${x.y} names no value of this file"},
    {"nemo", "a.yaml", "model: {num_layers: '${model.num_layers}'}", "leads in a circle"},
    {"nemo", "a.yaml", "model: {num_layers: '${oc.env:N}'}", "model.num_layers: ${oc.env:N} is not resolved"},
    {"nemo", "a.yaml", "model: {activation: relu2}", "\"relu2\" is not simulated"},
    {"nemo", "a.yaml", "model: {nonsense: 1}", "unknown key"},
    {"nemo", "a.yaml", "{}", "a.yaml"},
    {"torchtitan", "a.toml", "a = ", "a.toml:1:"},
    {"torchtitan", "a.toml", "[a]\n[a]", "a.toml:2:"},
    {"torchtitan", "a.toml", "[model]\nflavor = \"9B\"", "has no model of the catalogue"},
    {"torchtitan", "a.toml", "[training]\nseq_len = 1.5", "\"1.5\" is no whole number"},
    {"torchtitan", "a.toml", "[optimizer]\nearly_step_in_backward = true",
     "not simulated: the optimizer inside the backward"},
    {"torchtitan", "a.toml", "[activation_checkpoint]\nselective_ac_option = \"some\"",
     "\"some\"; op, or a number of layers, is wanted"},
    {"torchtitan", "a.toml", "[parallelism]\ndata_parallel_shard_degree = 0", "0; a degree, or -1"},
    {"torchtitan", "a.json", "{\"training\": 3}", "training: unknown key"},
};

TEST(Mistakes, OfEveryFormatAreTold) {
  for (const Malformed& row : kMalformed) {
    const Imported imported = Import(row.format, RequestOf(row.file, row.text));
    EXPECT_FALSE(imported.job) << row.format << ": " << row.text;
    EXPECT_THAT(imported.errors(), HasSubstr(row.error)) << row.format << ": " << row.text;
  }
}

TEST(Mistakes, YamlThatGrowsWithoutEndIsRefused) {
  // Billion laughs: each line is ten of the one before.
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_THAT(Import("nanotron", RequestOf("a.yaml", text)).errors(), HasSubstr("more than 100,000 values"));
  std::string deep = "a: ";
  for (int i = 0; i < 100; ++i) deep += '[';
  for (int i = 0; i < 100; ++i) deep += ']';
  EXPECT_THAT(Import("nanotron", RequestOf("a.yaml", deep)).errors(), HasSubstr("nested deeper than 64"));
}

}  // namespace
}  // namespace scenarios
