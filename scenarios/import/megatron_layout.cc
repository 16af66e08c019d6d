// Megatron-LM's arguments about who shares the job, and the batch.

#include <algorithm>
#include <string>

#include "scenarios/import/megatron.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostRanks = 4096, kMostVirtual = 1024, kMostLayers = 10'000;

// Pieces of the model a stage holds, as either argument says.
std::int64_t ReadVirtual(Settings* s, std::int64_t layers, std::int64_t stages, std::string* from) {
  const auto stages_given = s->Integer("num-virtual-stages-per-pipeline-rank", 1, kMostVirtual);
  const auto piece = s->Integer("num-layers-per-virtual-pipeline-stage", 1, kMostLayers);
  *from = s->Place("num-virtual-stages-per-pipeline-rank");
  if (!piece) return stages_given.value_or(1);
  const std::int64_t slots = layers + (s->Flag("account-for-embedding-in-pipeline-split") ? 1 : 0) +
                             (s->Flag("account-for-loss-in-pipeline-split") ? 1 : 0);
  *from = s->Place("num-layers-per-virtual-pipeline-stage");
  if (slots % (stages * *piece) != 0) {
    s->Error("num-layers-per-virtual-pipeline-stage",
             std::to_string(slots) + " layers are not a multiple of " + std::to_string(stages) +
                 " stages x " + std::to_string(*piece) + " layers");
    return 1;
  }
  const std::int64_t virtual_stages = slots / stages / *piece;
  if (stages_given && *stages_given != virtual_stages) {
    s->Error("num-virtual-stages-per-pipeline-rank", std::to_string(*stages_given) + " differs from the " +
                                                         std::to_string(virtual_stages) + " of " +
                                                         s->Place("num-layers-per-virtual-pipeline-stage"));
  }
  return virtual_stages;
}

// Layers of each piece, from a layout that names every one. Returns the pieces a stage holds.
std::int64_t ReadPieces(Settings* s, std::int64_t stages, Draft* draft) {
  const char* key = "pipeline-model-parallel-layout";
  const auto text = s->Text(key);
  if (!text) return 0;
  const auto pieces = ExpandPipelineLayout(*text);
  const std::string wanted = "; E, t, m and L between bars are wanted, as \"Et*3|(tt|)*29m|L\"";
  if (!pieces) {
    s->Error(key, '"' + text->substr(0, 60) + "\" is no layout" + wanted);
    return 0;
  }
  const auto count = static_cast<std::int64_t>(pieces->size());
  if (count % stages != 0) {
    s->Error(key, std::to_string(count) + " pieces for " + std::to_string(stages) +
                      " stages; a multiple of them is wanted");
    return 0;
  }
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    const std::string& piece = (*pieces)[i];
    const bool first = piece.find('E') != std::string::npos, last = piece.find('L') != std::string::npos;
    if (first != (i == 0) || last != (i + 1 == pieces->size())) {
      s->Error(key, "E is wanted in the first piece and L in the last, and nowhere else");
      return 0;
    }
    if (!last && piece.find('m') != std::string::npos) {
      s->Error(key, "an MTP layer (m) apart from the loss is not simulated; mL in one piece is wanted");
      return 0;
    }
    const std::int64_t here = std::count(piece.begin(), piece.end(), 't');
    layers += here;
    draft->Put("pipeline.stage_layers[" + std::to_string(i) + ']', here, s->Place(key));
  }
  if (layers != draft->model.layers && !s->refused("num-layers")) {
    s->Error(key, std::to_string(layers) + " layers t, but " + std::to_string(draft->model.layers) + " of " +
                      s->Place("num-layers"));
  }
  return count / stages;
}

void ReadStages(Settings* s, std::int64_t stages, Draft* draft) {
  std::string from;
  std::int64_t virtual_stages = ReadVirtual(s, draft->model.layers, stages, &from);
  if (const std::int64_t pieces = ReadPieces(s, stages, draft); pieces > 0) {
    if (virtual_stages > 1 && virtual_stages != pieces) {
      s->Error("pipeline-model-parallel-layout", std::to_string(pieces) + " pieces a stage, but " +
                                                     std::to_string(virtual_stages) + " of " + from);
    }
    virtual_stages = pieces;
    from = s->Place("pipeline-model-parallel-layout");
  }
  draft->Put("layout.virtual", virtual_stages, from);
  const std::pair<const char*, const char*> numbers[] = {
      {"decoder-first-pipeline-num-layers", "pipeline.first_stage_layers"},
      {"decoder-last-pipeline-num-layers", "pipeline.last_stage_layers"},
      {"microbatch-group-size-per-virtual-pipeline-stage", "pipeline.group_size"}};
  for (const auto& [key, path] : numbers) {
    if (const auto value = s->Integer(key, 1, kMostLayers)) draft->Put(path, *value, s->Place(key));
  }
  const std::pair<const char*, const char*> flags[] = {
      {"account-for-embedding-in-pipeline-split", "pipeline.embedding_counts_as_layer"},
      {"account-for-loss-in-pipeline-split", "pipeline.loss_counts_as_layer"},
      {"overlap-moe-expert-parallel-comm", "pipeline.overlap_experts"},
      {"delay-wgrad-compute", "pipeline.delay_weight_gradients"}};
  for (const auto& [key, path] : flags) {
    if (s->Flag(key)) draft->Put(path, true, s->Place(key));
  }
}

void ReadMegatronBatch(Settings* s, Draft* draft) {
  constexpr std::int64_t kMost = 1'000'000'000;
  const char* length = s->has("seq-length") ? "seq-length" : "encoder-seq-length";
  const auto global = s->Integer("global-batch-size", 1, kMost);
  if (!global && !s->refused("global-batch-size")) {
    s->Error("global-batch-size", "missing; sequences a step are wanted");
  }
  draft->Put("batch.global", global.value_or(1), s->Place("global-batch-size"));
  draft->Put("batch.micro", s->Required("micro-batch-size", 1, kMost, "sequences are wanted"),
             s->Place("micro-batch-size"));
  draft->Put("batch.sequence_length", s->Integer(length, 1, kMost).value_or(draft->model.max_positions),
             s->Place(length));
  if (!s->has(length) && !s->refused(length))
    s->Error("seq-length", "missing; tokens of a sequence are wanted");
}

}  // namespace

void ReadMegatronLayout(Settings* s, Draft* draft) {
  const auto degree = [&](const char* key, std::int64_t otherwise) {
    return s->Integer(key, 1, kMostRanks).value_or(otherwise);
  };
  const std::int64_t tensor = degree("tensor-model-parallel-size", 1);
  const std::int64_t stages = degree("pipeline-model-parallel-size", 1);
  const std::int64_t context = degree("context-parallel-size", 1);
  draft->Put("layout.tensor", tensor, s->Place("tensor-model-parallel-size"));
  draft->Put("layout.pipeline", stages, s->Place("pipeline-model-parallel-size"));
  draft->Put("layout.context", context, s->Place("context-parallel-size"));
  const bool sequence = s->Flag("sequence-parallel");
  // Source: arguments.py turns it off without tensor parallelism.
  if (sequence && tensor == 1) {
    s->diagnostics()->Warning(s->Place("sequence-parallel"), "has no effect without tensor parallelism");
  }
  draft->Put("layout.sequence", sequence && tensor > 1, s->Place("sequence-parallel"));
  // Where it is not simulated it stays among what is left out.
  const bool in_pieces =
      sequence && tensor > 1 && !s->Flag("multi-latent-attention") && !s->Flag("delay-wgrad-compute");
  if (in_pieces && s->Flag("tp-comm-overlap")) {
    draft->Put("training.tensor_overlap", "PIPELINED", s->Place("tp-comm-overlap"));
  }
  if (context > 1) {
    const std::string kind = s->OneOf("cp-comm-type", {"p2p", "all_gather", "a2a"}).value_or("p2p");
    draft->Put("layout.context_kind",
               kind == "p2p"   ? "RING"
               : kind == "a2a" ? "ULYSSES"
                               : "ALL_GATHER",
               s->Place("cp-comm-type"));
  }

  const bool experts = draft->model.experts.routed > 0;
  const std::int64_t expert = degree("expert-model-parallel-size", 1);
  const std::int64_t cut = degree("expert-tensor-parallel-size", experts ? tensor : 1);
  draft->Put("layout.expert", expert, s->Place("expert-model-parallel-size"));
  draft->Put("layout.expert_tensor", experts ? cut : 1,
             s->Place(s->has("expert-tensor-parallel-size") ? "expert-tensor-parallel-size"
                                                            : "tensor-model-parallel-size"));
  if (const auto data = s->Integer("data-parallel-size", 1, 1'048'576)) {
    draft->Put("layout.data", *data, s->Place("data-parallel-size"));
  }
  if (s->Flag("use-tp-pp-dp-mapping")) {
    draft->Put("layout.rank_order", "tensor-context-pipeline-data", s->Place("use-tp-pp-dp-mapping"));
  }
  ReadStages(s, stages, draft);
  ReadMegatronBatch(s, draft);
}

}  // namespace scenarios
