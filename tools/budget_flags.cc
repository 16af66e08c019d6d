#include "tools/budget_flags.h"

#include <algorithm>
#include <iterator>

#include "proto/syntax.h"
#include "tools/flag_reader.h"

namespace tools {
namespace {

using scenarios::BillChoices;
using scenarios::BudgetRequest;

constexpr std::int64_t kOne = 1, kMany = 1'000'000'000;

struct Choice {
  const char* name;
  const char* help;
  bool of_bill = false;
};

// What `--with` may choose.
constexpr Choice kChoices[] = {
    {"tensor", "ranks that share each layer"},
    {"pipeline", "stages"},
    {"context-ranks", "that share a sequence, in a ring"},
    {"expert", "groups that share the routed experts"},
    {"sequence-parallel", "yes or no: norms and residuals cut by the tensor group too"},
    {"zero", "0 to 3: what data ranks cut"},
    {"prefetch", "units that zero=3 gathers ahead"},
    {"format", "bf16, fp16, fp32: of weights and activations"},
    {"sequence", "tokens of a sequence"},
    {"batch", "sequences of a step"},
    {"micro", "sequences of a micro-batch"},
    {"optimizer", "adamw, adamw-8bit, sgd-momentum, adam-mini, adafactor, muon"},
    {"gradient-bytes", "2 or 4"},
    {"lora-rank", "of adapters beside frozen weights"},
    {"lora-targets", "query-value, attention, all-linear: matrices that have one"},
    {"base-bits", "4 (NF4), 8 or 16: of a frozen weight"},
    {"recompute", "none, selective, full"},
    {"attention", "how its FLOPs are counted: full, causal"},
    {"spares", "part of the devices beside those that work"},
    {"maintenance", "part of the time without training"},
    {"safety", "part of a device's memory that is kept free"},
    {"context", "tokens of a request, serving"},
    {"weight-bits", "of a weight, serving"},
    {"kv-bytes", "1 or 2: of a number of keys and values, serving"},
    {"page", "tokens of a page of keys and values, serving"},
    {"rails", "NICs of a node that are cabled", true},
    {"switch-ports", "of one switch", true},
    {"device-hours", "between failures of one device", true},
    {"save-steps", "between saves", true},
    {"write-seconds", "in which a save is written, beside training", true},
    {"restart-seconds", "after a failure, without reading the save", true},
    {"saves-kept", "at a time", true},
    {"replicas", "of every byte stored", true},
    {"device-usd", "price of a device", true},
    {"node-usd", "of a node without its devices", true},
    {"switch-usd", "of a switch", true},
    {"cable-usd", "of a cable with its optics", true},
    {"gb-month-usd", "of a GB stored for a month", true},
    {"kwh-usd", "of power", true},
    {"cooling", "power for it, as a part of the rest's", true},
    {"years", "of depreciation", true},
    {"failure-hours", "of a person's time a failure", true},
    {"person-usd", "of a person for a year", true},
};

// What `--sketch` may say.
constexpr const char* kShapes[] = {"layers", "hidden", "ffn",     "kv-heads", "vocabulary",
                                   "gated",  "tied",   "experts", "per-token"};

std::vector<std::string> ChoiceNames() {
  std::vector<std::string> names;
  for (const Choice& choice : kChoices) names.emplace_back(choice.name);
  return names;
}

// What is of the bill of materials is wrong without one.
void RefuseWithoutBill(const Arguments& arguments, std::vector<std::string>* errors) {
  if (arguments.has("bill")) return;
  for (const Choice& choice : kChoices) {
    if (!choice.of_bill || !arguments.has(choice.name)) continue;
    errors->push_back("--with: " + std::string(choice.name) +
                      " is of the bill of materials; --bill is wanted beside it");
  }
}

// Ranges are those of a scenario's fields.
void ReadBudgetFlags(FlagReader& flags, BudgetRequest* r) {
  constexpr std::int64_t kTokens = 16'777'216;
  flags.Number("tokens", 1.0, 1e18, &r->tokens);
  flags.Number("sequence", kOne, kTokens, &r->sequence_length);
  flags.Number("batch", kOne, kMany, &r->global_batch);
  flags.Number("micro", kOne, std::int64_t{1'000'000}, &r->micro_batch);
  flags.Number("tensor", kOne, std::int64_t{1024}, &r->tensor);
  flags.Number("pipeline", kOne, std::int64_t{10'000}, &r->pipeline);
  flags.Number("context-ranks", kOne, std::int64_t{4096}, &r->context_ranks);
  flags.Number("expert", kOne, std::int64_t{1'000'000}, &r->expert);
  flags.Number("devices", kOne, kMany, &r->devices);
  flags.Number("days", 1e-3, 1e5, &r->days);
  flags.Number("mfu", 1e-3, 1.0, &r->utilisation);
  flags.Number("price", 0.0, 1e6, &r->usd_per_device_hour);
  flags.Number("spares", 0.0, 1.0, &r->spares);
  flags.Number("maintenance", 0.0, 0.9, &r->maintenance);
  flags.Number("safety", 0.0, 0.9, &r->safety);
  flags.Number("context", kOne, kTokens, &r->context);
  flags.Number("weight-bits", 1.0, 32.0, &r->weight_bits);
  flags.Number("page", kOne, kTokens, &r->page);
  flags.OneOf<std::int64_t>("kv-bytes", {{"1", 1}, {"2", 2}}, &r->kv_width);
  flags.OneOf<std::int64_t>("gradient-bytes", {{"2", 2}, {"4", 4}}, &r->gradient_width);
  flags.OneOf<bool>("sequence-parallel", {{"yes", true}, {"no", false}}, &r->sequence_parallel);
  flags.Number("prefetch", std::int64_t{0}, std::int64_t{1000}, &r->prefetch);
  flags.OneOf<sim::NumberFormat>("format",
                                 {{"bf16", sim::NumberFormat::kBf16},
                                  {"fp16", sim::NumberFormat::kFp16},
                                  {"fp32", sim::NumberFormat::kFp32}},
                                 &r->format);
  flags.OneOf<int>("zero", {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}, &r->zero_stage);
  std::vector<std::pair<std::string, models::OptimizerKind>> optimizers;
  for (const auto kind :
       {models::OptimizerKind::kAdamW, models::OptimizerKind::kAdamW8bit, models::OptimizerKind::kSgdMomentum,
        models::OptimizerKind::kAdamMini, models::OptimizerKind::kAdafactor, models::OptimizerKind::kMuon}) {
    optimizers.emplace_back(models::ToText(kind), kind);
  }
  flags.OneOf("optimizer", optimizers, &r->optimizer);
  flags.Number("lora-rank", kOne, std::int64_t{16'384}, &r->lora_rank);
  flags.OneOf<models::AdapterTargets>("lora-targets",
                                      {{"query-value", models::AdapterTargets::kQueryValue},
                                       {"attention", models::AdapterTargets::kAttention},
                                       {"all-linear", models::AdapterTargets::kAllLinear}},
                                      &r->lora_targets);
  flags.OneOf<std::int64_t>("base-bits", {{"4", 4}, {"8", 8}, {"16", 16}}, &r->base_bits);
  flags.OneOf<models::Recompute>("recompute",
                                 {{"none", models::Recompute::kNone},
                                  {"selective", models::Recompute::kSelective},
                                  {"full", models::Recompute::kFull}},
                                 &r->recompute);
  flags.OneOf<models::AttentionCount>(
      "attention", {{"full", models::AttentionCount::kFull}, {"causal", models::AttentionCount::kCausal}},
      &r->attention);
}

void ReadBillFlags(FlagReader& flags, BillChoices* c) {
  flags.Number("rails", kOne, std::int64_t{1024}, &c->rails);
  flags.Number("switch-ports", std::int64_t{4}, std::int64_t{4096}, &c->switch_ports);
  flags.Number("device-hours", 1.0, 1e12, &c->device_hours);
  flags.Number("save-steps", kOne, kMany, &c->every_steps);
  flags.Number("write-seconds", 1e-3, 1e7, &c->write_s);
  flags.Number("restart-seconds", 0.0, 1e7, &c->restart_s);
  flags.Number("saves-kept", kOne, std::int64_t{1'000'000}, &c->saves_kept);
  flags.Number("replicas", kOne, std::int64_t{100}, &c->replicas);
  for (const auto& [flag, price] :
       {std::pair{"device-usd", &c->usd_of_device}, std::pair{"node-usd", &c->usd_of_node},
        std::pair{"switch-usd", &c->usd_of_switch}, std::pair{"cable-usd", &c->usd_of_cable},
        std::pair{"gb-month-usd", &c->usd_per_gb_month}, std::pair{"kwh-usd", &c->usd_per_kwh},
        std::pair{"person-usd", &c->usd_of_person_year}}) {
    flags.Number(flag, 0.0, 1e9, price);
  }
  flags.Number("cooling", 0.0, 10.0, &c->cooling);
  flags.Number("years", 0.01, 100.0, &c->years);
  flags.Number("failure-hours", 0.0, 1e4, &c->hours_of_failure);
}

}  // namespace

models::Sketch ReadSketch(const std::string& text, std::vector<std::string>* errors) {
  Arguments shapes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at), name = one.substr(0, one.find('='));
    at = end + 1;
    if (one.find('=') == std::string::npos) {
      errors->push_back("--sketch: \"" + one + "\" has no value; layers=32,hidden=4096 is wanted");
    } else if (std::find(std::begin(kShapes), std::end(kShapes), name) == std::end(kShapes)) {
      const auto near = proto::Nearest(name, {std::begin(kShapes), std::end(kShapes)});
      errors->push_back("--sketch: no shape is called \"" + name + "\"; " +
                        (near.empty() ? "layers, hidden, ffn, kv-heads, vocabulary, gated, tied, experts and "
                                        "per-token are"
                                      : "did you mean \"" + near[0] + "\"?"));
    } else if (!shapes.values.emplace(name, std::vector<std::string>{one.substr(name.size() + 1)}).second) {
      errors->push_back("--sketch: " + name + " is given twice; once is wanted");
    }
  }
  // The largest of all together have fewer than 9e18 parameters.
  models::Sketch s;
  std::optional<std::int64_t> layers, hidden, experts, per_token;
  FlagReader flags(shapes, {std::begin(kShapes), std::end(kShapes)}, errors, "--sketch ");
  flags.Number("layers", kOne, std::int64_t{1000}, &layers);
  flags.Number("hidden", std::int64_t{128}, std::int64_t{131'072}, &hidden);
  flags.Number("ffn", kOne, std::int64_t{524'288}, &s.ffn);
  flags.Number("kv-heads", kOne, std::int64_t{1024}, &s.kv_heads);
  flags.Number("vocabulary", kOne, std::int64_t{10'000'000}, &s.vocabulary);
  flags.OneOf<bool>("gated", {{"yes", true}, {"no", false}}, &s.gated);
  flags.OneOf<bool>("tied", {{"yes", true}, {"no", false}}, &s.tied);
  flags.Number("experts", kOne, std::int64_t{1024}, &experts);
  flags.Number("per-token", kOne, std::int64_t{1024}, &per_token);
  s.layers = layers.value_or(0);
  s.hidden = hidden.value_or(0);
  s.experts = experts.value_or(0);
  s.per_token = per_token.value_or(0);
  return s;
}

std::string ChoicesText() {
  std::string text;
  bool of_bill = false;
  for (const Choice& choice : kChoices) {
    if (choice.of_bill && !of_bill) text += "of the bill of materials, --bill\n";
    of_bill = choice.of_bill;
    const std::string name = choice.name;
    text += "  " + name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + choice.help + '\n';
  }
  return text;
}

void ReadFlags(const Arguments& given, BudgetRequest* request, BillChoices* bill,
               std::vector<std::string>* errors) {
  const Arguments arguments =
      WithChoices(given, ChoiceNames(), "`orrery budget --with list` lists them", errors);
  RefuseWithoutBill(arguments, errors);
  FlagReader flags(arguments, ChoiceNames(), errors);
  ReadBudgetFlags(flags, request);
  ReadBillFlags(flags, bill);
}

}  // namespace tools
