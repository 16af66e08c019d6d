#include "models/hf_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "models/model_message.h"

namespace models {
namespace {

using proto::Node;

// Source: transformers, configuration_utils.py and the configurations of the
// families: what changes neither shapes nor work.
constexpr std::array kImmaterial = {
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attention_softmax_in_fp32",
    "attn_pdrop",
    "auto_map",
    "bos_token_id",
    "dtype",
    "embd_pdrop",
    "eos_token_id",
    "hidden_dropout",
    "hidden_dropout_prob",
    "attention_dropout_prob",
    "initializer_range",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "model_type",
    "pad_token_id",
    "pretraining_tp",
    "resid_pdrop",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "rope_local_base_freq",
    "rotary_emb_base",
    "rotary_pct",
    "partial_rotary_factor",
    "torch_dtype",
    "transformers_version",
    "use_cache",
    "unk_token_id",
    "output_router_logits",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "aux_loss_alpha",
    "seq_aux",
    "norm_topk_prob",
    "scoring_func",
    "topk_group",
    "n_group",
    "topk_method",
    "routed_scaling_factor",
    "ep_size",
    "query_pre_attn_scalar",
    "final_logit_softcapping",
    "attn_logit_softcapping",
    "cache_implementation",
    "rope_interleave",
    "layer_norm_elementwise_affine",
    "activation_function",
    "hidden_act",
    "hidden_activation",
    "initializer_factor",
    "apply_residual_connection_post_layernorm",
    "masked_softmax_fusion",
    "bias_dropout_fusion",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    "offset_alibi",
    "classifier_dropout",
    "gradient_checkpointing",
    "summary_type",
    "summary_use_proj",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "scale_attn_weights",
    "task_specific_params",
    "n_ctx",
    "reorder_and_upcast_attn",
    "scale_attn_by_inverse_layer_idx",
    "swiglu_limit",
    "initial_context_length",
    "rope_ratio",
    "attn_scale",
    "attn_temperature_tuning",
    "floor_scale",
    "for_llm_compression",
    "use_qk_norm",
    "id2label",
    "label2id",
    "finetuning_task",
    "is_decoder",
    "is_encoder_decoder",
};

std::string Found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kMessage:
      return "an object { ... }";
    case Node::Kind::kList:
      return "a list [ ... ]";
    case Node::Kind::kString:
      return '"' + node.text.substr(0, 40) + '"';
    default:
      return node.text.substr(0, 40);
  }
}

bool IsNull(const Node& node) { return node.kind == Node::Kind::kWord && node.text == "null"; }

}  // namespace

HfConfig::HfConfig(const Node& object, const std::string& file, std::string path,
                   proto::Diagnostics* diagnostics)
    : object_(&object), file_(file), path_(std::move(path)), diagnostics_(diagnostics) {}

const Node* HfConfig::Find(const std::string& key) {
  asked_.insert(key);
  for (const Node& child : object_->children) {
    if (child.name == key) return IsNull(child) ? nullptr : &child;
  }
  return nullptr;
}

bool HfConfig::has(const std::string& key) { return Find(key) != nullptr; }

bool HfConfig::mentions(const std::string& key) const {
  const std::vector<Node>& all = object_->children;
  return std::any_of(all.begin(), all.end(), [&](const Node& child) { return child.name == key; });
}

bool HfConfig::refused(const std::vector<std::string>& keys) const {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return refused_.count(key) > 0; });
}

void HfConfig::ErrorAt(const Node& node, const std::string& key, const std::string& what) {
  refused_.insert(key);
  diagnostics_->Error(
      file_ + ':' + std::to_string(node.at.line) + ':' + std::to_string(node.at.column) + ": " + path_ + key,
      what);
}

void HfConfig::Error(const std::string& key, const std::string& what) {
  const Node* node = object_;
  for (const Node& child : object_->children) {
    if (child.name == key) node = &child;
  }
  ErrorAt(*node, key, what);
}

std::optional<std::int64_t> HfConfig::ToInteger(const Node& node, const std::string& key, std::int64_t low,
                                                std::int64_t high) {
  const std::string wanted = "; a whole number from " + Grouped(low) + " to " + Grouped(high) + " is wanted";
  std::int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto parsed = std::from_chars(node.text.data(), end, value);
  const bool digits = node.kind == Node::Kind::kNumber && parsed.ptr == end;
  if (!digits || parsed.ec != std::errc()) {
    ErrorAt(node, key, Found(node) + (digits ? " is out of range" : " is no whole number") + wanted);
    return std::nullopt;
  }
  if (value >= low && value <= high) return value;
  ErrorAt(node, key, Grouped(value) + " is out of range" + wanted);
  return std::nullopt;
}

std::optional<std::int64_t> HfConfig::Integer(const std::vector<std::string>& keys, std::int64_t low,
                                              std::int64_t high) {
  std::optional<std::int64_t> value;
  std::string first;
  bool given = false;
  for (const std::string& key : keys) {
    const Node* node = Find(key);
    if (node == nullptr) continue;
    given = true;
    const std::optional<std::int64_t> here = ToInteger(*node, key, low, high);
    if (here && value && *here != *value) {
      ErrorAt(*node, key, Grouped(*here) + " differs from " + first + ", " + Grouped(*value));
    }
    if (here && !value) {
      value = here;
      first = key;
    }
  }
  if (given && !value) return low;  // refused above
  return value;
}

std::int64_t HfConfig::Required(const std::vector<std::string>& keys, std::int64_t low, std::int64_t high) {
  const std::optional<std::int64_t> value = Integer(keys, low, high);
  if (value) return *value;
  Error(keys.front(), "missing; a whole number from " + Grouped(low) + " to " + Grouped(high) + " is wanted");
  return low;
}

std::int64_t HfConfig::Optional(const std::vector<std::string>& keys, std::int64_t low, std::int64_t high,
                                std::int64_t otherwise) {
  return Integer(keys, low, high).value_or(otherwise);
}

bool HfConfig::Flag(const std::string& key, bool otherwise) {
  const Node* node = Find(key);
  if (node == nullptr) return otherwise;
  const bool word = node->kind == Node::Kind::kWord;
  if (word && node->text == "true") return true;
  if (!word || node->text != "false") ErrorAt(*node, key, Found(*node) + "; true or false is wanted");
  return false;
}

std::string HfConfig::Text(const std::string& key, const std::string& otherwise) {
  const Node* node = Find(key);
  if (node == nullptr) return otherwise;
  if (node->kind == Node::Kind::kString) return node->text;
  ErrorAt(*node, key, Found(*node) + " is no text in double quotes");
  return otherwise;
}

const std::vector<Node>* HfConfig::List(const std::string& key, const std::string& wanted) {
  const Node* node = Find(key);
  if (node == nullptr) return nullptr;
  if (node->kind == Node::Kind::kList) return &node->children;
  ErrorAt(*node, key, Found(*node) + "; a list of " + wanted + " is wanted");
  return nullptr;
}

std::optional<std::vector<std::int64_t>> HfConfig::Integers(const std::string& key, std::int64_t low,
                                                            std::int64_t high) {
  const std::vector<Node>* list = List(key, "whole numbers");
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Node& node : *list) {
    const std::optional<std::int64_t> value = ToInteger(node, key, low, high);
    if (!value) return std::nullopt;  // the first; a long list is wrong in the same way
    values.push_back(*value);
  }
  return values;
}

std::optional<std::vector<std::string>> HfConfig::Texts(const std::string& key) {
  const std::vector<Node>* list = List(key, "texts");
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> values;
  for (const Node& node : *list) {
    if (node.kind != Node::Kind::kString) {
      ErrorAt(node, key, Found(node) + " is no text in double quotes");
      return std::nullopt;
    }
    values.push_back(node.text);
  }
  return values;
}

std::optional<HfConfig> HfConfig::Object(const std::string& key) {
  const Node* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind == Node::Kind::kMessage) return HfConfig(*node, file_, path_ + key + '.', diagnostics_);
  ErrorAt(*node, key, Found(*node) + "; an object { ... } is wanted");
  return std::nullopt;
}

std::vector<std::string> HfConfig::Unknown() const {
  std::vector<std::string> keys;
  for (const Node& child : object_->children) {
    const bool immaterial =
        std::find(kImmaterial.begin(), kImmaterial.end(), child.name) != kImmaterial.end();
    if (!immaterial && asked_.count(child.name) == 0) keys.push_back(path_ + child.name);
  }
  return keys;
}

}  // namespace models
