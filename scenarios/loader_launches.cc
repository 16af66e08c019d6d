// How kernels are launched, and where hosts wait for the device.

#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"
#include "scenarios/offload.h"
#include "scenarios/transfer_batches.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

HostWaits::Transfers TransferWaitOf(config::TransferWait::Kind kind) {
  switch (kind) {
    case config::TransferWait::UNLESS_INTERLEAVED:
      return HostWaits::Transfers::kUnlessInterleaved;
    case config::TransferWait::ALWAYS:
      return HostWaits::Transfers::kAlways;
    case config::TransferWait::RECEIVES:
      return HostWaits::Transfers::kReceives;
    default:
      return HostWaits::Transfers::kNever;
  }
}

}  // namespace

void ReadLaunches(const config::Training& in, Training* training) {
  if (in.launches() == config::Launches::EAGER) training->launches = Launches::kEager;
  if (in.launches() == config::Launches::BLOCKING) training->launches = Launches::kBlocking;
  training->host_waits = {.transfers = TransferWaitOf(in.host_waits().transfers()),
                          .token_counts = in.host_waits().token_counts()};
}

void CheckLaunches(const Block& top, const Scenario& scenario) {
  if (scenario.training.launches != Launches::kBlocking) return;
  const Block block = top.Of("training");
  const Pipeline& pipeline = scenario.pipeline;
  if (pipeline.overlaps_experts) {
    block.Error("launches",
                "BLOCKING: nothing runs beside anything else; pipeline.overlap_experts false is wanted");
  }
  if (Offloads(scenario)) {
    block.Error("launches",
                "BLOCKING is not simulated with offload, whose copies run beside the rest; EAGER");
  }
  if (scenario.layout.pipeline > 1 && !MayBatchTransfers(pipeline)) {
    block.Error("launches", "BLOCKING: hosts that wait for their transfers may wait for each other in " +
                                pipeline.name() +
                                "; GPIPE, ONE_F_ONE_B or INTERLEAVED without group_size is wanted");
  }
}

}  // namespace scenarios
