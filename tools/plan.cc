// orrery plan: how many devices, in which layout, for how long and how much.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <utility>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "scenarios/budget/prices.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/plan_output.h"
#include "scenarios/plan/plan.h"
#include "tools/commands.h"
#include "tools/flag_reader.h"
#include "tools/interrupt.h"
#include "tools/memory_limit.h"
#include "topologies/topology.h"

namespace tools {
namespace {

using scenarios::PlanDevice;
using scenarios::PlanRequest;

// What `--with` may choose.
struct Choice {
  const char* name;
  const char* help;
};
constexpr Choice kChoices[] = {
    {"tensor", "ranks that share each layer"},
    {"pipeline", "stages"},
    {"virtual", "pieces of the model a stage holds"},
    {"expert", "groups of whole experts; 1: cut as the rest of a layer"},
    {"expert-tensor", "ranks that cut each expert, where expert is above 1"},
    {"micro", "sequences of a micro-batch; else 1, 2 and 4 are tried"},
    {"zero", "0 to 3: what data ranks cut; else 1, and 3 without a pipeline"},
    {"recompute", "none, selective, full; else none and full are tried"},
    {"sequence", "tokens of a sequence; else the model's longest, 4,096 at most"},
    {"batch", "sequences of a step, kept as given; else about 4M tokens, 16M above 100e9 parameters"},
    {"mfu", "the utilisation to begin with, of 6PD; else the textbook's"},
    {"plays", "layouts to simulate at the most for a number of devices; else 24"},
    {"spares", "part of the devices beside those that work; else 0.05"},
    {"maintenance", "part of the time without training; else 0"},
    {"safety", "part of a device's memory that is kept free; else 0.06"},
    {"longer", "part that real steps take longer than simulated ones; else 0.16"},
};

std::string ChoicesText() {
  std::string text;
  for (const Choice& choice : kChoices) {
    const std::string name = choice.name;
    text += "  " + name + std::string(18 - name.size(), ' ') + choice.help + '\n';
  }
  return text;
}

std::string AbsolutePath(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

// "h20=0.8": a device and what it costs an hour.
std::optional<PlanDevice> DeviceOf(const std::string& given, proto::Diagnostics* diagnostics,
                                   std::vector<std::string>* errors) {
  const std::size_t equals = given.find('=');
  PlanDevice device{.device = {}, .name = given.substr(0, equals), .usd_per_hour = {}, .price_source = {}};
  if (equals != std::string::npos) {
    const std::string text = given.substr(equals + 1);
    double usd = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), usd);
    if (error != std::errc() || end != text.data() + text.size() || !(usd >= 0 && usd <= 1e6)) {
      errors->push_back("--device: \"" + text + "\" is no price of \"" + device.name +
                        "\"; 0 to 1e6 USD an hour would do");
    }
    device.usd_per_hour = usd;
    device.price_source = "given";
  }
  auto read = hardware::ReadDevice(device.name, {}, "", diagnostics, "--device");
  if (!read) return std::nullopt;
  device.device = *std::move(read);
  const scenarios::RentedPrice* usual = scenarios::RentedPriceOf(device.device.name);
  if (equals == std::string::npos && usual != nullptr) {
    device.usd_per_hour = usual->usd_per_hour;
    device.price_source = usual->source;
  }
  // Files of a plan that is written elsewhere find it still.
  if (device.name.find('/') != std::string::npos) device.name = AbsolutePath(device.name);
  return device;
}

void ReadFlags(const Arguments& given, PlanRequest* r, std::vector<std::string>* errors) {
  std::vector<std::string> names;
  for (const Choice& choice : kChoices) names.emplace_back(choice.name);
  const Arguments arguments = WithChoices(given, names, "`orrery plan --with list` lists them", errors);
  FlagReader flags(arguments, names, errors);
  constexpr std::int64_t kOne = 1, kMany = 262'144, kTokens = 16'777'216;
  std::optional<double> tokens;
  flags.Number("tokens", 1.0, 1e18, &tokens);
  if (tokens) r->tokens = *tokens;
  std::optional<std::int64_t> sequence;
  flags.Number("sequence", kOne, kTokens, &sequence);
  if (sequence) r->sequence_length = *sequence;
  flags.Number("days", 1e-3, 1e5, &r->days);
  flags.Number("budget", 1.0, 1e15, &r->budget_usd);
  flags.Number("devices", kOne, kMany, &r->device_count);
  flags.Number("most", kOne, kMany, &r->most_devices);
  flags.Number("batch", kOne, std::int64_t{1'000'000'000}, &r->global_batch);
  flags.Number("mfu", 1e-3, 1.0, &r->utilisation);
  std::optional<std::int64_t> plays;
  flags.Number("plays", kOne, std::int64_t{10'000}, &plays);
  if (plays) r->search.plays = *plays;
  flags.Number("tensor", kOne, std::int64_t{1024}, &r->limits.tensor);
  flags.Number("pipeline", kOne, std::int64_t{1024}, &r->limits.pipeline);
  flags.Number("virtual", kOne, std::int64_t{1024}, &r->limits.virtual_stages);
  flags.Number("expert", kOne, std::int64_t{1024}, &r->limits.expert);
  flags.Number("expert-tensor", kOne, std::int64_t{1024}, &r->limits.expert_tensor);
  flags.Number("micro", kOne, std::int64_t{1'000'000}, &r->limits.micro);
  flags.OneOf<scenarios::OptimizerSharding>("zero",
                                            {{"0", scenarios::OptimizerSharding::kReplicated},
                                             {"1", scenarios::OptimizerSharding::kZero1},
                                             {"2", scenarios::OptimizerSharding::kZero2},
                                             {"3", scenarios::OptimizerSharding::kZero3}},
                                            &r->limits.sharding);
  flags.OneOf<scenarios::Recompute>("recompute",
                                    {{"none", scenarios::Recompute::kNone},
                                     {"selective", scenarios::Recompute::kSelective},
                                     {"full", scenarios::Recompute::kFull}},
                                    &r->limits.recompute);
  const auto margin = [&](const char* name, double most, double* value) {
    std::optional<double> part;
    flags.Number(name, 0.0, most, &part);
    if (part) *value = *part;
  };
  margin("spares", 1, &r->margins.spares);
  margin("maintenance", 0.9, &r->margins.maintenance);
  margin("safety", 0.9, &r->margins.safety);
  margin("longer", 10, &r->longer);
}

// What is asked for, or nothing where something is wrong with it.
std::optional<PlanRequest> RequestOf(const Arguments& arguments, proto::Diagnostics* diagnostics,
                                     std::vector<std::string>* errors) {
  PlanRequest r;
  r.margins.spares = 0.05;  // textbook 17.5.4: 5 to 10 %
  r.margins.safety = 0.06;  // 17.9.4: 2 to 5 GB of buffers
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) errors->push_back(overrides.error().message);
  const std::string& name = arguments.positional[0];
  const auto model = models::ReadModel(
      name, overrides.ok() ? overrides.value() : std::vector<proto::Override>{}, "", diagnostics);
  const std::vector<std::string> devices =
      arguments.has("device") ? arguments.values.at("device") : std::vector<std::string>{"h800_sxm"};
  for (const std::string& given : devices) {
    if (auto device = DeviceOf(given, diagnostics, errors)) r.devices.push_back(*std::move(device));
  }
  if (model) {
    r.model = *model;
    r.sequence_length = std::min<std::int64_t>(model->max_positions, 4096);
    r.tokens = scenarios::kTokensPerParameter * static_cast<double>(models::ParametersOf(*model).total());
  }
  r.model_name = name.find('/') != std::string::npos ? AbsolutePath(name) : name;
  r.search.memory_limit = MemoryForARun() / static_cast<double>(scenarios::kPlaysAtOnce);
  r.topology = arguments.value("topology");
  if (arguments.has("topology")) topologies::ReadTopology(r.topology, {}, "", diagnostics, "--topology");
  if (r.topology.find('/') != std::string::npos) r.topology = AbsolutePath(r.topology);
  if (arguments.has("write") && arguments.has("set")) {
    errors->push_back(
        "--write: is given beside --set, and a scenario names a model as its file has it; change "
        "a copy of the file, and plan with that");
  }
  ReadFlags(arguments, &r, errors);
  if (!model || !errors->empty() || !diagnostics->ok()) return std::nullopt;
  return r;
}

// What the search does, on a terminal, in one place.
class Progress {
 public:
  Progress(const Arguments& arguments, std::ostream& err)
      : err_(err), shows_(!arguments.has("quiet") && &err == &std::cerr && isatty(STDERR_FILENO) != 0) {}
  ~Progress() {
    if (shows_) err_ << "\r\033[K" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool GoOn(const char* what, std::int64_t done) {
    if (shows_) err_ << "\r\033[K" << done << " layouts " << what << std::flush;
    return !watch_.interrupted();
  }

 private:
  std::ostream& err_;
  const bool shows_;
  const InterruptWatch watch_;
};

int RunPlan(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("with") && arguments.values.at("with") == std::vector<std::string>{"list"}) {
    out << ChoicesText();
    return kExitDone;
  }
  if (arguments.positional.empty()) {
    return Fail("plan: no model; `orrery plan MODEL` is wanted, and `orrery list models` has their names",
                err);
  }
  proto::Diagnostics diagnostics;
  std::vector<std::string> errors;
  std::optional<PlanRequest> request = RequestOf(arguments, &diagnostics, &errors);
  std::optional<scenarios::OutputFile> file;
  if (arguments.has("write") && !arguments.value("write").ends_with(".textproto")) {
    errors.push_back("--write: \"" + arguments.value("write") +
                     "\" has another ending; a scenario is written as .textproto");
  } else if (arguments.has("write")) {
    sim::Result<scenarios::OutputFile> created = scenarios::OutputFile::Create(arguments.value("write"));
    if (created.ok()) {
      file.emplace(std::move(created).value());
    } else {
      errors.push_back(created.error().message);
    }
  }
  Print(diagnostics, err);
  scenarios::PlanResult result;
  if (request && errors.empty()) {
    Progress progress(arguments, err);
    request->search.go_on = [&](const char* what, std::int64_t done) { return progress.GoOn(what, done); };
    result = scenarios::MakePlan(*request);
  }
  if (result.stopped) {
    err << "orrery: interrupted; nothing was written\n";
    return kExitInterrupted;
  }
  errors.insert(errors.end(), result.errors.begin(), result.errors.end());
  for (const std::string& error : errors) Fail(error, err);
  if (!result.plan) return kExitUsage;
  const scenarios::Plan& plan = *result.plan;
  const auto with_layout =
      std::find_if(plan.plans.begin(), plan.plans.end(), [](const auto& p) { return p.best() != nullptr; });
  if (file && with_layout != plan.plans.end()) {
    file->Write(plan.chosen ? plan.plans[*plan.chosen].scenario_text : with_layout->scenario_text);
    if (const auto finished = file->Finish(); !finished.ok()) return Fail(finished.error().message, err);
  }
  out << (arguments.has("json") ? scenarios::PlanJson(plan)
                                : scenarios::PlanText(plan, arguments.has("bill")));
  return plan.chosen ? kExitDone : kExitNo;
}

}  // namespace

Command PlanCommand() {
  return {"plan",
          "Devices, layout, days and cost for what is wanted; simulation chooses the layout.",
          "MODEL [--tokens D] [--days T] [--budget USD] [--device NAME[=USD]]... [options]",
          1,
          {{"tokens", "D", "of the run; 20 a parameter when not given"},
           {"days", "T", "the deadline; with none, and no --devices, as few devices as hold the model"},
           {"budget", "USD", "that the run may cost"},
           {"device", "NAME[=USD]", "to plan with, and its price an hour; several are compared", true},
           {"devices", "N", "so many, whatever the deadline needs"},
           {"most", "N", "devices that can be had"},
           {"topology", "NAME", "of `orrery list topologies`; rails as many as NICs when not given"},
           {"with", "CHOICE=VALUE", "as tensor=8; `--with list` says which there are", true},
           {"set", "PATH=VALUE", "change a field of the model: layers=40", true},
           {"write", "FILE", "write the best layout there, whether it holds or not (.textproto)"},
           {"bill", "", "print the bill of materials too; --json always has it"},
           {"json", "", "print one JSON document"},
           {"quiet", "", "tell nothing but mistakes"}},
          "  orrery plan llama2_70b --tokens 2e12 --days 30 --device h800_sxm=2 --device h20=0.8\n"
          "  orrery plan mixtral_8x7b --devices 64 --with expert=8 --write mine.textproto\n"
          "  orrery plan --with list                       what may be chosen, and what is where it is not\n",
          RunPlan};
}

}  // namespace tools
