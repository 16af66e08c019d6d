#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "models/flops.h"
#include "models/parameters.h"
#include "models/quantise.h"
#include "scenarios/checkpoint_report.h"
#include "scenarios/closed_form.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/offload.h"
#include "scenarios/run.h"
#include "scenarios/stage_memory.h"
#include "sim/analysis/breakdown.h"
#include "sim/analysis/critical_path.h"
#include "sim/analysis/link_load.h"
#include "sim/analysis/step.h"

namespace scenarios {
namespace {

std::vector<TimePart> PartsOf(const sim::Breakdown& breakdown) {
  std::vector<TimePart> parts;
  for (int cause = 0; cause < sim::kCauses; ++cause) {
    parts.push_back(
        {sim::ToText(static_cast<sim::Cause>(cause)), breakdown.time[static_cast<std::size_t>(cause)]});
  }
  return parts;
}

// Work by class, then communication by class: what it waits for (latency) and what it moves (transfer).
// Launches are the host's work, and there where kernels wait for them.
std::vector<TimePart> PartsOf(const sim::CriticalPath& path) {
  std::vector<TimePart> parts;
  for (int i = 0; i < sim::kTaskClasses; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto task_class = static_cast<sim::TaskClass>(i);
    const std::string name = sim::ToText(task_class);
    if (sim::IsWork(task_class)) {
      parts.push_back({name, path.work[at]});
    } else if (task_class == sim::TaskClass::kLaunch) {
      const sim::Duration waited = path.work[at] + path.latency[at] + path.transfer[at];
      if (waited > sim::Duration()) parts.push_back({name, waited});
    } else if (path.latency[at] + path.transfer[at] + path.work[at] > sim::Duration()) {
      parts.push_back({name + " latency", path.latency[at]});
      parts.push_back({name + " transfer", path.transfer[at] + path.work[at]});
    }
  }
  return parts;
}

// Those that were played.
std::vector<std::vector<sim::Rank>> RanksByStage(const Layout& layout, const sim::Program& program) {
  std::vector<std::vector<sim::Rank>> ranks(static_cast<std::size_t>(layout.pipeline));
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    if (program.PlaysFor(rank) == 0) continue;
    ranks[static_cast<std::size_t>(layout.Coordinate(rank, Dimension::kPipeline))].push_back(rank);
  }
  return ranks;
}

void AddStages(const Scenario& scenario, const StepProgram& steps, const sim::Timeline& timeline,
               const sim::StepTimes& times, Report* report) {
  const sim::Predecessors predecessors = sim::FindPredecessors(steps.program);
  const std::vector<sim::RankTimes> rank_times = sim::RankTimesOf(steps.program, timeline, times.period);
  const auto ranks = RanksByStage(scenario.layout, steps.program);
  const StageOrders orders(scenario.pipeline);
  sim::Duration least_idle = sim::Duration::Picoseconds(-1);
  for (std::size_t stage = 0; stage < steps.stages.size(); ++stage) {
    const StagePlan& plan = steps.stages[stage];
    sim::Rank busiest = ranks[stage].front();
    for (const sim::Rank rank : ranks[stage]) {
      if (rank_times[rank.pos()].compute_busy > rank_times[busiest.pos()].compute_busy) busiest = rank;
    }
    sim::Duration all_busy;
    for (const sim::Rank rank : ranks[stage])
      all_busy += steps.program.PlaysFor(rank) * rank_times[rank.pos()].compute_busy;
    const auto number = static_cast<std::uint32_t>(stage);
    const StageMemory memory = MemoryOfStage(scenario, plan, orders.Of(number));
    StageReport row{.stage = static_cast<std::int64_t>(stage),
                    .parameters = plan.held.total().total(),
                    .rank = busiest.value(),
                    .busy = rank_times[busiest.pos()].compute_busy,
                    .mean_busy = sim::Duration::Picoseconds(
                        all_busy.ps() / (scenario.layout.ranks() / scenario.layout.pipeline)),
                    .breakdown = PartsOf(sim::BreakdownOf(steps.program, timeline, predecessors, busiest,
                                                          times.WindowOf(busiest))),
                    .memory = memory.parts,
                    .memory_total = memory.total,
                    .micro_batches_in_flight = memory.micro_batches_in_flight,
                    .fits = memory.total <= scenario.device.usable_memory};
    for (std::uint32_t chunk = 0; chunk < scenario.pipeline.shape.chunks; ++chunk) {
      row.layers += scenario.pipeline.layers_of_piece[scenario.pipeline.piece_of(number, chunk)];
    }
    report->fits = report->fits && row.fits;
    if (row.busy > least_idle) {
      least_idle = row.busy;
      report->breakdown = row.breakdown;
      report->breakdown_rank = row.rank;
    }
    report->stages.push_back(std::move(row));
  }
  report->critical_path = PartsOf(sim::CriticalPathOf(steps.program, timeline, predecessors, times.period));
}

void AddTiers(const Scenario& scenario, const StepProgram& steps, const sim::Timeline& timeline,
              sim::Interval period, Report* report) {
  const sim::LinkBytes bytes = sim::LinkBytesOf(steps.program, timeline, period);
  for (int t = 0; t < topologies::kTierCount; ++t) {
    const auto tier = static_cast<topologies::Tier>(t);
    TierReport row{.name = topologies::ToText(tier), .busiest_link = {}, .busiest_bytes = {}};
    for (std::size_t l = 0; l < scenario.fabric.links.size(); ++l) {
      const topologies::Link& link = scenario.fabric.links[l];
      if (link.tier != tier) continue;
      ++row.links;
      sim::Bytes carried = bytes.window[steps.fold ? steps.fold->carrying[l].pos() : l];
      if (steps.fold && steps.fold->apart) carried = carried + bytes.window[scenario.fabric.links.size() + l];
      const double used = sim::Utilisation(carried, link.capacity, period.length());
      row.mean_utilisation += used;
      if (used <= row.max_utilisation) continue;
      row.max_utilisation = used;
      row.busiest_link = scenario.fabric.LinkName(sim::LinkId(l));
      row.busiest_bytes = carried;
    }
    if (row.links == 0) continue;
    row.mean_utilisation /= static_cast<double>(row.links);
    report->tiers.push_back(std::move(row));
  }
}

// Of the model, and of prediction modules where they are trained.
sim::Wide TrainedFlops(const Scenario& scenario, models::AttentionCount count) {
  const Batch& batch = scenario.batch;
  sim::Wide flops = models::ModelFlops(scenario.model, batch.global, batch.sequence_length, count);
  if (scenario.predictions() == 0) return flops;
  return flops +
         3 * models::PredictionFlops(scenario.model, batch.global, batch.sequence_length, count).total();
}

// Layers that run again from their input, of the whole model; behind them, prediction modules.
struct RunAgain {
  std::int64_t layers = 0, predictions = 0;
};
RunAgain LayersThatRunAgain(const Scenario& scenario) {
  const FullRecompute& full = scenario.training.full_recompute;
  const Pipeline& pipeline = scenario.pipeline;
  const std::size_t last = pipeline.layers_of_piece.size() - 1;
  RunAgain again;
  for (std::uint32_t stage = 0; stage < pipeline.shape.stages; ++stage) {
    std::int64_t on_stage = 0;
    for (std::uint32_t chunk = 0; chunk < pipeline.shape.chunks; ++chunk) {
      const std::uint32_t piece = pipeline.piece_of(stage, chunk);
      for (std::int64_t at = 0; at < pipeline.layers_of_piece[piece]; ++at) {
        again.layers += full.RunsAgain(at, on_stage++) ? 1 : 0;
      }
      if (piece != last || full.first_layers_only) continue;
      for (std::int64_t module = 0; module < scenario.predictions(); ++module) {
        again.predictions += full.RunsAgain(0, on_stage++) ? 1 : 0;
      }
    }
  }
  again.layers /= pipeline.copies();
  return again;
}

sim::Wide RecomputedFlops(const Scenario& scenario) {
  const models::Model& model = scenario.model;
  const Batch& batch = scenario.batch;
  if (scenario.training.recompute == Recompute::kNone) return 0;
  if (scenario.training.recompute == Recompute::kSelective) {
    return models::SelectiveRecomputeFlops(model, ExecutionOf(scenario), batch.global, batch.sequence_length,
                                           scenario.predictions());
  }
  const RunAgain again = LayersThatRunAgain(scenario);
  // Layers of other kinds than the rest count as much as they.
  const sim::Wide layers =
      models::FullRecomputeFlops(model, batch.global, batch.sequence_length) * again.layers / model.layers;
  if (again.predictions == 0) return layers;
  const models::FlopsOf modules = models::PredictionFlops(model, batch.global, batch.sequence_length);
  return layers + (modules.linear + modules.attention) * again.predictions / scenario.predictions();
}

// Rates that follow from the step time.
void AddRates(const Scenario& scenario, Report* report) {
  const Batch& batch = scenario.batch;
  const double seconds = report->step_time.seconds();
  const auto devices = static_cast<double>(scenario.devices);
  const double peak = hardware::PeakFlopsPerSecond(scenario.device, scenario.training.format);
  const sim::Wide full = TrainedFlops(scenario, models::AttentionCount::kFull);
  const sim::Wide causal = TrainedFlops(scenario, models::AttentionCount::kCausal);
  const sim::Wide executed = full + RecomputedFlops(scenario);
  const Training& training = scenario.training;
  report->peak_tflops = peak * 1e-12;
  report->peak_format = hardware::ToText(training.format);
  report->matmul_recipe = models::ToText(training.matmul.recipe);
  report->matmul_peak_tflops =
      1e-12 * hardware::PeakFlopsPerSecond(scenario.device,
                                           models::FormatOf(training.matmul.recipe, training.format));
  report->tflops_per_device = static_cast<double>(full) / seconds / devices * 1e-12;
  report->mfu = static_cast<double>(full) / seconds / devices / peak;
  report->mfu_causal = static_cast<double>(causal) / seconds / devices / peak;
  report->hfu = static_cast<double>(executed) / seconds / devices / peak;
  report->tokens_per_s = static_cast<double>(batch.global * batch.sequence_length) / seconds;
  report->price_usd_per_device_hour = scenario.price_usd_per_device_hour;
  report->price_source = scenario.price_source;
  if (scenario.price_usd_per_device_hour.has_value()) {
    const double cost = devices * *scenario.price_usd_per_device_hour * seconds / 3600;
    report->cost_usd_per_step = cost;
    report->cost_usd_per_trillion_tokens =
        cost / static_cast<double>(batch.global * batch.sequence_length) * 1e12;
  }
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Whether a figure of the device can change this scenario's result: its number
// format, its attention, its links.
bool DependsOn(const Scenario& scenario, const hardware::Figure& figure) {
  const std::string& key = figure.key;
  const std::string format = std::string(": ") + hardware::ToText(scenario.training.format);
  const std::string attention = std::string(": ") + hardware::ToText(scenario.training.attention);
  const bool alone = scenario.devices == 1;
  const bool one_node = scenario.devices <= scenario.device.node.devices;
  const bool nvlink = scenario.device.nvlink.wire > sim::ByteRate();
  const std::string linear =
      std::string(": ") +
      hardware::ToText(models::FormatOf(scenario.training.matmul.recipe, scenario.training.format));
  if (key.starts_with("peaks") || key.starts_with("gemm") || key.starts_with("measured_gemm")) {
    // Eight bits in blocks have FP8's peak (hardware/device_convert.cc).
    const bool in_blocks = key.starts_with("peaks") && (linear == ": FP8_BLOCK" || linear == ": MXFP8");
    return Has(figure.value + " ", format + " ") ||
           Has(figure.value + " ", in_blocks ? ": FP8 " : linear + " ");
  }
  if (key.starts_with("attention")) return Has(figure.value + " ", attention + " ");
  if (key == "node.disk" || key.starts_with("paged_attention")) return false;
  if (key == "node.launch") return scenario.training.launches != Launches::kCudaGraphs;
  if (key.starts_with("exchanges")) return scenario.experts.deepep_sms > 0;
  if (scenario.checkpoint && (key == "node.host_memory" || key == "node.pcie")) return true;
  if (scenario.checkpoint && key == "node.nic" && scenario.checkpoint->through_nics) return true;
  if (key == "node.host_memory") return UsesHosts(scenario);
  if (key == "node.pcie" && UsesHosts(scenario)) return true;
  if (key.starts_with("collectives") || key == "node.nvlink" || key == "interference") return !alone;
  if (key == "node.pcie" && !nvlink) return !alone;
  if (key == "node.nic" || key == "node.pcie") return !one_node;
  if (key == "node.host_bridge" || key == "node.between_sockets") return !alone;
  return true;
}

Provenance OperationsPerKernel() {
  char value[16];
  std::snprintf(value, sizeof value, "%.4g", kOperationsPerKernel);
  return {.key = "operations_per_kernel",
          .value = value,
          .basis = hardware::ToText(hardware::Basis::kAssumed),
          .source = kOperationsPerKernelSource,
          .used = true};
}

void DescribeContext(const Layout& layout, Report* report) {
  report->context = layout.context;
  report->ulysses = layout.ulysses;
  report->zigzag = layout.zigzag;
  const bool ring = layout.context_kind == models::ContextKind::kRing;
  const bool alone = layout.ulysses == layout.context;
  report->context_kind = layout.context == 1 ? "none" : alone ? "ulysses" : ring ? "ring" : "all-gather";
}

// Whether "path=value" leaves what is trained and on what as it was.
bool KeepsTheJob(std::string_view set) {
  constexpr std::array<std::string_view, 6> kFields = {
      "name=", "description=", "steps=", "fidelity=", "price.", "published."};
  return std::any_of(kFields.begin(), kFields.end(),
                     [&](std::string_view field) { return set.substr(0, field.size()) == field; });
}

Report Describe(const Scenario& scenario) {
  Report report;
  report.scenario = scenario.name;
  report.file = scenario.file;
  report.source = scenario.source;
  report.model = scenario.model.name;
  report.hardware = scenario.device.name;
  report.topology = scenario.fabric.name;
  report.schedule = scenario.pipeline.name();
  report.devices = scenario.devices;
  report.tensor = scenario.layout.tensor;
  report.sequence = scenario.layout.sequence;
  report.pipeline = scenario.layout.pipeline;
  report.data = scenario.layout.data;
  DescribeContext(scenario.layout, &report);
  report.spreads_experts = scenario.model.experts.routed > 0 && scenario.layout.spreads_experts();
  if (report.spreads_experts) {
    report.expert = scenario.layout.expert;
    report.expert_tensor = scenario.layout.expert_tensor;
    report.expert_data = scenario.layout.expert_data();
    report.expert_imbalance = scenario.experts.Imbalance();
  }
  report.virtual_stages = scenario.layout.virtual_stages;
  report.global_batch = scenario.batch.global;
  report.micro_batch = scenario.batch.micro;
  report.micro_batches = scenario.batch.micro_batches;
  report.sequence_length = scenario.batch.sequence_length;
  const models::ModelParameters parameters = models::ParametersOf(scenario.model);
  report.parameters = parameters.total();
  report.active_parameters = parameters.active();
  report.steps = scenario.steps;
  report.memory_per_device = scenario.device.usable_memory;
  report.warnings = scenario.warnings;
  report.overrides = scenario.overrides;
  if (scenario.preset) {
    report.preset = scenario.preset->name;
    report.preset_source = scenario.preset->source;
    report.preset_fields = scenario.preset->fields;
  }
  for (const hardware::Figure& figure : scenario.device.figures) {
    report.figures.push_back({figure.key, figure.value, hardware::ToText(figure.basis), figure.source,
                              DependsOn(scenario, figure)});
  }
  if (scenario.training.launches != Launches::kCudaGraphs) report.figures.push_back(OperationsPerKernel());
  if (scenario.published.has_value()) {
    report.published_step_time_s = scenario.published->step_time_s;
    report.published_source = scenario.published->source;
    report.published_applies = std::all_of(scenario.overrides.begin(), scenario.overrides.end(), KeepsTheJob);
  }
  return report;
}

}  // namespace

Report MakeReport(const Scenario& scenario, const StepProgram& steps, const sim::Timeline& timeline) {
  Report report = Describe(scenario);
  const sim::StepTimes times = SteadySteps(scenario, steps.program, timeline);
  report.digest = timeline.digest;
  report.tasks = steps.program.TasksOfAllRanks();
  report.events = timeline.events;
  report.ranks_played = steps.fold ? steps.fold->acting_ranks() : scenario.layout.ranks();
  report.step_time = times.step_time();
  report.steady = times.steady;
  AddRates(scenario, &report);
  AddStages(scenario, steps, timeline, times, &report);
  // One period earlier than the last: the run ends after the last step, so what
  // the next one would already send beside its end is missing there.
  const sim::Duration back = times.steady ? times.step_time() : sim::Duration();
  const sim::Interval period{sim::Time::Start() + (times.period.from.since_start() - back),
                             sim::Time::Start() + (times.period.to.since_start() - back)};
  AddTiers(scenario, steps, timeline, period, &report);
  report.closed_form = ClosedFormOf(scenario, steps.stages, report.step_time);
  if (UsesHosts(scenario)) {
    report.offload = {
        .activation_layers = scenario.training.offload.activation_layers,
        .optimizer_fraction = 1e-9 * static_cast<double>(scenario.training.offload.optimizer_parts),
        .parameters = scenario.training.offload.parameters,
        .bytes_per_step = OffloadedPerStep(scenario, steps.stages),
        .gradients_per_step = HostGradientsPerStep(scenario, steps.stages),
        .weights_per_step = HostWeightsPerStep(scenario, steps.stages),
        .host_per_node = HostBytesOfNode(scenario),
        .host_memory = scenario.device.host.memory};
  }
  if (scenario.checkpoint) AddCheckpoint(scenario, steps.program, timeline, &report);
  return report;
}

}  // namespace scenarios
