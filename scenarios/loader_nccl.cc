// Which NCCL a job runs with, and what its environment tells it.

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"
#include "sim/collective/nccl_tuner.h"

namespace scenarios {
namespace {

// Whether something is left to do each function with, over one node and over several.
std::optional<std::string> FunctionWithoutAlgorithm(const sim::NcclSetup& setup) {
  for (const sim::CollectiveKind kind :
       {sim::CollectiveKind::kAllReduce, sim::CollectiveKind::kAllGather, sim::CollectiveKind::kReduceScatter,
        sim::CollectiveKind::kBroadcast, sim::CollectiveKind::kReduce}) {
    for (const sim::NcclGroup& group :
         {sim::NcclGroup{2, 1, 2}, sim::NcclGroup{4, 2, 2}, sim::NcclGroup{2, 2, 1}}) {
      if (!sim::Predict(setup, group, kind, sim::Bytes(1))) return sim::ToText(*sim::FunctionOf(kind));
    }
  }
  return std::nullopt;
}

}  // namespace

void ReadNccl(const orrery::config::Scenario& in, const Block& top, Scenario* scenario) {
  if (!in.has_nccl()) return;
  const Block block = top.Of("nccl");
  sim::NcclSetup& setup = scenario->device.nccl;
  if (in.nccl().has_version()) {
    const auto version = sim::ReadNcclVersion(in.nccl().version());
    if (!version.ok()) return block.Error("version", version.error().message);
    setup.version = version.value();
  }
  bool sound = true;
  for (int i = 0; i < in.nccl().environment_size(); ++i) {
    const auto wrong = sim::SetVariable(in.nccl().environment(i), &setup.environment);
    if (!wrong) continue;
    block.Error("environment", wrong->message, i);
    sound = false;
  }
  if (!sound) return;
  if (setup.environment.collnet) {
    block.Error("environment", "NCCL_COLLNET_ENABLE: switches that add up are not simulated; 0 is wanted");
  } else if (const auto function = FunctionWithoutAlgorithm(setup)) {
    block.Error("environment",
                "leaves " + *function +
                    " without an algorithm and protocol on some group, as NCCL would fail; Ring and one "
                    "of LL and Simple serve all");
  }
}

}  // namespace scenarios
