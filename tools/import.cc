// orrery import: files of other programs as files of this one.

#include <filesystem>
#include <optional>
#include <ostream>

#include "models/hf_import.h"
#include "models/parameters.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/report_text.h"
#include "tools/commands.h"
#include "tools/import_fabric.h"
#include "tools/import_job.h"
#include "tools/new_file.h"

namespace tools {
namespace {

// What the import counts, to compare with the published figure, and what it left out.
void Tell(const models::HfImport& import, bool verbose, std::ostream& err) {
  const models::ModelParameters parameters = models::ParametersOf(import.model);
  err << "import: " << import.model.name << ", " << import.model_type << ": "
      << scenarios::CountText(parameters.total()) << " parameters";
  if (import.model.experts.routed > 0) err << ", " << scenarios::CountText(parameters.active()) << " active";
  if (parameters.prediction_modules > 0) {
    err << "; prediction modules beside them: " << scenarios::CountText(parameters.prediction_modules);
  }
  err << '\n';
  if (import.nested) err << "import: the language model alone; what surrounds it is left out\n";
  if (import.unknown.empty()) return;
  if (!verbose) {
    const bool one = import.unknown.size() == 1;
    err << "import: " << import.unknown.size() << (one ? " key" : " keys") << " ignored; --verbose lists "
        << (one ? "it\n" : "them\n");
    return;
  }
  for (const std::string& key : import.unknown) err << "import: key ignored: " << key << '\n';
}

int RunImport(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const std::vector<std::string>& words = arguments.positional;
  if (!words.empty() && IsJobFormat(words[0])) return ImportJob(arguments, out, err);
  if (!words.empty() && IsFabricFormat(words[0])) return ImportFabric(arguments, out, err);
  if (words.empty() || words[0] != "hf") {
    return Fail((words.empty() ? std::string("no format is given") : "unknown format " + words[0]) +
                    "; hf, " + JobFormats() + ", " + FabricFormats() +
                    " are known, as in `orrery import hf config.json`",
                err);
  }
  for (const char* flag :
       {"hardware", "topology", "devices", "model", "sequence-length", "set", "keep-unknown"}) {
    if (arguments.has(flag)) return Fail(std::string("--") + flag + " is for training jobs, not for hf", err);
  }
  if (words.size() < 2) return Fail("no file is given; wanted `orrery import hf config.json`", err);
  const std::string path = arguments.value("output");
  if (arguments.has("output") && (path.empty() || path == "-")) {
    return Fail("--output " + path + ": the name of a file is wanted; without it the result is printed", err);
  }
  if (!path.empty() && scenarios::IsSameFile(path, words[1])) {
    return Fail("--output " + path + " is the file to read; another name is wanted", err);
  }
  if (!path.empty() && IsThere(path)) {
    return Fail("--output " + path + " is there already; it is not written over", err);
  }
  if (path.ends_with(".json")) {
    return Fail(
        "--output " + path +
            ": a model is written as textproto, and a name in .json is read as JSON; one in .textproto is "
            "wanted",
        err);
  }
  std::string name = arguments.value("name");
  if (arguments.has("name") && !IsName(name)) {
    return Fail("--name \"" + name + "\": a name of " + kNameSigns + " is wanted", err);
  }
  if (name.empty() && !path.empty()) name = std::filesystem::path(path).stem().string();
  if (!name.empty() && !IsName(name)) {
    return Fail("--output " + path + ": the model is called as its file, and \"" + name +
                    "\" is no name of " + kNameSigns + "; give one with --name",
                err);
  }
  proto::Diagnostics diagnostics;
  std::string json;
  std::optional<models::HfImport> import;
  const bool piped = words[1] == "-";
  if (proto::ReadFile(piped ? "/dev/stdin" : words[1], &json, &diagnostics)) {
    import = models::ImportHf(piped ? "<stdin>" : words[1], json, name, &diagnostics);
  }
  Print(diagnostics, err);
  if (!import) return kExitUsage;
  if (path.empty()) {
    out << import->text;
  } else if (const auto error = WriteNewFile(path, import->text)) {
    return Fail(error->message, err);
  }
  Tell(*import, arguments.has("verbose"), err);
  return kExitDone;
}

}  // namespace

Command ImportCommand() {
  return {
      "import",
      "Reads files of other programs: a model's config.json, a training job, or a fabric.",
      "FORMAT FILE [--output FILE] [options]",
      2,
      {{"output", "FILE", "write there (a .textproto); hf and fabrics are printed without it", false},
       {"name", "NAME", "call the result so, not as the file says", false},
       {"hardware", "NAME", "of a job or a fabric: its device, as h100_sxm", false},
       {"topology", "NAME", "of a job: its network, as rail_optimised_ndr", false},
       {"devices", "N", "of a job: how many, where its file does not say; of a node: copies of it", false},
       {"model", "NAME", "of a job: what it trains, where its file does not say", false},
       {"sequence-length", "N", "of a job of DeepSpeed: tokens", false},
       {"set", "KEY=VALUE", "a key of the file that is missing, or needs a shell; may be repeated", true},
       {"keep-unknown", "", "of a job: list keys that nobody knows, in place of an error", false},
       {"verbose", "", "of hf: list the keys that were ignored", false}},
      "  orrery import hf CONFIG.json|-                 shapes of a model of Hugging Face\n" +
          JobFormatLines() + FabricFormatLine(),
      RunImport};
}

}  // namespace tools
