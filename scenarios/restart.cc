#include "scenarios/restart.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scenarios/checkpoint_writer.h"
#include "sim/base/check.h"
#include "sim/program/executor.h"

namespace scenarios {

using sim::StreamKind;
using sim::TaskClass;

sim::Result<RestartTimes> SimulateRestart(const Scenario& scenario, const CheckpointPlan& plan) {
  CHECK(scenario.checkpoint.has_value() && scenario.fabric.storage != nullptr);
  const topologies::StorageRoutes& routes = *scenario.fabric.storage;
  sim::ProgramBuilder builder(static_cast<std::uint32_t>(plan.restart_read.size()),
                              topologies::CapacitiesOf(scenario.fabric));
  std::vector<sim::TaskId> reads;
  for (std::size_t r = 0; r < plan.restart_read.size(); ++r) {
    const sim::Bytes bytes = plan.restart_read[r];
    if (bytes == sim::Bytes()) continue;
    const sim::Rank rank(r);
    const auto seat = [&](StreamKind stream, const sim::TrafficDescription& traffic) {
      return builder.Seat(builder.AddStream(rank, stream),
                          builder.AddCommunication(builder.AddTraffic(traffic)), TaskClass::kLoad,
                          {builder.Name(traffic.name), -1, -1});
    };
    reads.push_back(seat(StreamKind::kHost, StorageTraffic("read checkpoint", bytes, routes.read[r],
                                                           scenario.checkpoint->serialise)));
    builder.After(seat(StreamKind::kCopyIn, StorageTraffic("copy to device", bytes, routes.to_device[r])),
                  reads.back());
  }
  const sim::Result<sim::Program> program = std::move(builder).Build();
  CHECK(program.ok());  // no cycle, and some rank writes
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program.value());
  if (!timeline.ok()) return timeline.error();
  RestartTimes times;
  for (const sim::TaskId read : reads) {
    times.read = std::max(times.read, timeline.value().end[read.pos()].since_start());
  }
  times.total = timeline.value().finish.since_start();
  return times;
}

}  // namespace scenarios
