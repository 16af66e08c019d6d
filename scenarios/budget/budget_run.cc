// What a run moves, takes, costs, saves and reads.

#include <algorithm>

#include "models/parameters.h"
#include "models/transformer.h"
#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/data_storage.h"
#include "scenarios/budget/limits.h"
#include "scenarios/budget/network_sizing.h"
#include "scenarios/budget/prices.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/budget/volumes.h"
#include "scenarios/checkpoint_forms.h"
#include "scenarios/scaling.h"
#include "sim/schedule/bubble.h"

namespace scenarios {
namespace {

using sim::Number;

double StepSeconds(const Chosen& c) {
  const double tokens = Number(sim::Wide{c.global_batch} * c.sequence_length);
  return TrainingSeconds(c.flops_of_token() * tokens, Number(c.devices), c.peak, c.utilisation);
}

std::string OnDevices(const Chosen& c) {
  return "N " + Grouped(c.devices) + "; peak " + Short(c.peak * 1e-12) + " TFLOP/s; u " +
         Short(c.utilisation);
}

// Layers with experts, of the stage that has most.
std::int64_t MostExpertLayers(const Chosen& c) {
  std::int64_t layer = 0, most = 0;
  for (const std::int64_t layers : c.stage_layers) {
    std::int64_t mine = 0;
    for (const std::int64_t end = layer + layers; layer < end; ++layer) {
      mine += models::HasExperts(c.model, layer) ? 1 : 0;
    }
    most = std::max(most, mine);
  }
  return most;
}

// Of the gathers of ZeRO-3, those of the head's unit for the backward, where it stays whole from the forward
// on.
double NotGathered(const Chosen& c) {
  if (c.zero_stage < 3 || c.regather_last) return 0;
  const models::Stage last{.layers = 0, .head = true, .first_layer = c.model.layers};
  const models::StageParameters p = models::ParametersOfRank(c.model, last, {.tensor = c.tensor});
  const double bytes = Number(p.total().total() * c.widths.weight);
  const double once = VolumeOf(sim::CollectiveKind::kAllGather, bytes, c.copies()).sent;
  return once * Number(c.micro_batches);
}

// What a rank gathers of weights and reduces of gradients; of adapters beside frozen weights the weights that
// ZeRO-3 cuts, and the adapters' gradients.
DataVolume DataVolumeOfRank(const Chosen& c) {
  const double ranks = Number(c.tensor * c.pipeline);
  const models::ModelParameters p = models::ParametersOf(c.model);
  const double experts = c.expert > 1 ? Number(p.layers.experts) : 0;
  DataParallelism d{.zero_stage = c.zero_stage,
                    .ranks = c.copies(),
                    .parameters = (Number(p.total()) - experts) / ranks,
                    .weight_width = Number(c.widths.weight),
                    .gradient_width = Number(c.widths.gradient),
                    .micro_batches = c.micro_batches,
                    .pipeline = c.pipeline > 1};
  DataVolume volume = DataVolumeOf(d);
  if (c.frozen()) {
    const double frozen = Number(c.state().weights.count() - c.adapters * c.widths.weight);
    d.weight_width = frozen / ranks / d.parameters;
    const double gathers = c.zero_stage == 3 ? DataVolumeOf(d).gathers : 0;
    d.parameters = Number(c.adapters) / Number(c.pipeline);
    d.weight_width = Number(c.widths.weight);
    volume = DataVolumeOf(d);
    volume.gathers += gathers;
  }
  if (experts > 0) {
    d.ranks = c.copies() / c.expert;
    d.parameters = experts / ranks / Number(c.expert);
    const DataVolume of_experts = DataVolumeOf(d);
    volume.gathers += of_experts.gathers;
    volume.reductions += of_experts.reductions;
  }
  volume.gathers -= NotGathered(c);
  return volume;
}

}  // namespace

void AddTraffic(const Chosen& c, Budget* budget) {
  const double tokens = Number(c.micro_batch * c.local_length()), hidden = Number(c.model.hidden);
  const DataVolume data = DataVolumeOfRank(c);
  const std::string per = Grouped(c.micro_batches) + " micro-batches";
  const double width = Number(c.widths.weight);  // of activations too
  Section s("sent by a device in a step", &budget->lines);
  s.Add("weights gathered", data.gathers, "B",
        c.pipeline > 1 && c.zero_stage == 3 ? "17.4.8 as E2; one more than micro-batches of 1F1B"
                                            : "17.4.8 as E2 corrects it",
        "data " + Grouped(c.data) + "; " + per);
  s.Add("gradients reduced", data.reductions, "B", "17.6.3 as E23 corrects it",
        c.frozen()     ? "of adapters"
        : c.expert > 1 ? "experts over their own ranks"
                       : "1/(tensor pipeline) of the model");
  const double layers = Number(*std::max_element(c.stage_layers.begin(), c.stage_layers.end()));
  const double micro_batches = Number(c.micro_batches);
  s.Add("tensor group", TensorVolumeOfLayer(tokens, hidden, width, c.tensor) * layers * micro_batches, "B",
        "17.6.4: four reductions a layer", "tensor " + Grouped(c.tensor));
  s.Add("pipeline", c.pipeline > 1 ? PipelineVolumeOfBoundary(tokens, hidden, width) * micro_batches : 0, "B",
        "17.6.5: a boundary, both ways", "pipeline " + Grouped(c.pipeline));
  if (c.context_ranks > 1) {
    const double keys = Number(models::KeyValueBytes(c.model, c.execution(), 1).count());
    // The backward passes them on once more, and their gradients; the core runs again where it is recomputed.
    const double passes = c.recompute == models::Recompute::kNone ? 3 : 4;
    s.Add("context group", keys * Number(c.context_ranks - 1) * passes * layers * micro_batches, "B",
          "17.6.7: keys and values, n - 1 times", "ring of " + Grouped(c.context_ranks));
  }
  if (c.expert > 1) {
    // A dispatch and a combine each pass; of a tensor group each rank sends its part of the tokens, to all
    // ranks that an expert is cut over.
    const double sent = CopiesSent(Number(c.model.experts.per_token * c.tensor), c.expert * c.tensor);
    const double of_layer = ExpertVolumeOfLayer(tokens / Number(c.tensor), hidden, width, sent) *
                            (c.recompute == models::Recompute::kFull ? 1.5 : 1);
    s.Add("experts", of_layer * Number(MostExpertLayers(c)) * micro_batches, "B",
          "17.6.6 as E9: dispatch and combine", "expert " + Grouped(c.expert) + "; even load");
  }
  s.Add("rate for all of it", RateNeeded(data.total(), StepSeconds(c)), "B/s",
        "17.6.10: data parallelism within a step", "step " + Short(StepSeconds(c)) + " s");
  constexpr std::int64_t kPorts = 64;  // of an NDR switch
  const std::int64_t nodes =
      c.device.node.devices > 0 ? (c.devices + c.device.node.devices - 1) / c.device.node.devices : c.devices;
  if (nodes > 1 && c.device.node.nics > 0 && 4 * nodes <= kPorts * kPorts * kPorts) {
    const RailNetwork rails =
        SizeRails(nodes, c.device.node.nics, kPorts, c.device.node.nic.bytes_per_second());
    s.AddCount("switches of 64 ports", rails.switches(), "17.6.10, 17.9.3: a rail a NIC, not blocking",
               Grouped(nodes) + " nodes; " + Grouped(rails.levels) + " levels");
    s.Add("bisection", rails.bisection_bytes_per_s, "B/s", "17.9.3 as A19 corrects it", "");
  }
}

void AddTime(const Chosen& c, Budget* budget) {
  const bool given = std::any_of(budget->assumptions.begin(), budget->assumptions.end(),
                                 [](const auto& a) { return a.name == "price" && a.source == "given"; });
  if (!given && RentedPriceOf(c.device.name) == nullptr) {
    budget->warnings.push_back("price: that of " + c.device.name +
                               " is not known; money is counted at an H800's " +
                               Short(c.usd_per_device_hour) + " USD an hour, until --price gives one");
  }
  const double seconds = TrainingSeconds(c.flops(), Number(c.devices), c.peak, c.utilisation);
  const double hours = DeviceHours(c.devices, seconds / 3600);
  Section s("time and cost", &budget->lines);
  s.AddCount("devices", c.devices, "(27.19), in whole groups", "data " + Grouped(c.data));
  s.Add("step", StepSeconds(c), "s", "(27.18)", OnDevices(c));
  s.AddCount("steps", StepsFor(c.tokens, Number(sim::Wide{c.global_batch} * c.sequence_length)), "D / (B S)",
             "batch " + Grouped(c.global_batch) + " x " + Grouped(c.sequence_length));
  s.Add("time", seconds / kSecondsOfDay, "days", "17.5.3", OnDevices(c));
  s.Add("device-hours", hours, "h", "17.5.9", "");
  s.Add("cost", CostUsd(hours, c.usd_per_device_hour), "USD", "17.5.9",
        "price " + Short(c.usd_per_device_hour));
  s.AddCount("devices with spares", WithSpares(c.devices, c.margins.spares, c.device.node.devices),
             "27.8, 17.5.4: in whole nodes", "spares " + Short(c.margins.spares));
  s.Add("time with maintenance", WithMaintenance(seconds, c.margins.maintenance) / kSecondsOfDay, "days",
        "27.8", "maintenance " + Short(c.margins.maintenance));
  if (c.pipeline > 1) {
    const sim::PipelineShape shape{.stages = static_cast<std::uint32_t>(c.pipeline),
                                   .microbatches = static_cast<std::uint32_t>(c.micro_batches)};
    const sim::BubbleShare bubble = sim::BubbleOfTotal(shape);
    s.Add("bubble", 100 * Number(bubble.idle) / Number(bubble.whole), "%", "17.6.5 as E22: of the step",
          "in the utilisation already");
    if (c.micro_batches < GoodMicroBatches(c.pipeline)) {
      budget->warnings.push_back("batch: " + Grouped(c.micro_batches) + " micro-batches fill a pipeline of " +
                                 Grouped(c.pipeline) +
                                 " badly; four times as many leave a bubble below a fifth");
    }
  }
  const sim::Wide step_tokens = sim::Wide{c.global_batch} * c.sequence_length;
  if (step_tokens < kLeastTokensOfStep) {
    budget->warnings.push_back(
        "batch: " + Grouped(static_cast<std::int64_t>(step_tokens)) +
        " tokens a step are fewer than 262,144, below which the textbook expects worse "
        "convergence");
  }
}

void AddSaves(const Chosen& c, Budget* budget) {
  const sim::Bytes save = SaveBytes(c.saved());
  const double mtbf = HoursBetweenFailures(kDeviceHoursBetweenFailures, Number(c.devices)) * 3600;
  const double copy = Number(save.count()) / Number(c.devices) / c.device.pcie.achieved.bytes_per_second();
  Section s("checkpoints", &budget->lines);
  s.AddBytes("one save", save, "17.7.3 as E19: weights, master, optimizer",
             c.frozen() ? "of adapters alone" : "no gradients");
  s.Add("copy to the hosts", copy, "s", "17.7.4: what an asynchronous save stalls for",
        "PCIe " + Short(c.device.pcie.achieved.bytes_per_second() * 1e-9) + " GB/s; shares are equal");
  s.Add("between failures", mtbf / 3600, "h", "17.7.4 as E18",
        "50,700 device-hours: Llama 3, 419 in 54 days of 16,384");
  const double interval = YoungInterval(copy, mtbf);
  s.Add("best interval", interval, "s", "Young 1974: sqrt(2 C M)", "C " + Short(copy) + " s");
  s.Add("lost", 100 * WasteOf(copy, interval, mtbf), "%", "Young 1974, restarts not counted", "");
  s.Add("rate to write within the interval", WriteRate(Number(save.count()), interval), "B/s",
        "27.7: C / window", "");
}

void AddData(const Chosen& c, Budget* budget) {
  const std::int64_t width = TokenIdWidth(c.model.vocabulary);
  const double step_tokens = Number(sim::Wide{c.global_batch} * c.sequence_length);
  Section s("data", &budget->lines);
  s.Add("tokens stored", DatasetBytes(c.tokens, Number(width), 1), "B", "17.7.1 as A18",
        Grouped(width) + " B a token's number");
  s.Add("text", DatasetBytes(c.tokens, kTextBytesPerToken, 1), "B", "17.7.1", "4 B a token, English");
  s.Add("read rate", ReadRate(step_tokens, Number(width), StepSeconds(c)), "B/s", "17.7.2, 27.7",
        "all devices");
  s.Add("tokens a second", step_tokens / StepSeconds(c), "1/s", "17.5.2", OnDevices(c));
}

}  // namespace scenarios
