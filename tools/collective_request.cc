#include "tools/collective_request.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "hardware/device_reader.h"
#include "scenarios/collective_run/dimensions.h"
#include "scenarios/collective_run/job_text.h"
#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"
#include "tools/devices_flag.h"
#include "tools/flag_reader.h"
#include "tools/idle_settings.h"
#include "topologies/topology.h"

namespace tools {
namespace {

using Errors = std::vector<std::string>;
using scenarios::CollectiveJob;

// "hardware.node.nics" as "node.nics", for the file that it is about; nccl's whole; others are mistakes.
struct SetPaths {
  std::vector<proto::Override> hardware, topology, nccl;
};

SetPaths PathsOf(const Arguments& arguments, Errors* errors) {
  SetPaths paths;
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) {
    errors->push_back(overrides.error().message);
    return paths;
  }
  for (proto::Override path : overrides.value()) {
    const std::size_t dot = std::min(path.path.find('.'), path.path.size());
    const std::string file = path.path.substr(0, dot);
    if (file == "nccl" && dot != path.path.size()) {
      paths.nccl.push_back(path);
      continue;
    }
    if (dot == path.path.size() || (file != "hardware" && file != "topology")) {
      errors->push_back(
          "--set " + std::to_string(path.index) + ": \"" + path.path +
          "\" is no field of a collective; hardware.PATH, topology.PATH or nccl.PATH is wanted");
      continue;
    }
    path.path.erase(0, dot + 1);
    (file == "hardware" ? paths.hardware : paths.topology).push_back(path);
  }
  return paths;
}

std::int64_t DevicesOf(const topologies::TopologySpec& spec, const hardware::Device& device) {
  const auto* list = std::get_if<topologies::ExplicitSpec>(&spec.family);
  if (list == nullptr) return device.node.devices;
  return std::count_if(list->nodes.begin(), list->nodes.end(), [](const topologies::ExplicitNode& node) {
    return node.kind == topologies::VertexKind::kDevice;
  });
}

// A torus's own, and before them the devices of a node where there are several.
std::vector<std::uint32_t> DimensionsOf(const topologies::TopologySpec& spec,
                                        const hardware::Device& device) {
  const auto* torus = std::get_if<topologies::TorusSpec>(&spec.family);
  std::vector<std::uint32_t> sizes;
  if (torus == nullptr) return sizes;
  if (device.node.devices > 1) sizes.push_back(static_cast<std::uint32_t>(device.node.devices));
  for (const std::int64_t size : torus->size) sizes.push_back(static_cast<std::uint32_t>(size));
  return sizes;
}

void Size(const Arguments& arguments, const char* flag, sim::Bytes* size, Errors* errors) {
  if (!arguments.has(flag)) return;
  const auto read = scenarios::ParseSize(arguments.value(flag));
  if (read.ok()) {
    *size = read.value();
  } else {
    errors->push_back(std::string("--") + flag + ": " + read.error().message);
  }
}

// The sizes that a way is for, where none is given: own all-reduces are for small ones.
scenarios::SizeSteps UsualSizes(const CollectiveJob& job, bool as_vllm) {
  const auto up_to = [](std::int64_t last) {
    return scenarios::SizeSteps{.first = sim::Bytes(1 << 10), .last = sim::Bytes(last), .factor = 2};
  };
  if (as_vllm) return up_to(16 << 20);
  return job.algorithm ? up_to(4 << 20) : scenarios::SizeSteps();
}

// As nccl-tests, but that with one end given the other is the same.
void ReadSizes(const Arguments& arguments, CollectiveRequest* request, Errors* errors) {
  const bool least = arguments.has("minbytes"), most = arguments.has("maxbytes");
  scenarios::SizeSteps steps;
  if (!least && !most) steps = UsualSizes(*request->swept, request->options.as_vllm);
  const std::size_t before = errors->size();
  Size(arguments, "minbytes", &steps.first, errors);
  Size(arguments, "maxbytes", &steps.last, errors);
  Size(arguments, "stepbytes", &steps.step, errors);
  if (least != most) (least ? steps.last : steps.first) = least ? steps.first : steps.last;
  std::optional<std::int64_t> factor;
  FlagReader(arguments, {}, errors).Number("stepfactor", std::int64_t{1}, std::int64_t{1} << 40, &factor);
  if (least || most) steps.factor = factor.value_or(1);
  for (const char* flag : {"stepbytes", "stepfactor"}) {
    if (!arguments.has(flag) || (least && most)) continue;
    errors->push_back(std::string("--") + flag + ": " + arguments.value(flag) +
                      "; steps lead from --minbytes to --maxbytes, and both are wanted");
  }
  if (arguments.has("stepbytes") && factor.value_or(1) > 1) {
    errors->push_back("--stepbytes: " + arguments.value("stepbytes") + "; with --stepfactor " +
                      arguments.value("stepfactor") + " sizes are multiplied; one of the two is wanted");
  }
  if (errors->size() > before) return;
  auto sizes = scenarios::SizesOf(steps);
  if (sizes.ok() && sizes.value().size() == 1 && steps.first < steps.last) {
    errors->push_back("--maxbytes: " + arguments.value("maxbytes") + " is not met from " +
                      scenarios::SizeText(steps.first) + " by steps of " + scenarios::SizeText(steps.step) +
                      "; --stepfactor 2 would do");
  } else if (sizes.ok()) {
    request->sizes = std::move(sizes).value();
  } else {
    errors->push_back("--minbytes, --maxbytes: " + sizes.error().message);
  }
}

// A framework's own all-reduce; NCCL's algorithms are its environment's. Whether it is vLLM's choice by size.
bool ReadAlgorithm(const Arguments& arguments, CollectiveJob* job, Errors* errors) {
  std::optional<std::optional<sim::Algorithm>> algorithm;
  FlagReader(arguments, {}, errors)
      .OneOf("algorithm",
             std::vector<std::pair<std::string, std::optional<sim::Algorithm>>>{
                 {"ONE_SHOT", sim::Algorithm::kOneShot},
                 {"TWO_SHOT", sim::Algorithm::kTwoShot},
                 {"VLLM", std::nullopt}},
             &algorithm);
  if (!algorithm) return false;
  if (job->test->kind != sim::CollectiveKind::kAllReduce) {
    errors->push_back("--algorithm: " + arguments.value("algorithm") +
                      " is of all_reduce; leave it out, or set nccl.environment=NCCL_ALGO=...");
    return false;
  }
  job->algorithm = *algorithm;
  return !*algorithm;
}

void ReadDimensions(const Arguments& arguments, const std::vector<std::uint32_t>& sizes, CollectiveJob* job,
                    Errors* errors) {
  if (!arguments.has("by-dimension")) return;
  if (!sim::Serves(sim::Algorithm::kByDimension, job->test->kind, {})) {
    return errors->push_back("--by-dimension: " + std::string(job->test->name) +
                             " is not done so; all_reduce, all_gather and reduce_scatter are");
  }
  auto dimensions = scenarios::ParseDimensions(arguments.value("by-dimension"), sizes,
                                               static_cast<std::uint32_t>(job->ranks.size()));
  if (!dimensions.ok()) return errors->push_back("--by-dimension: " + dimensions.error().message);
  job->dimensions = std::move(dimensions).value();
  // One flow over all dimensions at once has too small a share of a link on which one phase is alone.
  if (arguments.has("background")) {
    errors->push_back("--by-dimension: beside other traffic it is not simulated; leave --background out");
  }
  if (arguments.has("algorithm")) {
    errors->push_back("--by-dimension: is another way than --algorithm; one of the two is wanted");
  }
}

void ReadSwept(const Arguments& arguments, const NamedCluster& named, CollectiveRequest* request,
               Errors* errors) {
  const std::uint32_t ranks = named.cluster.ranks();
  const auto test = scenarios::ParseTest(arguments.positional[0]);
  if (!test.ok()) return errors->push_back(test.error().message);
  auto members = ReadRanks(arguments, ranks, errors);
  if (!members) return;
  CollectiveJob job{test.value(), {}, *std::move(members)};
  request->options.as_vllm = ReadAlgorithm(arguments, &job, errors);
  std::optional<std::int64_t> root;
  FlagReader(arguments, {}, errors)
      .Number("root", std::int64_t{0}, static_cast<std::int64_t>(job.ranks.size()) - 1, &root);
  if (root && job.test->has_root) job.root = static_cast<std::uint32_t>(*root);
  if (root && !job.test->has_root) {
    errors->push_back("--root: " + std::string(job.test->name) + " has none; leave it out");
  }
  ReadDimensions(arguments, named.dimensions, &job, errors);
  request->swept = std::move(job);
  ReadSizes(arguments, request, errors);
}

void ReadOperations(const Arguments& arguments, std::uint32_t ranks, CollectiveRequest* request,
                    proto::Diagnostics* diagnostics, Errors* errors) {
  const std::string path = arguments.value("operations");
  std::string text;
  if (!proto::ReadFile(path == "-" ? "/dev/stdin" : path, &text, diagnostics)) return;
  request->operations = scenarios::ParseOperations(text, path == "-" ? "<stdin>" : path, ranks);
  const Errors& mistakes = request->operations->errors;
  errors->insert(errors->end(), mistakes.begin(), mistakes.end());
}

}  // namespace

void ReadJobs(const Arguments& arguments, const char* flag, std::uint32_t ranks,
              std::vector<CollectiveJob>* jobs, std::vector<std::string>* errors) {
  if (!arguments.has(flag)) return;
  for (const std::string& text : arguments.values.at(flag)) {
    auto job = scenarios::ParseJob(text, ranks);
    if (job.ok()) {
      jobs->push_back(std::move(job).value());
    } else {
      errors->push_back(std::string("--") + flag + ": " + job.error().message);
    }
  }
}

std::optional<std::vector<std::uint32_t>> ReadRanks(const Arguments& arguments, std::uint32_t ranks,
                                                    std::vector<std::string>* errors) {
  if (arguments.has("ranks")) {
    auto list = scenarios::ParseRankList(arguments.value("ranks"), ranks);
    if (list.ok()) return std::move(list).value();
    errors->push_back("--ranks: " + list.error().message);
    return std::nullopt;
  }
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

void RefuseIdle(const Arguments& arguments, const std::vector<const char*>& idle, const std::string& of,
                std::vector<std::string>* errors) {
  for (const char* flag : idle) {
    if (arguments.has(flag))
      errors->push_back(std::string("--") + flag + ": is not of " + of + "; leave it out");
  }
}

std::optional<NamedCluster> ReadCluster(const Arguments& arguments, proto::Diagnostics* diagnostics,
                                        std::vector<std::string>* errors) {
  const SetPaths paths = PathsOf(arguments, errors);
  std::optional<DevicesAsked> devices;
  if (arguments.has("devices")) {
    auto read = ReadDevices(arguments.value("devices"));
    if (read.ok()) {
      devices = std::move(read).value();
    } else {
      errors->push_back("--devices: " + read.error().message);
    }
  }
  auto device = hardware::ReadDevice(arguments.value("hardware", "h100_sxm"), paths.hardware, "", diagnostics,
                                     "--hardware");
  if (!device) return std::nullopt;
  std::vector<scenarios::NcclSetting> nccl;
  if (!scenarios::SetNccl(paths.nccl, &device->nccl, diagnostics, &nccl)) return std::nullopt;
  const bool one_node = !devices || (devices->of_node.empty() && devices->count <= device->node.devices);
  const auto topology =
      topologies::ReadTopology(arguments.value("topology", one_node ? "single_node" : "rail_optimised_ndr"),
                               paths.topology, "", diagnostics, "--topology");
  if (!topology || !errors->empty() || !diagnostics->ok()) return std::nullopt;
  auto fabric =
      BuildAsked(*topology, device->node, devices.value_or(DevicesAsked{DevicesOf(*topology, *device)}));
  if (!fabric.ok()) {
    const bool by_count =
        devices && BuildAsked(*topology, device->node, DevicesAsked{DevicesOf(*topology, *device)}).ok();
    errors->push_back((by_count ? "--devices: " : "") + fabric.error().message);
    return std::nullopt;
  }
  std::string name = device->name;
  std::vector<std::uint32_t> dimensions = DimensionsOf(*topology, *device);
  return NamedCluster{{*std::move(device), std::move(fabric).value()},
                      std::move(name),
                      topology->name,
                      std::move(dimensions),
                      std::holds_alternative<topologies::SingleNodeSpec>(topology->family),
                      paths.hardware,
                      std::move(nccl)};
}

CollectiveRequest ReadCollectiveRequest(const Arguments& arguments, const NamedCluster& named,
                                        proto::Diagnostics* diagnostics, std::vector<std::string>* errors) {
  CollectiveRequest request;
  const std::uint32_t ranks = named.cluster.ranks();
  const bool swept = !arguments.positional.empty();
  RefuseIdle(arguments, {"tokens", "hidden", "top-k", "experts", "node-limit", "kernels", "sms", "bf16"},
             swept ? arguments.positional[0] : "what is asked for", errors);
  if (swept + arguments.has("job") + arguments.has("operations") != 1) {
    errors->push_back(
        "one of a collective's name, --job and --operations is wanted; `orrery collective --help`");
    return request;
  }
  if (swept) {
    ReadSwept(arguments, named, &request, errors);
  } else {
    RefuseIdle(
        arguments,
        {"minbytes", "maxbytes", "stepbytes", "stepfactor", "ranks", "root", "algorithm", "by-dimension"},
        arguments.has("job") ? "jobs, which say it themselves" : "lists of operations", errors);
  }
  if (arguments.has("operations")) {
    RefuseIdle(arguments, {"background", "chunk", "links", "datatype"}, "lists of operations", errors);
    ReadOperations(arguments, ranks, &request, diagnostics, errors);
  }
  if (arguments.has("datatype")) {
    request.type = scenarios::FindDataType(arguments.value("datatype"));
    if (request.type == nullptr) {
      std::string names;
      for (const auto& type : scenarios::DataTypes())
        names += (names.empty() ? "" : ", ") + std::string(type.name);
      errors->push_back("--datatype: \"" + arguments.value("datatype") + "\" is unknown; one of " + names +
                        " would do");
    }
  }
  ReadJobs(arguments, "job", ranks, &request.jobs, errors);
  ReadJobs(arguments, "background", ranks, &request.options.background, errors);
  request.options.chunks = arguments.has("chunk");
  request.options.log_rates = arguments.has("links");
  if (errors->empty() && diagnostics->ok()) RefuseIdleSettings(named, JobsOf(request), errors);
  return request;
}

}  // namespace tools
