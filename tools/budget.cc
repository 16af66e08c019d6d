// orrery budget: what a model needs, by hand calculation.

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>
#include <system_error>

#include "hardware/device_reader.h"
#include "models/catalogue.h"
#include "models/model_reader.h"
#include "proto/syntax.h"
#include "scenarios/budget/budget.h"
#include "scenarios/budget/scenario_request.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/output/budget_output.h"
#include "tools/commands.h"

namespace tools {
namespace {

using scenarios::BudgetRequest;

constexpr const char* kUsualDevice = "h800_sxm";

// What `--with` may choose.
constexpr const char* kChoices[] = {
    "tensor",    "pipeline",  "zero",   "sequence",    "batch",  "micro",   "optimizer",   "gradient-bytes",
    "recompute", "attention", "spares", "maintenance", "safety", "context", "weight-bits", "kv-bytes"};

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
    const bool choice =
        std::find(std::begin(kChoices), std::end(kChoices), std::string(flag)) != std::end(kChoices);
    errors_->push_back((choice ? "--with " : "--") + std::string(flag) + ": \"" + arguments_.value(flag) +
                       "\" is " + what);
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
    } else if (std::find(std::begin(kChoices), std::end(kChoices), name) == std::end(kChoices)) {
      const std::vector<std::string> near =
          proto::Nearest(name, std::vector<std::string>(std::begin(kChoices), std::end(kChoices)));
      errors->push_back(
          "--with: no choice is called \"" + name + "\"; " +
          (near.empty() ? "`orrery budget --help` lists them" : "did you mean \"" + near[0] + "\"?"));
    } else if (!all.values.emplace(name, std::vector<std::string>{given.substr(equals + 1)}).second) {
      errors->push_back("--with: " + name + " is given twice; once is wanted");
    }
  }
  return all;
}

// Ranges are those of a scenario's fields.
void ReadFlags(const Arguments& given, BudgetRequest* r, std::vector<std::string>* errors) {
  const Arguments arguments = WithChoices(given, errors);
  Flags flags(arguments, errors);
  constexpr std::int64_t kOne = 1, kMany = 1'000'000'000, kTokens = 16'777'216;
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

// What is budgeted: a name of a catalogue, or a file's text.
struct Subject {
  bool scenario = false;
  std::string name;  // for messages, with the folder that a scenario's names are looked for in
  std::optional<std::string> text;
};

bool Has(std::span<const proto::CatalogueFile> catalogue, const std::string& name) {
  return std::any_of(catalogue.begin(), catalogue.end(),
                     [&](const proto::CatalogueFile& entry) { return entry.name == name; });
}

// A scenario says how many devices it has, which, and how they share the job; a model says none of it.
bool IsScenarioText(const std::string& file, std::string_view text) {
  const auto notation = file.ends_with(".json") ? proto::Notation::kJson : proto::Notation::kTextproto;
  const std::vector<proto::Node> fields = proto::ParseText(text, notation).root.children;
  return std::any_of(fields.begin(), fields.end(), [](const proto::Node& field) {
    return field.name == "devices" || field.name == "hardware" || field.name == "layout";
  });
}

// Names as those of scenarios: "-", a path, a name of a catalogue, a file of the working folder. A name of
// both catalogues is the model's.
std::optional<Subject> SubjectOf(const std::string& name, proto::Diagnostics* diagnostics) {
  const bool path = name.find('/') != std::string::npos || name.ends_with(".textproto") ||
                    name.ends_with(".json") || name == "-";
  std::error_code error;
  if (!path) {
    if (Has(models::Catalogue(), name)) return Subject{.name = name};
    if (Has(scenarios::Catalogue(), name)) return Subject{.scenario = true, .name = name};
    if (!std::filesystem::is_regular_file(name, error)) return Subject{.name = name};
  }
  std::string text;
  if (!proto::ReadFile(name == "-" ? "/dev/stdin" : name, &text, diagnostics)) return std::nullopt;
  return Subject{IsScenarioText(name, text), name == "-" ? "<stdin>" : name, text};
}

std::optional<hardware::Device> DeviceFor(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  return hardware::ReadDevice(arguments.value("device", kUsualDevice), {}, "", diagnostics, "--device");
}

// All of a scenario, but for a device that is given.
std::optional<BudgetRequest> OfScenario(const Arguments& arguments, const Subject& subject,
                                        const std::vector<proto::Override>& overrides,
                                        proto::Diagnostics* diagnostics, std::vector<std::string>* errors) {
  const auto scenario = subject.text
                            ? scenarios::LoadScenarioText(subject.name, *subject.text, overrides, diagnostics)
                            : scenarios::LoadScenario(subject.name, overrides, diagnostics);
  if (!scenario) return std::nullopt;
  const sim::Result<BudgetRequest> request = scenarios::RequestOf(*scenario);
  if (!request.ok()) {
    errors->push_back(request.error().message);
    return std::nullopt;
  }
  BudgetRequest r = request.value();
  if (!arguments.has("device")) return r;
  const auto device = DeviceFor(arguments, diagnostics);
  if (device) r.device = *device;
  return device ? std::optional(r) : std::nullopt;
}

std::optional<BudgetRequest> OfModel(const Arguments& arguments, const Subject& subject,
                                     const std::vector<proto::Override>& overrides,
                                     proto::Diagnostics* diagnostics) {
  const auto model = subject.text ? models::ReadModelText(subject.name, *subject.text, overrides, diagnostics)
                                  : models::ReadModel(subject.name, overrides, "", diagnostics);
  const auto device = DeviceFor(arguments, diagnostics);
  if (!model || !device) return std::nullopt;
  return BudgetRequest{.model = *model, .device = *device};
}

// The model and device, or all of a scenario; nothing where something is wrong with them.
std::optional<BudgetRequest> RequestFor(const Arguments& arguments,
                                        const std::vector<proto::Override>& overrides,
                                        proto::Diagnostics* diagnostics, std::vector<std::string>* errors) {
  const std::optional<Subject> subject = SubjectOf(arguments.positional[0], diagnostics);
  if (!subject) return std::nullopt;
  return subject->scenario ? OfScenario(arguments, *subject, overrides, diagnostics, errors)
                           : OfModel(arguments, *subject, overrides, diagnostics);
}

int RunBudget(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.positional.empty()) {
    return Fail("budget: no model; `orrery budget MODEL` is wanted, and `orrery list models` has their names",
                err);
  }
  if (arguments.has("json") && arguments.has("csv"))
    return Fail("--csv: is given beside --json; give one", err);
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  proto::Diagnostics diagnostics;
  std::vector<std::string> errors;
  std::optional<BudgetRequest> request = RequestFor(arguments, overrides.value(), &diagnostics, &errors);
  Print(diagnostics, err);
  BudgetRequest nobodys;  // so that flags are checked whatever is wrong with the names
  ReadFlags(arguments, request ? &*request : &nobodys, &errors);
  scenarios::BudgetResult result;
  if (request && errors.empty()) result = scenarios::MakeBudget(*request);
  errors.insert(errors.end(), result.errors.begin(), result.errors.end());
  for (const std::string& error : errors) Fail(error, err);
  if (!result.budget) return kExitUsage;
  const scenarios::Budget& budget = *result.budget;
  for (const std::string& warning : budget.warnings) {
    if (!arguments.has("json")) err << "orrery: warning: " << warning << '\n';
  }
  out << (arguments.has("json")  ? scenarios::BudgetJson(budget)
          : arguments.has("csv") ? scenarios::BudgetCsv(budget)
                                 : scenarios::BudgetText(budget));
  return budget.fits ? kExitDone : kExitNo;
}

}  // namespace

Command BudgetCommand() {
  return {"budget",
          "What a model needs, by hand: parameters, FLOPs, memory, time, cost, saves, serving.",
          "MODEL|SCENARIO [options]",
          1,
          {{"device", "NAME", "of the catalogue or a file; h800_sxm when not given"},
           {"tokens", "D", "of the run; 20 a parameter when not given"},
           {"devices", "N", "how many; else as many as --days wants"},
           {"days", "T", "the deadline; 30 when neither is given"},
           {"mfu", "U", "model FLOPs over the peak, with every wait; 0.4 when not given"},
           {"price", "USD", "of a device for an hour"},
           {"with", "CHOICE=VALUE", "one of those below: tensor=8", true},
           {"set", "PATH=VALUE", "change a field: layers=40; of a scenario: model.layers=40", true},
           {"json", "", "print one JSON document"},
           {"csv", "", "print a table for a spreadsheet"}},
          "  orrery budget llama_7b --tokens 2e12 --days 10 --mfu 0.38\n"
          "  orrery budget llama3_70b --devices 512 --with tensor=8 --with pipeline=4 --csv\n"
          "  orrery budget llama_70b_64xh800_a --json      a scenario's model, device and layout\n"
          "choices: tensor, pipeline, zero, sequence, batch, micro, optimizer, gradient-bytes, recompute,\n"
          "  attention; spares, maintenance, safety; context, weight-bits, kv-bytes\n",
          RunBudget};
}

}  // namespace tools
