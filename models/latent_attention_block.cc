#include "models/attention_core.h"
#include "models/context_core.h"
#include "models/kernels.h"
#include "models/quantise.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;

// Multi-head latent attention as it is trained: every head's keys and values are
// made in full. The way down to the narrow vectors, and their norms, are whole on
// every rank and work on its part of the sequence; so the narrow vectors are what
// tensor parallelism moves, not the hidden ones.
// Source: Megatron-LM, core/transformer/multi_latent_attention.py.
struct Projections {
  explicit Projections(const Core& c)
      : core(c), latent(c.model.latent), narrow_query(latent.query_rank > 0), tokens(c.sizes.tokens) {
    from = narrow_query ? latent.query_rank : c.model.hidden;
    kv_down = latent.kv_rank + latent.rope_dim;
    kv_up = c.heads * (latent.nope_dim + latent.value_dim);
    rotary_bytes = tokens * (c.heads + 1) * latent.rope_dim * c.sizes.element;
    // Reads the keys without position and the shared rotary part, writes whole keys.
    assemble_bytes = tokens * (c.heads * latent.nope_dim + latent.rope_dim) * c.sizes.element + c.key_bytes;
  }
  const Core& core;
  const Latent& latent;
  bool narrow_query;
  std::int64_t tokens;
  std::int64_t from;     // channels that queries are made from
  std::int64_t kv_down;  // channels of the keys' and values' narrow vector, rotary ones too
  std::int64_t kv_up;    // channels of this rank's keys without position, and values
  std::int64_t rotary_bytes, assemble_bytes;
};

void AddDown(const Projections& p, Block* block) {
  const Core& core = p.core;
  const std::int64_t cut = core.sizes.cut, hidden = core.model.hidden;
  const auto format = LinearFormat(core.execution);
  std::vector<Kernel>* kernels = &block->before_gather;
  AddCast("cast_input", core.execution, core.sizes.cut_h, kernels);
  AddWeightCast(core.execution, p.kv_down, hidden, 1, block);
  if (p.narrow_query) {
    kernels->push_back(Gemm("query_down", {cut, p.latent.query_rank, hidden, 1}, format));
    AddNorm("query_norm", core.model.norm, cut, p.latent.query_rank, core.execution, kernels);
    AddWeightCast(core.execution, p.latent.query_rank, hidden, 1, block);
  }
  kernels->push_back(Gemm("kv_down", {cut, p.kv_down, hidden, 1}, format));
  AddNorm("kv_norm", core.model.norm, cut, p.latent.kv_rank, core.execution, kernels);
}

void AddUp(const Projections& p, std::vector<Kernel>* kernels) {
  const Core& core = p.core;
  const auto format = LinearFormat(core.execution);
  AddCast("cast_input", core.execution, p.tokens * p.from, kernels);
  AddCast("cast_input", core.execution, p.tokens * p.latent.kv_rank, kernels);
  kernels->push_back(Gemm("query_up", {p.tokens, core.sizes.query, p.from, 1}, format));
  kernels->push_back(Gemm("kv_up", {p.tokens, p.kv_up, p.latent.kv_rank, 1}, format));
  AddRotary(core, "rotary", p.rotary_bytes, kernels);
  kernels->push_back(Moves("assemble_keys", p.assemble_bytes));
}

void AddMain(const Projections& p, Block* block) {
  const Core& core = p.core;
  const auto format = LinearFormat(core.execution);
  std::vector<Kernel>* main = &block->main;
  AddUp(p, main);
  AddWeightCast(core.execution, core.sizes.query, p.from, 1, block);
  AddWeightCast(core.execution, p.kv_up, p.latent.kv_rank, 1, block);
  AddWeightCast(core.execution, core.model.hidden, core.sizes.output, 1, block);
  main = AddCoreForwardTo(core, block);
  AddCast("cast_input", core.execution, p.tokens * core.sizes.output, main);
  main->push_back(Gemm("attention_output", {p.tokens, core.model.hidden, core.sizes.output, 1}, format));
}

void AddBackwardMain(const Projections& p, Block* block) {
  const Core& core = p.core;
  const Execution& execution = core.execution;
  const std::int64_t hidden = core.model.hidden, query = core.sizes.query, output = core.sizes.output;
  const auto format = LinearFormat(execution);
  std::vector<Kernel>* main = &block->backward_main;
  main->push_back(Gemm("attention_output_dgrad", {p.tokens, output, hidden, 1}, format));
  AddWeightGradient("attention_output_wgrad", hidden, output, p.tokens, execution, main);
  main = AddCoreBackwardTo(core, block);
  main->push_back(Moves("assemble_keys_backward", p.assemble_bytes));
  AddRotary(core, "rotary_backward", p.rotary_bytes, main);
  AddCast("cast_gradient", execution, p.tokens * query, main);
  AddCast("cast_gradient", execution, p.tokens * p.kv_up, main);
  main->push_back(Gemm("query_up_dgrad", {p.tokens, p.from, query, 1}, format));
  main->push_back(Gemm("kv_up_dgrad", {p.tokens, p.latent.kv_rank, p.kv_up, 1}, format));
  std::vector<Kernel>* weight = &block->backward_weight;
  AddWeightGradient("query_up_wgrad", query, p.from, p.tokens, execution, weight);
  AddWeightGradient("kv_up_wgrad", p.kv_up, p.latent.kv_rank, p.tokens, execution, weight);
}

void AddDownBackward(const Projections& p, Block* block) {
  const Core& core = p.core;
  const Execution& execution = core.execution;
  const std::int64_t cut = core.sizes.cut, hidden = core.model.hidden;
  std::vector<Kernel>* kernels = &block->backward_tail;
  AddNormBackward("kv_norm_backward", core.model.norm, cut, p.latent.kv_rank, execution, kernels);
  const auto format = LinearFormat(execution);
  AddCast("cast_gradient", execution, cut * p.kv_down, kernels);
  kernels->push_back(Gemm("kv_down_dgrad", {cut, hidden, p.kv_down, 1}, format));
  AddWeightGradient("kv_down_wgrad", p.kv_down, hidden, cut, execution, kernels);
  if (p.narrow_query) {
    const std::int64_t rank = p.latent.query_rank;
    AddNormBackward("query_norm_backward", core.model.norm, cut, rank, execution, kernels);
    AddCast("cast_gradient", execution, cut * rank, kernels);
    kernels->push_back(Gemm("query_down_dgrad", {cut, hidden, rank, 1}, format));
    AddWeightGradient("query_down_wgrad", rank, hidden, cut, execution, kernels);
  }
  kernels->push_back(Moves("branch_gradient_sum", 3 * core.sizes.cut_h * core.sizes.element));
}

void AddActivations(const Projections& p, Block* block) {
  const Core& core = p.core;
  const auto input = [&](std::int64_t numbers) { return Bytes(LinearInputBytes(core.execution, numbers)); };
  const Bytes cut(core.sizes.cut_h * core.sizes.element);
  const SelectiveModules& modules = core.execution.selective;
  std::vector<Activation>* kept = &block->activations;
  KeepNorm("norm_input", core.model.norm, core.sizes.cut_h, core.execution, false, kept);
  kept->push_back({"down_input", input(core.sizes.cut_h), modules.norm_output});
  if (p.narrow_query) {
    KeepNorm("query_norm_input", core.model.norm, core.sizes.cut * p.latent.query_rank, core.execution, false,
             kept);
    kept->push_back({"query_up_input", input(core.sizes.cut * p.latent.query_rank), modules.latent_up});
  } else if (modules.latent_up && core.execution.matmul.recipe != Recipe::kNone) {
    kept->push_back({"query_up_source", cut, false, /*instead=*/true});  // 16 bits, to be cast again
  }
  KeepNorm("kv_norm_input", core.model.norm, core.sizes.cut * p.latent.kv_rank, core.execution, false, kept);
  kept->push_back({"kv_up_input", input(core.sizes.cut * p.latent.kv_rank), modules.latent_up});
  AddCoreActivations(core, kept);
}

// Megatron-LM's mla_up_proj: from the narrow vectors, through their norms (which Transformer
// Engine has in the layers that follow them), to whole queries, keys and values; the rotary
// part of keys was kept as it was gathered.
void AddUpAgain(const Projections& p, Block* block) {
  const Core& core = p.core;
  const Execution& execution = core.execution;
  if (!execution.selective.latent_up) return;
  std::vector<Kernel>* norms = &block->again.before_gather;
  if (p.narrow_query) {
    AddNorm("query_norm", core.model.norm, core.sizes.cut, p.latent.query_rank, execution, norms);
  }
  AddNorm("kv_norm", core.model.norm, core.sizes.cut, p.latent.kv_rank, execution, norms);
  AddUp(p, &block->again.main);
  if (execution.sequence_parallel && execution.tensor > 1) {
    block->again.gather = Bytes(p.tokens * core.sizes.element * (p.from + p.latent.kv_rank));
  }
}

void AddLatentCommunication(const Projections& p, Block* block) {
  const Core& core = p.core;
  if (core.execution.tensor == 1) return;
  const std::int64_t row = p.tokens * core.sizes.element;
  const Bytes narrow(row * (p.from + p.kv_down));
  block->reduce_forward = WholeTensor(core.model, core.execution);
  block->reduce_backward = narrow;
  if (!core.execution.sequence_parallel) return;
  block->gather_forward = narrow;
  block->gather_backward = GatheredGradient(core.execution, block->reduce_forward);
  block->gather_again = Bytes(row * (p.from + p.latent.kv_rank));  // the rotary part needs no weight gradient
}

}  // namespace

Block LatentAttentionBlock(const Core& core) {
  const Model& model = core.model;
  const Execution& execution = core.execution;
  const Projections projections(core);
  Block block;
  block.name = "attention";
  AddActivations(projections, &block);
  AddNorm("norm", model.norm, core.sizes.cut, model.hidden, execution, &block.before_gather);
  AddDown(projections, &block);
  AddMain(projections, &block);
  AddAfterReduce(model, execution, model.biases.attention_output, &block);
  AddBackwardHead(model, execution, model.biases.attention_output, &block);
  AddGatheredGradientCast(model, execution, &block);
  AddNormAgain(model, execution, &block);
  AddUpAgain(projections, &block);
  AddCoreAgain(core, &block);
  AddBackwardMain(projections, &block);
  AddDownBackward(projections, &block);
  AddBackwardTail(model, execution, &block);
  AddLatentCommunication(projections, &block);
  return block;
}

}  // namespace models
