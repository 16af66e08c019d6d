#include "scenarios/verdict/remedies.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "scenarios/sharding.h"

namespace scenarios {
namespace {

constexpr const char* kMoreSequences = ", which makes another training run of it";

Layout With(Layout layout, std::int64_t Layout::*field, std::int64_t value) {
  layout.*field = value;
  return layout;
}

// Twice the sequences a step: what is paid once a step is paid for twice the tokens.
Remedy LargerBatch(const Scenario& s, const std::string& what) {
  Batch batch = s.batch;
  batch.global *= 2;
  return {what + kMoreSequences, Variants(s, s.layout, batch)};
}

std::vector<Remedy> SmallerMicroBatch(const Scenario& s, const char* what) {
  if (s.batch.micro == 1) return {};
  Batch batch = s.batch;
  batch.micro /= 2;
  return {{what, Variants(s, s.layout, batch)}};
}

std::vector<Remedy> LargerMicroBatch(const Scenario& s, const char* what) {
  if (s.batch.micro_batches < 2) return {};
  Batch batch = s.batch;
  batch.micro *= 2;
  return {{what, Variants(s, s.layout, batch)}};
}

std::vector<Remedy> LessRecomputation(const Scenario& s) {
  const Training& training = s.training;
  std::vector<Remedy> remedies = {{"all activations are kept", {{"training.recompute=NONE"}}}};
  if (training.recompute != Recompute::kFull) return remedies;
  remedies.push_back({"attention alone is computed again", {{"training.recompute=SELECTIVE"}}});
  const std::int64_t layers = training.full_recompute.first_layers_only ? training.full_recompute.layers
                                                                        : s.pipeline.layers_of_piece.front();
  Remedy some{"some layers keep their activations, those that there is memory for", {}};
  for (std::int64_t quarters = 1; quarters < 4; ++quarters) {
    const std::int64_t again = layers * quarters / 4;
    if (again == 0) continue;
    some.variants.push_back({"training.recompute_method=BLOCK", Set("training.recompute_layers", again)});
  }
  remedies.push_back(std::move(some));
  Remedy smaller{"smaller micro-batches leave room for all activations", {}};
  const std::int64_t of_rank = s.batch.micro * s.batch.micro_batches;
  for (Batch batch = s.batch; --batch.micro > 0;) {
    if (of_rank % batch.micro != 0) continue;
    for (Changes& sets : Variants(s, s.layout, batch, {"training.recompute=NONE"})) {
      smaller.variants.push_back(std::move(sets));
    }
  }
  remedies.push_back(std::move(smaller));
  return remedies;
}

std::vector<Remedy> SmallerBubble(const Scenario& s) {
  std::vector<Remedy> remedies;
  const std::string schedule = s.pipeline.name();
  const bool loops = schedule == "interleaved";
  if (schedule == "1f1b" || loops) {
    Remedy finer{"more pieces of the model a stage, so that filling and draining are shorter", {}};
    for (const std::int64_t chunks : {2 * s.layout.virtual_stages, 3 * s.layout.virtual_stages}) {
      const Layout layout = With(s.layout, &Layout::virtual_stages, chunks);
      for (const Changes& more : {Changes{}, Changes{"pipeline.schedule=INTERLEAVED"}}) {
        for (Changes& sets : Variants(s, layout, s.batch, more)) finer.variants.push_back(std::move(sets));
      }
    }
    remedies.push_back(std::move(finer));
    Remedy split{"weight gradients wait and fill the bubble; docs/pipelines.md", {}};
    split.variants =
        loops ? Variants(s, With(s.layout, &Layout::virtual_stages, 2), s.batch, {"pipeline.schedule=ZBV"})
              : std::vector<Changes>{{"pipeline.schedule=ZB1P"}};
    remedies.push_back(std::move(split));
  }
  for (Remedy& remedy : SmallerMicroBatch(s, "twice the micro-batches"))
    remedies.push_back(std::move(remedy));
  if (s.layout.pipeline % 2 == 0) {
    remedies.push_back({"fewer stages to fill",
                        Variants(s, With(s.layout, &Layout::pipeline, s.layout.pipeline / 2), s.batch)});
  }
  remedies.push_back(LargerBatch(s, "twice the micro-batches"));
  return remedies;
}

// Layers dealt out one after the other to the stage that would be busy least: what a stage is busy beside its
// layers stays with it. A layer takes what it takes where it takes least.
std::vector<std::int64_t> EvenSplit(const Report& report) {
  double of_layer = 0;
  for (const StageReport& stage : report.stages) {
    if (stage.layers == 0) continue;
    const double each = stage.busy.seconds() / static_cast<double>(stage.layers);
    if (of_layer == 0 || each < of_layer) of_layer = each;
  }
  std::vector<double> busy;
  std::int64_t left = 0;
  for (const StageReport& stage : report.stages) {
    busy.push_back(stage.busy.seconds() - of_layer * static_cast<double>(stage.layers - 1));
    left += stage.layers - 1;
  }
  std::vector<std::int64_t> layers(report.stages.size(), 1);
  for (; left > 0; --left) {
    const auto at = static_cast<std::size_t>(std::min_element(busy.begin(), busy.end()) - busy.begin());
    busy[at] += of_layer;
    ++layers[at];
  }
  return layers;
}

std::vector<Remedy> EvenStages(const Scenario& s, const Report& report) {
  if (s.pipeline.shape.chunks > 1) {
    return {{"the ends of the model count as layers",
             {{"pipeline.embedding_counts_as_layer=true", "pipeline.loss_counts_as_layer=true"},
              {"pipeline.loss_counts_as_layer=true"},
              {"pipeline.embedding_counts_as_layer=true"}}}};
  }
  const std::vector<std::int64_t> layers = EvenSplit(report);
  bool as_it_is = true;
  std::string list;
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    as_it_is = as_it_is && layers[stage] == report.stages[stage].layers;
    list += (list.empty() ? "[" : ",") + std::to_string(layers[stage]);
  }
  if (as_it_is) return {};
  const std::string split = "pipeline.stage_layers=" + list + ']';
  return {{"fewer layers where the stage has more to do beside them",
           {{split},
            {split, "pipeline.embedding_counts_as_layer=false", "pipeline.loss_counts_as_layer=false"}}}};
}

std::vector<Remedy> FasterReduction(const Scenario& s) {
  const Training& training = s.training;
  const OptimizerSharding sharding = training.optimizer_sharding;
  std::vector<Remedy> remedies;
  if (!training.overlap_gradient_reduce) {
    remedies.push_back({"gradients travel beside the backward", {{"training.overlap_gradient_reduce=true"}}});
  }
  const bool gathers = sharding == OptimizerSharding::kZero1 || sharding == OptimizerSharding::kZero2;
  if (!training.overlap_parameter_gather && gathers) {
    remedies.push_back(
        {"parameters are gathered beside the next forward", {{"training.overlap_parameter_gather=true"}}});
  }
  if (!training.sharding.no_sync && s.batch.micro_batches > 1 && sharding >= OptimizerSharding::kZero2) {
    remedies.push_back({"gradients are reduced once a step, not with each micro-batch",
                        {{"training.sharding.no_sync=true"}}});
  }
  if (sharding == OptimizerSharding::kZero3) {
    if (training.sharding.reshard_after_forward) {
      remedies.push_back({"weights are gathered once for forward and backward",
                          {{"training.sharding.reshard_after_forward=false"}}});
    }
    remedies.push_back({"weights are not cut, and not gathered in each micro-batch",
                        {{"training.optimizer_sharding=ZERO_2"}, {"training.optimizer_sharding=ZERO_1"}}});
    for (Remedy& remedy : LargerMicroBatch(s, "gathers for half the micro-batches")) {
      remedies.push_back(std::move(remedy));
    }
  }
  if (training.gradient_format == sim::NumberFormat::kFp32) {
    remedies.push_back(
        {"half the bytes of gradients, reduced in 16 bits", {{"training.gradient_type=BF16"}}});
  }
  remedies.push_back(LargerBatch(s, "the same reductions for twice the tokens"));
  return remedies;
}

std::vector<Remedy> LessTensor(const Scenario& s) {
  std::vector<Remedy> remedies;
  const std::int64_t tensor = s.layout.tensor, node = s.device.node.devices;
  if (tensor > node) {
    remedies.push_back(
        {"the group stays inside a node", Variants(s, With(s.layout, &Layout::tensor, node), s.batch)});
  }
  if (tensor % 2 != 0 || tensor == 2 * node) return remedies;
  const Layout half = With(s.layout, &Layout::tensor, tensor / 2);
  remedies.push_back({"half the ranks that wait for each other in every layer, more data ranks",
                      Variants(s, half, s.batch)});
  remedies.push_back({"stages in the place of half the tensor ranks",
                      Variants(s, With(half, &Layout::pipeline, 2 * s.layout.pipeline), s.batch)});
  return remedies;
}

std::vector<Remedy> LessContext(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (s.layout.ulysses < s.layout.context) {
    remedies.push_back({"tokens are exchanged for heads, keys stay", {{"layout.context_kind=ULYSSES"}}});
  }
  if (s.layout.context % 2 == 0) {
    remedies.push_back({"longer parts of the sequence a rank, more data ranks",
                        Variants(s, With(s.layout, &Layout::context, s.layout.context / 2), s.batch)});
  }
  return remedies;
}

Remedy FewerExpertGroups(const Scenario& s, const char* what) {
  return {what, Variants(s, With(s.layout, &Layout::expert, s.layout.expert / 2), s.batch)};
}

std::vector<Remedy> LessDispatch(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (!s.pipeline.overlaps_experts) {
    remedies.push_back(
        {"tokens travel beside the compute of another micro-batch", {{"pipeline.overlap_experts=true"}}});
  }
  if (!s.experts.overlap_shared && s.model.experts.shared > 0) {
    remedies.push_back({"shared experts run while tokens travel", {{"experts.overlap_shared=true"}}});
  }
  const bool leaves_node = s.layout.expert * s.layout.expert_tensor > s.device.node.devices;
  if (s.experts.dispatcher != models::Dispatcher::kDeepEp && leaves_node) {
    remedies.push_back(
        {"a token goes once to each node, not once to each expert", {{"experts.dispatcher=DEEPEP"}}});
  }
  if (!s.experts.fp8_dispatch) {
    remedies.push_back({"half the bytes on the way to the experts", {{"experts.dispatch_format=FP8"}}});
  }
  if (s.layout.expert % 2 == 0) {
    remedies.push_back(FewerExpertGroups(s, "more experts a rank, so fewer tokens travel far"));
  }
  return remedies;
}

std::vector<Remedy> EvenExperts(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (s.layout.expert % 2 == 0) {
    remedies.push_back(FewerExpertGroups(s, "more experts a rank, whose loads even out"));
  }
  if (s.experts.capacity_factor == 0 && s.experts.dispatcher != models::Dispatcher::kDeepEp) {
    remedies.push_back({"tokens beyond an even share are dropped, which changes what is learned",
                        {{"experts.capacity_factor=1"}}});
  }
  return remedies;
}

std::vector<Remedy> FewerTransfers(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (s.pipeline.name() == "interleaved") {
    const std::int64_t chunks = s.layout.virtual_stages % 2 == 0 ? s.layout.virtual_stages / 2 : 1;
    Remedy coarser{"fewer pieces of the model, so activations cross stages less often",
                   Variants(s, With(s.layout, &Layout::virtual_stages, chunks), s.batch)};
    if (chunks == 1) {
      for (Changes& sets : Variants(s, With(s.layout, &Layout::virtual_stages, chunks), s.batch,
                                    {"pipeline.schedule=ONE_F_ONE_B"})) {
        coarser.variants.push_back(std::move(sets));
      }
    }
    remedies.push_back(std::move(coarser));
  }
  if (s.layout.pipeline % 2 == 0) {
    remedies.push_back({"fewer stages to cross",
                        Variants(s, With(s.layout, &Layout::pipeline, s.layout.pipeline / 2), s.batch)});
  }
  return remedies;
}

std::vector<Remedy> LessOffload(const Scenario& s) {
  const Offload& offload = s.training.offload;
  std::vector<Remedy> remedies;
  if (offload.optimizer_parts > 0 && !offload.overlap) {
    remedies.push_back(
        {"gradients and weights travel beside reductions and updates", {{"training.offload.overlap=true"}}});
  }
  if (offload.activation_layers > 1) {
    const std::int64_t most =
        *std::max_element(s.pipeline.layers_of_piece.begin(), s.pipeline.layers_of_piece.end());
    const std::int64_t layers = std::min(offload.activation_layers, most) / 2;
    if (layers > 0) {
      remedies.push_back({"activations of half the layers stay on the device",
                          {{Set("training.offload.activation_layers", layers)}}});
    }
  }
  if (offload.optimizer_parts > 1 && !offload.parameters) {
    const double half = 0.5e-9 * static_cast<double>(offload.optimizer_parts);
    remedies.push_back({"half as much of the optimizer is with the host",
                        {{"training.offload.optimizer=" + std::to_string(half)}}});
  }
  return remedies;
}

std::vector<Remedy> CheaperSaves(const Scenario& s, const Report& report) {
  const Checkpoint& saves = *s.checkpoint;
  const bool stalls = report.checkpoint->backlog_per_interval > sim::Bytes();
  std::vector<Remedy> remedies;
  if (saves.mode == SaveMode::kSync) {
    remedies.push_back({"saves are written beside training", {{"checkpoint.mode=ASYNC"}}});
  } else if (saves.copy == SaveCopy::kBlocking && !stalls) {
    remedies.push_back({"the copy to the host runs beside the next step", {{"checkpoint.copy=OVERLAPPED"}}});
  }
  const auto& needed = report.checkpoint->servers_needed;
  if (stalls && needed && *needed > saves.servers) {
    remedies.push_back({"storage that writes a save before the next one is due",
                        {{Set("checkpoint.storage.servers", *needed)}}});
  }
  if (!saves.replicas_spread && s.layout.copies() > 1) {
    remedies.push_back({"data ranks write a part each", {{"checkpoint.replicas_write=SPREAD"}}});
  }
  remedies.push_back({"half as many saves, and twice the work lost with a failure",
                      {{Set("checkpoint.every_steps", 2 * saves.every_steps)}}});
  return remedies;
}

std::vector<Remedy> LargerKernels(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (!s.training.fused_kernels) {
    remedies.push_back(
        {"norms, biases and nonlinearities in one kernel each", {{"training.fused_kernels=true"}}});
  }
  if (s.training.attention == sim::AttentionKind::kUnfused) {
    remedies.push_back(
        {"scores never leave the chip", {{"training.attention=FLASH3"}, {"training.attention=FLASH2"}}});
  }
  if (!s.training.fused_loss) {
    remedies.push_back({"logits are read once each way", {{"training.fused_loss=true"}}});
  }
  for (Remedy& remedy : LargerMicroBatch(s, "larger products, weights read for twice the tokens")) {
    remedies.push_back(std::move(remedy));
  }
  if (s.layout.tensor % 2 == 0) {
    remedies.push_back({"larger products, cut over half the ranks",
                        Variants(s, With(s.layout, &Layout::tensor, s.layout.tensor / 2), s.batch)});
  }
  return remedies;
}

std::vector<Remedy> FewerLaunches(const Scenario& s) {
  std::vector<Remedy> remedies = {
      {"captured steps are launched as one", {{"training.launches=CUDA_GRAPHS"}}}};
  for (Remedy& remedy : LargerKernels(s)) remedies.push_back(std::move(remedy));
  return remedies;
}

std::vector<Remedy> FasterUpdate(const Scenario& s) {
  std::vector<Remedy> remedies;
  if (s.training.optimizer_sharding == OptimizerSharding::kReplicated && s.layout.copies() > 1) {
    remedies.push_back({"each data rank updates its share only", {{"training.optimizer_sharding=ZERO_1"}}});
  }
  remedies.push_back(LargerBatch(s, "one update for twice the tokens"));
  return remedies;
}

}  // namespace

std::vector<Remedy> RemediesFor(Limit limit, const Scenario& s, const Report& report) {
  switch (limit) {
    case Limit::kMemory:
      return MemoryRemedies(s);
    case Limit::kRecomputation:
      return LessRecomputation(s);
    case Limit::kPipelineBubble:
      return SmallerBubble(s);
    case Limit::kStageImbalance:
      return EvenStages(s, report);
    case Limit::kExpertImbalance:
      return EvenExperts(s);
    case Limit::kContextImbalance:
      return {{"each rank has a part from both ends of the sequence", {{"layout.zigzag=true"}}}};
    case Limit::kDataParallel:
      return FasterReduction(s);
    case Limit::kTiedEmbedding:
    case Limit::kGradientNorm:
      return {LargerBatch(s, "once for twice the tokens")};
    case Limit::kTensorParallel:
      return LessTensor(s);
    case Limit::kContextParallel:
      return LessContext(s);
    case Limit::kExpertParallel:
      return LessDispatch(s);
    case Limit::kPipelineTransfers:
      return FewerTransfers(s);
    case Limit::kOffload:
      return LessOffload(s);
    case Limit::kHostLaunches:
      return FewerLaunches(s);
    case Limit::kSaves:
    case Limit::kSaveStalls:
      return CheaperSaves(s, report);
    case Limit::kOptimizer:
      return FasterUpdate(s);
    case Limit::kMemoryBandwidth:
      return LargerKernels(s);
    case Limit::kCompute:
      return {};
  }
  return {};
}

}  // namespace scenarios
