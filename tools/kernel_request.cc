#include "tools/kernel_request.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "hardware/device_reader.h"
#include "scenarios/calibration/measured_gemm.h"
#include "scenarios/kernel_run/extents.h"
#include "scenarios/kernel_run/kernel_table.h"
#include "scenarios/kernel_run/roofline_table.h"
#include "tools/flag_reader.h"

namespace tools {
namespace {

using Errors = std::vector<std::string>;
using Flags = std::span<const std::string_view>;

constexpr std::string_view kGemmFlags[] = {"shape",      "format",        "count",
                                           "accumulate", "constant-data", "beside"};
constexpr std::string_view kAttentionFlags[] = {"batch",    "heads",     "kv-heads", "sequence", "keys",
                                                "head-dim", "value-dim", "full",     "window",   "kind",
                                                "backward", "paged",     "beside"};
constexpr std::string_view kMemoryFlags[] = {"bytes", "class", "beside"};
constexpr std::string_view kRooflineFlags[] = {"constant-data"};

struct TableKind {
  const char* name;
  AskedTable table;
  Flags flags;
};
constexpr TableKind kKinds[] = {{"gemm", AskedTable::kGemm, kGemmFlags},
                                {"attention", AskedTable::kAttention, kAttentionFlags},
                                {"memory", AskedTable::kMemory, kMemoryFlags},
                                {"roofline", AskedTable::kRoofline, kRooflineFlags}};

const TableKind* KindOf(const Arguments& arguments, Errors* errors) {
  const std::string wanted = "one of gemm, attention, memory, roofline is wanted";
  if (arguments.positional.empty()) {
    errors->push_back("no kernel is named; " + wanted);
    return nullptr;
  }
  for (const TableKind& kind : kKinds) {
    if (arguments.positional[0] == kind.name) return &kind;
  }
  errors->push_back("no kernel " + arguments.positional[0] + "; " + wanted);
  return nullptr;
}

void RefuseIdleFlags(const Arguments& arguments, const TableKind& kind, Errors* errors) {
  for (const auto& [flag, values] : arguments.values) {
    if (flag == "hardware" || flag == "set" || flag == "json" || flag == "csv") continue;
    if (std::find(kind.flags.begin(), kind.flags.end(), flag) != kind.flags.end()) continue;
    errors->push_back("--" + flag + ": is not of " + kind.name + "; leave it out");
  }
  if (arguments.has("json") && arguments.has("csv")) {
    errors->push_back("--csv: is given beside --json; one of the two is wanted");
  }
}

// --set of the device, without "hardware.".
std::vector<proto::Override> PathsOf(const Arguments& arguments, Errors* errors) {
  std::vector<proto::Override> paths;
  const auto overrides = OverridesOf(arguments);
  if (!overrides.ok()) {
    errors->push_back(overrides.error().message);
    return paths;
  }
  constexpr std::string_view kPrefix = "hardware.";
  for (proto::Override path : overrides.value()) {
    if (!path.path.starts_with(kPrefix)) {
      errors->push_back("--set " + std::to_string(path.index) + ": \"" + path.path +
                        "\" is no field of a kernel; hardware.PATH is wanted");
      continue;
    }
    path.path.erase(0, kPrefix.size());
    path.prefix = kPrefix;
    paths.push_back(std::move(path));
  }
  return paths;
}

// A number of an option that is there once.
std::int64_t Whole(const Arguments& arguments, const char* flag, std::int64_t otherwise, std::int64_t most,
                   Errors* errors) {
  std::optional<std::int64_t> value;
  FlagReader(arguments, {}, errors).Number(flag, std::int64_t{1}, most, &value);
  return value.value_or(otherwise);
}

std::vector<std::int64_t> Steps(const Arguments& arguments, const char* flag, std::int64_t otherwise,
                                Errors* errors) {
  if (!arguments.has(flag)) return {otherwise};
  auto numbers = scenarios::ParseExtents(arguments.value(flag));
  if (numbers.ok()) return std::move(numbers).value();
  errors->push_back(std::string("--") + flag + ": " + numbers.error().message);
  return {otherwise};
}

// --format, a list, of what the device has; BF16, or FP16 where it has none.
std::vector<sim::NumberFormat> FormatsOf(const Arguments& arguments, const hardware::Device& device,
                                         Errors* errors) {
  if (!arguments.has("format")) return {scenarios::AttentionFormat(device)};
  std::vector<sim::NumberFormat> formats;
  const std::string text = arguments.value("format");
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    at = comma + 1;
    const auto format = scenarios::FindFormat(name);
    if (!format) {
      errors->push_back("--format: \"" + name + "\" is no format; \"" + device.name + "\" has " +
                        hardware::FormatsOf(device));
    } else if (!hardware::SupportsFormat(device, *format)) {
      errors->push_back("--format: " + hardware::WhyNotFormat(device, *format));
    } else {
      formats.push_back(*format);
    }
  }
  return formats;
}

void ReadProducts(const Arguments& arguments, KernelRequest* request, Errors* errors) {
  const std::int64_t count = Whole(arguments, "count", 1, 1 << 20, errors);
  const auto formats = FormatsOf(arguments, request->device, errors);
  if (!arguments.has("shape"))
    return errors->push_back("--shape: missing; MxNxK is wanted, as 8192x4096x4096");
  for (const std::string& text : arguments.values.at("shape")) {
    const auto shapes = scenarios::ParseGemmShapes(text, count);
    if (!shapes.ok()) {
      errors->push_back("--shape: " + shapes.error().message);
      continue;
    }
    for (const sim::NumberFormat format : formats) {
      for (const sim::GemmShape& shape : shapes.value()) {
        request->kernels.push_back(scenarios::ProductKernel(shape, format, arguments.has("accumulate")));
      }
    }
  }
}

// The implementations that this table can have.
std::vector<std::pair<std::string, sim::AttentionKind>> KindsOf(const hardware::Device& device, bool paged) {
  std::vector<std::pair<std::string, sim::AttentionKind>> kinds;
  for (const hardware::AttentionModel& model : paged ? device.paged_attention : device.attention) {
    const std::pair<std::string, sim::AttentionKind> kind{hardware::ToText(model.implementation),
                                                          model.implementation};
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

// What all rows of attention have; `batch` and lengths are theirs.
sim::AttentionShape ReadShape(const Arguments& arguments, const hardware::Device& device, Errors* errors) {
  constexpr std::int64_t kMostHeads = 1 << 20, kMostWidth = 4096;
  sim::AttentionShape shape;
  shape.query_heads = Whole(arguments, "heads", 32, kMostHeads, errors);
  shape.kv_heads = Whole(arguments, "kv-heads", shape.query_heads, kMostHeads, errors);
  shape.head_dim = Whole(arguments, "head-dim", 128, kMostWidth, errors);
  shape.value_dim = Whole(arguments, "value-dim", 0, kMostWidth, errors);
  shape.window = Whole(arguments, "window", 0, scenarios::kLargestExtent, errors);
  shape.causal = !arguments.has("full");
  shape.paged = arguments.has("paged");
  if (shape.query_heads % shape.kv_heads != 0) {
    errors->push_back("--kv-heads: " + std::to_string(shape.kv_heads) + " does not divide the " +
                      std::to_string(shape.query_heads) + " heads");
  }
  const auto kinds = KindsOf(device, shape.paged);
  if (kinds.empty()) {
    errors->push_back('"' + device.name + "\" has no " + (shape.paged ? "paged " : "fused ") +
                      "attention; unfused, it is products and kernels bound by memory");
    return shape;
  }
  std::optional<sim::AttentionKind> kind;
  FlagReader(arguments, {}, errors).OneOf("kind", kinds, &kind);
  shape.implementation = kind.value_or(kinds.front().second);
  if (shape.paged && arguments.has("backward")) {
    errors->push_back("--backward: paged attention has none; leave one of the two out");
  }
  return shape;
}

void ReadAttention(const Arguments& arguments, KernelRequest* request, Errors* errors) {
  sim::AttentionShape shape = ReadShape(arguments, request->device, errors);
  const auto batches = Steps(arguments, "batch", 1, errors);
  const auto lengths = Steps(arguments, "sequence", 4096, errors);
  const std::int64_t keys = Whole(arguments, "keys", 0, scenarios::kLargestExtent, errors);
  if (batches.size() * lengths.size() > scenarios::kMostKernels) {
    return errors->push_back("--sequence, --batch: more than " + std::to_string(scenarios::kMostKernels) +
                             " kernels; shorter sweeps are wanted");
  }
  for (const std::int64_t batch : batches) {
    for (const std::int64_t length : lengths) {
      shape.batch = batch;
      shape.query_length = length;
      shape.kv_length = keys > 0 ? keys : length;
      // 64 bits hold what is counted of it: bytes of rows, and FLOPs of all pairs.
      const sim::Wide pairs = static_cast<sim::Wide>(batch) * shape.query_heads * length *
                              std::max(shape.kv_length, std::int64_t{64});
      if (pairs > INT64_MAX / 10 / sim::BackwardWidth(shape)) {
        return errors->push_back("--sequence: " + std::to_string(length) + " is too long for " +
                                 std::to_string(batch) + " sequences of " +
                                 std::to_string(shape.query_heads) + " heads; 2^63 FLOPs are the most");
      }
      request->kernels.push_back(scenarios::AttentionKernel(
          shape, scenarios::AttentionFormat(request->device), arguments.has("backward")));
    }
  }
}

void ReadMemory(const Arguments& arguments, KernelRequest* request, Errors* errors) {
  std::vector<std::pair<std::string, sim::MemoryClass>> classes;
  for (const auto& [name, memory_class] : scenarios::kMemoryClassNames) {
    classes.emplace_back(name, memory_class);
  }
  std::optional<sim::MemoryClass> memory_class;
  FlagReader(arguments, {}, errors).OneOf("class", classes, &memory_class);
  if (!arguments.has("bytes")) return errors->push_back("--bytes: missing; as 64M, or 1M:1G");
  const auto sizes = scenarios::ParseByteSteps(arguments.value("bytes"));
  if (!sizes.ok()) return errors->push_back("--bytes: " + sizes.error().message);
  for (const sim::Bytes size : sizes.value()) {
    request->kernels.push_back(
        scenarios::MemoryKernel(size, memory_class.value_or(sim::MemoryClass::kElementwise)));
  }
}

}  // namespace

std::optional<hardware::Device> ReadKernelDevice(const Arguments& arguments,
                                                 const std::vector<proto::Override>& sets,
                                                 proto::Diagnostics* diagnostics) {
  return hardware::ReadDevice(arguments.value("hardware", "h100_sxm"), sets, "", diagnostics, "--hardware");
}

std::optional<KernelRequest> ReadKernelRequest(const Arguments& arguments, proto::Diagnostics* diagnostics,
                                               std::vector<std::string>* errors) {
  const TableKind* kind = KindOf(arguments, errors);
  if (kind == nullptr) return std::nullopt;
  RefuseIdleFlags(arguments, *kind, errors);
  auto paths = PathsOf(arguments, errors);
  auto device = ReadKernelDevice(arguments, paths, diagnostics);
  if (!device) return std::nullopt;
  const bool of_products = kind->table == AskedTable::kGemm || kind->table == AskedTable::kRoofline;
  if (arguments.has("constant-data") && of_products && device->random_data_derate == 1) {
    errors->push_back("--constant-data: has no effect: \"" + device->name +
                      "\" has no derate of random data; leave it out");
  }
  KernelRequest request{
      .table = kind->table, .device = *std::move(device), .kernels = {}, .sets = std::move(paths)};
  if (kind->table == AskedTable::kGemm) ReadProducts(arguments, &request, errors);
  if (kind->table == AskedTable::kAttention) ReadAttention(arguments, &request, errors);
  if (kind->table == AskedTable::kMemory) ReadMemory(arguments, &request, errors);
  if (request.kernels.size() > scenarios::kMostKernels) {
    errors->push_back("--shape: more than " + std::to_string(scenarios::kMostKernels) + " kernels");
  }
  if (!errors->empty() || !diagnostics->ok()) return std::nullopt;
  return request;
}

}  // namespace tools
