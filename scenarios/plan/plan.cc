#include "scenarios/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "models/parameters.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/plan/plan_parts.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

using sim::Number;

// Tokens of a step where nobody says: 4M, as LLaMA's and Llama 2's runs; 16M for the largest, as Llama 3's.
std::int64_t UsualBatch(const PlanRequest& r, std::int64_t parameters, std::string* why) {
  constexpr std::int64_t kUsual = 4'194'304, kLarge = 16'777'216;
  const bool large = parameters > 100'000'000'000;
  *why = large ? "16M tokens: Grattafiori et al. 2024, table 4, above 100e9 parameters"
               : "4M tokens: Touvron et al. 2023, section 2.2";
  return std::max<std::int64_t>((large ? kLarge : kUsual) / r.sequence_length, 1);
}

// A choice that a layout may be asked for: its name, and where it is.
struct LimitName {
  const char* name;
  std::optional<std::int64_t> LayoutLimits::*wanted;
  std::int64_t LayoutChoice::*chosen;
};
constexpr LimitName kLimits[] = {
    {"tensor", &LayoutLimits::tensor, &LayoutChoice::tensor},
    {"pipeline", &LayoutLimits::pipeline, &LayoutChoice::pipeline},
    {"virtual", &LayoutLimits::virtual_stages, &LayoutChoice::virtual_stages},
    {"expert", &LayoutLimits::expert, &LayoutChoice::expert},
    {"expert-tensor", &LayoutLimits::expert_tensor, &LayoutChoice::expert_tensor},
};

// "1, 2 and 4 do": what some layout has.
std::string ThoseThatDo(const std::vector<LayoutChoice>& layouts, std::int64_t LayoutChoice::*chosen) {
  std::set<std::int64_t> values;
  for (const LayoutChoice& layout : layouts) values.insert(layout.*chosen);
  std::string text;
  std::size_t left = values.size();
  for (const std::int64_t value : values) {
    --left;
    text += (text.empty() ? "" : left == 0 ? " and " : ", ") + Grouped(value);
  }
  return text + (values.size() == 1 ? " does" : " do");
}

// Choices that no layout has, each by itself; or, where each can be had, all of them together.
void AddRefusedChoices(const PlanRequest& r, const PlanDevice& d, std::vector<std::string>* errors) {
  const std::string on = " of \"" + r.model.name + "\" on " + d.device.name;
  const std::size_t before = errors->size();
  for (const LimitName& limit : kLimits) {
    if (!(r.limits.*limit.wanted)) continue;
    LayoutLimits alone;
    alone.*limit.wanted = r.limits.*limit.wanted;
    if (!LayoutsFor(r.model, d.device, alone).empty()) continue;
    errors->push_back("--with " + std::string(limit.name) + ": " + Grouped(*(r.limits.*limit.wanted)) +
                      " is in no layout" + on + "; " +
                      ThoseThatDo(LayoutsFor(r.model, d.device, {}), limit.chosen));
  }
  if (errors->size() == before && LayoutsFor(r.model, d.device, r.limits).empty()) {
    errors->push_back("--with: no layout" + on + " has all that is wanted; one choice less would do");
  }
}

std::vector<std::string> ErrorsOf(const PlanRequest& r) {
  std::vector<std::string> errors;
  if (r.device_count && r.most_devices) {
    errors.push_back("--devices: " + Grouped(*r.device_count) +
                     " are given beside --most; one number of devices is wanted");
  }
  if (models::ParametersOf(r.model).total() > 100'000'000'000'000) {
    errors.push_back("model: " + Grouped(models::ParametersOf(r.model).total()) +
                     " parameters are too many; at most 1e14 are planned for");
  }
  if (r.limits.micro && r.global_batch && *r.limits.micro > *r.global_batch) {
    errors.push_back("--with micro: " + Grouped(*r.limits.micro) + " sequences are more than the batch of " +
                     Grouped(*r.global_batch) + "; as many or fewer are wanted");
  }
  for (std::size_t i = 1; i < r.devices.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (r.devices[i].name != r.devices[j].name) continue;
      errors.push_back("--device: " + r.devices[i].name + " is given twice; once is wanted");
    }
  }
  const std::int64_t learned = r.model.learned_positions;
  if (learned > 0 && r.sequence_length > learned) {
    errors.push_back("--with sequence: " + Grouped(r.sequence_length) + " is longer than the " +
                     Grouped(learned) + " learned positions of \"" + r.model.name + "\"; no more are wanted");
  }
  for (const PlanDevice& d : r.devices) {
    if (!hardware::SupportsFormat(d.device, sim::NumberFormat::kBf16)) {
      errors.push_back("--device: " + hardware::WhyNotFormat(d.device, sim::NumberFormat::kBf16) +
                       "; plans are made in BF16");
    }
    AddRefusedChoices(r, d, &errors);
    if (r.budget_usd && !d.usd_per_hour) {
      errors.push_back("--budget: no price of \"" + d.device.name + "\" is known; --device " + d.name +
                       "=USD gives one for an hour");
    }
  }
  return errors;
}

DevicePlan PlanFor(const PlanRequest& request, const PlanDevice& device) {
  DevicePlan plan{.device = device};
  const PlanBasis basis = BasisOf(request, device, &plan.assumptions);
  plan.guess = basis.guess;
  SearchRounds(request, basis, &plan);
  if (!plan.search.stopped) WriteSteps(request, basis, &plan);
  return plan;
}

std::optional<std::size_t> Choose(const std::vector<DevicePlan>& plans) {
  std::optional<std::size_t> chosen;
  const auto key = [](const DevicePlan& p) {  // those without a price come last
    const std::optional<double>& usd = p.outcome()->usd;
    return std::tuple(!usd.has_value(), usd.value_or(0), p.outcome()->days);
  };
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].feasible && (!chosen || key(plans[i]) < key(plans[*chosen]))) chosen = i;
  }
  return chosen;
}

}  // namespace

double GuessedUtilisation(const models::Model& model, std::int64_t devices, std::int64_t node) {
  const bool experts = model.experts.routed > 0;
  const double usual = experts ? 0.325 : devices <= node ? 0.45 : 0.385;  // middles of the ranges
  return devices > 1000 ? usual - 0.04 : usual;
}

PlanBasis BasisOf(const PlanRequest& r, const PlanDevice& device, std::vector<Assumption>* assumptions) {
  PlanBasis b;
  const models::ModelParameters parameters = models::ParametersOf(r.model);
  b.parameters = parameters.total();
  b.active = parameters.active();
  b.job = {.model = r.model,
           .model_name = r.model_name,
           .device = device.device,
           .device_name = device.name,
           .topology = r.topology,
           .sequence_length = r.sequence_length,
           .safety = r.margins.safety,
           .usd_per_device_hour = device.usd_per_hour};
  std::string why;
  const std::int64_t usual = UsualBatch(r, b.parameters, &why);
  b.job.global_batch = r.global_batch.value_or(usual);
  b.job.batch_may_grow = !r.global_batch.has_value();
  assumptions->push_back(
      {"batch", Grouped(b.job.global_batch), r.global_batch ? "given" : why + "; layouts round it up"});
  if (device.usd_per_hour) {
    assumptions->push_back({"price", Short(*device.usd_per_hour), device.price_source});
  }
  assumptions->push_back({"spares", Short(r.margins.spares), "of the devices: textbook 17.5.4, 5 to 10 %"});
  b.six_pd = 6 * Number(b.active) * r.tokens;
  b.peak = hardware::PeakFlopsPerSecond(device.device, sim::NumberFormat::kBf16);
  // A rank keeps at least the inputs of its layers, and workspaces: textbook 17.9.4, step 4, 3 + 2 GB.
  const double room = Number(b.job.memory().count()) - 5e9;
  b.for_memory = room > 0 ? static_cast<std::int64_t>(std::ceil(16 * Number(b.parameters) / room)) : 1;
  const std::int64_t node = device.device.node.devices;
  const auto devices_at = [&](double u) {
    return r.days ? DevicesFor(b.six_pd, b.peak, u, *r.days * kSecondsOfDay) : std::int64_t{0};
  };
  b.guess = r.utilisation.value_or(GuessedUtilisation(r.model, node + 1, node));
  b.for_time = devices_at(b.guess);
  const std::int64_t expected = r.device_count.value_or(std::max(b.for_memory, b.for_time));
  if (!r.utilisation) {
    b.guess = GuessedUtilisation(r.model, expected, node);
    b.for_time = devices_at(b.guess);
  }
  assumptions->push_back(
      {"utilisation", Short(b.guess), r.utilisation ? "given" : "to begin with: textbook 17.9.4, step 3"});
  assumptions->push_back({"longer", Short(r.longer),
                          r.longer == kLongerThanSimulated
                              ? "real steps over simulated ones: the mean of docs/validation.md"
                              : "given"});
  assumptions->push_back(
      {"safety", Short(r.margins.safety),
       "of a device's memory, for buffers of NCCL and libraries: textbook 17.9.4, 2 to 5 GB"});
  b.begin = r.device_count.value_or(std::max(b.for_memory, b.for_time));
  if (r.most_devices) b.begin = std::min(b.begin, *r.most_devices);
  return b;
}

PlanResult MakePlan(const PlanRequest& request) {
  PlanResult result{.plan = {}, .errors = ErrorsOf(request)};
  if (!result.errors.empty()) return result;
  Plan plan{.model = request.model.name, .request = request, .plans = {}, .chosen = {}};
  for (const PlanDevice& device : request.devices) {
    plan.plans.push_back(PlanFor(request, device));
    if (!plan.plans.back().search.stopped) continue;
    result.stopped = true;
    return result;
  }
  plan.chosen = Choose(plan.plans);
  result.plan = std::move(plan);
  return result;
}

}  // namespace scenarios
