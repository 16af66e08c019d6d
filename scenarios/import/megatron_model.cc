// Megatron-LM's arguments about shapes.

#include <algorithm>
#include <string>

#include "scenarios/import/megatron.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostLayers = 10'000, kMostWidth = 1'000'000, kMostHeads = 100'000,
                       kMostFfn = 10'000'000, kMostTokens = 100'000'000;

// Which argument a field of the model comes from, for errors about the model.
constexpr std::pair<const char*, const char*> kFields[] = {
    {"layers", "num-layers"},
    {"hidden", "hidden-size"},
    {"ffn", "ffn-hidden-size"},
    {"heads", "num-attention-heads"},
    {"kv_heads", "num-query-groups"},
    {"head_dim", "kv-channels"},
    {"vocabulary", "vocab-size"},
    {"max_sequence_tokens", "max-position-embeddings"},
    {"learned_positions", "max-position-embeddings"},
    {"attention_pattern", "window-attn-skip-freq"},
    {"full_attention_every_layers", "window-attn-skip-freq"},
    {"sliding_window_tokens", "window-size"},
    {"qk_norm", "qk-layernorm"},
    {"latent", "multi-latent-attention"},
    {"experts", "num-experts"},
    {"experts.per_token", "moe-router-topk"},
    {"experts.ffn", "moe-ffn-hidden-size"},
    {"experts.shared_ffn", "moe-shared-expert-intermediate-size"},
    {"experts.dense_layers", "moe-layer-freq"},
    {"experts.every_layers", "moe-layer-freq"},
    {"prediction_modules", "mtp-num-layers"}};

void ReadFeedForward(Settings* s, models::Model* model) {
  const bool swiglu = s->Flag("swiglu"), geglu = s->Flag("quick-geglu"), squared = s->Flag("squared-relu");
  if (swiglu + geglu + squared > 1) {
    s->Error(swiglu ? "swiglu" : "quick-geglu",
             "with " + s->Place(squared ? "squared-relu" : "quick-geglu") + "; one nonlinearity is wanted");
  }
  model->gated = swiglu || geglu;
  model->nonlinearity = swiglu    ? models::Nonlinearity::kSilu
                        : squared ? models::Nonlinearity::kRelu
                                  : models::Nonlinearity::kGelu;
  // Source: arguments.py: two thirds of 4 hidden, in multiples of 64, where there are three matrices.
  const std::int64_t usual = swiglu ? 4 * model->hidden * 2 / 3 / 64 * 64 : 4 * model->hidden;
  model->ffn = s->Integer("ffn-hidden-size", 1, kMostFfn).value_or(usual);
}

void ReadHeads(Settings* s, models::Model* model) {
  const auto groups = s->Integer("num-query-groups", 1, kMostHeads);
  const bool grouped = s->Flag("group-query-attention");
  model->kv_heads = grouped ? groups.value_or(1) : model->heads;
  if (!grouped && groups.value_or(1) > 1 && *groups != model->heads) {
    s->diagnostics()->Warning(
        s->Place("num-query-groups"),
        "has no effect without --group-query-attention: every head has keys of its own");
  }
  const auto channels = s->Integer("kv-channels", 1, kMostHeads);
  model->head_dim = channels.value_or(std::max<std::int64_t>(1, model->hidden / model->heads));
  if (!channels && model->hidden % model->heads != 0 && !s->refused("num-attention-heads") &&
      !s->refused("hidden-size")) {
    s->Error("num-attention-heads", std::to_string(model->heads) + " does not divide the hidden size " +
                                        std::to_string(model->hidden) + "; give --kv-channels");
  }
}

void ReadLatent(Settings* s, models::Model* model) {
  if (!s->Flag("multi-latent-attention")) return;
  models::Latent& latent = model->latent;
  latent.query_rank = s->Integer("q-lora-rank", 1, kMostWidth).value_or(0);
  latent.kv_rank = s->Integer("kv-lora-rank", 1, kMostWidth).value_or(32);
  latent.nope_dim = s->Integer("qk-head-dim", 1, kMostHeads).value_or(128);
  latent.rope_dim = s->Integer("qk-pos-emb-head-dim", 1, kMostHeads).value_or(64);
  latent.value_dim = s->Integer("v-head-dim", 1, kMostHeads).value_or(128);
  model->kv_heads = model->heads;
  model->head_dim = latent.nope_dim + latent.rope_dim;
  model->qk_norm = false;  // --qk-layernorm are then the norms of the narrow vectors, which the model has
}

void ReadPositions(Settings* s, models::Model* model) {
  model->max_positions = s->Required("max-position-embeddings", 1, kMostTokens, "tokens are wanted");
  const std::string kind = s->OneOf("position-embedding-type", {"learned_absolute", "rope", "yarn", "none"})
                               .value_or("learned_absolute");
  const bool old_flag = s->Flag("use-rotary-position-embeddings");
  model->rotary = old_flag || kind == "rope" || kind == "yarn";
  model->learned_positions = !model->rotary && kind == "learned_absolute" ? model->max_positions : 0;
  // Latent attention turns rope_dim channels of its own.
  if (model->has_latent()) {
    model->rotary = true;
    model->learned_positions = 0;
  }
}

// "--window-size 4095,0" or "(4095, 0)": tokens to the left and to the right.
void ReadWindow(Settings* s, models::Model* model) {
  std::string text;
  for (const std::string& part : s->Texts("window-size")) text += part;
  if (text.empty()) return;
  std::string digits;
  for (const char c : text) {
    if (c != '(' && c != ')' && c != ' ') digits += c;
  }
  const auto list = EvaluateList('[' + digits + ']');
  if (!list || list->size() != 2 || (*list)[0] < 0 || (*list)[0] >= kMostTokens || (*list)[1] != 0) {
    return s->Error("window-size",
                    '"' + text.substr(0, 40) + "\"; tokens to the left and 0 are wanted, as 127,0");
  }
  model->sliding_window = (*list)[0] + 1;  // a token sees itself too
  const auto skip = s->Text("window-attn-skip-freq");
  if (!skip) return;
  if (const auto pattern = EvaluateList(*skip)) {
    for (const std::int64_t window : *pattern) {
      model->attention_pattern.push_back(window != 0 ? models::Attention::kSliding
                                                     : models::Attention::kFull);
    }
    return;
  }
  const std::int64_t every = s->Integer("window-attn-skip-freq", 1, kMostLayers).value_or(1);
  for (std::int64_t layer = 1; layer <= every; ++layer) {
    model->attention_pattern.push_back(layer == every ? models::Attention::kFull
                                                      : models::Attention::kSliding);
  }
}

void ReadNorms(Settings* s, models::Model* model) {
  const std::string norm = s->OneOf("normalization", {"LayerNorm", "RMSNorm"}).value_or("LayerNorm");
  model->norm = norm == "RMSNorm" ? models::Norm::kRms : models::Norm::kLayer;
  model->qk_norm = s->Flag("qk-layernorm");
  const bool bias = !s->Flag("disable-bias-linear");
  model->biases = {bias || s->Flag("add-qkv-bias"), bias, bias};
  model->attention_sinks =
      s->OneOf("softmax-type", {"vanilla", "off-by-one", "learnable"}).value_or("vanilla") == "learnable";
}

// A padded vocabulary stands for itself: then nothing is padded again.
void ReadVocabulary(Settings* s, Draft* draft) {
  const auto padded = s->Integer("padded-vocab-size", 1, kMostFfn);
  const auto divisor = s->Integer("make-vocab-size-divisible-by", 1, 65'536);
  const auto given = s->Integer("vocab-size", 1, kMostFfn);
  if (given || !padded) {
    draft->model.vocabulary = given.value_or(1);
    if (!given) {
      s->Required("vocab-size", 1, kMostFfn, "tokens of the tokenizer are wanted, which no file here says");
    }
    draft->Put("training.vocabulary_divisor", divisor.value_or(128),
               s->Place("make-vocab-size-divisible-by"));
    return;
  }
  draft->model.vocabulary = *padded;
  draft->Put("training.vocabulary_divisor", std::int64_t{1}, s->Place("padded-vocab-size"));
}

}  // namespace

void ReadMegatronModel(Settings* s, Draft* draft) {
  models::Model& model = draft->model;
  draft->has_model = true;
  model.layers = s->Required("num-layers", 1, kMostLayers, "layers are wanted");
  model.hidden = s->Required("hidden-size", 1, kMostWidth, "channels are wanted");
  model.heads = s->Required("num-attention-heads", 1, kMostHeads, "query heads are wanted");
  ReadFeedForward(s, &model);
  ReadHeads(s, &model);
  ReadNorms(s, &model);
  ReadLatent(s, &model);
  ReadPositions(s, &model);
  ReadWindow(s, &model);
  ReadVocabulary(s, draft);
  model.tied_embedding = !s->Flag("untie-embeddings-and-output-weights");
  model.prediction_modules = s->Integer("mtp-num-layers", 0, 100).value_or(0);
  if (model.prediction_modules > 0) draft->Put("training.mtp", true, s->Place("mtp-num-layers"));
  const auto length = s->Integer(s->has("seq-length") ? "seq-length" : "encoder-seq-length", 1, kMostTokens);
  if (length && *length > model.max_positions && !s->refused("max-position-embeddings")) {
    s->Error("max-position-embeddings", std::to_string(model.max_positions) + " are fewer than the " +
                                            std::to_string(*length) + " tokens of a sequence");
  }
  for (const auto& [field, key] : kFields) draft->ModelFrom(field, s->Place(key));
}

namespace {

// 1 in N, or a list with 1 for each layer that has experts.
void ReadFrequency(Settings* s, models::Model* model) {
  models::Experts& experts = model->experts;
  const auto text = s->Text("moe-layer-freq");
  if (!text) return;
  const auto list = EvaluateList(*text);
  if (!list) {
    experts.every_layers = s->Integer("moe-layer-freq", 1, kMostLayers).value_or(1);
    return;
  }
  if (static_cast<std::int64_t>(list->size()) != model->layers) {
    return s->Error("moe-layer-freq", std::to_string(list->size()) + " entries for " +
                                          std::to_string(model->layers) + " layers; one for each is wanted");
  }
  while (experts.first_dense_layers < model->layers &&
         (*list)[static_cast<std::size_t>(experts.first_dense_layers)] == 0) {
    ++experts.first_dense_layers;
  }
  for (std::int64_t layer = experts.first_dense_layers; layer < model->layers; ++layer) {
    if ((*list)[static_cast<std::size_t>(layer)] == 0) experts.dense_layers.push_back(layer);
  }
}

void ReadDispatcher(Settings* s, Draft* draft) {
  const std::string kind =
      s->OneOf("moe-token-dispatcher-type", {"allgather", "alltoall", "alltoall_seq", "flex"})
          .value_or("allgather");
  const char* name = kind == "allgather" ? "ALLGATHER" : kind == "flex" ? "DEEPEP" : "ALLTOALL";
  if (kind == "flex") {
    const bool old_flag = s->Flag("moe-enable-deepep");
    const auto backend = s->OneOf("moe-flex-dispatcher-backend", {"deepep"});
    if (!old_flag && !backend && !s->refused("moe-flex-dispatcher-backend") &&
        !s->has("moe-flex-dispatcher-backend")) {
      s->Error("moe-token-dispatcher-type",
               "flex without --moe-enable-deepep; it is the one that is simulated");
    }
  }
  draft->Put("experts.dispatcher", name, s->Place("moe-token-dispatcher-type"));
  if (const auto factor = s->Text("moe-expert-capacity-factor");
      factor && s->Number("moe-expert-capacity-factor")) {
    draft->Put("experts.capacity_factor", *factor, s->Place("moe-expert-capacity-factor"));
    if (!s->Flag("moe-pad-expert-input-to-capacity")) {
      s->diagnostics()->Warning(s->Place("moe-expert-capacity-factor"),
                                "experts with fewer tokens are padded here, as with "
                                "--moe-pad-expert-input-to-capacity");
    }
  }
  if (s->Flag("moe-shared-expert-overlap")) {
    draft->Put("experts.overlap_shared", true, s->Place("moe-shared-expert-overlap"));
  }
}

}  // namespace

void ReadMegatronExperts(Settings* s, Draft* draft) {
  models::Model& model = draft->model;
  models::Experts& experts = model.experts;
  experts.routed = s->Integer("num-experts", 1, kMostHeads).value_or(0);
  if (experts.routed == 0) return;
  experts.per_token = s->Integer("moe-router-topk", 1, kMostHeads).value_or(2);
  experts.ffn = s->Integer("moe-ffn-hidden-size", 1, kMostFfn).value_or(model.ffn);
  if (const auto shared = s->Integer("moe-shared-expert-intermediate-size", 1, kMostFfn)) {
    experts.shared = 1;  // all of them in one, as Megatron-LM computes them
    experts.shared_ffn = *shared;
    experts.shared_gate = s->Flag("moe-shared-expert-gate");
  }
  experts.router_bias = s->Flag("moe-router-enable-expert-bias");
  ReadFrequency(s, &model);
  bool dense = false;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) dense |= !models::HasExperts(model, layer);
  if (!dense) model.ffn = 0;  // no layer has the dense one
  const std::int64_t spread = s->Integer("expert-model-parallel-size", 1, 4096).value_or(1);
  const std::int64_t tensor = s->Integer("tensor-model-parallel-size", 1, 4096).value_or(1);
  const std::int64_t cut = s->Integer("expert-tensor-parallel-size", 1, 4096).value_or(tensor);
  if (spread > 1 || cut != tensor) ReadDispatcher(s, draft);
}

}  // namespace scenarios
