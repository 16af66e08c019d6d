#include "scenarios/budget/plan_request.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/parameters.h"
#include "models/transformer.h"
#include "scenarios/budget/prices.h"
#include "scenarios/budget/section.h"
#include "scenarios/budget/training_time.h"

namespace scenarios {
namespace {

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

const char* YesText(bool yes) { return yes ? "yes" : "no"; }

// Adapters beside frozen weights, where they are asked for.
void ChooseAdapters(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  if (!r.lora_rank) {
    if (r.base_bits || r.lora_targets) {
      errors->push_back("lora_rank: is not given, and without adapters no weight is frozen; give it");
    }
    return;
  }
  c->lora_rank = (*choose)("lora_rank", r.lora_rank, std::int64_t{0}, "", Grouped);
  const auto targets = (*choose)("lora_targets", r.lora_targets, models::AdapterTargets::kAllLinear,
                                 "Dettmers et al. 2023, section 4", [](models::AdapterTargets t) {
                                   return t == models::AdapterTargets::kQueryValue  ? "query-value"
                                          : t == models::AdapterTargets::kAttention ? "attention"
                                                                                    : "all-linear";
                                 });
  c->base_bits = (*choose)("base_bits", r.base_bits, std::int64_t{16}, "frozen weights as they are", Grouped);
  c->adapters = models::AdapterParameters(c->model, targets, c->lora_rank);
  if (c->optimizer != models::OptimizerKind::kAdamW) {
    errors->push_back(std::string("optimizer: ") + models::ToText(c->optimizer) +
                      " of adapters is not budgeted; adamw is wanted");
  }
  if (c->format == sim::NumberFormat::kFp32) {
    errors->push_back("format: FP32 beside frozen weights is not budgeted; bf16 or fp16 is wanted");
  }
}

// The 16 bits that the device multiplies, unless asked for another one.
void ChooseFormat(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  const bool bf16 = hardware::SupportsFormat(c->device, sim::NumberFormat::kBf16);
  c->serving_format = bf16 ? sim::NumberFormat::kBf16 : sim::NumberFormat::kFp16;
  c->format = (*choose)("format", r.format, c->serving_format, "16 bits that the device multiplies",
                        [](auto format) { return hardware::ToText(format); });
  if (!hardware::SupportsFormat(c->device, c->format)) {
    errors->push_back("format: " + hardware::WhyNotFormat(c->device, c->format));
    return;
  }
  // Weights of 32 bits are their own master copy.
  if (c->format == sim::NumberFormat::kFp32) c->widths = {.weight = 4, .gradient = 4, .master = 0};
  c->peak = hardware::PeakFlopsPerSecond(c->device, c->format);
  c->assumptions.push_back({"peak", Short(c->peak * 1e-12) + " TFLOP/s", "the device's file, dense"});
}

// Rings that share a sequence, where they are asked for.
void ChooseContext(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  if (!r.context_ranks) return;
  c->context_ranks = (*choose)("context_ranks", r.context_ranks, std::int64_t{1}, "", Grouped);
  if (c->context_ranks == 1) return;
  if (c->sequence_length % (2 * c->context_ranks) != 0) {
    errors->push_back("context_ranks: " + Grouped(c->context_ranks) + " of two parts each do not share " +
                      Grouped(c->sequence_length) + " tokens; a multiple of " +
                      Grouped(2 * c->context_ranks) + " is wanted");
  }
  if (c->attention_kind == sim::AttentionKind::kUnfused) {
    errors->push_back("context_ranks: unfused attention takes no parts of a sequence; a fused one is wanted");
  }
  const auto whole = [&](std::int64_t layer) {
    return models::ReachOf(c->model, layer, c->sequence_length) == c->sequence_length;
  };
  for (std::int64_t layer = 0; layer < c->model.layers; ++layer) {
    if (whole(layer) && !c->model.relative_positions) continue;
    errors->push_back("context_ranks: windows and relative positions of \"" + c->model.name +
                      "\" are not budgeted where a sequence is cut; 1 is wanted");
    return;
  }
}

// Groups that share the routed experts, where they are asked for.
void ChooseExperts(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  if (!r.expert) return;
  c->expert = (*choose)("expert", r.expert, std::int64_t{1}, "", Grouped);
  if (c->expert == 1) return;
  if (c->model.experts.routed == 0) {
    errors->push_back("expert: \"" + c->model.name + "\" has no routed experts; a model that has is wanted");
  } else if (c->model.experts.routed % c->expert != 0) {
    errors->push_back("expert: " + Grouped(c->expert) + " does not divide the " +
                      Grouped(c->model.experts.routed) + " experts of \"" + c->model.name +
                      "\"; a divisor is wanted");
  }
  if (c->frozen()) errors->push_back("expert: beside adapters is not budgeted; 1 is wanted");
}

// Layers of each stage.
void ChooseStages(const BudgetRequest& r, Chosen* c, std::vector<std::string>* errors) {
  if (c->pipeline > c->model.layers && r.stage_layers.empty()) {
    errors->push_back("pipeline: " + Grouped(c->pipeline) + " stages are more than the " +
                      Grouped(c->model.layers) + " layers; as many or fewer are wanted");
    return;
  }
  c->stage_layers = r.stage_layers;
  if (c->stage_layers.empty()) {
    const std::int64_t each = c->model.layers / c->pipeline, more = c->model.layers % c->pipeline;
    for (std::int64_t s = 0; s < c->pipeline; ++s) c->stage_layers.push_back(each + (s < more ? 1 : 0));
    return;
  }
  const std::int64_t sum = std::accumulate(c->stage_layers.begin(), c->stage_layers.end(), std::int64_t{0});
  const auto stages = static_cast<std::int64_t>(c->stage_layers.size());
  if (stages != c->pipeline || sum != c->model.layers) {
    errors->push_back("stage_layers: " + Grouped(stages) + " stages of " + Grouped(sum) +
                      " layers; pipeline " + Grouped(c->pipeline) + " and " + Grouped(c->model.layers) +
                      " layers are wanted");
    return;
  }
  std::string text;
  for (const std::int64_t layers : c->stage_layers) text += (text.empty() ? "" : " ") + Grouped(layers);
  c->assumptions.push_back({"stage_layers", text, "given"});
}

// What sequence parallelism cuts; and what ZeRO-3 holds and moves besides.
void ChooseCuts(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  const bool divides = c->sequence_length % (c->tensor * c->context_ranks) == 0;
  c->sequence_parallel = c->tensor > 1 && divides;
  if (c->tensor > 1 || r.sequence_parallel) {
    c->sequence_parallel = (*choose)("sequence_parallel", r.sequence_parallel, c->sequence_parallel,
                                     "where the tensor group divides the sequence", YesText);
  }
  if (c->sequence_parallel && !divides) {
    errors->push_back("sequence_parallel: tensor " + Grouped(c->tensor) + " does not divide a sequence of " +
                      Grouped(c->local_length()) + "; no is wanted, or a multiple");
  }
  if (c->expert > 1 && c->tensor > 1 && !c->sequence_parallel) {
    errors->push_back(
        "expert: spread over a tensor group without sequence parallelism is not budgeted; a sequence "
        "that it divides is wanted");
  }
  if (c->zero_stage < 3) return;
  c->prefetch = (*choose)("prefetch", r.prefetch, std::int64_t{1},
                          "units gathered ahead of the one in hand, as FSDP does", Grouped);
  c->regather_last = (*choose)("regather_last", r.regather_last, true,
                               "the head as well, though its backward comes next: erratum E2", YesText);
}

void ChooseLayout(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  c->tensor =
      (*choose)("tensor", r.tensor, std::int64_t{1}, "no tensor parallelism unless asked for", Grouped);
  c->pipeline = (*choose)("pipeline", r.pipeline, std::int64_t{1}, "no pipeline unless asked for", Grouped);
  const int zero = c->pipeline > 1 || c->frozen() ? 1 : 3;
  c->zero_stage = (*choose)("zero", r.zero_stage, zero,
                            zero == 3     ? "cuts everything, so most models fit"
                            : c->frozen() ? "frozen weights are held whole"
                                          : "a pipeline holds weights and gradients whole",
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
  ChooseContext(r, choose, c, errors);
  ChooseExperts(r, choose, c, errors);
  ChooseStages(r, c, errors);
  ChooseCuts(r, choose, c, errors);
}

// How many: given, or as many as finish in time, in whole groups of tensor x pipeline and whole nodes.
void ChooseDevices(const BudgetRequest& r, Chosen* c, std::vector<std::string>* errors) {
  const std::int64_t group = c->tensor * c->context_ranks * c->pipeline;
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
                        Grouped(c->tensor) +
                        (c->context_ranks > 1 ? " x context_ranks " + Grouped(c->context_ranks) : "") +
                        " x pipeline " + Grouped(c->pipeline) + " = " + Grouped(group) + "; " +
                        Grouped(WholeGroups(c->devices, group)) + " is");
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
    whole = std::lcm(group, group / c->context_ranks * c->expert);  // experts are spread over data x context
    // Whole nodes too, where more than one is needed.
    const std::int64_t needed = DevicesFor(c->flops(), c->peak, c->utilisation, seconds);
    if (needed > c->device.node.devices) whole = std::lcm(whole, std::int64_t{c->device.node.devices});
    c->devices = WholeGroups(std::max(needed, std::int64_t{1}), whole);
    c->assumptions.push_back({"devices", Grouped(c->devices),
                              "(27.19): " + Grouped(needed) + ", up to a multiple of " + Grouped(whole)});
  }
  c->data = std::max(c->devices / group, std::int64_t{1});
  if (c->copies() % c->expert != 0) {
    errors->push_back("expert: " + Grouped(c->expert) + " groups do not divide the data x context ranks, " +
                      Grouped(c->copies()) + "; a divisor is wanted");
  }
}

void ChooseBatch(const BudgetRequest& r, Chooser* choose, Chosen* c, std::vector<std::string>* errors) {
  constexpr std::int64_t kUsualTokens = 4'194'304;
  const std::int64_t at_once = c->data * c->micro_batch;
  const std::int64_t usual =
      WholeGroups(std::max(kUsualTokens / c->sequence_length, std::int64_t{1}), at_once);
  c->global_batch = (*choose)("batch", r.global_batch, usual,
                              "about 4M tokens, textbook 17.7.2; a multiple of data x micro-batch", Grouped);
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

void ChoosePrice(const BudgetRequest& r, Chooser* choose, Chosen* c) {
  const RentedPrice* known = RentedPriceOf(c->device.name);
  c->usd_per_device_hour = (*choose)(
      "price", r.usd_per_device_hour, known != nullptr ? known->usd_per_hour : 2.0,
      known != nullptr ? known->source : "USD an hour of an H800; this device's is not known, give it",
      Short);
}

void ChooseServing(const BudgetRequest& r, Chooser* choose, Chosen* c) {
  if (r.page) c->page = (*choose)("page", r.page, std::int64_t{0}, "", Grouped);
  c->context = (*choose)("context", r.context, std::min<std::int64_t>(c->model.max_positions, 4096),
                         "tokens of a request: the model's longest, 4,096 at most", Grouped);
  c->weight_bits = (*choose)("weight_bits", r.weight_bits, 16.0, "BF16", Short);
  c->kv_width = (*choose)("kv_bytes", r.kv_width, std::int64_t{2}, "BF16", Grouped);
}

void CheckSizes(const Chosen& c, std::vector<std::string>* errors) {
  if (SizesFit(c)) return;
  errors->push_back("sequence: " + Grouped(c.sequence_length) + " x micro-batch " + Grouped(c.micro_batch) +
                    " makes kernels beyond 9.2e18 FLOPs or as many bytes; less is wanted");
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

bool SizesFit(const Chosen& c) {
  const sim::Wide tokens = sim::Wide{c.micro_batch} * c.sequence_length;
  // A layer keeps less than 64 bytes for each number of its widest tensor.
  return models::WidestTensor(c.model, c.execution()) * tokens <= INT64_MAX / 64 / c.model.layers &&
         models::LargestKernelFlops(c.model, c.execution()) <= INT64_MAX;
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
  ChooseFormat(r, &choose, &c, errors);
  if (!errors->empty()) return c;

  c.sequence_length =
      choose("sequence", r.sequence_length, std::min<std::int64_t>(c.model.max_positions, 4096),
             "the model's longest, 4,096 at most", Grouped);
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
  c.micro_batch = choose("micro", r.micro_batch, std::int64_t{1}, "the least", Grouped);
  c.optimizer = choose("optimizer", r.optimizer, models::OptimizerKind::kAdamW, "the usual one",
                       [](auto kind) { return models::ToText(kind); });
  c.widths.gradient = choose("gradient_bytes", r.gradient_width, std::int64_t{4},
                             "accumulated in FP32, as Megatron-LM does", Grouped);
  c.recompute = choose("recompute", r.recompute, models::Recompute::kFull, "the least memory", RecomputeText);
  c.attention_kind = choose("attention_kernel", r.attention_kind, sim::AttentionKind::kFlash2,
                            "fused: scores are not kept", [](auto kind) { return hardware::ToText(kind); });
  ChooseAdapters(r, &choose, &c, errors);
  c.dropout = r.dropout;
  if (c.dropout) c.assumptions.push_back({"dropout", "yes", "given"});
  ChoosePrice(r, &choose, &c);
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
