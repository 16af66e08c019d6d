// orrery utilisation: u(N, topology, B, T) of a job, simulated, in factors.

#include <limits>
#include <optional>
#include <ostream>
#include <string_view>

#include "scenarios/catalogue.h"
#include "scenarios/output/utilisation_output.h"
#include "scenarios/run.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"
#include "tools/number_list.h"
#include "topologies/topology.h"

namespace tools {
namespace {

constexpr std::size_t kMostRows = 10'000;

// Names, each of a topology that there is.
std::vector<std::string> TopologiesOf(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  std::vector<std::string> names = ListOf(arguments, "topology");
  for (const std::string& name : names) {
    topologies::ReadTopology(name, {}, "", diagnostics, "--topology");
  }
  return names;
}

// Each list that is not given is one value.
std::size_t RowsOf(const scenarios::UtilisationRequest& request) {
  const auto count = [](std::size_t size) { return std::max<std::size_t>(size, 1); };
  std::size_t rows = 1;
  for (const std::size_t size : {request.devices.size(), request.topologies.size(), request.batches.size(),
                                 request.sequences.size()}) {
    if (rows > kMostRows) break;
    rows *= count(size);
  }
  return rows;
}

sim::Result<scenarios::Report> PlayRow(const scenarios::Scenario& scenario, const InterruptWatch& watch) {
  const auto run = scenarios::Run(
      scenario, {.memory_limit = MemoryForARun(),
                 .go_on = [&](const scenarios::RunProgress&) { return !watch.interrupted(); }});
  if (!run.ok()) return run.error();
  if (run.value().interruption) return sim::Error{"interrupted"};
  return run.value().report;
}

int RunUtilisation(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("json") && arguments.has("csv")) {
    return Fail("--csv: is given beside --json; give one", err);
  }
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  std::vector<std::string> errors;
  proto::Diagnostics diagnostics;
  const scenarios::UtilisationRequest request{.devices = NumbersOf(arguments, "devices", &errors),
                                              .topologies = TopologiesOf(arguments, &diagnostics),
                                              .batches = NumbersOf(arguments, "batch", &errors),
                                              .sequences = NumbersOf(arguments, "sequence", &errors),
                                              .weak = arguments.has("weak")};
  if (RowsOf(request) > kMostRows) {
    errors.push_back("more than " + std::to_string(kMostRows) + " rows; shorter lists are wanted");
  }
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  const std::optional<Job> job = LoadJob(name, overrides.value(), err);
  Print(diagnostics, err);
  for (const std::string& error : errors) Fail(error, err);
  if (!job || !errors.empty() || !diagnostics.ok()) return kExitUsage;

  const InterruptWatch watch;
  const auto rows = scenarios::UtilisationTable(
      job->scenario, request, job->reload,
      [&watch](const scenarios::Scenario& scenario) { return PlayRow(scenario, watch); });
  out << (arguments.has("json")  ? scenarios::UtilisationJson(job->scenario, rows)
          : arguments.has("csv") ? scenarios::UtilisationCsv(rows)
                                 : scenarios::UtilisationText(job->scenario, rows));
  return watch.interrupted() ? kExitInterrupted : kExitDone;
}

}  // namespace

Command UtilisationCommand() {
  return {
      "utilisation",
      "MFU in factors, by devices, topology, batch and length of sequences, simulated.",
      "[SCENARIO] [--devices LIST] [--batch LIST] [--weak] [options]",
      1,
      {{"devices", "LIST", "numbers of devices: 64,128,256; data ranks follow, the other groups stay"},
       {"batch", "LIST", "sequences a step"},
       {"sequence", "LIST", "tokens a sequence"},
       {"topology", "LIST", "names of `orrery list topologies`, or files"},
       {"weak", "", "the batch is that of the scenario's devices, and grows with them"},
       {"set", "PATH=VALUE", "change a field of all rows: layout.tensor=8", true},
       {"json", "", "print one JSON document"},
       {"csv", "", "print a table for a spreadsheet"}},
      "  SCENARIO is a name of `orrery list scenarios`, a file, or - for standard input; a list that is\n"
      "  not given is the scenario's own value. What does not divide, load or play is a row that says why.\n"
      "  orrery utilisation llama_70b_64xh800_b --devices 64,128,256\n"
      "  orrery utilisation --devices 64,256,1024 --weak --topology rail_optimised_ndr,non_blocking --csv\n",
      RunUtilisation};
}

}  // namespace tools
