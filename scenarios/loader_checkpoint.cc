// How the job saves: policy, contents and the storage behind it.

#include <cmath>
#include <cstdio>
#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/checkpoint_plan.h"
#include "scenarios/loader_parts.h"
#include "scenarios/offload.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

constexpr double kMostRate = 1e6;  // GB/s; proto/scenario.proto, as all here
constexpr double kMostNodeRate = 1e5;
constexpr double kLeastRate = 1e-6;

// Of a figure that is in range, or was refused and is 0.
sim::ByteRate RateOf(double gb_per_s) { return sim::ByteRate::GigabytesPerSecond(gb_per_s); }

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Gigabytes(sim::Bytes bytes) {
  constexpr std::int64_t kMillionGb = 1'000'000'000'000'000;  // above, six digits would be a power of ten
  if (bytes.count() >= kMillionGb) return std::to_string(bytes.count() / 1'000'000'000) + " GB";
  return Rounded(static_cast<double>(bytes.count()) * 1e-9) + " GB";
}

void ReadContents(const config::Checkpoint& in, const Block& block, bool has_copy, Checkpoint* save) {
  const config::Checkpoint::Contents& contents = in.contents();
  save->weights = !contents.has_weights() || contents.weights();
  save->master_weights = !contents.has_master_weights() || contents.master_weights();
  save->moments = !contents.has_moments() || contents.moments();
  if (!save->weights && !save->moments && !(save->master_weights && has_copy)) {
    block.Error("contents", "nothing would be saved; weights, master_weights or moments is wanted");
  }
}

void ReadFormat(const config::Checkpoint& in, const Block& block, const Scenario& scenario,
                Checkpoint* save) {
  if (in.format() == config::Checkpoint::CONSOLIDATED) save->format = SaveFormat::kConsolidated;
  if (in.format() == config::Checkpoint::DELTA) save->format = SaveFormat::kDelta;
  // Their owners are another group than the one that gathers.
  if (save->format == SaveFormat::kConsolidated && scenario.model.experts.routed > 0 &&
      scenario.layout.spreads_experts()) {
    block.Error("format", "CONSOLIDATED is not simulated with routed experts on other ranks (layout.expert " +
                              std::to_string(scenario.layout.expert) + ", expert_tensor " +
                              std::to_string(scenario.layout.expert_tensor) + "); SHARDED or DELTA");
  }
  if (save->format != SaveFormat::kDelta) {
    if (in.has_delta_fraction()) block.Error("delta_fraction", "is of format DELTA only; leave it out");
    return;
  }
  const double fraction =
      block.Required("delta_fraction", in.has_delta_fraction(), in.delta_fraction(), 1e-9, 1.0);
  save->delta_parts = std::llround(fraction * static_cast<double>(kBillion));
}

void ReadPath(const config::Checkpoint& in, const Block& block, Checkpoint* save) {
  save->through_nics = in.path() == config::Checkpoint::NIC;
  if (!in.has_path()) block.Missing("path", "NIC or FRONTEND is wanted");
  if (in.path() == config::Checkpoint::FRONTEND) {
    save->frontend = RateOf(block.Required("frontend_gb_per_s", in.has_frontend_gb_per_s(),
                                           in.frontend_gb_per_s(), kLeastRate, kMostNodeRate));
  } else if (save->through_nics && in.has_frontend_gb_per_s()) {
    block.Error("frontend_gb_per_s", "is of path FRONTEND only; leave it out");
  }
}

void ReadStorage(const config::Checkpoint::Storage& in, const Block& block, Checkpoint* save) {
  constexpr std::int64_t kMostServers = 1'000'000, kMostReplicas = 100;
  constexpr double kLeastEfficiency = 1e-3;
  save->servers = block.Required("servers", in.has_servers(), in.servers(), 1, kMostServers);
  const double write =
      block.Required("write_gb_per_s", in.has_write_gb_per_s(), in.write_gb_per_s(), kLeastRate, kMostRate);
  const double read =
      block.Required("read_gb_per_s", in.has_read_gb_per_s(), in.read_gb_per_s(), kLeastRate, kMostRate);
  const double efficiency =
      block.Optional("efficiency", in.has_efficiency(), in.efficiency(), kLeastEfficiency, 1.0, 1.0);
  save->replicas = block.Optional("replicas", in.has_replicas(), in.replicas(), 1, kMostReplicas, 1);
  save->storage_source = ReadSource(in.source(), block.Of("source"));
  if (save->servers == 0 || save->replicas == 0) return;
  const auto together = [&](const char* name, double rate, std::int64_t times) {
    const double gb = rate * efficiency * static_cast<double>(save->servers) / static_cast<double>(times);
    if (rate == 0 || efficiency == 0 || (gb >= kLeastRate && gb <= kMostRate)) return RateOf(gb);
    block.Error(name, "all servers together move " + Rounded(gb) + " GB/s of a save; from " +
                          Rounded(kLeastRate) + " to " + Rounded(kMostRate) + " is wanted");
    return sim::ByteRate();
  };
  save->write = together("write_gb_per_s", write, save->replicas);
  save->read = together("read_gb_per_s", read, 1);
  save->server_write = RateOf(write * efficiency);
}

}  // namespace

void ReadCheckpoint(const config::Scenario& scenario_in, const Block& top, Scenario* scenario) {
  constexpr std::int64_t kMostInterval = 1'000'000'000;
  constexpr double kLeastStaging = 1e-9, kMostStaging = 1e9, kLeastMtbf = 1e-6, kMostMtbf = 1e9;
  if (!scenario_in.has_checkpoint()) return;
  const config::Checkpoint& in = scenario_in.checkpoint();
  const Block block = top.Of("checkpoint");
  Checkpoint save;
  save.every_steps = block.Required("every_steps", in.has_every_steps(), in.every_steps(), 1, kMostInterval);
  if (in.mode() == config::Checkpoint::SYNC) {
    save.mode = SaveMode::kSync;
    if (in.has_copy()) block.Error("copy", "is of mode ASYNC only; leave it out");
  }
  if (in.copy() == config::Checkpoint::OVERLAPPED) save.copy = SaveCopy::kOverlapped;
  save.replicas_spread = in.replicas_write() != config::Checkpoint::FIRST;
  ReadFormat(in, block, *scenario, &save);
  ReadContents(in, block, sim::ByteWidth(scenario->training.format) < 4, &save);
  ReadPath(in, block, &save);
  const double serialise = block.Optional("serialise_gb_per_s", in.has_serialise_gb_per_s(),
                                          in.serialise_gb_per_s(), kLeastRate, kMostNodeRate, 0.0);
  save.serialise = RateOf(serialise);
  const double staging = block.Optional("staging_gb_per_node", in.has_staging_gb_per_node(),
                                        in.staging_gb_per_node(), kLeastStaging, kMostStaging, 0.0);
  save.staging_per_node = sim::Bytes(std::llround(staging * 1e9));
  ReadStorage(in.storage(), block.Of("storage"), &save);
  const double mtbf =
      block.Optional("mtbf_hours", in.has_mtbf_hours(), in.mtbf_hours(), kLeastMtbf, kMostMtbf, 0.0);
  if (mtbf > 0) save.mtbf_hours = mtbf;
  save.source = ReadSource(in.source(), block.Of("source"));
  scenario->checkpoint = save;
}

std::optional<topologies::StorageSpec> StorageOf(const Scenario& scenario) {
  const bool offloads = UsesHosts(scenario);
  if (!scenario.checkpoint && offloads) return topologies::StorageSpec{.servers = 0};
  if (!scenario.checkpoint) return std::nullopt;
  const Checkpoint& save = *scenario.checkpoint;
  if (save.write == sim::ByteRate() || save.read == sim::ByteRate()) return std::nullopt;
  if (!save.through_nics && save.frontend == sim::ByteRate()) return std::nullopt;
  // Serialising reads the copy and writes the bytes that are sent.
  const std::uint32_t passes = save.serialise > sim::ByteRate() ? 3 : 1;
  return topologies::StorageSpec{.servers = static_cast<std::uint32_t>(save.servers),
                                 .write = save.write,
                                 .read = save.read,
                                 .frontend = save.frontend,
                                 .memory_passes = passes};
}

bool CheckStaging(const Block& top, const Scenario& scenario) {
  if (!scenario.checkpoint) return true;
  const CheckpointPlan plan = PlanCheckpoint(scenario);
  const Block block = top.Of("checkpoint");
  const sim::Bytes given = scenario.checkpoint->staging_per_node, memory = scenario.device.host.memory;
  const std::string save = "one save of a node is " + Gigabytes(plan.largest_node);
  if (given > sim::Bytes() && given < plan.largest_node) {
    block.Error("staging_gb_per_node", Gigabytes(given) + " of staging is too small: " + save);
    return false;
  }
  if (plan.staging_per_node <= memory) return true;
  block.Error("staging_gb_per_node",
              (given > sim::Bytes() ? Gigabytes(given) + " of staging is more" : save + ", more") +
                  " than the " + Gigabytes(memory) + " of memory that a host of \"" + scenario.device.name +
                  "\" has");
  return false;
}

}  // namespace scenarios
