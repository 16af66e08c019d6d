// Layout and batch: who shares what, and whether the numbers multiply.

#include <optional>
#include <string>
#include <utility>

#include "proto/scenario.pb.h"
#include "scenarios/layout_rules.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

constexpr std::int64_t kMostRanks = 4096;  // of one dimension; proto/scenario.proto

std::string OfModel(const std::string& what, const Scenario& scenario) {
  return what + " of model \"" + scenario.model.name + '"';
}

// Why `tensor` ranks cannot share a layer of the model, if so.
std::optional<sim::Error> RefuseSharing(const Scenario& scenario, std::int64_t tensor) {
  const models::Model& model = scenario.model;
  const std::pair<std::int64_t, const char*> shared[] = {
      {model.heads, "attention heads"},
      {model.ffn, "feed-forward channels"},
      {model.experts.shared_ffn, "channels of a shared expert"}};
  for (const auto& [whole, what] : shared) {
    if (whole == 0) continue;  // the model has none
    if (auto error = RefuseDivision(tensor, whole, OfModel(what, scenario))) return error;
  }
  if (model.kv_heads % tensor == 0 || tensor % model.kv_heads == 0) return std::nullopt;
  return sim::Error{std::to_string(tensor) + " neither divides the " + std::to_string(model.kv_heads) + ' ' +
                    OfModel("key/value heads", scenario) + " nor is a multiple of them; " +
                    DivisorsText(model.kv_heads, tensor) + " would do"};
}

}  // namespace

void ReadLayout(const config::Scenario& scenario_in, const Block& top, Scenario* scenario) {
  constexpr std::int64_t kMostDevices = 1'048'576;
  constexpr std::int64_t kMostVirtual = 1024;
  const config::Layout& in = scenario_in.layout();
  scenario->devices =
      top.Required("devices", scenario_in.has_devices(), scenario_in.devices(), 1, kMostDevices);
  const Block block = top.Of("layout");
  Layout& layout = scenario->layout;
  layout.tensor = block.Required("tensor", in.has_tensor(), in.tensor(), 1, kMostRanks);
  layout.context = block.Required("context", in.has_context(), in.context(), 1, kMostRanks);
  layout.pipeline = block.Required("pipeline", in.has_pipeline(), in.pipeline(), 1, kMostRanks);
  layout.virtual_stages = block.Required("virtual", in.has_virtual_(), in.virtual_(), 1, kMostVirtual);
  layout.data = block.Optional("data", in.has_data(), in.data(), 1, kMostDevices, 0);
  if (!in.has_sequence()) block.Missing("sequence", "give true or false");
  layout.sequence = in.sequence();
  layout.expert = block.Required("expert", in.has_expert(), in.expert(), 1, kMostRanks);
  layout.expert_tensor =
      block.Required("expert_tensor", in.has_expert_tensor(), in.expert_tensor(), 1, kMostRanks);
  ReadContext(in, block, &layout);
  if (layout.sequence && layout.tensor == 1) {
    block.Error("sequence", "true needs layout.tensor above 1; it cuts what the tensor group holds");
  }
  if (in.has_rank_order()) {
    const auto ordered = WithOrder(layout, in.rank_order());
    if (ordered.ok()) {
      layout = ordered.value();
    } else {
      block.Error("rank_order", ordered.error().message);
    }
  }
  if (scenario->devices == 0 || layout.tensor == 0 || layout.context == 0 || layout.pipeline == 0) return;
  if (in.has_data()) {
    const auto error =
        RefuseDataRanks(in.data(), scenario->devices, layout.tensor, layout.context, layout.pipeline);
    if (error && layout.data > 0) block.Error("data", error->message);
    return;
  }
  const auto data = DataRanks(scenario->devices, layout.tensor, layout.context, layout.pipeline);
  if (data.ok()) {
    layout.data = data.value();
  } else {
    top.Error("devices", data.error().message);
  }
}

void ReadBatch(const config::Scenario& scenario_in, const Block& top, Scenario* scenario) {
  constexpr std::int64_t kMostGlobal = 1'000'000'000, kMostMicro = 1'000'000, kMostTokens = 16'777'216;
  const config::Batch& in = scenario_in.batch();
  const Block block = top.Of("batch");
  Batch& batch = scenario->batch;
  const Layout& layout = scenario->layout;
  batch.global = block.Required("global", in.has_global(), in.global(), 1, kMostGlobal);
  batch.micro = block.Required("micro", in.has_micro(), in.micro(), 1, kMostMicro);
  batch.sequence_length =
      block.Required("sequence_length", in.has_sequence_length(), in.sequence_length(), 1, kMostTokens);
  batch.micro_batches =
      block.Optional("accumulation", in.has_accumulation(), in.accumulation(), 1, kMostGlobal, 0);
  if (batch.sequence_length > 0 && layout.tensor > 0 && layout.context > 0) {
    const std::int64_t factor = SequenceFactor(layout.context, layout.tensor, layout.sequence);
    if (const auto error = RefuseTokens(batch.sequence_length, factor)) {
      block.Error("sequence_length", error->message + " (layout.sequence and context cut the sequence)");
    }
  }
  if (batch.global == 0 || batch.micro == 0 || layout.data == 0) return;
  if (in.has_accumulation()) {
    const auto error = RefuseAccumulation(in.accumulation(), batch.global, batch.micro, layout.data);
    if (error && batch.micro_batches > 0) block.Error("accumulation", error->message);
    return;
  }
  const auto accumulation = Accumulation(batch.global, batch.micro, layout.data);
  if (accumulation.ok()) {
    batch.micro_batches = accumulation.value();
  } else {
    block.Error("global", accumulation.error().message);
  }
}

void CheckModelFits(const Block& top, bool has_model, Scenario* scenario) {
  if (!has_model) return;
  const models::Model& model = scenario->model;
  const std::int64_t tensor = scenario->layout.tensor;
  if (tensor > 0) {
    if (const auto error = RefuseSharing(*scenario, tensor)) top.Of("layout").Error("tensor", error->message);
  }
  CheckExpertLayout(top, scenario);
  const std::int64_t length = scenario->batch.sequence_length;
  if (model.learned_positions > 0 && length > model.learned_positions) {
    top.Of("batch").Error("sequence_length", std::to_string(length) + " tokens are more than the " +
                                                 std::to_string(model.learned_positions) + ' ' +
                                                 OfModel("learned positions", *scenario));
  }
}

}  // namespace scenarios
