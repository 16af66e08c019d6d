// What a model has and computes, and what a device holds of it.

#include <algorithm>

#include "models/block.h"
#include "models/parameters.h"
#include "models/transformer.h"
#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/limits.h"

namespace scenarios {
namespace {

double Number(sim::Wide n) { return static_cast<double>(n); }

std::string ShapeText(const models::Model& m) {
  return "L " + Grouped(m.layers) + "; d " + Grouped(m.hidden) + "; heads " + Grouped(m.heads) + " of " +
         Grouped(m.head_dim) + ", " + Grouped(m.kv_heads) + " of keys; feed-forward " + Grouped(m.ffn);
}

// One pipeline stage on one rank; the first has the embedding, the last the head.
models::StageParameters StageOf(const Chosen& c, std::int64_t stage) {
  const std::int64_t layers = c.model.layers / c.pipeline, more = c.model.layers % c.pipeline;
  const std::int64_t first = stage * layers + std::min(stage, more);
  return models::ParametersOfRank(c.model,
                                  {.layers = layers + (stage < more ? 1 : 0),
                                   .embedding = stage == 0,
                                   .head = stage == c.pipeline - 1,
                                   .first_layer = first},
                                  {.tensor = c.tensor});
}

struct DeviceMemory {
  models::TrainingState state;
  sim::Bytes gathered, activations, recomputed, head;
  sim::Bytes total() const { return state.total() + gathered + activations + recomputed + head; }
};

// The optimizer's part is in proportion to the parameters held, which is exact for AdamW and SGD.
models::TrainingState StateOf(const Chosen& c, std::int64_t held) {
  models::TrainingState state = models::AdamWStateOf(held, c.widths);
  const sim::Wide of_model = models::OptimizerStateBytes(c.model, c.optimizer).count();
  state.optimizer =
      sim::Bytes(static_cast<std::int64_t>(of_model * held / models::ParametersOf(c.model).total()));
  models::TrainingState share = models::ShareOf(state, c.zero_stage, c.data);
  // A pipeline's gradients are reduced behind its last micro-batch.
  if (c.pipeline > 1) share.gradients = state.gradients;
  return share;
}

// Weights that are cut, while they are whole: the layer in hand and the one gathered ahead of it; in a
// pipeline all of the stage, as a backward leaves its layers whole for the next forward (volumes.h).
sim::Bytes GatheredOf(const Chosen& c, std::int64_t held, std::int64_t widest) {
  if (c.zero_stage < 3) return {};
  const bool stays = c.pipeline > 1 && c.micro_batches > 1;
  return sim::Bytes(c.widths.weight * (stays ? held : 2 * widest));
}

DeviceMemory MemoryOf(const Chosen& c, std::int64_t stage) {
  DeviceMemory memory;
  const models::StageParameters p = StageOf(c, stage);
  memory.state = StateOf(c, p.total().total());
  const models::Execution e = c.execution();
  const std::int64_t layers = c.model.layers / c.pipeline + (stage < c.model.layers % c.pipeline ? 1 : 0);
  sim::Bytes of_layer, whole;
  std::int64_t widest = 0;
  for (std::int64_t i = 0; i < c.model.layers; ++i) {
    // Layers of one kind are alike, so the largest stands for each.
    if (i > 0 && models::KindOf(c.model, i) == models::KindOf(c.model, i - 1)) continue;
    of_layer = std::max(of_layer, models::LayerActivationBytes(c.model, e, i, c.recompute));
    whole = std::max(whole, models::LayerActivationBytes(c.model, e, i, models::Recompute::kNone));
    const models::Stage one{.layers = 1, .first_layer = i};
    widest = std::max(widest, models::ParametersOfRank(c.model, one, {.tensor = c.tensor}).total().total());
  }
  const std::int64_t in_flight = std::min(c.pipeline - stage, c.micro_batches);
  memory.activations = in_flight * layers * of_layer;
  if (c.recompute == models::Recompute::kFull) memory.recomputed = whole;
  if (stage == c.pipeline - 1) {
    memory.head = models::ActivationBytes(models::HeadBlock(c.model, e), models::Recompute::kNone);
  }
  memory.gathered = GatheredOf(c, p.total().total(), widest);
  // Gradients that wait to be scattered.
  if (c.zero_stage >= 2 && c.pipeline == 1) memory.gathered += sim::Bytes(c.widths.gradient * widest);
  return memory;
}

}  // namespace

void AddParameters(const Chosen& c, Budget* budget) {
  const models::ModelParameters p = models::ParametersOf(c.model);
  Section s("parameters", &budget->lines);
  s.AddCount("total", p.total(), "(27.4), shapes counted exactly", ShapeText(c.model));
  s.AddCount("active", p.active(), "17.2.2: without the experts that a token does not visit",
             "idle " + Grouped(p.idle));
  s.AddCount("attention", p.layers.attention, "(27.1)", Grouped(c.model.layers) + " layers");
  s.AddCount("feed-forward", p.layers.mlp, "(27.3)", "dense and shared");
  s.AddCount("experts", p.layers.experts, "17.2.2", Grouped(c.model.experts.routed) + " a layer");
  s.AddCount("routers", p.layers.router, "17.2.2");
  s.AddCount("norms", p.layers.norms + p.end_norms, "27.2");
  s.AddCount("vocabulary", p.table + p.output, "17.2.4",
             "V " + Grouped(c.model.vocabulary) + (c.model.tied_embedding ? "; tied" : "; untied"));
  s.AddCount("positions", p.positions, "learned table");
  s.Add("share of the table", 100 * Number(p.table) / Number(p.total()), "%", "17.2.4: V d / P", "");
}

void AddFlops(const Chosen& c, Budget* budget) {
  const bool full = c.attention == models::AttentionCount::kFull;
  const models::FlopsOf forward = models::ForwardFlops(c.model, 1, c.sequence_length, c.attention);
  const double tokens = Number(c.sequence_length);
  const std::string of =
      "S " + Grouped(c.sequence_length) + (full ? "; attention full" : "; attention causal");
  Section s("FLOPs of a token", &budget->lines);
  s.Add("forward, linear", Number(forward.linear) / tokens, "FLOP", "17.3.2: 2 a weight that it meets", "");
  s.Add("forward, attention", Number(forward.attention) / tokens, "FLOP", "(27.7)", of);
  s.Add("forward, logits", Number(forward.logits) / tokens, "FLOP", "17.3.6: 2 d V",
        "V " + Grouped(c.model.vocabulary));
  s.Add("forward and backward", c.flops_of_token(), "FLOP", "(27.8) three times: model FLOPs",
        of + "; with logits");
  const double again =
      c.recompute == models::Recompute::kFull
          ? Number(models::FullRecomputeFlops(c.model, 1, c.sequence_length, c.attention))
      : c.recompute == models::Recompute::kSelective
          ? Number(models::SelectiveRecomputeFlops(c.model, 1, c.sequence_length, c.attention))
          : 0;
  s.Add("recomputed", again / tokens, "FLOP", "27.3: hardware FLOPs are these more", "");
  s.Add("6P", Number(models::SixPD(c.model, 1)), "FLOP", "17.3.8: active parameters, all of them",
        "P " + Grouped(models::ParametersOf(c.model).active()));
  Section run("FLOPs of the run", &budget->lines);
  run.Add("model FLOPs", c.flops(), "FLOP", "(27.20)", "D " + Short(c.tokens));
  run.Add("6PD", Number(models::SixPD(c.model, 1)) * c.tokens, "FLOP", "17.3.8", "D " + Short(c.tokens));
}

sim::Bytes MemoryOfDevice(const Chosen& c) {
  return std::max(MemoryOf(c, 0).total(), MemoryOf(c, c.pipeline - 1).total());
}

void AddMemory(const Chosen& c, Budget* budget) {
  const std::int64_t last = c.pipeline - 1;
  const std::int64_t fullest = MemoryOf(c, last).total() > MemoryOf(c, 0).total() ? last : 0;
  const DeviceMemory memory = MemoryOf(c, fullest);
  const std::string held =
      Grouped(StageOf(c, fullest).total().total()) + " parameters of stage " + Grouped(fullest);
  const std::string cut = "ZeRO-" + std::to_string(c.zero_stage) + " over " + Grouped(c.data);
  Section s("memory of a device", &budget->lines);
  s.AddBytes("weights", memory.state.weights, "(27.12) to (27.15)", held + "; " + cut);
  s.AddBytes("gradients", memory.state.gradients, "(27.12) to (27.15)",
             Grouped(c.widths.gradient) + " B each");
  s.AddBytes("master weights", memory.state.master, "(27.12) to (27.15)", "FP32");
  s.AddBytes("optimizer", memory.state.optimizer, "17.4.3", models::ToText(c.optimizer));
  s.AddBytes("gathered", memory.gathered,
             c.pipeline > 1 && c.zero_stage == 3 ? "the stage's weights, whole from one pass to the next"
                                                 : "(27.16): two layers' weights, one's gradients",
             cut);
  s.AddBytes("activations", memory.activations, "17.4.5, tensor by tensor",
             "micro-batch " + Grouped(c.micro_batch) + " x " + Grouped(c.sequence_length) + "; in flight " +
                 Grouped(std::min(c.pipeline - fullest, c.micro_batches)));
  s.AddBytes("one layer again", memory.recomputed, "17.4.6", "while its backward runs");
  s.AddBytes("logits and loss", memory.head, "FP32, whole vocabulary", "V " + Grouped(c.model.vocabulary));
  s.AddBytes("total", memory.total(), "(27.16), all at once: an upper bound");
  s.AddBytes("usable", c.memory(), "the device's file", "safety " + Short(c.margins.safety));
  budget->fits = memory.total() <= c.memory();
  const sim::Bytes of_sequence = sim::Bytes(std::max(
      (memory.activations + memory.recomputed + memory.head).count() / c.micro_batch, std::int64_t{1}));
  s.AddCount("largest micro-batch",
             MostMicroBatch(c.memory(), memory.state.total() + memory.gathered, of_sequence, 1), "17.5.7",
             "what is not state grows with it");
}

}  // namespace scenarios
