#include "scenarios/plan/plan_job.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "scenarios/budget/training_time.h"
#include "scenarios/loader.h"

namespace scenarios {
namespace {

using std::to_string;

using sim::Number;

// A string of the text format, in quotes.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

const char* ShardingName(OptimizerSharding sharding) {
  switch (sharding) {
    case OptimizerSharding::kReplicated:
      return "NONE";
    case OptimizerSharding::kZero1:
      return "ZERO_1";
    case OptimizerSharding::kZero2:
      return "ZERO_2";
    case OptimizerSharding::kZero3:
      return "ZERO_3";
  }
  return "";
}

const char* RecomputeName(Recompute recompute) {
  return recompute == Recompute::kFull ? "FULL" : recompute == Recompute::kSelective ? "SELECTIVE" : "NONE";
}

// The fastest that the device has.
sim::AttentionKind AttentionFor(const hardware::Device& device) {
  for (const auto kind :
       {sim::AttentionKind::kFlash3, sim::AttentionKind::kCudnn, sim::AttentionKind::kFlash2}) {
    if (hardware::SupportsAttention(device, kind)) return kind;
  }
  return sim::AttentionKind::kUnfused;
}

bool Cuts(const PlanJob& job, const LayoutChoice& layout) {
  return layout.tensor > 1 && job.sequence_length % layout.tensor == 0;
}

}  // namespace

sim::Bytes PlanJob::memory() const {
  return sim::Bytes(
      static_cast<std::int64_t>(static_cast<double>(device.usable_memory.count()) * (1 - safety)));
}

namespace {

// `devices` or, for a batch that may not grow, the next more in steps of `whole`, at most twice as many, that
// share the batch.
std::optional<JobShape> ShapeOn(const PlanJob& job, const LayoutChoice& layout, std::int64_t devices,
                                std::int64_t whole) {
  constexpr double kMostMore = 1.25;
  const std::int64_t most = job.batch_may_grow ? devices : 2 * devices;
  for (std::int64_t tried = devices; tried <= most; tried += whole) {
    JobShape shape{.devices = tried, .data = tried / layout.group()};
    // Interleaved micro-batches pass the stages in groups of as many.
    const std::int64_t at_once =
        shape.data * layout.micro * (layout.virtual_stages > 1 ? layout.pipeline : std::int64_t{1});
    if (at_once > 2 * job.global_batch) return std::nullopt;
    shape.global_batch = WholeGroups(job.global_batch, at_once);
    shape.micro_batches = shape.global_batch / (shape.data * layout.micro);
    const double largest = Number(job.global_batch) * (job.batch_may_grow ? kMostMore : 1);
    if (Number(shape.global_batch) <= largest) return shape;
  }
  return std::nullopt;
}

}  // namespace

std::optional<JobShape> ShapeFor(const PlanJob& job, const LayoutChoice& layout, std::int64_t least,
                                 std::int64_t most) {
  constexpr double kLeastUsed = 0.9;
  const std::int64_t node = job.device.node.devices;
  // Groups of experts are whole too, and beyond one node nodes are.
  const std::int64_t ranks =
      std::lcm(layout.tensor, layout.expert > 1 ? layout.expert * layout.expert_tensor : 1);
  std::int64_t whole = ranks * layout.pipeline;
  if (WholeGroups(least, whole) > node) whole = std::lcm(whole, node);
  std::optional<JobShape> shape = ShapeOn(job, layout, WholeGroups(least, whole), whole);
  for (std::int64_t fewer = most / whole * whole;
       (!shape || shape->devices > most) && fewer > 0 && Number(fewer) >= kLeastUsed * Number(least);
       fewer -= whole) {
    shape = ShapeOn(job, layout, fewer, whole);
  }
  return shape && shape->devices <= most ? shape : std::nullopt;
}

bool IsSlice(const PlanJob& job, const LayoutChoice& layout, std::int64_t data) {
  const std::int64_t devices = layout.group() * data, node = job.device.node.devices;
  const bool experts =
      layout.expert == 1 || layout.tensor * data % (layout.expert * layout.expert_tensor) == 0;
  return experts && (devices <= node || devices % node == 0);
}

JobShape SliceOf(const JobShape& whole, std::int64_t group, std::int64_t data) {
  return {.devices = group * data,
          .data = data,
          .global_batch = whole.global_batch / whole.data * data,
          .micro_batches = whole.micro_batches};
}

std::string UsualTopology(const hardware::Device& device, std::int64_t devices) {
  constexpr std::int64_t kNdrNodes = 2048, kHdrNodes = 800;
  const std::int64_t node = device.node.devices, nodes = (devices + node - 1) / node;
  if (nodes == 1 && device.node.nics == 0) return "single_node";
  const bool rails = device.node.nics > 0 && device.node.devices == 8;
  const bool ndr = device.nic.wire >= sim::ByteRate::BytesPerSecond(50'000'000'000);
  if (rails && ndr && nodes <= kNdrNodes) return "rail_optimised_ndr";
  if (rails && !ndr && nodes <= kHdrNodes) return "rail_optimised_hdr";
  return "non_blocking";
}

std::string ScenarioText(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape,
                         const std::string& name) {
  const std::string topology = job.topology.empty() ? UsualTopology(job.device, shape.devices) : job.topology;
  const bool spreads = layout.expert > 1;
  const bool counts = job.model.layers % layout.pipeline != 0;
  std::string out = "name: " + Quoted(name) + "\ndescription: " +
                    Quoted(job.model.name + " on " + to_string(shape.devices) + " " + job.device.name + ", " +
                           ToText(layout, shape.data) + ".") +
                    "\nsource {\n  title: \"orrery plan\"\n  note: \"the layout that it chose by "
                    "simulation\"\n}\nmodel: " +
                    Quoted(job.model_name) + "\nhardware: " + Quoted(job.device_name) +
                    "\ntopology: " + Quoted(topology) + "\ndevices: " + to_string(shape.devices) + "\n";
  out += "layout {\n  tensor: " + to_string(layout.tensor) +
         "\n  sequence: " + (Cuts(job, layout) ? "true" : "false") +
         "\n  context: 1\n  pipeline: " + to_string(layout.pipeline) +
         "\n  virtual: " + to_string(layout.virtual_stages) + "\n  expert: " + to_string(layout.expert) +
         "\n  expert_tensor: " +
         to_string(spreads                         ? layout.expert_tensor
                   : job.model.experts.routed == 0 ? 1
                                                   : layout.tensor) +
         "\n}\n";
  out += "batch {\n  global: " + to_string(shape.global_batch) + "\n  micro: " + to_string(layout.micro) +
         "\n  sequence_length: " + to_string(job.sequence_length) + "\n}\n";
  out += "training {\n  format: BF16\n  gradient_type: FP32\n  optimizer: ADAM\n  optimizer_sharding: ";
  out += ShardingName(layout.sharding);
  out += "\n  recompute: ";
  out += RecomputeName(layout.recompute);
  out += "\n  attention: ";
  out += hardware::ToText(AttentionFor(job.device));
  out += "\n}\npipeline {\n  schedule: ";
  out += layout.virtual_stages > 1 ? "INTERLEAVED" : "ONE_F_ONE_B";
  out += counts ? "\n  embedding_counts_as_layer: true\n  loss_counts_as_layer: true\n}\n" : "\n}\n";
  if (spreads) {
    const char* shared = job.model.experts.shared > 0 ? "  overlap_shared: true\n" : "";
    out += std::string("experts {\n  dispatcher: ALLTOALL\n") + shared + "}\n";
  }
  out += "steps: 2\n";
  if (job.usd_per_device_hour) {
    char price[32];
    std::snprintf(price, sizeof price, "%.6g", *job.usd_per_device_hour);
    out += std::string("price {\n  usd_per_device_hour: ") + price +
           "\n  source {\n    title: \"orrery plan\"\n    note: \"the price that the plan was made with\"\n" +
           "  }\n}\n";
  }
  return out;
}

sim::Result<Scenario> ScenarioOf(const PlanJob& job, const LayoutChoice& layout, const JobShape& shape) {
  proto::Diagnostics diagnostics;
  auto scenario =
      LoadScenarioText("plan", ScenarioText(job, layout, shape, "plan"), {}, job.model, &diagnostics);
  if (scenario) return *std::move(scenario);
  // Of "plan:10:1: devices: ..." the place means nothing to anybody.
  const std::string error = diagnostics.errors().empty() ? "no scenario" : diagnostics.errors().front();
  const std::size_t place = error.starts_with("plan:") ? error.find(": ") : std::string::npos;
  return sim::Error{place == std::string::npos ? error : error.substr(place + 2)};
}

}  // namespace scenarios
