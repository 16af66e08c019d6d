// What leaves the device for the memory of its host.

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "proto/scenario.pb.h"
#include "scenarios/checkpoint_plan.h"
#include "scenarios/loader_parts.h"
#include "scenarios/offload.h"

namespace scenarios {
namespace {

std::string Gigabytes(sim::Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g GB", static_cast<double>(bytes.count()) * 1e-9);
  return text;
}

}  // namespace

namespace {

void ReadActivations(const orrery::config::Offload& in, const Block& block, Scenario* scenario) {
  constexpr std::int64_t kMostLayers = 1000;
  const char* field = "activation_layers";
  if (!in.has_activation_layers() && !in.has_optimizer() && !in.has_parameters()) {
    block.Missing(field, "or optimizer: what goes to the host");
  }
  scenario->training.offload.activation_layers =
      block.Optional(field, in.has_activation_layers(), in.activation_layers(), 1, kMostLayers, 0);
  if (!Offloads(*scenario)) return;
  // What runs again, and what waits for its weight half, would have to stay beside the buffers.
  if (scenario->training.recompute == Recompute::kFull) {
    block.Error(field,
                "offload is not simulated with recompute FULL, which keeps the layers' inputs only; "
                "NONE or SELECTIVE is wanted");
  }
  if (scenario->pipeline.splits_backward()) {
    block.Error(field, "offload is not simulated with backwards in halves (pipeline " +
                           scenario->pipeline.name() + "); whole backwards are wanted");
  }
}

void ReadOptimizer(const orrery::config::Offload& in, const Block& block, Scenario* scenario) {
  constexpr double kLeastRate = 0.01, kMostRate = 1e5;
  Offload& offload = scenario->training.offload;
  offload.optimizer_parts =
      std::llround(1e9 * block.Optional("optimizer", in.has_optimizer(), in.optimizer(), 0.0, 1.0, 0.0));
  offload.parameters = in.parameters();
  offload.overlap = in.overlap();
  const double rate =
      block.Optional("host_gb_per_s", in.has_host_gb_per_s(), in.host_gb_per_s(), kLeastRate, kMostRate, 0.0);
  offload.host_rate = sim::ByteRate::BytesPerSecond(std::llround(rate * 1e9));
  if (offload.parameters && scenario->training.optimizer_sharding != OptimizerSharding::kZero3) {
    block.Error("parameters",
                "true needs optimizer_sharding ZERO_3; otherwise weights are whole on the device");
  } else if (offload.parameters && offload.optimizer_parts < 1'000'000'000) {
    block.Error("parameters", "true needs optimizer 1: the host updates the weights that it has");
  }
  if (OffloadsOptimizer(*scenario)) {
    if (scenario->training.matmul.parameter_gather) {
      block.Error("optimizer", "is not simulated with matmul.fp8_param_gather; false is wanted there");
    }
    return;
  }
  for (const auto& [name, given] : {std::pair("overlap", in.has_overlap() && in.overlap()),
                                    std::pair("host_gb_per_s", in.has_host_gb_per_s())}) {
    if (given) block.Error(name, "needs optimizer above 0; the host updates nothing");
  }
}

}  // namespace

void ReadOffload(const orrery::config::Training& in, const Block& training, Scenario* scenario) {
  if (!in.has_offload()) return;
  const Block block = training.Of("offload");
  ReadActivations(in.offload(), block, scenario);
  ReadOptimizer(in.offload(), block, scenario);
}

bool CheckHostMemory(const Block& top, const Scenario& scenario) {
  if (!UsesHosts(scenario)) return true;
  if (scenario.checkpoint && OffloadsOptimizer(scenario)) {
    top.Of("training")
        .Of("offload")
        .Error("optimizer",
               "is not simulated with a checkpoint, which would save from the hosts; one of them is wanted");
    return false;
  }
  const sim::Bytes waits = HostBytesOfNode(scenario), memory = scenario.device.host.memory;
  const sim::Bytes staging = scenario.checkpoint ? PlanCheckpoint(scenario).staging_per_node : sim::Bytes();
  if (waits + staging <= memory) return true;
  top.Of("training")
      .Of("offload")
      .Error(Offloads(scenario) ? "activation_layers" : "optimizer",
             Gigabytes(waits) +
                 (OffloadsOptimizer(scenario) ? " of state and activations would lie on one node"
                                              : " of activations would wait on one node") +
                 (staging > sim::Bytes() ? " beside " + Gigabytes(staging) + " of staging" : "") +
                 ", more than the " + Gigabytes(memory) + " of memory that a host of \"" +
                 scenario.device.name + "\" has");
  return false;
}

}  // namespace scenarios
