// orrery collective: nccl-tests on paper, and lists of operations that may never meet.

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "hardware/device_reader.h"
#include "scenarios/collective_run/job_text.h"
#include "scenarios/collective_run/operations_play.h"
#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"
#include "scenarios/collective_run/sweep.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/collective_output.h"
#include "scenarios/output/output_file.h"
#include "tools/commands.h"
#include "tools/flag_reader.h"
#include "tools/interrupt.h"
#include "topologies/topology.h"

namespace tools {
namespace {

using Errors = std::vector<std::string>;
using scenarios::Cluster;
using scenarios::CollectiveJob;

// "hardware.node.nics" as "node.nics", for the file that it is about; others are mistakes.
struct SetPaths {
  std::vector<proto::Override> hardware, topology;
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
    if (dot == path.path.size() || (file != "hardware" && file != "topology")) {
      errors->push_back("--set " + std::to_string(path.index) + ": \"" + path.path +
                        "\" is no field of a collective; hardware.PATH or topology.PATH is wanted");
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

struct Named {
  Cluster cluster;
  std::string hardware, topology;
};

std::optional<Named> ClusterOf(const Arguments& arguments, proto::Diagnostics* diagnostics, Errors* errors) {
  const SetPaths paths = PathsOf(arguments, errors);
  std::optional<std::int64_t> devices;
  FlagReader(arguments, {}, errors).Number("devices", std::int64_t{1}, topologies::kMostDevices, &devices);
  auto device = hardware::ReadDevice(arguments.value("hardware", "h100_sxm"), paths.hardware, "", diagnostics,
                                     "--hardware");
  if (!device) return std::nullopt;
  const bool one_node = devices.value_or(1) <= device->node.devices;
  const auto topology =
      topologies::ReadTopology(arguments.value("topology", one_node ? "single_node" : "rail_optimised_ndr"),
                               paths.topology, "", diagnostics, "--topology");
  if (!topology || !errors->empty() || !diagnostics->ok()) return std::nullopt;
  auto fabric =
      topologies::BuildFabric(*topology, device->node, devices.value_or(DevicesOf(*topology, *device)));
  if (!fabric.ok()) {
    errors->push_back("--devices: " + fabric.error().message);
    return std::nullopt;
  }
  std::string name = device->name;
  return Named{{*std::move(device), std::move(fabric).value()}, std::move(name), topology->name};
}

// What is asked for: sizes of one collective, jobs that run at once, or a list of operations.
struct Request {
  const scenarios::DataType* type = scenarios::FindDataType("float");
  std::optional<CollectiveJob> swept;
  std::vector<sim::Bytes> sizes;
  std::vector<CollectiveJob> jobs;
  std::optional<scenarios::OperationList> operations;
  scenarios::PlayOptions options;
};

void Size(const Arguments& arguments, const char* flag, sim::Bytes* size, Errors* errors) {
  if (!arguments.has(flag)) return;
  const auto read = scenarios::ParseSize(arguments.value(flag));
  if (read.ok()) {
    *size = read.value();
  } else {
    errors->push_back(std::string("--") + flag + ": " + read.error().message);
  }
}

// As nccl-tests, but that with one end given the other is the same.
void ReadSizes(const Arguments& arguments, Request* request, Errors* errors) {
  scenarios::SizeSteps steps;
  Size(arguments, "minbytes", &steps.first, errors);
  Size(arguments, "maxbytes", &steps.last, errors);
  Size(arguments, "stepbytes", &steps.step, errors);
  if (arguments.has("minbytes") != arguments.has("maxbytes")) {
    (arguments.has("minbytes") ? steps.last : steps.first) =
        arguments.has("minbytes") ? steps.first : steps.last;
  }
  std::optional<std::int64_t> factor;
  FlagReader(arguments, {}, errors).Number("stepfactor", std::int64_t{1}, std::int64_t{1} << 40, &factor);
  steps.factor = factor.value_or(1);
  auto sizes = scenarios::SizesOf(steps);
  if (sizes.ok()) {
    request->sizes = std::move(sizes).value();
  } else {
    errors->push_back("--minbytes, --maxbytes: " + sizes.error().message);
  }
}

void ReadSwept(const Arguments& arguments, std::uint32_t ranks, Request* request, Errors* errors) {
  const auto test = scenarios::ParseTest(arguments.positional[0]);
  if (!test.ok()) return errors->push_back(test.error().message);
  CollectiveJob job{test.value(), {}, std::vector<std::uint32_t>(ranks)};
  std::iota(job.ranks.begin(), job.ranks.end(), 0u);
  if (arguments.has("ranks")) {
    auto list = scenarios::ParseRankList(arguments.value("ranks"), ranks);
    if (!list.ok()) return errors->push_back("--ranks: " + list.error().message);
    job.ranks = std::move(list).value();
  }
  std::optional<std::int64_t> root;
  FlagReader(arguments, {}, errors)
      .Number("root", std::int64_t{0}, static_cast<std::int64_t>(job.ranks.size()) - 1, &root);
  if (root && job.test->has_root) job.root = static_cast<std::uint32_t>(*root);
  if (root && !job.test->has_root) {
    errors->push_back("--root: " + std::string(job.test->name) + " has none; leave it out");
  }
  ReadSizes(arguments, request, errors);
  request->swept = std::move(job);
}

void ReadJobs(const Arguments& arguments, const char* flag, std::uint32_t ranks,
              std::vector<CollectiveJob>* jobs, Errors* errors) {
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

void ReadOperations(const Arguments& arguments, std::uint32_t ranks, Request* request,
                    proto::Diagnostics* diagnostics, Errors* errors) {
  const std::string path = arguments.value("operations");
  std::string text;
  if (!proto::ReadFile(path == "-" ? "/dev/stdin" : path, &text, diagnostics)) return;
  request->operations = scenarios::ParseOperations(text, path == "-" ? "<stdin>" : path, ranks);
  const Errors& mistakes = request->operations->errors;
  errors->insert(errors->end(), mistakes.begin(), mistakes.end());
}

// Flags that say nothing of what was asked for.
void RefuseIdle(const Arguments& arguments, const std::vector<const char*>& idle, const std::string& of,
                Errors* errors) {
  for (const char* flag : idle) {
    if (arguments.has(flag))
      errors->push_back(std::string("--") + flag + ": is not of " + of + "; leave it out");
  }
}

Request RequestOf(const Arguments& arguments, std::uint32_t ranks, proto::Diagnostics* diagnostics,
                  Errors* errors) {
  Request request;
  const bool swept = !arguments.positional.empty();
  if (swept + arguments.has("job") + arguments.has("operations") != 1) {
    errors->push_back(
        "one of a collective's name, --job and --operations is wanted; `orrery collective --help`");
    return request;
  }
  if (swept) {
    ReadSwept(arguments, ranks, &request, errors);
  } else {
    RefuseIdle(arguments, {"minbytes", "maxbytes", "stepbytes", "stepfactor", "ranks", "root"},
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
  return request;
}

// Files are made before anything runs, so that no result is lost for want of one.
struct Files {
  std::optional<scenarios::OutputFile> table;
  bool table_as_json = false;
};

Files FilesOf(const Arguments& arguments, Errors* errors) {
  Files files;
  const std::string path = arguments.value("output"), trace = arguments.value("trace");
  files.table_as_json = path.ends_with(".json");
  if (arguments.has("output") && !files.table_as_json && !path.ends_with(".txt")) {
    errors->push_back("--output " + path + ": a name that ends in .json or .txt is wanted");
  }
  if (arguments.has("trace") && !trace.ends_with(".json") && !trace.ends_with(".json.gz")) {
    errors->push_back("--trace " + trace + ": a name that ends in .json or .json.gz is wanted");
  }
  for (const std::string& one : {path, trace}) {
    if (!one.empty() && arguments.has("operations") &&
        scenarios::IsSameFile(one, arguments.value("operations"))) {
      errors->push_back(one + " is the file that was read; another name is wanted");
    }
  }
  if (!errors->empty()) return files;
  if (!path.empty() && !trace.empty() && scenarios::IsSameFile(path, trace)) {
    errors->push_back("--output and --trace both write " + path + "; two names are wanted");
  }
  if (const auto why = trace.empty() ? std::nullopt : scenarios::OutputFile::WhyNot(trace)) {
    errors->push_back(why->message);
  }
  if (path.empty() || !errors->empty()) return files;
  auto created = scenarios::OutputFile::Create(path);
  if (created.ok()) {
    files.table.emplace(std::move(created).value());
  } else {
    errors->push_back(created.error().message);
  }
  return files;
}

// What a run has to say, in both forms, and what its trace is of.
struct Answer {
  std::string text, json;
  const sim::Program* program = nullptr;
  const sim::Timeline* timeline = nullptr;
};

int Write(const Arguments& arguments, const Answer& answer, Files files, std::ostream& out,
          std::ostream& err) {
  if (arguments.has("trace")) {
    scenarios::TraceOptions options;
    options.path = arguments.value("trace");
    const auto written = scenarios::WriteChromeTrace(*answer.program, *answer.timeline, options);
    if (!written.ok()) return Fail(written.error().message, err);
  }
  if (files.table) {
    files.table->Write(files.table_as_json ? answer.json : answer.text);
    if (const auto finished = files.table->Finish(); !finished.ok()) {
      return Fail(finished.error().message, err);
    }
  }
  out << (arguments.has("json") ? answer.json : answer.text);
  return kExitDone;
}

int Interrupted(std::ostream& err) {
  err << "orrery: interrupted; nothing was written\n";
  return kExitInterrupted;
}

int RunOperations(const Arguments& arguments, const Named& named, const Request& request,
                  const scenarios::CollectiveHead& head, Files files, std::ostream& out, std::ostream& err) {
  const auto check = scenarios::CheckOperations(*request.operations);
  for (const std::string& deadlock : check.deadlocks) Fail(deadlock, err);
  if (!check.deadlocks.empty()) return kExitUsage;
  const auto played =
      scenarios::PlayOperations(named.cluster, *request.operations, check, request.options.go_on);
  if (!played.ok()) return Fail(played.error().message, err);
  if (played.value().stopped) return Interrupted(err);
  return Write(arguments,
               {scenarios::OperationsText(played.value(), named.cluster, head),
                scenarios::OperationsJson(played.value(), named.cluster, head), &played.value().program,
                &played.value().timeline},
               std::move(files), out, err);
}

int RunCollective(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  Errors errors;
  const std::optional<Named> named = ClusterOf(arguments, &diagnostics, &errors);
  Request request;
  if (named) request = RequestOf(arguments, named->cluster.ranks(), &diagnostics, &errors);
  Print(diagnostics, err);
  if (!diagnostics.ok()) errors.insert(errors.begin(), "");
  Files files = FilesOf(arguments, &errors);
  for (const std::string& error : errors) {
    if (!error.empty()) Fail(error, err);
  }
  if (!errors.empty()) return kExitUsage;
  const InterruptWatch watch;
  request.options.go_on = [&] { return !watch.interrupted(); };
  const scenarios::CollectiveHead head{named->hardware, named->topology, request.type,
                                       arguments.has("links")};
  if (request.operations) {
    return RunOperations(arguments, *named, request, head, std::move(files), out, err);
  }
  const auto table =
      request.swept ? scenarios::PlaySizes(named->cluster, *request.swept, *request.type, request.sizes,
                                           request.options)
                    : scenarios::PlayTogether(named->cluster, request.jobs, *request.type, request.options);
  if (!table.ok()) return Fail(table.error().message, err);
  if (table.value().stopped) return Interrupted(err);
  return Write(arguments,
               {scenarios::CollectiveText(table.value(), named->cluster, head),
                scenarios::CollectiveJson(table.value(), named->cluster, head), &table.value().last.program,
                &table.value().last.timeline},
               std::move(files), out, err);
}

}  // namespace

Command CollectiveCommand() {
  return {
      "collective",
      "nccl-tests on paper: times, bandwidths and bounds of collectives on any fabric.",
      "NAME | --job JOB... | --operations FILE [options]",
      1,
      {{"hardware", "NAME", "of `orrery list hardware`; h100_sxm"},
       {"topology", "NAME", "of `orrery list topologies`; one node, or rail_optimised_ndr for more devices"},
       {"devices", "N", "of the fabric; one node's, or all of an explicit list"},
       {"set", "PATH=VALUE", "change a field: hardware.node.nics=4, topology.rail_optimised...", true},
       {"ranks", "LIST", "the members in their order: 0-7, or 0,8,16, or 0-63:8; all devices", false},
       {"minbytes", "SIZE", "smallest size: 8, 64K, 1.5M, 16G; 32M", false, 'b'},
       {"maxbytes", "SIZE", "largest size, up to 1T; as the smallest where only that is given", false, 'e'},
       {"stepbytes", "SIZE", "what is added from size to size; 1M", false, 'i'},
       {"stepfactor", "N", "what sizes are multiplied with instead", false, 'f'},
       {"datatype", "TYPE", "for the column count, and how sizes are rounded; float", false, 'd'},
       {"root", "R", "of broadcast and the like, counted among the members; 0", false, 'r'},
       {"job", "JOB", "\"all_reduce 0-7 1G\": all jobs start together, each has its row", true},
       {"background", "JOB", "\"alltoall 0-31 64M\": again and again beside what is measured", true},
       {"chunk", "", "the exact and slow form too: transfer by transfer"},
       {"links", "", "the most loaded links of the last row, and who loads them"},
       {"operations", "FILE", "what each rank issues, checked and played; - is standard input"},
       {"json", "", "print one JSON document"},
       {"output", "FILE", "write the result there too: .txt or .json"},
       {"trace", "FILE", "write a Chrome trace of the last row: .json or .json.gz"}},
      "  orrery collective all_reduce --devices 64 -b 8 -e 16G -f 2\n"
      "  orrery collective alltoall --devices 64 --ranks 0-63:8 -b 64M --background \"all_reduce 1-57:8 "
      "1G\"\n"
      "  orrery collective --job \"all_reduce 0-7 1G\" --job \"all_gather 0-3 256M\" --links\n"
      "  orrery collective --operations ranks.txt     a line an operation: rank 0-7: all_reduce 64M group "
      "0-7\n"
      "\nCollectives: all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv (each to the\n"
      "next). Columns, sizes and what they count are those of nccl-tests; sizes are rounded down to whole\n"
      "elements, and to 16 bytes a rank where each rank has a part. The bound is what no algorithm beats\n"
      "without adding numbers up in switches: the bytes that must leave or enter a member, or a node, over\n"
      "all its links at their full rate, without latency; the gap is how far above it a time is.\n",
      RunCollective};
}

}  // namespace tools
