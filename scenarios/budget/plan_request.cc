#include "scenarios/budget/plan_request.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "models/parameters.h"
#include "models/transformer.h"
#include "scenarios/budget/section.h"
#include "scenarios/budget/training_time.h"

namespace scenarios {
namespace {

constexpr std::int64_t kMostParameters = 1'000'000'000'000'000;  // 18 bytes of each fit 63 bits

std::string Text(std::int64_t n) { return Grouped(n); }

const char* RecomputeText(models::Recompute r) {
  return r == models::Recompute::kNone ? "none" : r == models::Recompute::kSelective ? "selective" : "full";
}

// "1, 2, 4 and 8 do": those that can share every layer.
std::string TensorGroups(const models::Model& model) {
  std::vector<std::int64_t> groups;
  for (std::int64_t t = 1; t <= model.heads; ++t) {
    if (models::CanShare(model, t) && models::CanSpread(model, 1, t)) groups.push_back(t);
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) text += i + 1 == groups.size() ? " and " : ", ";
    text += Grouped(groups[i]);
  }
  return text + (groups.size() == 1 ? " does" : " do");
}

void ChooseLayout(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  c->tensor = (*choose)("tensor", r.tensor, std::int64_t{1}, "no tensor parallelism unless asked for", Text);
  c->pipeline = (*choose)("pipeline", r.pipeline, std::int64_t{1}, "no pipeline unless asked for", Text);
  const int zero = c->pipeline > 1 ? 1 : 3;
  c->zero_stage = (*choose)(
      "zero", r.zero_stage, zero,
      zero == 3 ? "cuts everything, so most models fit" : "a pipeline holds weights and gradients whole",
      [](int stage) { return std::to_string(stage); });
  if (!models::CanShare(c->model, c->tensor)) {
    errors->push_back("tensor: " + Grouped(c->tensor) + " does not divide the " + Grouped(c->model.heads) +
                      " query heads, " + Grouped(c->model.kv_heads) + " key heads and feed-forward of \"" +
                      c->model.name + "\"; " + TensorGroups(c->model));
  }
  if (c->model.experts.routed > 0 && errors->empty() && !models::CanSpread(c->model, 1, c->tensor)) {
    errors->push_back("tensor: " + Grouped(c->tensor) + " does not divide the experts' width " +
                      Grouped(c->model.experts.ffn) + "; " + TensorGroups(c->model));
  }
  if (c->pipeline > c->model.layers) {
    errors->push_back("pipeline: " + Grouped(c->pipeline) + " stages are more than the " +
                      Grouped(c->model.layers) + " layers; as many or fewer are wanted");
  }
}

// How many: given, or as many as finish in time, in whole groups of tensor x pipeline and whole nodes.
void ChooseDevices(const BudgetRequest& r, Chosen* c, std::vector<std::string>* errors) {
  const std::int64_t group = c->tensor * c->pipeline;
  if (r.devices && r.days) {
    errors->push_back("days: " + Short(*r.days) +
                      " is given beside devices; one follows from the other, give one");
    return;
  }
  if (r.devices) {
    c->devices = *r.devices;
    c->assumptions.push_back({"devices", Grouped(c->devices), "given"});
    if (c->devices % group != 0) {
      errors->push_back("devices: " + Grouped(c->devices) + " is no multiple of tensor " +
                        Grouped(c->tensor) + " x pipeline " + Grouped(c->pipeline) + " = " + Grouped(group) +
                        "; " + Grouped(WholeGroups(c->devices, group)) + " is");
    }
  } else {
    constexpr double kUsualDays = 30;
    c->days = r.days.value_or(kUsualDays);
    c->assumptions.push_back(
        {"days", Short(*c->days), r.days ? "given" : "the deadline of textbook table 17-58"});
    const double seconds = *c->days * kSecondsOfDay;
    if (c->flops() / (c->peak * c->utilisation * seconds) > 1e9) {
      errors->push_back("days: " + Short(*c->days) + " take more than 1e9 devices; more days are wanted");
      return;
    }
    std::int64_t whole = group;
    // Whole nodes too, where more than one is needed.
    const std::int64_t needed = DevicesFor(c->flops(), c->peak, c->utilisation, seconds);
    if (needed > c->device.node.devices) whole = std::lcm(group, std::int64_t{c->device.node.devices});
    c->devices = WholeGroups(std::max(needed, std::int64_t{1}), whole);
    c->assumptions.push_back({"devices", Grouped(c->devices),
                              "(27.19): " + Grouped(needed) + ", up to a multiple of " + Grouped(whole)});
  }
  c->data = std::max(c->devices / group, std::int64_t{1});
}

void ChooseBatch(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  constexpr std::int64_t kUsualTokens = 4'194'304;
  const std::int64_t at_once = c->data * c->micro_batch;
  const std::int64_t usual =
      WholeGroups(std::max(kUsualTokens / c->sequence_length, std::int64_t{1}), at_once);
  c->global_batch = (*choose)("batch", r.global_batch, usual,
                              "about 4M tokens, textbook 17.7.2; a multiple of data x micro-batch", Text);
  if (c->global_batch % at_once != 0) {
    errors->push_back("batch: " + Grouped(c->global_batch) + " sequences are no multiple of data " +
                      Grouped(c->data) + " x micro-batch " + Grouped(c->micro_batch) + " = " +
                      Grouped(at_once) + "; " + Grouped(WholeGroups(c->global_batch, at_once)) + " is");
  }
  c->micro_batches = std::max(c->global_batch / at_once, std::int64_t{1});
}

// Reserves are nothing unless asked for, but spares, without which a failed device ends the run.
void ChooseMargins(const BudgetRequest& r, Chooser* choose, Chosen* c) {
  c->margins.spares =
      (*choose)("spares", r.spares, 0.05, "textbook 17.5.4: 5 to 10 % of the devices, for failures", Short);
  c->margins.maintenance = (*choose)("maintenance", r.maintenance, 0.0, "of the time; none planned", Short);
  c->margins.safety = (*choose)("safety", r.safety, 0.0,
                                "of a device's memory, for what is not counted; fragments are not", Short);
}

void ChooseServing(const BudgetRequest& r, Chooser* choose, Chosen* c) {
  c->context = (*choose)("context", r.context, std::min<std::int64_t>(c->model.max_positions, 4096),
                         "tokens of a request: the model's longest, 4,096 at most", Text);
  c->weight_bits = (*choose)("weight_bits", r.weight_bits, 16.0, "BF16", Short);
  c->kv_width = (*choose)("kv_bytes", r.kv_width, std::int64_t{2}, "BF16", Text);
}

// Whether everything that is counted later fits 63 bits.
void CheckSizes(const Chosen& c, std::vector<std::string>* errors) {
  const sim::Wide tokens = sim::Wide{c.micro_batch} * c.sequence_length;
  // A layer keeps less than 64 bytes for each number of its widest tensor.
  const bool fits = models::WidestTensor(c.model, c.execution()) * tokens <= INT64_MAX / 64 / c.model.layers;
  if (!fits || models::LargestKernelFlops(c.model, c.execution()) > INT64_MAX) {
    errors->push_back("sequence: " + Grouped(c.sequence_length) + " x micro-batch " + Grouped(c.micro_batch) +
                      " makes kernels beyond 9.2e18 FLOPs or as many bytes; less is wanted");
  }
}

void CheckContext(const Chosen& c, std::vector<std::string>* errors) {
  const models::Model& m = c.model;
  const sim::Wide numbers = sim::Wide{m.layers} * (m.has_latent() ? m.latent.kv_rank + m.latent.rope_dim
                                                                  : 2 * m.kv_heads * m.head_dim);
  if (numbers * c.context > INT64_MAX / 2) {
    errors->push_back("context: " + Grouped(c.context) +
                      " tokens of a request keep more than 9.2e18 bytes; " + "fewer are wanted");
  }
}

}  // namespace

std::string Grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > (text[0] == '-' ? 4u : 3u);) text.insert(i -= 3, 1, ',');
  return text;
}

std::string Short(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

double Chosen::flops_of_token() const {
  return static_cast<double>(models::ModelFlops(model, 1, sequence_length, attention)) /
         static_cast<double>(sequence_length);
}

sim::Bytes Chosen::memory() const {
  return sim::Bytes(
      static_cast<std::int64_t>(static_cast<double>(device.usable_memory.count()) * (1 - margins.safety)));
}

models::Execution Chosen::execution() const {
  models::Execution e;
  e.tensor = tensor;
  e.sequence_parallel = tensor > 1 && sequence_length % tensor == 0;
  e.micro_batch = micro_batch;
  e.sequence_length = sequence_length;
  e.format = format;
  e.gradient_fp32 = widths.gradient == 4;
  e.attention = attention_kind;
  e.dropout = dropout;
  return e;
}

Chosen Choose(const BudgetRequest& r, std::vector<std::string>* errors) {
  Chosen c{.model = r.model, .device = r.device};
  Chooser choose(&c.assumptions);
  const std::int64_t parameters = models::ParametersOf(c.model).total();
  if (parameters > kMostParameters) {
    errors->push_back("model: " + Grouped(parameters) + " parameters are too many; at most " +
                      Grouped(kMostParameters) + " are budgeted");
    return c;
  }
  if (!hardware::SupportsFormat(c.device, c.format)) c.format = sim::NumberFormat::kFp16;
  c.peak = hardware::PeakFlopsPerSecond(c.device, c.format);
  c.assumptions.push_back({"format", hardware::ToText(c.format), "16 bits that the device multiplies"});
  c.assumptions.push_back({"peak", Short(c.peak * 1e-12) + " TFLOP/s", "the device's file, dense"});

  c.sequence_length =
      choose("sequence", r.sequence_length, std::min<std::int64_t>(c.model.max_positions, 4096),
             "the model's longest, 4,096 at most", Text);
  if (c.model.learned_positions > 0 && c.sequence_length > c.model.learned_positions) {
    errors->push_back("sequence: " + Grouped(c.sequence_length) + " is longer than the " +
                      Grouped(c.model.learned_positions) + " learned positions; no more are wanted");
  }
  c.tokens = choose("tokens", r.tokens, kTokensPerParameter * static_cast<double>(parameters),
                    "20 a parameter, Hoffmann et al. 2022", Short);
  c.attention = choose("attention", r.attention, models::AttentionCount::kFull, "as MFU is usually counted",
                       [](auto a) { return a == models::AttentionCount::kFull ? "full" : "causal"; });
  c.utilisation =
      choose("utilisation", r.utilisation, 0.4,
             "textbook 17.3.8; it contains every wait and recomputation, so none is taken off again", Short);
  c.micro_batch = choose("micro", r.micro_batch, std::int64_t{1}, "the least", Text);
  c.optimizer = choose("optimizer", r.optimizer, models::OptimizerKind::kAdamW, "the usual one",
                       [](auto kind) { return models::ToText(kind); });
  c.widths.gradient = choose("gradient_bytes", r.gradient_width, std::int64_t{4},
                             "accumulated in FP32, as Megatron-LM does", Text);
  c.recompute = choose("recompute", r.recompute, models::Recompute::kFull, "the least memory", RecomputeText);
  c.attention_kind = choose("attention_kernel", r.attention_kind, sim::AttentionKind::kFlash2,
                            "fused: scores are not kept", [](auto kind) { return hardware::ToText(kind); });
  c.dropout = r.dropout;
  if (c.dropout) c.assumptions.push_back({"dropout", "yes", "given"});
  c.usd_per_device_hour = choose("price", r.usd_per_device_hour, 2.0,
                                 "USD an hour of a device: textbook table 17-65, H800 reserved", Short);
  ChooseMargins(r, &choose, &c);
  ChooseLayout(r, &choose, &c, errors);
  if (!errors->empty()) return c;
  CheckSizes(c, errors);
  if (!errors->empty()) return c;
  ChooseDevices(r, &c, errors);
  if (!errors->empty()) return c;
  ChooseBatch(r, &choose, &c, errors);
  ChooseServing(r, &choose, &c);
  CheckContext(c, errors);
  return c;
}

}  // namespace scenarios
