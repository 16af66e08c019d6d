// Layout, batch, pipeline and experts of a row.

#include <vector>

#include "proto/scenario.pb.h"
#include "scenarios/published/row_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

// A number that the row gives, or says is not stated, with what is likely: "unstated (likely 1)".
std::int64_t StatedOr1(const std::string& cell, const char* what, Draft* draft) {
  if (cell.empty()) return 1;
  const std::int64_t stated = NumberAfter(cell, "", 0);
  if (stated > 0) return stated;
  const std::int64_t likely = NumberAfter(cell, "likely ", 1);
  draft->Assume(std::string(what) + " is not stated: " + std::to_string(likely));
  return likely;
}

// Chunks of a stage. "max (1 layer per chunk)": one for each layer, embedding or loss.
std::int64_t Chunks(const StepRow& row, bool ends_count, Draft* draft) {
  if (!Says(row.vpp, "1 layer per chunk")) return StatedOr1(row.vpp, "interleaving", draft);
  const std::int64_t slots = row.layers + (ends_count ? 2 : 0);
  if (slots % row.pp == 0) return slots / row.pp;
  draft->Refuse("vpp: chunks of one layer do not share out the layers");
  return 1;
}

// Layers that stages do not share evenly: the first ones have one more, as the balanced
// partitions of DeepSpeed have; the longest stage sets the pace either way.
void WriteStageLayers(const StepRow& row, config::Pipeline* pipeline) {
  const std::int64_t each = row.layers / row.pp, more = row.layers % row.pp;
  for (std::int64_t stage = 0; stage < row.pp; ++stage) {
    pipeline->add_stage_layers(each + (stage < more ? 1 : 0));
  }
}

// nanotron fills one stage after the other, until what it holds passes its share of the cost
// of layers and head; so the last one has fewer layers where the vocabulary is large.
// Source: nanotron, src/nanotron/models/base.py (build_model), models/llama.py (get_block_compute_costs).
void WriteStagesByCost(const StepRow& row, config::Pipeline* pipeline) {
  const std::int64_t layer = 4 * row.hidden * row.hidden + 3 * row.ffn_hidden * row.hidden;
  const std::int64_t total = row.layers * layer + row.vocab * row.hidden;
  std::vector<std::int64_t> layers(static_cast<std::size_t>(row.pp), 0);
  std::int64_t stage = 0;
  for (std::int64_t done = 1; done <= row.layers; ++done) {
    ++layers[static_cast<std::size_t>(stage)];
    const bool full = done * layer * row.pp > total * (stage + 1);
    if (full && stage + 1 < row.pp) ++stage;
  }
  for (const std::int64_t n : layers) pipeline->add_stage_layers(n);
}

void WritePipeline(const StepRow& row, Draft* draft) {
  config::Scenario& out = *draft->scenario;
  const bool ends_count = Says(row.notes, "first/last stage have one fewer layer");
  const std::int64_t chunks = Chunks(row, ends_count, draft);
  out.mutable_layout()->set_virtual_(chunks);
  if (Says(row.overlap, "schedule=ZB") || Says(row.overlap, "DualPipe")) {
    draft->Refuse("schedule: no row with a split backward was there to be read");
  }
  if (row.pp == 1) return;
  if (ends_count) {
    out.mutable_pipeline()->set_embedding_counts_as_layer(true);
    out.mutable_pipeline()->set_loss_counts_as_layer(true);
  } else if (chunks == 1 && Says(row.source, "nanotron")) {
    WriteStagesByCost(row, out.mutable_pipeline());
  } else if (chunks == 1 && row.layers % row.pp != 0) {
    WriteStageLayers(row, out.mutable_pipeline());
  }
}

void WriteExperts(const StepRow& row, Draft* draft) {
  config::Scenario& out = *draft->scenario;
  config::Layout& layout = *out.mutable_layout();
  const bool experts = row.moe != "dense";
  layout.set_expert(row.ep);
  // Megatron-LM's default: experts are cut as the rest.
  layout.set_expert_tensor(experts && !Says(row.overlap, "ETP=1") ? row.tp : 1);
  const bool spread = experts && (row.ep > 1 || layout.expert_tensor() != row.tp);
  if (!experts) return;
  draft->Assume("routing is balanced");
  if (!spread) return;
  config::RoutedExperts& routed = *out.mutable_experts();
  const bool by_node = Says(row.overlap, "hybridep") || Says(row.overlap, "deepep");
  routed.set_dispatcher(by_node ? config::Dispatcher::DEEPEP : config::Dispatcher::ALLTOALL);
  if (Says(row.overlap, "hybridep")) draft->Assume("HybridEP moves tokens as DeepEP does");
  if (Says(row.notes, "capacity 1.0")) routed.set_capacity_factor(1);
  if (Says(row.notes, "(tokendrop)")) {
    draft->Assume("tokens beyond a capacity factor of 1 are dropped");
    routed.set_capacity_factor(1);
  }
  // Source: Megatron-Bridge, scripts/performance: the one switch sets both.
  if (Says(row.overlap, "moe_a2a_overlap=True")) {
    out.mutable_pipeline()->set_overlap_experts(true);
    out.mutable_pipeline()->set_delay_weight_gradients(true);
  }
}

}  // namespace

void WriteLayout(const StepRow& row, Draft* draft) {
  config::Scenario& out = *draft->scenario;
  config::Layout& layout = *out.mutable_layout();
  if (row.cp > 1) {
    draft->Assume("keys and values go round in a balanced ring, as Transformer Engine's default");
    layout.set_context_kind(config::ContextKind::RING);
  }
  layout.set_tensor(row.tp);
  layout.set_context(row.cp);
  layout.set_pipeline(row.pp);
  layout.set_data(row.dp);
  layout.set_sequence(row.tp > 1 && Says(row.sp, "yes"));
  if (row.sp.empty() && row.tp > 1) draft->Assume("no sequence parallelism, which is not stated");
  WritePipeline(row, draft);
  WriteExperts(row, draft);
  config::Batch& batch = *out.mutable_batch();
  batch.set_global(row.global_batch);
  batch.set_micro(StatedOr1(row.micro_batch, "the micro-batch", draft));
  batch.set_sequence_length(row.seq_len);
}

}  // namespace scenarios
