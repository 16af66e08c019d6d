// orrery scale: scaling curves, simulated or measured, the laws that fit them, and whether they hold.

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>

#include "scenarios/catalogue.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/scale_output.h"
#include "scenarios/output/scale_svg.h"
#include "scenarios/run.h"
#include "scenarios/scale/baseline.h"
#include "tools/commands.h"
#include "tools/flag_reader.h"
#include "tools/interrupt.h"
#include "tools/load_job.h"
#include "tools/memory_limit.h"
#include "tools/new_file.h"
#include "tools/number_list.h"

namespace tools {
namespace {

constexpr std::size_t kMostPoints = 1000;

struct Request {
  scenarios::ScaleRequest scale;
  std::vector<std::int64_t> extrapolate;
  double tolerance = 0;
  std::size_t threads = 1;
  std::string points, svg, baseline;  // files; empty: none
  bool update = false;
};

// "2%" or "0.02", a part of one.
std::optional<double> PartOf(std::string text) {
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (percent) number /= 100;
  if (!(number >= 0 && number <= 1)) return std::nullopt;
  return number;
}

// Flags that do not go together.
void CheckTogether(const Arguments& arguments, std::vector<std::string>* errors) {
  const auto refuse = [&](const char* flag, const char* beside) {
    if (arguments.has(flag) && arguments.has(beside)) {
      errors->push_back(std::string("--") + flag + ": is given beside --" + beside + "; give one");
    }
  };
  refuse("strong", "weak");
  refuse("csv", "json");
  for (const char* flag : {"devices", "layouts", "set", "threads"}) refuse(flag, "points");
  if (arguments.has("points") && !arguments.positional.empty()) {
    errors->push_back("--points: is given beside scenario \"" + arguments.positional.front() +
                      "\"; give one");
  }
  if (!arguments.has("points") && !arguments.has("devices")) {
    errors->push_back("--devices: numbers of devices to simulate are wanted, as 8,16,32; or --points FILE");
  }
  for (const char* flag : {"tolerance", "update"}) {
    if (arguments.has(flag) && !arguments.has("baseline")) {
      errors->push_back(std::string("--") + flag + ": --baseline FILE is wanted with it");
    }
  }
}

Request RequestOf(const Arguments& arguments, std::vector<std::string>* errors) {
  CheckTogether(arguments, errors);
  Request request{.points = arguments.value("points"),
                  .svg = arguments.value("svg"),
                  .baseline = arguments.value("baseline"),
                  .update = arguments.has("update")};
  request.scale.scaling = arguments.has("weak") ? scenarios::Scaling::kWeak : scenarios::Scaling::kStrong;
  request.scale.devices = NumbersOf(arguments, "devices", errors);
  request.extrapolate = NumbersOf(arguments, "extrapolate", errors);
  std::sort(request.scale.devices.begin(), request.scale.devices.end());
  const auto twice = std::adjacent_find(request.scale.devices.begin(), request.scale.devices.end());
  if (twice != request.scale.devices.end()) {
    errors->push_back("--devices: " + std::to_string(*twice) + " is given twice");
  }
  if (request.scale.devices.size() > kMostPoints || request.extrapolate.size() > kMostPoints) {
    errors->push_back("more than " + std::to_string(kMostPoints) +
                      " numbers of devices; shorter lists are wanted");
  }
  FlagReader flags(arguments, {}, errors);
  std::optional<scenarios::LayoutRule> layouts;
  flags.OneOf<scenarios::LayoutRule>(
      "layouts", {{"fixed", scenarios::LayoutRule::kFixed}, {"best", scenarios::LayoutRule::kBest}},
      &layouts);
  request.scale.layouts = layouts.value_or(scenarios::LayoutRule::kFixed);
  std::optional<std::int64_t> threads;
  flags.Number("threads", std::int64_t{1}, std::int64_t{1024}, &threads);
  request.threads =
      static_cast<std::size_t>(threads.value_or(std::max<unsigned>(std::thread::hardware_concurrency(), 1)));
  if (arguments.has("tolerance")) {
    const auto tolerance = PartOf(arguments.value("tolerance"));
    if (!tolerance) {
      errors->push_back("--tolerance: \"" + arguments.value("tolerance") +
                        "\"; a part as 2% or 0.02 is wanted");
    }
    request.tolerance = tolerance.value_or(0);
  }
  return request;
}

// Files that will be written, before anything is simulated.
void CheckFiles(const Request& request, std::vector<std::string>* errors) {
  const auto check = [&](const char* flag, const std::string& path) {
    for (const std::string& other : {request.points, request.svg, request.baseline}) {
      if (&other != &path && !other.empty() && other != path && scenarios::IsSameFile(other, path)) {
        errors->push_back(std::string("--") + flag + ": " + path + " is " + other + " as well");
      }
    }
    if (path == request.points)
      errors->push_back(std::string("--") + flag + ": " + path + " is read as --points");
    if (const auto why = scenarios::OutputFile::WhyNot(path)) errors->push_back(why->message);
  };
  if (!request.svg.empty()) {
    if (!request.svg.ends_with(".svg"))
      errors->push_back("--svg: " + request.svg + "; a name in .svg is wanted");
    if (request.svg == request.baseline)
      errors->push_back("--svg: " + request.svg + " is --baseline as well");
    check("svg", request.svg);
  }
  if (request.update && !request.baseline.empty()) check("baseline", request.baseline);
}

// What was agreed on; nothing where it is to be written anew. False: it cannot be read.
bool ReadAgreed(const Request& request, std::optional<scenarios::Baseline>* agreed, std::ostream& err) {
  if (request.baseline.empty() || request.update) return true;
  if (!IsThere(request.baseline)) {
    Fail(request.baseline + ": there is no such file; --update makes it of this curve", err);
    return false;
  }
  proto::Diagnostics diagnostics;
  std::string text;
  if (!proto::ReadFile(request.baseline, &text, &diagnostics)) {
    Print(diagnostics, err);
    return false;
  }
  auto read = scenarios::ReadBaseline(text);
  if (!read.ok()) {
    Fail(request.baseline + ": " + read.error().message, err);
    return false;
  }
  *agreed = std::move(read).value();
  return true;
}

std::optional<scenarios::ScaleReport> Measured(const Request& request, std::ostream& err) {
  proto::Diagnostics diagnostics;
  std::string text;
  std::vector<scenarios::Curve> curves;
  if (proto::ReadFile(request.points, &text, &diagnostics)) {
    curves = scenarios::ReadCurves(request.points, text, request.scale.scaling, &diagnostics);
  }
  Print(diagnostics, err);
  if (!diagnostics.ok()) return std::nullopt;
  scenarios::ScaleReport report{.subject = request.points, .scaling = request.scale.scaling};
  bool fitted = true;
  for (scenarios::Curve& curve : curves) {
    report.curves.push_back(scenarios::ReportOn(std::move(curve), request.extrapolate));
    const scenarios::CurveReport& last = report.curves.back();
    const bool any =
        std::any_of(last.fits.begin(), last.fits.end(), [](const auto& one) { return one.fit.ok(); });
    if (any) continue;
    const std::string name = last.curve.name.empty() ? "" : ": curve \"" + last.curve.name + '"';
    Fail(request.points + name + ": " + last.fits.front().fit.error().message, err);
    fitted = false;
  }
  if (!fitted) return std::nullopt;
  return report;
}

scenarios::ScaleReport Simulated(const Job& job, const Request& request, const InterruptWatch& watch) {
  const scenarios::Scenario& s = job.scenario;
  scenarios::ScaleReport report{.subject = s.name,
                                .about = s.model.name + " on " + s.device.name + ", " + s.fabric.name,
                                .scaling = request.scale.scaling,
                                .layouts = request.scale.layouts};
  const auto play = [&](const scenarios::Scenario& one, std::size_t parts) -> sim::Result<scenarios::Report> {
    auto run =
        scenarios::Run(one, {.memory_limit = MemoryForARun() / static_cast<double>(parts),
                             .go_on = [&](const scenarios::RunProgress&) { return !watch.interrupted(); }});
    if (!run.ok()) return run.error();
    if (run.value().interruption) return sim::Error{"interrupted"};
    return std::move(run).value().report;
  };
  report.rows =
      scenarios::RunScale(s, request.scale, job.reload, play,
                          {.threads = request.threads, .stopped = [&] { return watch.interrupted(); }});
  scenarios::Curve curve = scenarios::CurveOf(report.rows, request.scale.scaling);
  if (!curve.points.empty()) {
    report.curves.push_back(scenarios::ReportOn(std::move(curve), request.extrapolate));
  }
  return report;
}

bool WriteWhole(const std::string& path, const std::string& text, std::ostream& err) {
  auto created = scenarios::OutputFile::Create(path);
  if (!created.ok()) {
    Fail(created.error().message, err);
    return false;
  }
  scenarios::OutputFile file = std::move(created).value();
  file.Write(text);
  const auto finished = file.Finish();
  if (!finished.ok()) Fail(finished.error().message, err);
  return finished.ok();
}

int Tell(const Arguments& arguments, const Request& request, const scenarios::ScaleReport& report,
         const std::optional<scenarios::Baseline>& agreed, std::ostream& out, std::ostream& err) {
  const scenarios::Baseline now = scenarios::BaselineOf(report, ORRERY_VERSION);
  std::optional<scenarios::BaselineComparison> comparison;
  if (agreed) {
    auto compared = scenarios::Compare(*agreed, now, request.tolerance);
    if (!compared.ok()) return Fail(request.baseline + ": " + compared.error().message, err);
    comparison = std::move(compared).value();
  }
  out << (arguments.has("json")  ? scenarios::ScaleJson(report, comparison ? &*comparison : nullptr)
          : arguments.has("csv") ? scenarios::ScaleCsv(report)
                                 : scenarios::ScaleText(report));
  if (comparison && !arguments.has("json")) {
    (arguments.has("csv") ? err : out) << scenarios::ComparisonText(*comparison, request.baseline);
  }
  if (report.curves.empty()) {
    Fail("no point could be simulated, so there is no curve", err);
    return kExitNo;
  }
  if (!request.svg.empty() &&
      !WriteWhole(request.svg, scenarios::ScaleSvg(report.curves, report.subject), err)) {
    return kExitUsage;
  }
  if (request.update) {
    if (!WriteWhole(request.baseline, scenarios::BaselineJson(now), err)) return kExitUsage;
    err << "baseline: " << request.baseline << ", " << now.points.size() << " points\n";
  }
  return comparison && !comparison->holds() ? kExitNo : kExitDone;
}

int RunScaleCommand(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) return Fail(overrides.error().message, err);
  std::vector<std::string> errors;
  const Request request = RequestOf(arguments, &errors);
  CheckFiles(request, &errors);
  std::optional<Job> job;
  if (!arguments.has("points")) {
    job = LoadJob(arguments.positional.empty() ? std::string(scenarios::kDefaultScenario)
                                               : arguments.positional.front(),
                  overrides.value(), err);
  }
  for (const std::string& error : errors) Fail(error, err);
  if (!errors.empty() || (!job && !arguments.has("points"))) return kExitUsage;
  std::optional<scenarios::Baseline> agreed;
  if (!ReadAgreed(request, &agreed, err)) return kExitUsage;

  const InterruptWatch watch;
  std::optional<scenarios::ScaleReport> report;
  if (job) {
    report = Simulated(*job, request, watch);
  } else {
    report = Measured(request, err);
  }
  if (!report) return kExitUsage;
  if (watch.interrupted()) {
    out << (arguments.has("json") ? scenarios::ScaleJson(*report, nullptr) : scenarios::ScaleText(*report));
    return kExitInterrupted;
  }
  return Tell(arguments, request, *report, agreed, out, err);
}

}  // namespace

Command ScaleCommand() {
  return {"scale",
          "Scaling curves, simulated or measured: fitted laws, and whether they still hold.",
          "[SCENARIO] --devices LIST [--weak] [options] | --points FILE.csv [options]",
          1,
          {{"devices", "LIST", "numbers of devices to simulate: 8,16,32"},
           {"strong", "", "the same batch on all of them; this unless --weak is given"},
           {"weak", "", "the batch is that of the scenario's devices, and grows with them"},
           {"layouts", "RULE", "fixed: data ranks grow; best: the fastest layout at each size; else fixed"},
           {"points", "FILE.csv", "measured: columns devices, step_time_s or tokens_per_s or mfu, name"},
           {"extrapolate", "LIST", "what the laws say of these numbers of devices"},
           {"svg", "FILE.svg", "points, laws and the band of new points as a picture"},
           {"baseline", "FILE", "compare with this curve; status 1 and the reasons where points moved"},
           {"tolerance", "PART", "differences up to 2% or 0.02 hold; else 0, and noise where measured"},
           {"update", "", "write the baseline anew"},
           {"threads", "N", "simulate so many at a time; the result is the same"},
           {"set", "PATH=VALUE", "change a field: layout.tensor=8", true},
           {"json", "", "print one JSON document"},
           {"csv", "", "print a table for a spreadsheet"}},
          "  orrery scale --devices 64,128,256,512 --weak --extrapolate 4096     docs/scaling.md has more\n"
          "  orrery scale --points measured.csv --baseline curve.json --update\n",
          RunScaleCommand};
}

}  // namespace tools
