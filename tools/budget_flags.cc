#include "tools/budget_flags.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "proto/syntax.h"

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
    {"zero", "0 to 3: what data ranks cut"},
    {"sequence", "tokens of a sequence"},
    {"batch", "sequences of a step"},
    {"micro", "sequences of a micro-batch"},
    {"optimizer", "adamw, adamw-8bit, sgd-momentum, adam-mini, adafactor, muon"},
    {"gradient-bytes", "2 or 4"},
    {"recompute", "none, selective, full"},
    {"attention", "how its FLOPs are counted: full, causal"},
    {"spares", "part of the devices beside those that work"},
    {"maintenance", "part of the time without training"},
    {"safety", "part of a device's memory that is kept free"},
    {"context", "tokens of a request, serving"},
    {"weight-bits", "of a weight, serving"},
    {"kv-bytes", "1 or 2: of a number of keys and values, serving"},
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

const Choice* ChoiceOf(const std::string& name) {
  const auto at =
      std::find_if(std::begin(kChoices), std::end(kChoices), [&](const Choice& c) { return c.name == name; });
  return at == std::end(kChoices) ? nullptr : at;
}

std::vector<std::string> ChoiceNames() {
  std::vector<std::string> names;
  for (const Choice& choice : kChoices) names.emplace_back(choice.name);
  return names;
}

// Reads flags into a request; what cannot be read goes to `errors`, all of it.
class Flags {
 public:
  Flags(const Arguments& arguments, std::vector<std::string>* errors)
      : arguments_(arguments), errors_(errors) {}

  // A number in [least, most]; what is there stays where the flag is not given.
  template <class T>
  void Number(const char* flag, T least, T most, std::optional<T>* value) {
    if (!arguments_.has(flag)) return;
    const std::string text = arguments_.value(flag);
    T number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool read = error == std::errc() && end == text.data() + text.size();
    if (read && number >= least && number <= most) {
      *value = number;
      return;
    }
    Complain(flag, (read ? "out of range; " : "not a number; ") + Written(least) + " to " + Written(most) +
                       " would do");
  }

  template <class T>
  void OneOf(const char* flag, const std::vector<std::pair<std::string, T>>& choices,
             std::optional<T>* value) {
    if (!arguments_.has(flag)) return;
    std::string names;
    for (const auto& [name, choice] : choices) {
      if (name == arguments_.value(flag)) {
        *value = choice;
        return;
      }
      names += (names.empty() ? "" : ", ") + name;
    }
    Complain(flag, "unknown; one of " + names + " would do");
  }

 private:
  static std::string Written(std::int64_t number) { return std::to_string(number); }
  static std::string Written(double number) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
  }
  void Complain(const char* flag, const std::string& what) {
    errors_->push_back((ChoiceOf(flag) != nullptr ? "--with " : "--") + std::string(flag) + ": \"" +
                       arguments_.value(flag) + "\" is " + what);
  }

  const Arguments& arguments_;
  std::vector<std::string>* errors_;
};

// "--with tensor=8" as if it were a flag of its own, and what is wrong with it.
Arguments WithChoices(const Arguments& arguments, std::vector<std::string>* errors) {
  Arguments all = arguments;
  if (!arguments.has("with")) return all;
  for (const std::string& given : arguments.values.at("with")) {
    const std::size_t equals = given.find('=');
    const std::string name = given.substr(0, equals);
    if (equals == std::string::npos) {
      errors->push_back("--with: \"" + given + "\" has no value; CHOICE=VALUE is wanted");
    } else if (ChoiceOf(name) == nullptr) {
      const std::vector<std::string> near = proto::Nearest(name, ChoiceNames());
      errors->push_back(
          "--with: no choice is called \"" + name + "\"; " +
          (near.empty() ? "`orrery budget --with list` lists them" : "did you mean \"" + near[0] + "\"?"));
    } else if (ChoiceOf(name)->of_bill && !arguments.has("bill")) {
      errors->push_back("--with: " + name + " is of the bill of materials; --bill is wanted beside it");
    } else if (!all.values.emplace(name, std::vector<std::string>{given.substr(equals + 1)}).second) {
      errors->push_back("--with: " + name + " is given twice; once is wanted");
    }
  }
  return all;
}

// Ranges are those of a scenario's fields.
void ReadBudgetFlags(Flags& flags, BudgetRequest* r) {
  constexpr std::int64_t kTokens = 16'777'216;
  flags.Number("tokens", 1.0, 1e18, &r->tokens);
  flags.Number("sequence", kOne, kTokens, &r->sequence_length);
  flags.Number("batch", kOne, kMany, &r->global_batch);
  flags.Number("micro", kOne, std::int64_t{1'000'000}, &r->micro_batch);
  flags.Number("tensor", kOne, std::int64_t{1024}, &r->tensor);
  flags.Number("pipeline", kOne, std::int64_t{10'000}, &r->pipeline);
  flags.Number("devices", kOne, kMany, &r->devices);
  flags.Number("days", 1e-3, 1e5, &r->days);
  flags.Number("mfu", 1e-3, 1.0, &r->utilisation);
  flags.Number("price", 0.0, 1e6, &r->usd_per_device_hour);
  flags.Number("spares", 0.0, 1.0, &r->spares);
  flags.Number("maintenance", 0.0, 0.9, &r->maintenance);
  flags.Number("safety", 0.0, 0.9, &r->safety);
  flags.Number("context", kOne, kTokens, &r->context);
  flags.Number("weight-bits", 1.0, 32.0, &r->weight_bits);
  flags.OneOf<std::int64_t>("kv-bytes", {{"1", 1}, {"2", 2}}, &r->kv_width);
  flags.OneOf<std::int64_t>("gradient-bytes", {{"2", 2}, {"4", 4}}, &r->gradient_width);
  flags.OneOf<int>("zero", {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}, &r->zero_stage);
  std::vector<std::pair<std::string, models::OptimizerKind>> optimizers;
  for (const auto kind :
       {models::OptimizerKind::kAdamW, models::OptimizerKind::kAdamW8bit, models::OptimizerKind::kSgdMomentum,
        models::OptimizerKind::kAdamMini, models::OptimizerKind::kAdafactor, models::OptimizerKind::kMuon}) {
    optimizers.emplace_back(models::ToText(kind), kind);
  }
  flags.OneOf("optimizer", optimizers, &r->optimizer);
  flags.OneOf<models::Recompute>("recompute",
                                 {{"none", models::Recompute::kNone},
                                  {"selective", models::Recompute::kSelective},
                                  {"full", models::Recompute::kFull}},
                                 &r->recompute);
  flags.OneOf<models::AttentionCount>(
      "attention", {{"full", models::AttentionCount::kFull}, {"causal", models::AttentionCount::kCausal}},
      &r->attention);
}

void ReadBillFlags(Flags& flags, BillChoices* c) {
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
  const Arguments arguments = WithChoices(given, errors);
  Flags flags(arguments, errors);
  ReadBudgetFlags(flags, request);
  ReadBillFlags(flags, bill);
}

}  // namespace tools
