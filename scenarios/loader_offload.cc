// What leaves the device for the memory of its host.

#include <cstdio>
#include <string>

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

void ReadOffload(const orrery::config::Training& in, const Block& training, Scenario* scenario) {
  constexpr std::int64_t kMostLayers = 1000;
  if (!in.has_offload()) return;
  const Block block = training.Of("offload");
  const char* field = "activation_layers";
  scenario->training.offload.activation_layers = block.Required(
      field, in.offload().has_activation_layers(), in.offload().activation_layers(), 1, kMostLayers);
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

bool CheckHostMemory(const Block& top, const Scenario& scenario) {
  if (!Offloads(scenario)) return true;
  const sim::Bytes waits = HostBytesOfNode(scenario), memory = scenario.device.host.memory;
  const sim::Bytes staging = scenario.checkpoint ? PlanCheckpoint(scenario).staging_per_node : sim::Bytes();
  if (waits + staging <= memory) return true;
  top.Of("training")
      .Of("offload")
      .Error("activation_layers",
             Gigabytes(waits) + " of activations would wait on one node" +
                 (staging > sim::Bytes() ? " beside " + Gigabytes(staging) + " of staging" : "") +
                 ", more than the " + Gigabytes(memory) + " of memory that a host of \"" +
                 scenario.device.name + "\" has");
  return false;
}

}  // namespace scenarios
