// orrery budget: what a model needs, by hand calculation.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <span>
#include <system_error>

#include "hardware/device_reader.h"
#include "models/catalogue.h"
#include "models/model_reader.h"
#include "proto/syntax.h"
#include "scenarios/budget/bill.h"
#include "scenarios/budget/budget.h"
#include "scenarios/budget/scenario_request.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/output/bill_output.h"
#include "scenarios/output/budget_output.h"
#include "tools/budget_flags.h"
#include "tools/commands.h"

namespace tools {
namespace {

using scenarios::BillChoices;
using scenarios::BudgetRequest;

constexpr const char* kUsualDevice = "h800_sxm";

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

// Warnings are a part of the document, and beside the other two forms.
void PrintWarnings(const std::vector<std::string>& warnings, const Arguments& arguments, std::ostream& err) {
  if (arguments.has("json")) return;
  for (const std::string& warning : warnings) err << "orrery: warning: " << warning << '\n';
}

int PrintBudget(const BudgetRequest& request, const Arguments& arguments, std::ostream& out,
                std::ostream& err) {
  const scenarios::BudgetResult result = scenarios::MakeBudget(request);
  for (const std::string& error : result.errors) Fail(error, err);
  if (!result.budget) return kExitUsage;
  const scenarios::Budget& budget = *result.budget;
  PrintWarnings(budget.warnings, arguments, err);
  out << (arguments.has("json")  ? scenarios::BudgetJson(budget)
          : arguments.has("csv") ? scenarios::BudgetCsv(budget)
                                 : scenarios::BudgetText(budget));
  return budget.fits ? kExitDone : kExitNo;
}

int PrintBill(const BudgetRequest& request, const BillChoices& choices, const Arguments& arguments,
              std::ostream& out, std::ostream& err) {
  std::vector<std::string> errors;
  const auto bill_request = scenarios::BillRequestOf(request, choices, &errors);
  scenarios::BillResult result;
  if (bill_request) result = scenarios::BillOfMaterials(*bill_request);
  errors.insert(errors.end(), result.errors.begin(), result.errors.end());
  for (const std::string& error : errors) Fail(error, err);
  if (!result.bill) return kExitUsage;
  const scenarios::Bill& bill = *result.bill;
  PrintWarnings(bill.warnings, arguments, err);
  out << (arguments.has("json")  ? scenarios::BillJson(bill)
          : arguments.has("csv") ? scenarios::BillCsv(bill)
                                 : scenarios::BillText(bill));
  return kExitDone;
}

int RunBudget(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("with") && arguments.values.at("with") == std::vector<std::string>{"list"}) {
    out << ChoicesText();
    return kExitDone;
  }
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
  BillChoices choices;
  ReadFlags(arguments, request ? &*request : &nobodys, &choices, &errors);
  if (!request || !errors.empty()) {
    for (const std::string& error : errors) Fail(error, err);
    return kExitUsage;
  }
  return arguments.has("bill") ? PrintBill(*request, choices, arguments, out, err)
                               : PrintBudget(*request, arguments, out, err);
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
           {"with", "CHOICE=VALUE", "tensor=8; see below", true},
           {"set", "PATH=VALUE", "change a field: layers=40; of a scenario: model.layers=40", true},
           {"bill", "", "the bill of materials instead: switches, storage, power, days, money"},
           {"json", "", "print one JSON document"},
           {"csv", "", "print a table for a spreadsheet"}},
          "  orrery budget llama_7b --tokens 2e12 --days 10 --mfu 0.38\n"
          "  orrery budget llama3_70b --devices 512 --with tensor=8 --with pipeline=4 --csv\n"
          "  orrery budget llama_70b_64xh800_a --json      a scenario's model, device and layout\n"
          "  orrery budget llama_7b --devices 256 --bill --with device-usd=25000\n"
          "  orrery budget --with list                     what --with may choose: layout, prices, serving\n",
          RunBudget};
}

}  // namespace tools
