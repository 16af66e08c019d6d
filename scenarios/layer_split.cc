#include "scenarios/layer_split.h"

#include <numeric>

#include "scenarios/layout_rules.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using std::to_string;

LayerSplit Refuse(const char* field, const std::string& error) { return {{}, error, field}; }

// Each stage's layers cut evenly in its chunks.
LayerSplit CutStages(const std::vector<std::int64_t>& stage_layers, const LayerRequest& request,
                     const char* field) {
  LayerSplit split;
  split.layers_of_piece.resize(static_cast<std::size_t>(request.stages * request.chunks));
  for (std::int64_t s = 0; s < request.stages; ++s) {
    const std::int64_t layers = stage_layers[static_cast<std::size_t>(s)];
    if (layers % request.chunks != 0) {
      return Refuse(field, "stage " + to_string(s) + " has " + to_string(layers) + " layers, which " +
                               to_string(request.chunks) + " virtual stages do not divide; " +
                               DivisorsText(layers, request.chunks) + " do");
    }
    for (std::int64_t c = 0; c < request.chunks; ++c) {
      const std::int64_t along = request.vee && c % 2 == 1 ? request.stages - 1 - s : s;
      split.layers_of_piece[static_cast<std::size_t>(c * request.stages + along)] = layers / request.chunks;
    }
  }
  return split;
}

LayerSplit SplitAsListed(const LayerRequest& request) {
  const auto size = static_cast<std::int64_t>(request.stage_layers.size());
  const std::int64_t pieces = request.stages * request.chunks;
  if (size != request.stages && size != pieces) {
    return Refuse("stage_layers",
                  to_string(size) + " numbers; wanted " + to_string(request.stages) + ", one a stage" +
                      (pieces > request.stages ? ", or " + to_string(pieces) + ", one a piece" : ""));
  }
  const std::int64_t sum =
      std::accumulate(request.stage_layers.begin(), request.stage_layers.end(), std::int64_t{0});
  if (sum != request.layers) {
    return Refuse("stage_layers",
                  "adds up to " + to_string(sum) + " layers; the model has " + to_string(request.layers));
  }
  LayerSplit split{request.stage_layers, "", ""};
  if (size == request.stages) split = CutStages(request.stage_layers, request, "stage_layers");
  for (std::size_t i = 1; i + 1 < split.layers_of_piece.size(); ++i) {
    if (split.layers_of_piece[i] > 0) continue;
    return Refuse("stage_layers", "piece " + to_string(static_cast<std::int64_t>(i)) +
                                      " has no layer; only the first and the last may be without");
  }
  return split;
}

LayerSplit SplitWithEnds(const LayerRequest& request) {
  const char* field = request.first_stage_layers ? "first_stage_layers" : "last_stage_layers";
  if (request.stages < 2) return Refuse(field, "given for 1 stage; wanted only where there are more");
  const std::int64_t ends = request.first_stage_layers.value_or(0) + request.last_stage_layers.value_or(0);
  const std::int64_t middle = request.layers - ends;
  const std::int64_t between =
      request.stages - (request.first_stage_layers ? 1 : 0) - (request.last_stage_layers ? 1 : 0);
  if (middle < between || (between == 0 && middle != 0)) {
    return Refuse(field, to_string(ends) + " layers on the ends leave " + to_string(middle) + " of " +
                             to_string(request.layers) + " for " + to_string(between) + " other stages");
  }
  if (between > 0 && middle % between != 0) {
    return Refuse(field, to_string(middle) + " layers are left for " + to_string(between) +
                             " other stages, which do not divide them; " + DivisorsText(middle, between) +
                             " would");
  }
  std::vector<std::int64_t> stages(static_cast<std::size_t>(request.stages),
                                   between > 0 ? middle / between : 0);
  if (request.first_stage_layers) stages.front() = *request.first_stage_layers;
  if (request.last_stage_layers) stages.back() = *request.last_stage_layers;
  return CutStages(stages, request, field);
}

LayerSplit SplitEvenly(const LayerRequest& request) {
  const std::int64_t extra = (request.embedding_counts ? 1 : 0) + (request.loss_counts ? 1 : 0);
  const std::int64_t slots = request.layers + extra;
  const std::string what =
      to_string(slots) + (extra > 0 ? " layers (embedding and loss counted)" : " layers");
  if (slots % request.stages != 0) {
    return Refuse("pipeline", what + " do not share evenly over " + to_string(request.stages) + " stages (" +
                                  to_string(slots) + " % " + to_string(request.stages) + " = " +
                                  to_string(slots % request.stages) + "); " +
                                  DivisorsText(slots, request.stages) +
                                  " would, or say pipeline.stage_layers or first_ and last_stage_layers");
  }
  const std::int64_t a_stage = slots / request.stages;
  if (a_stage % request.chunks != 0) {
    return Refuse("virtual", what + " over " + to_string(request.stages) +
                                 (request.stages == 1 ? " stage are " : " stages are ") + to_string(a_stage) +
                                 (a_stage == 1 ? " layer" : " layers") + " a stage, which " +
                                 to_string(request.chunks) + " virtual stages do not divide; " +
                                 DivisorsText(a_stage, request.chunks) + (a_stage == 1 ? " does" : " do"));
  }
  LayerSplit split;
  split.layers_of_piece.assign(static_cast<std::size_t>(request.stages * request.chunks),
                               a_stage / request.chunks);
  if (request.embedding_counts) split.layers_of_piece.front() -= 1;
  if (request.loss_counts) split.layers_of_piece.back() -= 1;
  if (split.layers_of_piece.front() < 0)
    return Refuse("pipeline", "no layer is left beside embedding and loss");
  return split;
}

}  // namespace

LayerSplit SplitLayers(const LayerRequest& request) {
  CHECK(request.layers > 0 && request.stages > 0 && request.chunks > 0);
  const bool counts = request.embedding_counts || request.loss_counts;
  const bool ends = request.first_stage_layers || request.last_stage_layers;
  if (!request.stage_layers.empty()) {
    if (ends || counts) {
      return Refuse("stage_layers", "given beside another way to share the layers; one is wanted");
    }
    return SplitAsListed(request);
  }
  if (ends && counts) {
    return Refuse(request.embedding_counts ? "embedding_counts_as_layer" : "loss_counts_as_layer",
                  "given beside first_stage_layers or last_stage_layers; one of the two is wanted");
  }
  return ends ? SplitWithEnds(request) : SplitEvenly(request);
}

}  // namespace scenarios
