// Shapes from the row; everything else from the catalogue's model of the same family.

#include <algorithm>
#include <optional>

#include "models/model_reader.h"
#include "models/model_text.h"
#include "proto/scenario.pb.h"
#include "scenarios/published/row_parts.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

struct Family {
  const char* start;      // of the row's model name
  const char* catalogue;  // a model with the same layer
};

// The first that fits. "GPT" of Megatron-LM has a table tied to the output except where
// the published sizes need two (Megatron-Core's, as in mcore_gpt_7_1b).
constexpr Family kFamilies[] = {
    {"AA-Llama", "llama2_7b"},       {"BS-", "bloom_176b"},  // the models that led to BLOOM
    {"DeepSeek-V2", "deepseek_v2"},  {"FA-GPT3", "gpt3_175b"},     {"GPT-7B-memory-speed", "mcore_gpt_7_1b"},
    {"GPT-OSS", "gpt_oss_120b"},     {"GPT3-", "gpt3_175b"},       {"InternLM-7B", "internlm_7b"},
    {"Korth-", "megatron_22b"},      {"Llama2-", "llama2_7b"},     {"Llama3", "llama3_8b"},
    {"MCore-GPT", "mcore_gpt_7_1b"}, {"MLM2020-", "gpt_18b_sc21"}, {"MPT-", "mpt_13b"},
    {"Mixtral-", "mixtral_8x7b"},    {"NT-", "llama3_8b"},  // nanotron's
    {"Nemotron", "nemotron4_15b"},   {"Qwen3-", "qwen3_30b_a3b"},  {"SC21-GPT", "gpt_18b_sc21"},
    {"ZB-GPT", "gpt_18b_sc21"},      {"vT-", "gpt_18b_sc21"},  // vTrain's
};

const Family* FamilyOf(const std::string& model_name) {
  for (const Family& family : kFamilies) {
    if (model_name.starts_with(family.start)) return &family;
  }
  return nullptr;
}

// As the row has it, or from hidden and heads; GPT-OSS and Qwen3 have wider heads than that.
std::optional<std::int64_t> HeadDim(const StepRow& row, const models::Model& family) {
  if (row.hidden == family.hidden && row.heads == family.heads) return family.head_dim;
  if (row.hidden % row.heads != 0) return std::nullopt;
  return row.hidden / row.heads;
}

void TakeExperts(const StepRow& row, models::Model* model) {
  models::Experts& experts = model->experts;
  experts.routed = NumberAfter(row.moe, "E=", experts.routed);
  experts.per_token = NumberAfter(row.moe, "topk=", experts.per_token);
  experts.ffn = NumberAfter(row.moe, "expert_ffn=", experts.ffn);
  experts.shared = NumberAfter(row.moe, ";shared=", experts.shared);
  const std::int64_t all_shared = NumberAfter(row.moe, "shared_ffn=", 0);
  if (experts.shared > 0 && all_shared > 0) experts.shared_ffn = all_shared / experts.shared;
  experts.first_dense_layers = NumberAfter(row.moe, "first_dense=", experts.first_dense_layers);
}

}  // namespace

void WriteModel(const StepRow& row, Draft* draft) {
  const Family* family = FamilyOf(row.model_name);
  if (family == nullptr) return draft->Refuse("model: no family is known for this name");
  proto::Diagnostics diagnostics;
  auto model = models::ReadModel(family->catalogue, {}, "", &diagnostics);
  CHECK(model.has_value());  // a test reads every entry
  const bool experts = row.moe != "dense";
  if (experts != (model->experts.routed > 0)) return draft->Refuse("model: its family has other experts");
  const auto head_dim = HeadDim(row, *model);
  if (!head_dim) return draft->Refuse("model: heads do not divide hidden");
  model->name = draft->conversion.name + "_model";
  model->layers = row.layers;
  model->hidden = row.hidden;
  model->heads = row.heads;
  model->kv_heads = row.kv_heads;
  model->head_dim = *head_dim;
  model->vocabulary = row.vocab;
  model->prediction_modules = 0;
  model->max_positions = std::max(model->max_positions, row.seq_len);
  // A learned table is as long as the sequences of its benchmark.
  if (model->learned_positions > 0) model->learned_positions = model->max_positions = row.seq_len;
  if (experts) {
    TakeExperts(row, &*model);
  } else {
    model->experts = {};
  }
  if (model->ffn > 0) model->ffn = row.ffn_hidden;
  if (Says(row.notes, "tied embeddings")) model->tied_embedding = true;
  draft->scenario->set_model(model->name);
  draft->conversion.files.push_back(
      {model->name, models::ModelText(*model, {.title = row.source,
                                               .url = "",
                                               .note = row.where + "; layers as in " + family->catalogue})});
}

}  // namespace scenarios
