// The pipeline: which schedule, and which layers on which piece.

#include <cstring>
#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/layer_split.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

const char* ScheduleName(config::Schedule::Kind kind, std::int64_t virtual_stages) {
  switch (kind) {
    case config::Schedule::GPIPE:
      return "gpipe";
    case config::Schedule::ONE_F_ONE_B:
      return "1f1b";
    case config::Schedule::INTERLEAVED:
      return "interleaved";
    default:
      return virtual_stages > 1 ? "interleaved" : "1f1b";
  }
}

void ReadSchedule(const config::Pipeline& in, const Block& top, std::int64_t group_size, Scenario* scenario) {
  const Layout& layout = scenario->layout;
  Pipeline& pipeline = scenario->pipeline;
  pipeline.schedule = sim::FindPipelineSchedule(ScheduleName(in.schedule(), layout.virtual_stages));
  CHECK(pipeline.schedule != nullptr);
  pipeline.shape.stages = static_cast<std::uint32_t>(layout.pipeline);
  pipeline.shape.chunks = static_cast<std::uint32_t>(layout.virtual_stages);
  pipeline.shape.microbatches = static_cast<std::uint32_t>(scenario->batch.micro_batches);
  pipeline.shape.group_size = static_cast<std::uint32_t>(group_size);
  if (layout.pipeline == 0 || layout.virtual_stages == 0 || scenario->batch.micro_batches == 0) return;
  if (const auto error = pipeline.schedule->refuse(pipeline.shape)) {
    const bool by_name = in.schedule() != config::Schedule::UNSPECIFIED;
    if (by_name) {
      top.Of("pipeline").Error("schedule", error->message);
    } else {
      top.Of("layout").Error(layout.virtual_stages > 1 ? "virtual" : "pipeline", error->message);
    }
  }
}

// Whether the listed numbers are usable at all.
bool ReadStageLayers(const config::Pipeline& in, const Block& block, std::int64_t layers,
                     LayerRequest* request) {
  bool good = true;
  for (int i = 0; i < in.stage_layers_size(); ++i) {
    const std::int64_t n = in.stage_layers(i);
    request->stage_layers.push_back(n);
    if (n >= 0 && n <= layers) continue;
    block.Error("stage_layers",
                std::to_string(n) + " is out of range; a number from 0 to the model's " +
                    std::to_string(layers) + " layers is wanted",
                i);
    good = false;
  }
  return good;
}

}  // namespace

void ReadPipeline(const config::Scenario& scenario_in, const Block& top, bool has_model, Scenario* scenario) {
  constexpr std::int64_t kMostGroup = 1'000'000, kMostLayers = 10'000;
  const config::Pipeline& in = scenario_in.pipeline();
  const Block block = top.Of("pipeline");
  const std::int64_t group_size =
      block.Optional("group_size", in.has_group_size(), in.group_size(), 1, kMostGroup, 0);
  ReadSchedule(in, top, group_size, scenario);

  const std::int64_t layers = has_model ? scenario->model.layers : kMostLayers;
  LayerRequest request;
  request.layers = layers;
  request.stages = scenario->layout.pipeline;
  request.chunks = scenario->layout.virtual_stages;
  const std::size_t before = block.diagnostics()->errors().size();
  ReadStageLayers(in, block, layers, &request);
  const auto end = [&](const char* name, bool has, std::int64_t value) -> std::optional<std::int64_t> {
    const std::int64_t n = block.Optional(name, has, value, 1, layers, 0);
    return has ? std::optional(n) : std::nullopt;
  };
  request.first_stage_layers =
      end("first_stage_layers", in.has_first_stage_layers(), in.first_stage_layers());
  request.last_stage_layers = end("last_stage_layers", in.has_last_stage_layers(), in.last_stage_layers());
  request.embedding_counts = in.embedding_counts_as_layer();
  request.loss_counts = in.loss_counts_as_layer();
  if (block.diagnostics()->errors().size() != before) return;
  if (!has_model || request.stages == 0 || request.chunks == 0) return;
  LayerSplit split = SplitLayers(request);
  if (split.error.empty()) {
    scenario->pipeline.layers_of_piece = std::move(split.layers_of_piece);
    return;
  }
  const bool of_layout =
      std::strcmp(split.field, "pipeline") == 0 || std::strcmp(split.field, "virtual") == 0;
  (of_layout ? top.Of("layout") : block).Error(split.field, split.error);
}

}  // namespace scenarios
