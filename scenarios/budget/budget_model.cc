// What a model has and computes, and what a device holds of it.

#include <algorithm>
#include <numeric>

#include "models/block.h"
#include "models/parameters.h"
#include "models/transformer.h"
#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/limits.h"

namespace scenarios {
namespace {

using sim::Number;

std::string ShapeText(const models::Model& m) {
  return "L " + Grouped(m.layers) + "; d " + Grouped(m.hidden) + "; heads " + Grouped(m.heads) + " of " +
         Grouped(m.head_dim) + ", " + Grouped(m.kv_heads) + " of keys; feed-forward " + Grouped(m.ffn);
}

std::int64_t LayersOf(const Chosen& c, std::int64_t stage) {
  return c.stage_layers[static_cast<std::size_t>(stage)];
}

// One pipeline stage on one rank; the first has the embedding, the last the head.
models::StageParameters StageOf(const Chosen& c, std::int64_t stage) {
  const std::int64_t first =
      std::accumulate(c.stage_layers.begin(), c.stage_layers.begin() + stage, std::int64_t{0});
  return models::ParametersOfRank(c.model,
                                  {.layers = LayersOf(c, stage),
                                   .embedding = stage == 0,
                                   .head = stage == c.pipeline - 1,
                                   .first_layer = first},
                                  {.tensor = c.tensor, .expert = c.expert});
}

struct DeviceMemory {
  models::TrainingState state;
  sim::Bytes gathered, activations, recomputed, head;
  sim::Bytes passed;  // keys and values of other ranks
  sim::Bytes total() const { return state.total() + gathered + activations + recomputed + head + passed; }
};

// Frozen weights of a stage, and its adapters: whole on every rank of a tensor group, an upper bound.
models::TrainingState FrozenStateOf(const Chosen& c, const models::StageParameters& p, std::int64_t stage) {
  const std::int64_t matrices = (p.attention + p.mlp + p.experts).total();
  const std::int64_t adapters =
      static_cast<std::int64_t>(sim::Wide{c.adapters} * LayersOf(c, stage) / c.model.layers);
  return models::AdapterTrainingState(c.BaseBytes(matrices, p.total().total() - matrices), adapters,
                                      c.widths);
}

// The optimizer's part is in proportion to the parameters held, which is exact for AdamW and SGD.
models::TrainingState TrainedStateOf(const Chosen& c, std::int64_t held) {
  models::TrainingState state = models::AdamWStateOf(held, c.widths);
  const sim::Wide of_model = models::OptimizerStateBytes(c.model, c.optimizer).count();
  state.optimizer =
      sim::Bytes(static_cast<std::int64_t>(of_model * held / models::ParametersOf(c.model).total()));
  return state;
}

models::TrainingState operator+(const models::TrainingState& a, const models::TrainingState& b) {
  return {a.weights + b.weights, a.gradients + b.gradients, a.master + b.master, a.optimizer + b.optimizer};
}

// Of `whole`, what one of so many ranks holds. A pipeline's gradients are reduced behind its last
// micro-batch.
models::TrainingState ShareOfRank(const Chosen& c, const models::TrainingState& whole, std::int64_t ranks) {
  models::TrainingState share = models::ShareOf(whole, c.zero_stage, ranks);
  if (c.pipeline > 1) share.gradients = whole.gradients;
  return share;
}

// Spread experts have fewer ranks that hold the same.
models::TrainingState StateOf(const Chosen& c, const models::StageParameters& p, std::int64_t stage) {
  if (c.frozen()) return ShareOfRank(c, FrozenStateOf(c, p, stage), c.copies());
  const std::int64_t experts = c.expert > 1 ? p.experts.total() : 0;
  return ShareOfRank(c, TrainedStateOf(c, p.total().total() - experts), c.copies()) +
         ShareOfRank(c, TrainedStateOf(c, experts), c.copies() / c.expert);
}

// Weights that are cut, while they are whole: the layer in hand and those gathered ahead of it; in a
// pipeline all of the stage, as a backward leaves its layers whole for the next forward (volumes.h).
sim::Bytes GatheredOf(const Chosen& c, std::int64_t held, std::int64_t widest) {
  if (c.zero_stage < 3) return {};
  const bool stays = c.pipeline > 1 && c.micro_batches > 1;
  return sim::Bytes(c.widths.weight * (stays ? held : std::min((1 + c.prefetch) * widest, held)));
}

DeviceMemory MemoryOf(const Chosen& c, std::int64_t stage) {
  DeviceMemory memory;
  const models::StageParameters p = StageOf(c, stage);
  memory.state = StateOf(c, p, stage);
  const models::Execution e = c.execution();
  sim::Bytes of_layer, whole;
  std::int64_t widest = 0;
  for (std::int64_t i = 0; i < c.model.layers; ++i) {
    // Layers of one kind are alike, so the largest stands for each.
    if (i > 0 && models::KindOf(c.model, i) == models::KindOf(c.model, i - 1)) continue;
    of_layer = std::max(of_layer, models::LayerActivationBytes(c.model, e, i, c.recompute));
    whole = std::max(whole, models::LayerActivationBytes(c.model, e, i, models::Recompute::kNone));
    const models::Stage one{.layers = 1, .first_layer = i};
    const models::TensorShape shape{.tensor = c.tensor, .expert = c.expert};
    widest = std::max(widest, models::ParametersOfRank(c.model, one, shape).total().total());
  }
  const std::int64_t in_flight = std::min(c.pipeline - stage, c.micro_batches);
  memory.activations = in_flight * LayersOf(c, stage) * of_layer;
  if (c.recompute == models::Recompute::kFull) memory.recomputed = whole;
  if (stage == c.pipeline - 1) {
    memory.head = models::ActivationBytes(models::HeadBlock(c.model, e), models::Recompute::kNone);
  }
  // A block that comes and one that goes, and their gradients.
  if (c.context_ranks > 1) memory.passed = 4 * models::KeyValueBytes(c.model, e, 1);
  memory.gathered = GatheredOf(c, p.total().total(), widest);
  // Frozen weights of few bits are widened a layer at a time.
  if (c.base_bits < 16) memory.gathered += sim::Bytes(2 * widest);
  // Gradients that wait to be scattered; adapters have few.
  if (c.zero_stage >= 2 && c.pipeline == 1 && !c.frozen())
    memory.gathered += sim::Bytes(c.widths.gradient * widest);
  return memory;
}

// Of even stages the first holds most activations, and the last the head.
std::int64_t FullestStage(const Chosen& c) {
  std::int64_t fullest = 0;
  sim::Bytes most = MemoryOf(c, 0).total();
  const auto [fewest, largest] = std::minmax_element(c.stage_layers.begin(), c.stage_layers.end());
  const std::int64_t step = *largest - *fewest > 1 ? 1 : std::max(c.pipeline - 1, std::int64_t{1});
  for (std::int64_t stage = step; stage < c.pipeline; stage += step) {
    const sim::Bytes bytes = MemoryOf(c, stage).total();
    if (bytes > most) most = bytes, fullest = stage;
  }
  return fullest;
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
  if (c.frozen()) {
    s.AddCount("adapters", c.adapters, "27.5: rank x (out + in) of each matrix",
               "rank " + Grouped(c.lora_rank));
    s.Add("trained", 100 * Number(c.adapters) / Number(p.total() + c.adapters), "%", "of all of them", "");
  }
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
  s.Add("forward and backward", c.flops_of_token(), "FLOP",
        c.frozen() ? "(27.8) twice: frozen weights have no gradient; adapters thrice"
                   : "(27.8) three times: model FLOPs",
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

sim::Bytes MemoryOfDevice(const Chosen& c) { return MemoryOf(c, FullestStage(c)).total(); }

void AddMemory(const Chosen& c, Budget* budget) {
  const std::int64_t fullest = FullestStage(c);
  const DeviceMemory memory = MemoryOf(c, fullest);
  const std::string held =
      Grouped(StageOf(c, fullest).total().total()) + " parameters of stage " + Grouped(fullest);
  const std::string cut = "ZeRO-" + std::to_string(c.zero_stage) + " over " + Grouped(c.copies());
  Section s("memory of a device", &budget->lines);
  s.AddBytes("weights", memory.state.weights, "(27.12) to (27.15)", held + "; " + cut);
  s.AddBytes("gradients", memory.state.gradients, "(27.12) to (27.15)",
             Grouped(c.widths.gradient) + " B each");
  s.AddBytes("master weights", memory.state.master, "(27.12) to (27.15)", "FP32");
  s.AddBytes("optimizer", memory.state.optimizer, "17.4.3", models::ToText(c.optimizer));
  s.AddBytes("gathered", memory.gathered,
             c.pipeline > 1 && c.zero_stage == 3
                 ? "the stage's weights, whole from one pass to the next"
                 : "(27.16): weights of the layer in hand and ahead, one's gradients",
             cut);
  s.AddBytes("activations", memory.activations, "17.4.5, tensor by tensor",
             "micro-batch " + Grouped(c.micro_batch) + " x " + Grouped(c.local_length()) + "; in flight " +
                 Grouped(std::min(c.pipeline - fullest, c.micro_batches)));
  s.AddBytes("one layer again", memory.recomputed, "17.4.6", "while its backward runs");
  s.AddBytes("logits and loss", memory.head, "FP32, whole vocabulary", "V " + Grouped(c.model.vocabulary));
  if (c.context_ranks > 1) {
    s.AddBytes("keys of other ranks", memory.passed, "a block in, one out, and their gradients",
               "ring of " + Grouped(c.context_ranks));
  }
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
