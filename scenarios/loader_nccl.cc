// Which NCCL a job runs with, and what its environment tells it.

#include <algorithm>
#include <utility>

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"
#include "scenarios/nccl_setup.h"
#include "sim/collective/nccl_heed.h"

namespace scenarios {
namespace {

// The function that nothing is left to do with, and on which group: over one node and over several.
std::optional<std::string> FunctionWithoutAlgorithm(const sim::NcclSetup& setup) {
  constexpr std::pair<sim::NcclGroup, const char*> kGroups[] = {{{2, 1, 2}, "2 ranks of one node"},
                                                                {{4, 2, 2}, "2 ranks of each of 2 nodes"},
                                                                {{2, 2, 1}, "one rank of each of 2 nodes"}};
  for (const sim::CollectiveKind kind :
       {sim::CollectiveKind::kAllReduce, sim::CollectiveKind::kAllGather, sim::CollectiveKind::kReduceScatter,
        sim::CollectiveKind::kBroadcast, sim::CollectiveKind::kReduce}) {
    for (const auto& [group, text] : kGroups) {
      if (sim::Predict(setup, group, kind, sim::Bytes(1))) continue;
      return std::string(sim::ToText(*sim::FunctionOf(kind))) +
             " without an algorithm and protocol on a group of " + text;
    }
  }
  return std::nullopt;
}

// What the block says; nothing of it where it has mistakes. Whether it had none.
bool ReadSetup(const orrery::config::Nccl& in, const Block& block, sim::NcclSetup* setup,
               std::vector<NcclSetting>* settings) {
  bool sound = true;
  if (in.has_version()) {
    const auto version = sim::ReadNcclVersion(in.version());
    if (version.ok()) {
      setup->version = version.value();
      settings->push_back({block.PlaceOf("version"), "version", in.version()});
    } else {
      block.Error("version", version.error().message);
      sound = false;
    }
  }
  for (int i = 0; i < in.environment_size(); ++i) {
    const std::string& assignment = in.environment(i);
    if (const auto wrong = sim::SetVariable(assignment, &setup->environment)) {
      block.Error("environment", wrong->message, i);
      sound = false;
      continue;
    }
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    // The later one would hold alone.
    if (std::any_of(settings->begin(), settings->end(), [&](const auto& s) { return s.name == name; })) {
      block.Error("environment", name + ": is given twice; once is wanted", i);
      sound = false;
    }
    settings->push_back({block.PlaceOf("environment", i), name, assignment.substr(equals + 1)});
  }
  if (setup->environment.collnet) {
    block.Error("environment", "NCCL_COLLNET_ENABLE: switches that add up are not simulated; 0 is wanted");
    sound = false;
  }
  return sound;
}

}  // namespace

void ReadNccl(const orrery::config::Scenario& in, const Block& top, Scenario* scenario) {
  if (!in.has_nccl()) return;
  const Block block = top.Of("nccl");
  std::vector<NcclSetting> settings;
  if (!ReadSetup(in.nccl(), block, &scenario->device.nccl, &settings)) return;
  for (const NcclSetting& setting : settings) {
    const auto idle = sim::WhyMovesNoTime(setting.name);
    if (idle) block.Warn("environment", "nccl.environment", *idle, scenario);
  }
  if (const auto function = FunctionWithoutAlgorithm(scenario->device.nccl)) {
    block.Error("environment",
                "leaves " + *function + ", as NCCL would fail; Ring and one of LL and Simple serve all");
  }
}

bool SetNccl(const std::vector<proto::Override>& overrides, sim::NcclSetup* setup,
             proto::Diagnostics* diagnostics, std::vector<NcclSetting>* settings) {
  orrery::config::Scenario in;
  proto::Document document;
  std::vector<NcclSetting> given;
  const bool read = proto::Read("nccl", "nccl {}", overrides, &in, &document, diagnostics);
  const bool sound =
      ReadSetup(in.nccl(), Block(document.root(), diagnostics).Of("nccl"), setup, &given) && read;
  for (const NcclSetting& setting : given) {
    if (const auto idle = sim::WhyMovesNoTime(setting.name)) diagnostics->Warning(setting.place, *idle);
  }
  if (settings != nullptr) *settings = std::move(given);
  return sound;
}

}  // namespace scenarios
