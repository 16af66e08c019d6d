// What a run moves, takes, costs, saves and reads, and what the model needs to serve.

#include <algorithm>

#include "models/kv_cache.h"
#include "models/parameters.h"
#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/data_storage.h"
#include "scenarios/budget/limits.h"
#include "scenarios/budget/network_sizing.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/budget/serving.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/budget/volumes.h"
#include "scenarios/checkpoint_forms.h"
#include "scenarios/scaling.h"
#include "sim/schedule/bubble.h"

namespace scenarios {
namespace {

double Number(sim::Wide n) { return static_cast<double>(n); }

double StepSeconds(const Chosen& c) {
  const double tokens = Number(sim::Wide{c.global_batch} * c.sequence_length);
  return TrainingSeconds(c.flops_of_token() * tokens, Number(c.devices), c.peak, c.utilisation);
}

std::string OnDevices(const Chosen& c) {
  return "N " + Grouped(c.devices) + "; peak " + Short(c.peak * 1e-12) + " TFLOP/s; u " +
         Short(c.utilisation);
}

// "; 4 of 128 experts read": on average.
std::string ExpertsText(const models::Model& model, std::int64_t batch) {
  if (model.experts.routed == 0) return "";
  return "; " + Short(ExpertsVisited(model.experts, batch)) + " of " + Grouped(model.experts.routed) +
         " experts read";
}

}  // namespace

void AddTraffic(const Chosen& c, Budget* budget) {
  const double tokens = Number(c.micro_batch * c.sequence_length), hidden = Number(c.model.hidden);
  const double held = Number(models::ParametersOf(c.model).total()) / Number(c.tensor * c.pipeline);
  const DataVolume data = DataVolumeOf({.zero_stage = c.zero_stage,
                                        .ranks = c.data,
                                        .parameters = held,
                                        .weight_width = Number(c.widths.weight),
                                        .gradient_width = Number(c.widths.gradient),
                                        .micro_batches = c.micro_batches,
                                        .pipeline = c.pipeline > 1});
  const std::string per = Grouped(c.micro_batches) + " micro-batches";
  Section s("sent by a device in a step", &budget->lines);
  s.Add("weights gathered", data.gathers, "B",
        c.pipeline > 1 && c.zero_stage == 3 ? "17.4.8 as E2; one more than micro-batches of 1F1B"
                                            : "17.4.8 as E2 corrects it",
        "data " + Grouped(c.data) + "; " + per);
  s.Add("gradients reduced", data.reductions, "B", "17.6.3 as E23 corrects it",
        "1/(tensor pipeline) of the model");
  const double layers = Number(c.model.layers) / Number(c.pipeline), micro_batches = Number(c.micro_batches);
  s.Add("tensor group", TensorVolumeOfLayer(tokens, hidden, 2, c.tensor) * layers * micro_batches, "B",
        "17.6.4: four reductions a layer", "tensor " + Grouped(c.tensor));
  s.Add("pipeline", c.pipeline > 1 ? PipelineVolumeOfBoundary(tokens, hidden, 2) * micro_batches : 0, "B",
        "17.6.5: a boundary, both ways", "pipeline " + Grouped(c.pipeline));
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
  const models::TrainingState state = models::TrainingStateOf(c.model, c.optimizer, c.widths);
  const sim::Bytes save = SaveBytes(state);
  const double mtbf = HoursBetweenFailures(kDeviceHoursBetweenFailures, Number(c.devices)) * 3600;
  const double copy = Number(save.count()) / Number(c.devices) / c.device.pcie.achieved.bytes_per_second();
  Section s("checkpoints", &budget->lines);
  s.AddBytes("one save", save, "17.7.3 as E19: weights, master, optimizer", "no gradients");
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

void AddServing(const Chosen& c, Budget* budget) {
  Section s("serving", &budget->lines);
  s.AddBytes("keys and values of a token", models::KvCacheBytes(c.model, 1, c.kv_width), "(27.10)",
             Grouped(c.kv_width) + " B a number");
  s.AddBytes("of a request", models::KvCacheBytes(c.model, c.context, c.kv_width), "(27.10), windows kept",
             "T " + Grouped(c.context));
  Server server{.model = c.model,
                .roof = hardware::RoofOf(c.device, c.format),
                .weight_bits = c.weight_bits,
                .kv_width = Number(c.kv_width)};
  s.Add("weights", WeightBytes(server), "B", "(27.9), scales left out", Short(c.weight_bits) + " bits");
  // The fewest devices, by twos, that hold the weights and one request.
  const double memory = Number(c.device.usable_memory.count());
  for (std::int64_t t = 1; models::CanShare(c.model, t); t *= 2) {
    server.tensor = t;
    if (RequestsThatFit(server, memory, 0, c.context) > 0) break;
  }
  const std::int64_t requests = RequestsThatFit(server, memory, 0, c.context);
  s.AddCount("devices of a copy", server.tensor, "(27.11): weights and a request fit", "");
  s.AddCount("requests at once", requests, "(27.11)", "T " + Grouped(c.context) + " each; no working space");
  if (requests == 0) {
    budget->warnings.push_back(
        "serving: weights and one request fit into no tensor group that the heads allow");
    return;
  }
  s.Add("prefill", PrefillSeconds(server, c.context), "s", "(27.17): 17.8.2 with attention, A13",
        "at the peak");
  const bool experts = c.model.experts.routed > 0;
  s.Add("decode step, one request", DecodeSeconds(server, 1, c.context), "s",
        experts ? "(27.17): 17.8.3, of E experts E(1-(1-k/E)^B)" : "(27.17): 17.8.3",
        "at the peak" + ExpertsText(c.model, 1));
  const double step = DecodeSeconds(server, requests, c.context);
  s.Add("decode step, all of them", step, "s",
        experts ? "(27.17): 17.8.4 as E16, of E experts E(1-(1-k/E)^B)" : "(27.17): 17.8.4 as E16",
        Grouped(requests) + " requests" + ExpertsText(c.model, requests));
  s.Add("tokens a second of a copy", Throughput(Number(requests), step), "1/s", "17.8.4", "decode only");
}

}  // namespace scenarios
