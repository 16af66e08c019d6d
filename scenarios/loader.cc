#include "scenarios/loader.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/transformer.h"
#include "proto/scenario.pb.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader_parts.h"
#include "scenarios/offload.h"
#include "topologies/topology.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsPath(const std::string& name) {
  return name.find('/') != name.npos || EndsWith(name, ".textproto") || EndsWith(name, ".json");
}

// The overrides of the file that a scenario calls `part`, as paths in that file.
std::vector<proto::Override> OverridesOf(const char* part, const std::vector<proto::Override>& overrides) {
  const std::string prefix = std::string(part) + '.';
  std::vector<proto::Override> own;
  for (const proto::Override& set : overrides) {
    if (StartsWith(set.path, prefix))
      own.push_back({set.index, set.path.substr(prefix.size()), set.value, prefix});
  }
  return own;
}

std::vector<proto::Override> OwnOverrides(const std::vector<proto::Override>& overrides) {
  std::vector<proto::Override> own;
  std::copy_if(overrides.begin(), overrides.end(), std::back_inserter(own), [](const proto::Override& set) {
    return !StartsWith(set.path, "model.") && !StartsWith(set.path, "hardware.") &&
           !StartsWith(set.path, "topology.");
  });
  return own;
}

std::string FolderOf(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What the three names of a scenario stand for.
struct Parts {
  std::optional<models::Model> model;
  std::optional<hardware::Device> device;
  std::optional<topologies::TopologySpec> topology;
};

Parts ReadParts(const config::Scenario& in, const Block& top, const std::string& beside,
                const std::vector<proto::Override>& overrides, const models::Model* shapes) {
  Parts parts;
  const auto named = [&](const char* field, bool has, const std::string& name, const char* example) {
    if (!has) {
      top.Missing(field, std::string("give a name, as \"") + example + '"');
    } else if (name.empty()) {
      top.Error(field, std::string("\"\" is no name; give one, as \"") + example + '"');
    }
    return !name.empty();
  };
  if (shapes != nullptr) {
    parts.model = *shapes;
  } else if (named("model", in.has_model(), in.model(), "llama_7b")) {
    parts.model = models::ReadModel(in.model(), OverridesOf("model", overrides), beside, top.diagnostics(),
                                    top.PlaceOf("model"));
  }
  if (named("hardware", in.has_hardware(), in.hardware(), "h100_sxm")) {
    parts.device = hardware::ReadDevice(in.hardware(), OverridesOf("hardware", overrides), beside,
                                        top.diagnostics(), top.PlaceOf("hardware"));
  }
  if (named("topology", in.has_topology(), in.topology(), "rail_optimised_ndr")) {
    parts.topology = topologies::ReadTopology(in.topology(), OverridesOf("topology", overrides), beside,
                                              top.diagnostics(), top.PlaceOf("topology"));
  }
  return parts;
}

void CheckName(bool has, const std::string& name, const Block& top) {
  constexpr std::size_t kLongest = 100;
  if (!has) return top.Missing("name", "give a name in lower_snake_case");
  bool plain = !name.empty() && name.size() <= kLongest;
  for (const char c : name) plain = plain && c > ' ' && c != '\x7f';
  if (!plain)
    top.Error("name", "not a name of 1 to 100 letters, digits and signs; give one in lower_snake_case");
}

void BuildFabricOf(const topologies::TopologySpec& topology, const Block& top, Scenario* scenario) {
  const auto build = [&](const std::optional<topologies::StorageSpec>& storage) {
    return topologies::BuildFabric(topology, scenario->device.node, scenario->devices, storage);
  };
  auto fabric = build(std::nullopt);
  if (!fabric.ok()) return top.Error("devices", fabric.error().message);
  scenario->fabric = std::move(fabric).value();
  const auto storage = StorageOf(*scenario);
  if (!storage) return;
  auto with_storage = build(storage);
  if (!with_storage.ok() && !scenario->checkpoint) {
    return top.Of("training")
        .Of("offload")
        .Error(Offloads(*scenario) ? "activation_layers" : "optimizer", with_storage.error().message);
  }
  if (!with_storage.ok()) return top.Of("checkpoint").Error("path", with_storage.error().message);
  scenario->fabric = std::move(with_storage).value();
}

// `folder` is where files beside the scenario are; empty for an embedded one. `shapes`, unless
// null, are taken for the model that it names.
std::optional<Scenario> Load(const std::string& file, const std::string& folder, std::string_view text,
                             const std::vector<proto::Override>& overrides, proto::Diagnostics* diagnostics,
                             const models::Model* shapes = nullptr) {
  const std::size_t before = diagnostics->errors().size();
  config::Scenario in;
  proto::Document document;
  proto::Read(file, text, OwnOverrides(overrides), &in, &document, diagnostics);
  if (!document.complete()) return std::nullopt;
  const Block top(document.root(), diagnostics);

  Scenario scenario;
  scenario.file = file;
  for (const proto::Override& o : overrides) scenario.overrides.push_back(o.path + "=" + o.value);
  scenario.name = in.name();
  scenario.description = in.description();
  CheckName(in.has_name(), in.name(), top);
  scenario.source = ReadSource(in.source(), top.Of("source"));
  Parts parts = ReadParts(in, top, folder, overrides, shapes);
  if (parts.model) scenario.model = *std::move(parts.model);
  if (parts.device) scenario.device = *std::move(parts.device);

  ReadNccl(in, top, &scenario);
  TakePreset(top, folder, &in, &scenario);
  scenario.fields = proto::FieldsOf(in);
  if (parts.topology) {
    for (const proto::FieldValue& field : parts.topology->fields) {
      scenario.fields.push_back({"topology." + field.path, field.value});
    }
  }
  ReadLayout(in, top, &scenario);
  ReadBatch(in, top, &scenario);
  CheckModelFits(top, parts.model.has_value(), &scenario);
  ReadPipeline(in, top, folder, parts.model.has_value(), &scenario);
  ReadTraining(in.training(), top, parts.device.has_value(), &scenario);
  CheckContext(top, parts.model.has_value(), scenario);
  CheckParts(top, scenario);
  ReadCheckpoint(in, top, &scenario);
  ReadRun(in, top, &scenario);
  if (diagnostics->errors().size() == before) ReadExperts(in, top, &scenario);
  if (diagnostics->errors().size() == before) {
    CheckOverlap(in, top, &scenario);
    CheckLaunches(top, scenario);
  }
  if (parts.device && parts.topology && scenario.devices > 0) {
    BuildFabricOf(*parts.topology, top, &scenario);
  }
  if (diagnostics->errors().size() == before) CheckDispatch(top, scenario);
  if (diagnostics->errors().size() == before) ReadOwnKernels(in, top, &scenario);
  if (diagnostics->errors().size() != before) {
    ExplainPreset(top, scenario);
    return std::nullopt;
  }
  if (models::LargestKernelFlops(scenario.model, ExecutionOf(scenario)) > INT64_MAX) {
    top.Of("batch").Error("micro",
                          "one kernel would execute more than 9.2e18 operations; fewer sequences are wanted");
    return std::nullopt;
  }
  // Activations of a stage must be countable: 40 bytes and more for each of these.
  constexpr sim::Wide kMostNumbers = 20'000'000'000'000'000;
  const models::Model& model = scenario.model;
  const sim::Wide numbers = models::WidestTensor(model, ExecutionOf(scenario)) * scenario.batch.micro *
                            (scenario.batch.sequence_length / scenario.layout.context) * (model.layers + 1) *
                            scenario.pipeline.InFlight(0);
  if (numbers > kMostNumbers) {
    top.Of("batch").Error("micro",
                          "the micro-batches in flight would hold more than 2e16 numbers; fewer are wanted");
    return std::nullopt;
  }
  if (!CheckStaging(top, scenario) || !CheckHostMemory(top, scenario)) return std::nullopt;
  WarnUnwise(top, &scenario);
  return scenario;
}

std::optional<Scenario> LoadFile(const std::string& path, const std::string& shown, const std::string& folder,
                                 const std::vector<proto::Override>& overrides,
                                 proto::Diagnostics* diagnostics) {
  std::string text;
  if (!proto::ReadFile(path, &text, diagnostics)) return std::nullopt;
  return Load(shown, folder, text, overrides, diagnostics);
}

}  // namespace

std::optional<Scenario> LoadScenarioText(const std::string& file, std::string_view text,
                                         const std::vector<proto::Override>& overrides,
                                         proto::Diagnostics* diagnostics) {
  return Load(file, FolderOf(file), text, overrides, diagnostics);
}

std::optional<Scenario> LoadScenarioText(const std::string& file, std::string_view text,
                                         const std::vector<proto::Override>& overrides,
                                         const models::Model& model, proto::Diagnostics* diagnostics) {
  return Load(file, FolderOf(file), text, overrides, diagnostics, &model);
}

std::optional<Scenario> LoadScenario(const std::string& name_or_path,
                                     const std::vector<proto::Override>& overrides,
                                     proto::Diagnostics* diagnostics) {
  if (name_or_path == "-") return LoadFile("/dev/stdin", "<stdin>", ".", overrides, diagnostics);
  if (!IsPath(name_or_path)) {
    std::vector<std::string> names;
    for (const proto::CatalogueFile& entry : Catalogue()) {
      if (entry.name == name_or_path)
        return Load(std::string(entry.file), "", entry.text, overrides, diagnostics);
      names.emplace_back(entry.name);
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(name_or_path, error)) {
      const std::vector<std::string> near = proto::Nearest(name_or_path, names);
      std::string wanted = near.empty() ? "`orrery list scenarios` shows all" : "did you mean ";
      for (std::size_t i = 0; i < near.size(); ++i) wanted += (i > 0 ? " or " : "") + near[i];
      diagnostics->Error(name_or_path.empty() ? "\"\"" : name_or_path,
                         "there is no scenario or file of this name; " + wanted + (near.empty() ? "" : "?"));
      return std::nullopt;
    }
  }
  return LoadFile(name_or_path, name_or_path, FolderOf(name_or_path), overrides, diagnostics);
}

namespace {

// NVLink domains that the first expert group lies on.
std::int64_t NodesOfExpertGroup(const Scenario& scenario) {
  if (scenario.layout.expert == 1) return 1;
  std::vector<std::uint32_t> domains;
  for (const sim::Rank rank : scenario.layout.Group(sim::Rank(0), ExpertDimension::kExpert)) {
    domains.push_back(scenario.fabric.domain[rank.pos()]);
  }
  std::sort(domains.begin(), domains.end());
  return std::unique(domains.begin(), domains.end()) - domains.begin();
}

}  // namespace

double RoutedExperts::Imbalance() const {
  if (loads.empty()) return 1;
  sim::Wide sum = 0;
  for (const std::int64_t load : loads) sum += load;
  const auto most = static_cast<double>(*std::max_element(loads.begin(), loads.end()));
  return most * static_cast<double>(loads.size()) / static_cast<double>(sum);
}

models::Execution ExecutionOf(const Scenario& scenario) {
  models::Execution execution;
  execution.tensor = scenario.layout.tensor;
  execution.sequence_parallel = scenario.layout.sequence;
  execution.micro_batch = scenario.batch.micro;
  execution.sequence_length = scenario.batch.sequence_length;
  execution.context = {.ranks = scenario.layout.context,
                       .ulysses = scenario.layout.ulysses,
                       .kind = scenario.layout.context_kind,
                       .zigzag = scenario.layout.zigzag};
  execution.part.count = scenario.pipeline.shape.parts;
  execution.format = scenario.training.format;
  execution.attention = scenario.training.attention;
  execution.vocabulary_divisor = scenario.training.vocabulary_divisor;
  execution.fused = scenario.training.fused_kernels;
  execution.fused_norms = scenario.training.fused_norms;
  execution.fused_loss = scenario.training.fused_loss;
  execution.selective = scenario.training.selective;
  execution.dropout = scenario.training.dropout;
  const RoutedExperts& experts = scenario.experts;
  execution.experts = {.expert = scenario.layout.expert,
                       .expert_tensor = scenario.layout.expert_tensor,
                       .dispatcher = experts.dispatcher,
                       .fp8_dispatch = experts.fp8_dispatch,
                       .capacity_factor = experts.capacity_factor,
                       .one_by_one = scenario.training.experts_one_by_one,
                       .overlap_shared = experts.overlap_shared,
                       .nodes = NodesOfExpertGroup(scenario),
                       .node_limit = experts.node_limit,
                       .loads = experts.loads};
  execution.gradient_fp32 = scenario.training.gradient_format == sim::NumberFormat::kFp32;
  // Blackwell's matrix units take FP8 in any order of memory.
  constexpr std::int32_t kBlackwell = 100;
  execution.matmul = {.recipe = scenario.training.matmul.recipe,
                      .one_order = scenario.device.capability < kBlackwell,
                      .eight_bit_weights = scenario.training.matmul.parameter_gather};
  return execution;
}

models::Execution ExecutionOf(const Scenario& scenario, std::int64_t layer) {
  models::Execution execution = ExecutionOf(scenario);
  const Matmul& matmul = scenario.training.matmul;
  const bool wide =
      layer < matmul.first_layers_bf16 || layer >= scenario.model.layers - matmul.last_layers_bf16;
  if (wide) execution.matmul = {};
  return execution;
}

}  // namespace scenarios
