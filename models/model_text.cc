#include "models/model_text.h"

#include "sim/base/check.h"

namespace models {
namespace {

// Control characters become blanks: a line stays a line.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c;
  }
  return quoted + '"';
}

// One message's fields.
class Writer {
 public:
  explicit Writer(std::string indent = "") : indent_(std::move(indent)) {}

  void Word(const char* name, const std::string& value) { text_ += indent_ + name + ": " + value + '\n'; }
  void Text(const char* name, const std::string& value) {
    if (!value.empty()) Word(name, Quoted(value));
  }
  void Number(const char* name, std::int64_t value, std::int64_t usual = 0) {
    if (value != usual) Word(name, std::to_string(value));
  }
  void Flag(const char* name, bool value, bool usual = false) {
    if (value != usual) Word(name, value ? "true" : "false");
  }
  void Block(const char* name, const Writer& inner) {
    text_ += indent_ + name + " {\n" + inner.text_ + indent_ + "}\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string indent_, text_;
};

Writer LatentOf(const Latent& latent) {
  Writer out("  ");
  out.Number("query_rank", latent.query_rank);
  out.Number("kv_rank", latent.kv_rank);
  out.Number("nope_dim", latent.nope_dim);
  out.Number("rope_dim", latent.rope_dim);
  out.Number("value_dim", latent.value_dim);
  return out;
}

Writer ExpertsOf(const Experts& experts) {
  Writer out("  ");
  out.Number("routed", experts.routed);
  out.Number("per_token", experts.per_token);
  out.Number("ffn", experts.ffn);
  out.Number("shared", experts.shared);
  if (experts.shared > 0) out.Number("shared_ffn", experts.shared_ffn, experts.ffn);
  out.Flag("shared_gate", experts.shared_gate);
  out.Flag("router_bias", experts.router_bias);
  out.Number("first_dense_layers", experts.first_dense_layers);
  out.Number("every_layers", experts.every_layers, 1);
  out.Number("offset", experts.offset);
  for (const std::int64_t layer : experts.dense_layers) out.Word("dense_layers", std::to_string(layer));
  return out;
}

std::string PatternText(const std::vector<Attention>& pattern) {
  std::string text;
  for (const Attention attention : pattern) {
    text += (text.empty() ? "[" : ", ") + std::string(attention == Attention::kFull ? "FULL" : "SLIDING");
  }
  return text + ']';
}

const char* NameOf(Nonlinearity nonlinearity) {
  switch (nonlinearity) {
    case Nonlinearity::kGelu:
      return "GELU";
    case Nonlinearity::kRelu:
      return "RELU";
    case Nonlinearity::kSilu:
      return "SILU";
  }
  return "";
}

const char* NameOf(Norm norm) {
  switch (norm) {
    case Norm::kRms:
      return "RMS";
    case Norm::kLayer:
      return "LAYER";
    case Norm::kLayerScaleOnly:
      return "LAYER_SCALE_ONLY";
  }
  return "";
}

void WriteSizes(const Model& model, Writer* out) {
  out->Number("layers", model.layers);
  out->Number("hidden", model.hidden);
  out->Number("ffn", model.ffn);
  out->Number("heads", model.heads);
  if (!model.has_latent()) {
    out->Number("kv_heads", model.kv_heads);
    out->Number("head_dim", model.head_dim);
  }
  out->Number("vocabulary", model.vocabulary);
  out->Number("max_sequence_tokens", model.max_positions);
  out->Number("learned_positions", model.learned_positions);
  const bool rotary = model.learned_positions == 0 && !model.alibi && !model.relative_positions;
  out->Flag("rotary", model.rotary, rotary);
}

void WriteKinds(const Model& model, Writer* out) {
  out->Word("gated", model.gated ? "true" : "false");
  out->Word("nonlinearity", NameOf(model.nonlinearity));
  out->Word("tied_embedding", model.tied_embedding ? "true" : "false");
  out->Flag("qkv_bias", model.biases.qkv);
  out->Flag("attention_output_bias", model.biases.attention_output);
  out->Flag("mlp_bias", model.biases.mlp);
  out->Word("norm", NameOf(model.norm));
  out->Number("norms_per_layer", model.norms_per_layer, 2);
  out->Flag("final_norm", model.final_norm, true);
  out->Flag("embedding_norm", model.embedding_norm);
  out->Flag("qk_norm", model.qk_norm);
}

}  // namespace

std::string ModelText(const Model& model, const ModelSource& source) {
  CHECK(!model.name.empty());
  Writer out;
  out.Text("name", model.name);
  Writer from("  ");
  from.Text("title", source.title);
  from.Text("url", source.url);
  from.Text("note", source.note);
  out.Block("source", from);
  WriteSizes(model, &out);
  WriteKinds(model, &out);
  out.Number("sliding_window_tokens", model.sliding_window);
  if (!model.attention_pattern.empty()) out.Word("attention_pattern", PatternText(model.attention_pattern));
  if (model.has_latent()) out.Block("latent", LatentOf(model.latent));
  if (model.experts.routed > 0) out.Block("experts", ExpertsOf(model.experts));
  out.Flag("alibi", model.alibi);
  out.Flag("relative_positions", model.relative_positions);
  out.Flag("attention_sinks", model.attention_sinks);
  out.Flag("parallel_residual", model.parallel_residual);
  out.Number("prediction_modules", model.prediction_modules);
  return out.text();
}

}  // namespace models
