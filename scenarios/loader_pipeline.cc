// The pipeline: which schedule, and which layers on which piece.

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "proto/scenario.pb.h"
#include "scenarios/layer_split.h"
#include "scenarios/loader_parts.h"
#include "scenarios/piece_layout.h"
#include "sim/schedule/order_text.h"

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
    case config::Schedule::ZB1P:
      return "zb1p";
    case config::Schedule::ZB2P:
      return "zb2p";
    case config::Schedule::ZBV:
      return "zbv";
    case config::Schedule::VHALF:
      return "vhalf";
    case config::Schedule::VMIN:
      return "vmin";
    case config::Schedule::DUALPIPE:
      return "dualpipe";
    case config::Schedule::DUALPIPEV:
      return "dualpipev";
    case config::Schedule::SEQ1F1B:
      return "seq1f1b";
    default:
      return virtual_stages > 1 ? "interleaved" : "1f1b";
  }
}

// Orders of all stages are in memory together where a schedule is played.
constexpr std::int64_t kMostPasses = 16'777'216;

void ReadSchedule(const config::Pipeline& in, const Block& top, Scenario* scenario) {
  const Layout& layout = scenario->layout;
  Pipeline& pipeline = scenario->pipeline;
  pipeline.schedule = sim::FindPipelineSchedule(ScheduleName(in.schedule(), layout.virtual_stages));
  CHECK(pipeline.schedule != nullptr);
  if (layout.pipeline == 0 || layout.virtual_stages == 0 || scenario->batch.micro_batches == 0) return;
  if (const auto error = pipeline.schedule->refuse(pipeline.shape)) {
    const bool by_name = in.schedule() != config::Schedule::UNSPECIFIED;
    if (by_name) {
      top.Of("pipeline").Error("schedule", error->message);
    } else {
      top.Of("layout").Error(layout.virtual_stages > 1 ? "virtual" : "pipeline", error->message);
    }
    return;
  }
  const std::int64_t passes = layout.pipeline * layout.virtual_stages * scenario->batch.micro_batches;
  if (pipeline.schedule->splits_backward && passes > kMostPasses) {
    top.Of("pipeline")
        .Error("schedule", std::string(pipeline.schedule->name) + ": " + std::to_string(passes) +
                               " stages x chunks x micro-batches; " + std::to_string(kMostPasses) +
                               " at most are simulated");
  }
}

// Parts of each sequence; 1 where the schedule cuts none.
void ReadParts(const config::Pipeline& in, const Block& block, Scenario* scenario) {
  constexpr std::int64_t kMostParts = 1024;
  if (in.schedule() != config::Schedule::SEQ1F1B || in.has_order_file()) {
    if (in.has_sequence_parts())
      block.Error("sequence_parts", "needs schedule SEQ1F1B, which cuts sequences");
    return;
  }
  const std::int64_t parts =
      block.Required("sequence_parts", in.has_sequence_parts(), in.sequence_parts(), 2, kMostParts);
  if (parts == 0) return;
  scenario->pipeline.shape.parts = static_cast<std::uint32_t>(parts);
  const std::int64_t cut = parts * (scenario->layout.sequence ? scenario->layout.tensor : 1);
  const std::int64_t tokens = scenario->batch.sequence_length;
  if (cut == 0 || tokens % cut == 0) return;
  block.Error("sequence_parts",
              std::to_string(tokens) + " tokens are not a multiple of " + std::to_string(cut) +
                  ", the parts" + (scenario->layout.sequence ? " times the tensor ranks that cut each" : ""));
}

std::string PathOf(const std::string& name, const std::string& folder) {
  const std::filesystem::path beside = std::filesystem::path(folder) / name;
  std::error_code error;
  return !folder.empty() && std::filesystem::exists(beside, error) ? beside.string() : name;
}

// What the order and the layout say differently, or what no step can be made of; empty for nothing.
std::string RefuseOrder(const sim::PipelineOrder& order, const sim::PipelineShape& wanted) {
  const auto text = [](std::uint32_t n) { return std::to_string(n); };
  const sim::PipelineShape& shape = order.shape;
  if (shape.stages != wanted.stages) {
    return text(shape.stages) + " stages; layout.pipeline says " + text(wanted.stages);
  }
  if (shape.chunks != wanted.chunks) {
    return text(shape.chunks) + " chunks a stage; layout.virtual says " + text(wanted.chunks);
  }
  if (shape.microbatches != wanted.microbatches) {
    return text(shape.microbatches) + " micro-batches; the batch has " + text(wanted.microbatches);
  }
  if (shape.parts > 1) return "a sequence in " + text(shape.parts) + " parts, which is not simulated yet";
  if (order.placement != sim::Placement::kBothEnds) return "";
  if (shape.stages % 2 != 0) {
    return text(shape.stages) + " stages from both ends; an even number is wanted, two for each piece";
  }
  // Stages that hold the same pieces add up their gradients in one order.
  for (std::uint32_t stage = 0; stage < shape.stages / 2; ++stage) {
    const std::uint32_t mirror = shape.stages - 1 - stage;
    if (ChunksByEnd(order.stages[stage], 2)[0] == ChunksByEnd(order.stages[mirror], 2)[0]) {
      return "stages " + text(stage) + " and " + text(mirror) +
             " hold the same two pieces and end their backwards in different orders; the same is wanted";
    }
  }
  return "";
}

void ReadOrder(const config::Pipeline& in, const Block& block, const std::string& folder,
               Scenario* scenario) {
  Pipeline& pipeline = scenario->pipeline;
  if (in.schedule() != config::Schedule::UNSPECIFIED) {
    block.Error("order_file", "given beside a schedule; one of the two is wanted");
  }
  const std::string file = PathOf(in.order_file(), folder);
  std::string text;
  if (!proto::ReadFile(file, &text, block.diagnostics())) return;
  sim::ParsedOrder parsed = sim::ParseOrder(text, file);
  for (const std::string& error : parsed.errors) {
    // "file:line:column: what"; a file's name may hold colons.
    const std::size_t end = error.find(": ", file.size());
    block.diagnostics()->Error(error.substr(0, end), error.substr(end + 2));
  }
  if (!parsed.errors.empty()) return;
  pipeline.order_file = in.order_file();
  const Layout& layout = scenario->layout;
  if (layout.pipeline == 0 || layout.virtual_stages == 0 || scenario->batch.micro_batches == 0) return;
  const std::string wrong = RefuseOrder(parsed.order, pipeline.shape);
  if (!wrong.empty()) return block.Error("order_file", file + " has " + wrong);
  pipeline.order = std::make_shared<const sim::PipelineOrder>(std::move(parsed.order));
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

LayerSplit Split(const config::Pipeline& in, const LayerRequest& request) {
  if (!in.has_piece_layout()) return SplitLayers(request);
  if (!request.stage_layers.empty() || request.first_stage_layers || request.last_stage_layers ||
      request.embedding_counts || request.loss_counts) {
    return {{}, "given beside another way to share the layers; one is wanted", "piece_layout"};
  }
  return SplitByLayout(in.piece_layout(), request);
}

// How layers are shared among the pieces.
void ReadLayers(const config::Pipeline& in, bool trains_predictions, const Block& top, bool has_model,
                Scenario* scenario) {
  constexpr std::int64_t kMostLayers = 10'000;
  const Block block = top.Of("pipeline");
  const std::int64_t layers = has_model ? scenario->model.layers : kMostLayers;
  const sim::Placement placement = scenario->pipeline.placement();
  LayerRequest request;
  request.layers = layers;
  request.stages = scenario->layout.pipeline;
  // From both ends there are as many pieces as stages, each on two of them.
  request.chunks = placement == sim::Placement::kBothEnds ? 1 : scenario->layout.virtual_stages;
  request.vee = placement == sim::Placement::kVee;
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
  request.predictions = trains_predictions && has_model ? scenario->model.prediction_modules : 0;
  if (block.diagnostics()->errors().size() != before) return;
  if (!has_model || request.stages == 0 || scenario->layout.virtual_stages == 0) return;
  LayerSplit split = Split(in, request);
  if (split.error.empty()) {
    scenario->pipeline.layers_of_piece = std::move(split.layers_of_piece);
    return;
  }
  const bool of_layout =
      std::strcmp(split.field, "pipeline") == 0 || std::strcmp(split.field, "virtual") == 0;
  (of_layout ? top.Of("layout") : block).Error(split.field, split.error);
}

}  // namespace

void CheckParts(const Block& top, const Scenario& scenario) {
  if (scenario.pipeline.shape.parts == 1) return;
  const Training& training = scenario.training;
  const models::SelectiveModules& modules = training.selective;
  const bool keys_again =
      training.recompute == Recompute::kFull ||
      (training.recompute == Recompute::kSelective && (modules.latent_up || modules.operations));
  const char* why = nullptr;
  if (training.attention == sim::AttentionKind::kUnfused) why = "UNFUSED attention";
  if (scenario.model.sliding_window > 0) why = "sliding windows";
  if (scenario.model.relative_positions) why = "relative positions";
  if (scenario.layout.context > 1) why = "layout.context > 1";
  if (training.offload.activation_layers > 0) why = "training.offload.activation_layers";
  if (training.mtp) why = "training.mtp";
  if (keys_again) why = "recomputation that drops keys and values, which later parts read";
  if (why == nullptr) return;
  top.Of("pipeline")
      .Error("schedule", std::string("SEQ1F1B is not simulated with ") + why +
                             "; another schedule is wanted, or a job without it");
}

void ReadPipeline(const config::Scenario& scenario_in, const Block& top, const std::string& folder,
                  bool has_model, Scenario* scenario) {
  constexpr std::int64_t kMostGroup = 1'000'000;
  const config::Pipeline& in = scenario_in.pipeline();
  const Block block = top.Of("pipeline");
  Pipeline& pipeline = scenario->pipeline;
  pipeline.shape.stages = static_cast<std::uint32_t>(scenario->layout.pipeline);
  pipeline.shape.chunks = static_cast<std::uint32_t>(scenario->layout.virtual_stages);
  pipeline.shape.microbatches = static_cast<std::uint32_t>(scenario->batch.micro_batches);
  ReadParts(in, block, scenario);
  pipeline.shape.group_size = static_cast<std::uint32_t>(
      block.Optional("group_size", in.has_group_size(), in.group_size(), 1, kMostGroup, 0));
  if (!in.has_order_file()) {
    ReadSchedule(in, top, scenario);
  } else {
    if (in.has_group_size()) block.Error("group_size", "given beside order_file; one of the two is wanted");
    pipeline.shape.group_size = 0;
    ReadOrder(in, block, folder, scenario);
  }
  ReadOverlap(in, block, scenario);
  ReadLayers(in, scenario_in.training().mtp(), top, has_model, scenario);
}

}  // namespace scenarios
