// orrery import: files of other programs as files of this one.

#include <filesystem>
#include <optional>
#include <ostream>

#include "models/hf_import.h"
#include "models/parameters.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/report_text.h"
#include "tools/commands.h"

namespace tools {
namespace {

// What other files can call it by, and no path.
bool IsName(const std::string& name) {
  constexpr const char* kSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name.find_first_not_of(kSigns) == std::string::npos;
}

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

// Writes it whole or not at all. Returns the exit status.
int Write(const std::string& path, const std::string& text, std::ostream& err) {
  auto file = scenarios::OutputFile::Create(path);
  if (!file.ok()) return Fail(file.error().message, err);
  scenarios::OutputFile output = std::move(file).value();
  output.Write(text);
  if (const auto finished = output.Finish(); !finished.ok()) return Fail(finished.error().message, err);
  return kExitDone;
}

int RunImport(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const std::vector<std::string>& words = arguments.positional;
  if (words.empty() || words[0] != "hf") {
    return Fail((words.empty() ? std::string("no format is given") : "unknown format " + words[0]) +
                    "; wanted `orrery import hf config.json`",
                err);
  }
  if (words.size() < 2) return Fail("no file is given; wanted `orrery import hf config.json`", err);
  const std::string path = arguments.value("output");
  if (arguments.has("output") && (path.empty() || path == "-")) {
    return Fail("--output " + path + ": the name of a file is wanted; without it the result is printed", err);
  }
  if (!path.empty() && scenarios::IsSameFile(path, words[1])) {
    return Fail("--output " + path + " is the file to read; another name is wanted", err);
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
    return Fail("--name \"" + name + "\": a name of letters, digits, '_', '.' and '-' is wanted", err);
  }
  if (name.empty() && !path.empty()) name = std::filesystem::path(path).stem().string();
  if (!name.empty() && !IsName(name)) {
    return Fail("--output " + path + ": the model is called as its file, and \"" + name +
                    "\" is no name of letters, digits, '_', '.' and '-'; give one with --name",
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
  } else if (const int status = Write(path, import->text, err); status != kExitDone) {
    return status;
  }
  Tell(*import, arguments.has("verbose"), err);
  return kExitDone;
}

}  // namespace

Command ImportCommand() {
  return {"import",
          "Reads a model's shapes from a Hugging Face config.json and writes them as a model file.",
          "hf CONFIG.JSON|- [--output FILE] [--name NAME] [--verbose]",
          2,
          {{"output", "FILE", "write the model file there (a .textproto), not to standard output", false},
           {"name", "NAME", "call the model so, not as the file says", false},
           {"verbose", "", "list the keys that were ignored", false}},
          "  orrery import hf Qwen3-4B/config.json                        print it\n"
          "  orrery import hf config.json --output my_model.textproto     then: model: \"my_model\"\n",
          RunImport};
}

}  // namespace tools
