// Megatron-LM's arguments as they come: in a launch script, as a bare list, as the
// JSON of a checkpoint's arguments, or as MODEL_ARGS of a YAML file.

#include <algorithm>
#include <utility>

#include "scenarios/import/importers.h"
#include "scenarios/import/megatron.h"
#include "scenarios/import/shell_script.h"
#include "scenarios/import/translate.h"
#include "scenarios/import/trees.h"

namespace scenarios {
namespace {

// A namespace of arguments calls some of them otherwise than the command line does.
constexpr KeyName kNames[] = {
    {"add-bias-linear", "disable-bias-linear", KeyName::How::kOnWhenOff},
    {"add-position-embedding", "no-position-embedding", KeyName::How::kOnWhenOff},
    {"fp8", "fp8-format"},
    {"fp4", "fp4-format"},
    {"virtual-pipeline-model-parallel-size", "num-virtual-stages-per-pipeline-rank"},
    {"overlap-p2p-comm", "no-overlap-p2p-communication", KeyName::How::kOnWhenOff},
};

std::string PlaceOf(const std::string& file, const ShellWord& word) {
  return file + ':' + std::to_string(word.line) + ':' + std::to_string(word.column);
}

bool IsFlag(const ShellWord& word) { return word.text.size() > 2 && word.text.starts_with("--"); }

// What a variable that is not set leaves: nothing, most likely, but nobody knows.
bool IsUnset(const ShellWord& word) { return word.text.empty() && !word.doubt.empty(); }

class FlagReader {
 public:
  FlagReader(const std::string& file, proto::Diagnostics* diagnostics)
      : file_(file), diagnostics_(diagnostics) {}

  // The last word is the program, not a value; none of the launcher's flags has two.
  void ReadLauncher(std::vector<ShellWord> words) {
    if (!words.empty()) words.pop_back();
    for (Setting& setting : Read(words, false)) {
      std::replace(setting.key.begin(), setting.key.end(), '_', '-');
      if (!setting.value.children.empty()) setting.value = proto::Node(setting.value.children[0]);
      if (setting.key == "nnodes" || setting.key == "nproc-per-node") all_.push_back(std::move(setting));
    }
  }
  void ReadFlags(const std::vector<ShellWord>& words) {
    for (Setting& setting : Read(words, true)) all_.push_back(std::move(setting));
  }
  std::vector<Setting> Take() { return std::move(all_); }

 private:
  std::vector<Setting> Read(const std::vector<ShellWord>& words, bool strict) {
    std::vector<Setting> found;
    for (std::size_t i = 0; i < words.size();) {
      const ShellWord& word = words[i++];
      if (!IsFlag(word)) {
        if (strict) Stray(word);
        continue;
      }
      const std::size_t equals = word.text.find('=');
      const std::string shown = word.text.substr(0, equals);
      const bool is_switch = IsMegatronSwitch(shown.substr(2));
      Setting setting{shown.substr(2), shown, PlaceOf(file_, word), {}, word.doubt};
      std::vector<std::string> values;
      if (equals != std::string::npos) values.push_back(word.text.substr(equals + 1));
      for (; i < words.size() && !IsFlag(words[i]); ++i) {
        if (is_switch && IsUnset(words[i])) {
          Stray(words[i]);
          continue;
        }
        values.push_back(words[i].text);
        if (setting.doubt.empty()) setting.doubt = words[i].doubt;
      }
      setting.value = ValueOf(values);
      found.push_back(std::move(setting));
    }
    return found;
  }

  static proto::Node ValueOf(const std::vector<std::string>& values) {
    if (values.empty()) return {proto::Node::Kind::kWord, "", "true", {}, {}};
    if (values.size() == 1) return ScalarNode(values[0]);
    proto::Node list;
    list.kind = proto::Node::Kind::kList;
    for (const std::string& value : values) list.children.push_back(ScalarNode(value));
    return list;
  }

  void Stray(const ShellWord& word) {
    if (IsUnset(word)) {
      diagnostics_->Warning(PlaceOf(file_, word), word.doubt + "; taken for nothing");
    } else {
      diagnostics_->Error(PlaceOf(file_, word),
                          '"' + word.text.substr(0, 60) + "\" is no flag; one with -- is wanted");
    }
  }

  std::string file_;
  proto::Diagnostics* diagnostics_;
  std::vector<Setting> all_;
};

// Keys of a namespace, "num_layers", as arguments; switches that are off as not given.
std::vector<Setting> FromNamespace(std::vector<Setting> all) {
  for (Setting& setting : all) {
    std::replace(setting.key.begin(), setting.key.end(), '_', '-');
  }
  std::vector<Setting> renamed = Translate(kNames, &all);
  all.insert(all.end(), renamed.begin(), renamed.end());
  return all;
}

// Values of MODEL_ARGS are whole words: "--flag: true", "--window-size: 127,0".
std::vector<Setting> FromModelArgs(std::vector<Setting> all) {
  constexpr std::string_view kPrefix = "MODEL_ARGS.--";
  std::erase_if(all, [&](const Setting& setting) { return !setting.key.starts_with(kPrefix); });
  for (Setting& setting : all) {
    setting.key = setting.key.substr(kPrefix.size());
    setting.shown = "--" + setting.key;
    const std::size_t open = setting.value.text.find("${");
    if (open != std::string::npos)
      setting.doubt = setting.value.text.substr(open, 40) + " is not set in this file";
  }
  return all;
}

std::optional<std::vector<Setting>> ReadForm(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  const std::string& file = request.file;
  if (file.ends_with(".json")) {
    const auto tree = ParseJson(file, request.text, diagnostics);
    return tree ? std::optional(FromNamespace(Flatten(file, *tree))) : std::nullopt;
  }
  if (file.ends_with(".yaml") || file.ends_with(".yml")) {
    const auto tree = ParseYaml(file, request.text, diagnostics);
    if (!tree) return std::nullopt;
    std::vector<Setting> all = FromModelArgs(Flatten(file, *tree));
    if (!all.empty()) return all;
    diagnostics->Error(file,
                       "no MODEL_ARGS with --flags; they, a script, a list of flags or JSON are wanted");
    return std::nullopt;
  }
  const auto command = ReadLaunchScript(file, request.text, diagnostics);
  if (!command) return std::nullopt;
  FlagReader reader(file, diagnostics);
  reader.ReadLauncher(command->launcher);
  reader.ReadFlags(command->flags);
  return reader.Take();
}

// Devices that the launcher starts, or that a namespace says.
std::optional<std::int64_t> DevicesOf(Settings* s, std::string* from) {
  constexpr std::int64_t kMost = 1'048'576;
  if (s->has("world-size")) {
    *from = s->Place("world-size");
    return s->Integer("world-size", 1, kMost);
  }
  *from = s->Place("nproc-per-node");
  if (!s->has("nproc-per-node") || !s->has("nnodes")) return std::nullopt;
  const auto each = s->Integer("nproc-per-node", 1, kMost), nodes = s->Integer("nnodes", 1, kMost);
  if (!each || !nodes) return std::nullopt;
  return *each * *nodes;
}

}  // namespace

std::optional<ImportedJob> ImportMegatronSettings(const ImportRequest& request, const std::string& framework,
                                                  Settings* settings, std::vector<std::string> not_mapped,
                                                  proto::Diagnostics* diagnostics) {
  Draft draft;
  PutRequest(request, framework, &draft, diagnostics);
  std::string from;
  // The launcher's figures are not needed when the command line has them.
  std::optional<std::int64_t> devices;
  if (!request.devices || settings->certain({"world-size", "nproc-per-node", "nnodes"})) {
    devices = DevicesOf(settings, &from);
  }
  PutDevices(request, devices, from, &draft, diagnostics);
  ReadMegatronModel(settings, &draft);
  ReadMegatronExperts(settings, &draft);
  ReadMegatronLayout(settings, &draft);
  ReadMegatronTraining(request, settings, &draft);
  for (std::string& line : settings->NotMapped(MegatronRules(), request.keep_unknown)) {
    not_mapped.push_back(std::move(line));
  }
  return FinishDraft(request, framework, draft, std::move(not_mapped), diagnostics);
}

std::optional<ImportedJob> ImportMegatron(const ImportRequest& request, proto::Diagnostics* diagnostics) {
  auto all = ReadForm(request, diagnostics);
  if (!all) return std::nullopt;
  ApplyGiven(request.given, "--", &*all);
  Settings settings(request.file, "--", *std::move(all), true, diagnostics);
  return ImportMegatronSettings(request, "Megatron-LM", &settings, {}, diagnostics);
}

}  // namespace scenarios
