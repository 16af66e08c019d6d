// orrery validate: published step times against simulated ones.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/estimate.h"
#include "scenarios/fold.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/report_text.h"
#include "scenarios/published/convert.h"
#include "scenarios/published/score.h"
#include "scenarios/run.h"
#include "scenarios/stage_plan.h"
#include "tools/commands.h"
#include "tools/memory_limit.h"

namespace tools {
namespace {

using scenarios::StepOutcome;

constexpr double kUsualMostTasks = 2e8;  // about 5 GiB, a minute

bool Write(const std::string& path, const std::string& text, std::ostream& err) {
  auto created = scenarios::OutputFile::Create(path);
  if (created.ok()) {
    scenarios::OutputFile file = std::move(created).value();
    file.Write(text);
    if (file.Finish().ok()) return true;
  }
  Fail(path + ": cannot be written", err);
  return false;
}

// "COLUMN=VALUE", each.
sim::Result<std::vector<std::pair<std::string, std::string>>> ConditionsOf(const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string>> conditions;
  if (!arguments.has("where")) return conditions;
  for (const std::string& condition : arguments.values.at("where")) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) return sim::Error{"--where " + condition + ": COLUMN=VALUE is wanted"};
    conditions.emplace_back(condition.substr(0, equals), condition.substr(equals + 1));
  }
  return conditions;
}

// What is wrong with a field, without the place and the figures of one row: "layout.pipeline".
std::string FieldOf(const std::string& error) {
  const std::size_t file = error.find(".textproto:");
  if (file == std::string::npos) return error;
  std::size_t at = error.find(": ", file);
  if (at == std::string::npos) return error;
  at += 2;
  return error.substr(at, error.find(": ", at) - at);
}

struct Options {
  std::string folder;
  bool convert_only = false;
  double most_tasks = kUsualMostTasks;
};

// Loads what was written for a row, and simulates it unless it is too large.
void Simulate(const std::string& path, const Options& options, StepOutcome* outcome, std::ostream& err) {
  proto::Diagnostics diagnostics;
  const auto scenario = scenarios::LoadScenario(path, {}, &diagnostics);
  if (!scenario) {
    for (const std::string& error : diagnostics.errors()) {
      err << "  " << error << '\n';
      outcome->refused.push_back("the loader: " + FieldOf(error));
    }
    return;
  }
  const auto stages = scenarios::PlanStages(*scenario, scenarios::CostModelOf(*scenario));
  std::optional<scenarios::Fold> fold;
  if (!options.convert_only && !scenarios::RefuseToFold(*scenario, stages, MemoryForARun()))
    fold = scenarios::FoldOf(*scenario, stages);
  outcome->tasks = scenarios::EstimateOf(*scenario, stages, fold ? &*fold : nullptr).tasks;
  outcome->too_large = outcome->tasks > options.most_tasks;
  if (options.convert_only || outcome->too_large) return;
  const auto result = scenarios::Run(*scenario);
  if (!result.ok()) {
    err << "  " << result.error().message << '\n';
    outcome->too_large = true;
    return;
  }
  outcome->simulated_s = result.value().report.step_time.seconds();
  outcome->fits = result.value().report.fits;
}

// One row: its files written, loaded, simulated. False when a file cannot be written.
bool Try(const scenarios::StepRow& row, const Options& options, StepOutcome* outcome, std::ostream& err) {
  const scenarios::Conversion conversion = scenarios::Convert(row);
  outcome->row = row;
  proto::Diagnostics ignored;  // an unknown device is among the reasons
  const auto device = hardware::ReadDevice(row.gpu, {}, "", &ignored);
  outcome->architecture = device ? device->architecture : row.gpu;
  outcome->refused = conversion.refused;
  outcome->assumed = conversion.assumed;
  outcome->left_out = conversion.left_out;
  for (const scenarios::RowFile& file : conversion.files) {
    if (!Write(options.folder + '/' + file.name + ".textproto", file.text, err)) return false;
  }
  if (outcome->built())
    Simulate(options.folder + '/' + conversion.name + ".textproto", options, outcome, err);
  return true;
}

// Rows take seconds each: what came out of the last one.
void Tell(const StepOutcome& outcome, std::ostream& err) {
  err << "orrery: " << outcome.row.id;
  if (outcome.simulated()) {
    char text[80];
    std::snprintf(text, sizeof text, ": published %.4g s, simulated %.4g s: %+.1f %%",
                  outcome.row.step_time_s, outcome.simulated_s, 100 * outcome.error());
    err << text;
  }
  for (const std::string& reason : outcome.refused) err << ": " << reason;
  err << (outcome.too_large ? ": too large\n" : "\n");
}

void PrintTables(const std::vector<StepOutcome>& outcomes, std::ostream& out) {
  const auto by_source = [](const StepOutcome& o) { return o.row.source; };
  const auto by_kind = [](const StepOutcome& o) {
    return o.architecture + ", " + scenarios::ParallelismOf(o.row);
  };
  out << scenarios::ErrorTable(outcomes, "source", by_source) << '\n'
      << scenarios::ErrorTable(outcomes, "device, parallelism", by_kind) << '\n'
      << scenarios::SweepTable(scenarios::SweepsOf(outcomes)) << '\n'
      << scenarios::ReasonTable(outcomes, "refused", [](const StepOutcome& o) { return o.refused; }) << '\n'
      << scenarios::ReasonTable(outcomes, "left out", [](const StepOutcome& o) { return o.left_out; }) << '\n'
      << scenarios::ReasonTable(outcomes, "assumed", [](const StepOutcome& o) { return o.assumed; });
  const auto count = [&](auto is) { return std::count_if(outcomes.begin(), outcomes.end(), is); };
  out << '\n'
      << outcomes.size() << " rows, " << count([](const StepOutcome& o) { return o.built(); }) << " built, "
      << count([](const StepOutcome& o) { return o.simulated(); }) << " simulated, "
      << count([](const StepOutcome& o) { return o.too_large; }) << " too large, "
      << count([](const StepOutcome& o) { return o.simulated() && !o.fits; })
      << " simulated but said not to fit into memory\n";
}

int RunValidate(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.positional.size() != 2) return Fail("a table of rows and a folder are wanted", err);
  const auto where = ConditionsOf(arguments);
  if (!where.ok()) return Fail(where.error().message, err);
  Options options{.folder = arguments.positional[1], .convert_only = arguments.has("convert-only")};
  if (const std::string most = arguments.value("most-tasks"); !most.empty()) {
    const auto [end, error] = std::from_chars(most.data(), most.data() + most.size(), options.most_tasks);
    if (error != std::errc() || end != most.data() + most.size() || !(options.most_tasks >= 1))
      return Fail("--most-tasks " + most + ": a number from 1 is wanted", err);
  }
  std::error_code made;
  std::filesystem::create_directories(options.folder, made);
  if (made) return Fail(options.folder + ": no folder can be made there", err);

  proto::Diagnostics diagnostics;
  std::string text;
  std::vector<scenarios::StepRow> rows;
  const std::string& file = arguments.positional[0];
  if (proto::ReadFile(file, &text, &diagnostics)) {
    if (const auto table = scenarios::ReadCsv(file, text, &diagnostics))
      rows = scenarios::ReadStepRows(*table, where.value(), &diagnostics);
  }
  Print(diagnostics, err);
  if (!diagnostics.ok()) return kExitUsage;
  std::vector<StepOutcome> outcomes;
  for (const scenarios::StepRow& row : rows) {
    outcomes.emplace_back();
    if (!Try(row, options, &outcomes.back(), err)) return kExitUsage;
    Tell(outcomes.back(), err);
  }
  PrintTables(outcomes, out);
  if (!Write(options.folder + "/outcomes.csv", scenarios::OutcomesCsv(outcomes), err)) return kExitUsage;
  return kExitDone;
}

}  // namespace

Command ValidateCommand() {
  return {
      "validate",
      "Makes scenarios of a table of published steps, simulates them, tables the errors.",
      "ROWS.CSV FOLDER [--where COLUMN=VALUE]... [--convert-only] [--most-tasks N]",
      2,
      {{"where", "COLUMN=VALUE", "only rows with this value in this column", true},
       {"convert-only", "", "write and load the scenarios, simulate none", false},
       {"most-tasks", "N", "leave out rows of which more tasks are played; else 2e8", false}},
      "  orrery validate tests/validation/published_steps.csv build/rows\n"
      "  orrery validate my_steps.csv my_rows --where gpu=H100    then: orrery run my_rows/ID.textproto\n",
      RunValidate};
}

}  // namespace tools
