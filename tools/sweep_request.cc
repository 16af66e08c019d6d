#include "tools/sweep_request.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>

#include "scenarios/catalogue.h"
#include "scenarios/output/sweep_output.h"
#include "sim/base/digest.h"
#include "tools/flag_reader.h"

namespace tools {
namespace {

using scenarios::Metric;

std::vector<scenarios::Axis> AxesOf(const Arguments& arguments, std::vector<std::string>* errors) {
  std::vector<scenarios::Axis> axes;
  const auto found = arguments.values.find("over");
  if (found == arguments.values.end()) return axes;
  for (const std::string& text : found->second) {
    sim::Result<scenarios::Axis> axis = scenarios::ParseAxis(text);
    if (axis.ok()) {
      axes.push_back(std::move(axis).value());
    } else {
      errors->push_back(axis.error().message);
    }
  }
  return axes;
}

std::vector<scenarios::Point> ListedPoints(const Arguments& arguments, proto::Diagnostics* diagnostics) {
  const std::string file = arguments.value("points");
  std::string text;
  if (!arguments.has("points") || !proto::ReadFile(file, &text, diagnostics)) return {};
  return scenarios::ReadPoints(file, text, diagnostics);
}

void ReadOptions(const Arguments& arguments, SweepRequest* request, std::vector<std::string>* errors) {
  FlagReader flags(arguments, {}, errors);
  std::optional<std::int64_t> jobs;
  flags.Number("jobs", std::int64_t{1}, std::int64_t{4096}, &jobs);
  request->jobs = static_cast<int>(jobs.value_or(std::max(1U, std::thread::hardware_concurrency())));
  request->play_all = arguments.has("play-all");
  std::optional<Metric> metric;
  std::vector<std::pair<std::string, Metric>> metrics;
  for (const Metric one : {Metric::kStepTime, Metric::kCost, Metric::kTokensPerDollar}) {
    metrics.emplace_back(scenarios::ToText(one), one);
  }
  flags.OneOf<Metric>("best", metrics, &metric);
  if (metric) request->wanted = {.metric = *metric, .front = !arguments.has("no-front")};
  if (arguments.has("no-front") && !arguments.has("best")) {
    errors->emplace_back("--no-front without --best; give --best too");
  }
  request->output = arguments.value("output");
  const bool named = std::any_of(kSweepEndings.begin(), kSweepEndings.end(), [&](const char* ending) {
    return request->output.ends_with(ending) && !request->output.starts_with("/dev/");
  });
  if (arguments.has("output") && !named) {
    errors->push_back("--output " + request->output +
                      ": a name that ends in .csv, .csv.gz, .json or .json.gz is wanted");
  }
}

// "3/16".
std::optional<Shard> ShardOf(const std::string& text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.index);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, shard.of);
  if (second.ec != std::errc() || second.ptr != end || shard.index >= shard.of) return std::nullopt;
  return shard;
}

void ReadEngine(const Arguments& arguments, SweepRequest* request, std::vector<std::string>* errors) {
  const std::string engine = arguments.value("engine", "local");
  if (engine != "local" && engine != "slurm") {
    errors->push_back("--engine " + engine + ": unknown; one of local, slurm would do");
  }
  if (engine == "slurm") {
    FlagReader flags(arguments, {}, errors);
    SlurmOptions& slurm = request->slurm.emplace();
    std::optional<std::int64_t> shards;
    flags.Number("shards", std::int64_t{1}, std::int64_t{100'000}, &shards);
    if (shards) slurm.shards = static_cast<std::size_t>(*shards);
    if (arguments.has("slurm")) slurm.words = arguments.values.at("slurm");
    if (!arguments.has("output")) errors->emplace_back("--engine slurm: --output FILE is wanted");
    if (!arguments.positional.empty() && arguments.positional.front() == "-") {
      errors->emplace_back("--engine slurm: tasks cannot read standard input; the name of a file is wanted");
    }
    if (arguments.has("no-front"))
      errors->emplace_back("--no-front: has no effect; on Slurm nothing is skipped");
  }
  for (const char* flag : {"shards", "slurm"}) {
    if (arguments.has(flag) && engine != "slurm") {
      errors->push_back(std::string("--") + flag + " without --engine slurm; give it too");
    }
  }
  if (!arguments.has("shard")) return;
  request->shard = ShardOf(arguments.value("shard"));
  if (!request->shard || !arguments.has("output") || arguments.has("best")) {
    errors->push_back("--shard " + arguments.value("shard") +
                      ": INDEX/COUNT with --output and without --best is wanted");
  }
}

std::optional<scenarios::SweepJob> JobOf(const Arguments& arguments, const std::vector<proto::Override>& sets,
                                         proto::Diagnostics* diagnostics) {
  const std::string name =
      arguments.positional.empty() ? std::string(scenarios::kDefaultScenario) : arguments.positional.front();
  if (name != "-") return scenarios::ReadSweepJob(name, sets, diagnostics);
  scenarios::SweepJob job{.name = "<stdin>", .text = "", .sets = sets};
  if (!proto::ReadFile("/dev/stdin", &*job.text, diagnostics)) return std::nullopt;
  return job;
}

// Where money is asked for, the first scenario that loads must have a price, unless points give it.
std::string MissingPrice(const SweepRequest& request) {
  if (!request.wanted || request.wanted->metric == Metric::kStepTime) return "";
  for (const std::string& path : request.list.paths) {
    if (path.starts_with("price")) return "";
  }
  for (const scenarios::Point& point : request.list.points) {
    const scenarios::LoadedPoint loaded = scenarios::Load(request.job, point);
    if (!loaded.scenario) continue;
    if (loaded.scenario->price_usd_per_device_hour) return "";
    return std::string("--best ") + scenarios::ToText(request.wanted->metric) +
           ": the scenario has no price; --set price.usd_per_device_hour=2.5 gives one";
  }
  return "";
}

// Of this program as it is built.
std::string ProgramDigest() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return sim::ToHex(proto::DigestOf(bytes));
}

}  // namespace

std::optional<SweepRequest> ReadSweepRequest(const Arguments& arguments, std::ostream& err) {
  SweepRequest request;
  std::vector<std::string> errors;
  proto::Diagnostics diagnostics;
  const auto sets = OverridesOf(arguments);
  if (!sets.ok()) errors.push_back(sets.error().message);
  const std::vector<scenarios::Axis> axes = AxesOf(arguments, &errors);
  const std::vector<scenarios::Point> listed = ListedPoints(arguments, &diagnostics);
  ReadOptions(arguments, &request, &errors);
  ReadEngine(arguments, &request, &errors);
  if (!arguments.has("over") && !arguments.has("points")) {
    errors.emplace_back("nothing is swept; --over PATH=VALUE,VALUE,... or --points FILE is wanted");
  }
  auto list = scenarios::PointsOf(listed, axes);
  if (!list.ok()) errors.push_back(list.error().message);
  auto job = JobOf(arguments, sets.ok() ? sets.value() : std::vector<proto::Override>{}, &diagnostics);
  if (job && list.ok()) {
    request.job = *std::move(job);
    request.list = std::move(list).value();
    scenarios::CheckFields(request.job, request.list, &diagnostics);
    if (errors.empty() && diagnostics.ok()) {
      if (const std::string missing = MissingPrice(request); !missing.empty()) errors.push_back(missing);
    }
  }
  Print(diagnostics, err);
  for (const std::string& error : errors) Fail(error, err);
  if (!errors.empty() || !diagnostics.ok()) return std::nullopt;
  return request;
}

scenarios::SweepIdentity IdentityOf(const SweepRequest& request) {
  std::string points, sets;
  for (const scenarios::Point& point : request.list.points) points += scenarios::ToText(point) + '\n';
  for (const proto::Override& set : request.job.sets) sets += set.path + '=' + set.value + ' ';
  std::string best = "none";
  if (request.wanted) best = scenarios::ToText(request.wanted->metric);
  if (request.wanted && !request.wanted->front) best += " without the front";
  return {{"the program", ProgramDigest()},
          {"the scenario", request.job.name},
          {"the scenario's text", request.job.text ? sim::ToHex(proto::DigestOf(*request.job.text)) : ""},
          {"--set", sets},
          {"the list of points", sim::ToHex(proto::DigestOf(points))},
          {"--play-all", request.play_all ? "given" : "not given"},
          {"--best", best},
          {"the number of shards", request.shard ? std::to_string(request.shard->of) : "none"},
          {"the shard", request.shard ? std::to_string(request.shard->index) : "none"}};
}

std::string ShardFolder(const std::string& output) { return output + ".slurm"; }

std::string ShardJournal(const std::string& output, std::size_t index) {
  return ShardFolder(output) + "/shard-" + std::to_string(index) + ".journal";
}

}  // namespace tools
