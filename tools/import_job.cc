#include "tools/import_job.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>

#include "models/parameters.h"
#include "scenarios/import/importers.h"
#include "scenarios/output/report_text.h"
#include "tools/new_file.h"

namespace tools {
namespace {

const scenarios::Importer* Find(const std::string& format) {
  for (const scenarios::Importer& importer : scenarios::Importers()) {
    if (format == importer.format) return &importer;
  }
  return nullptr;
}

// A whole number of 1 and more, or what is wrong with it.
std::optional<sim::Error> ReadCount(const Arguments& arguments, const char* flag,
                                    std::optional<std::int64_t>* count) {
  if (!arguments.has(flag)) return std::nullopt;
  const std::string text = arguments.value(flag);
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 1) {
    return sim::Error{std::string("--") + flag + " \"" + text + "\": a whole number of 1 and more is wanted"};
  }
  *count = value;
  return std::nullopt;
}

// Where both files go: NAME.textproto and NAME_model.textproto beside it.
struct Target {
  std::string scenario, model, name;
};

sim::Result<Target> TargetOf(const Arguments& arguments) {
  Target target;
  target.scenario = arguments.value("output");
  if (target.scenario.empty()) {
    return sim::Error{"--output NAME.textproto is wanted: the scenario, and its model beside it"};
  }
  if (target.scenario == "-" || !target.scenario.ends_with(".textproto")) {
    return sim::Error{"--output " + target.scenario +
                      ": a job becomes a scenario and a model beside it; the name of a .textproto is wanted"};
  }
  const std::filesystem::path path(target.scenario);
  target.name = arguments.has("name") ? arguments.value("name") : path.stem().string();
  if (!IsName(target.name)) {
    return sim::Error{"\"" + target.name + "\" is no name of " + kNameSigns + "; give one with --name"};
  }
  target.model = (path.parent_path() / (target.name + "_model.textproto")).string();
  for (const std::string& file : {target.scenario, target.model}) {
    if (IsThere(file)) {
      return sim::Error{file + " is there already; it is not written over"};
    }
  }
  return target;
}

// Both files, or none.
std::optional<sim::Error> WriteBoth(const Target& target, const scenarios::ImportedJob& job) {
  if (!job.model_text.empty()) {
    if (auto error = WriteNewFile(target.model, job.model_text)) return error;
  }
  auto error = WriteNewFile(target.scenario, job.scenario_text);
  if (error && !job.model_text.empty()) {
    std::error_code ignored;
    std::filesystem::remove(target.model, ignored);
  }
  return error;
}

void Tell(const Target& target, const scenarios::ImportedJob& job, std::ostream& err) {
  const models::ModelParameters parameters = models::ParametersOf(job.scenario.model);
  err << "import: " << target.scenario << ": " << scenarios::CountText(parameters.total())
      << " parameters on " << job.scenario.devices << " devices\n";
  if (!job.model_text.empty()) err << "import: its model is " << target.model << '\n';
  for (const std::string& line : job.not_mapped) err << "import: not mapped: " << line << '\n';
}

}  // namespace

bool IsJobFormat(const std::string& format) { return Find(format) != nullptr; }

std::string JobFormats() {
  std::string text;
  for (const scenarios::Importer& importer : scenarios::Importers()) {
    text += (text.empty() ? "" : ", ") + std::string(importer.format);
  }
  return text;
}

std::string JobFormatLines() {
  constexpr std::size_t kColumn = 49;
  std::string text;
  for (const scenarios::Importer& importer : scenarios::Importers()) {
    std::string line = std::string("  orrery import ") + importer.format + ' ' + importer.takes;
    line.resize(std::max(kColumn, line.size() + 1), ' ');
    text += line + importer.describes + '\n';
  }
  return text;
}

int ImportJob(const Arguments& arguments, std::ostream&, std::ostream& err) {
  const std::vector<std::string>& words = arguments.positional;
  if (words.size() < 2) return Fail("no file is given; wanted `orrery import " + words[0] + " FILE`", err);
  const auto target = TargetOf(arguments);
  if (!target.ok()) return Fail(target.error().message, err);
  scenarios::ImportRequest request;
  request.file = words[1];
  request.name = target.value().name;
  request.output = target.value().scenario;
  request.hardware = arguments.value("hardware");
  request.topology = arguments.value("topology");
  request.model = arguments.value("model");
  request.keep_unknown = arguments.has("keep-unknown");
  for (const auto& [flag, count] :
       {std::pair{"devices", &request.devices}, std::pair{"sequence-length", &request.sequence_length}}) {
    if (const auto error = ReadCount(arguments, flag, count)) return Fail(error->message, err);
  }
  const auto given = OverridesOf(arguments);
  if (!given.ok()) return Fail(given.error().message, err);
  for (const proto::Override& set : given.value()) request.given.push_back({set.index, set.path, set.value});

  proto::Diagnostics diagnostics;
  std::optional<scenarios::ImportedJob> job;
  if (proto::ReadFile(request.file, &request.text, &diagnostics)) {
    job = Find(words[0])->read(request, &diagnostics);
  }
  Print(diagnostics, err);
  if (!job) return kExitUsage;
  if (const auto error = WriteBoth(target.value(), *job)) return Fail(error->message, err);
  Tell(target.value(), *job, err);
  return kExitDone;
}

}  // namespace tools
