// Plays one collective on a fabric in both of its forms, with other traffic
// beside it, and says how far apart their ends may be.

#ifndef TESTS_SCENARIOS_COLLECTIVE_TESTING_H_
#define TESTS_SCENARIOS_COLLECTIVE_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scenarios/lowering.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/topologies/fabric_testing.h"

namespace scenarios {

// Other traffic: one connection over given links.
struct Bystander {
  std::vector<sim::LinkId> links;
  sim::Bytes size;
  sim::Duration start = {};
};

struct Setting {
  std::string name;
  topologies::Fabric fabric;
  std::vector<std::uint32_t> devices;  // of the group
  std::vector<hardware::CollectiveTiming> timing = {hardware::CollectiveTiming{}};
  std::vector<Bystander> bystanders = {};
};

struct Played {
  sim::Duration end;                      // of the collective
  std::vector<sim::Duration> bystanders;  // their ends
};

// One seat a communication is enough here: who else waits does not matter.
class Stage {
 public:
  explicit Stage(const Setting& setting) : builder_(1, CapacitiesOf(setting.fabric)) {
    for (const Bystander& bystander : setting.bystanders) {
      sim::TrafficDescription traffic{.name = "bystander", .latency = bystander.start};
      sim::FlowDescription flow{.volume = sim::Volume::Of(bystander.size)};
      for (const sim::LinkId link : bystander.links) flow.uses.push_back({link, 1});
      traffic.flows.push_back(std::move(flow));
      bystanders_.push_back(Add(traffic, NewStream()));
    }
  }
  sim::StreamId NewStream() { return builder_.AddStream(sim::Rank(0), sim::StreamKind::kData); }
  sim::TaskId Add(const sim::TrafficDescription& traffic, sim::StreamId stream) {
    const sim::CommunicationId communication = builder_.AddCommunication(builder_.AddTraffic(traffic));
    return builder_.Seat(stream, communication, sim::TaskClass::kData, {});
  }
  void After(sim::TaskId task, sim::TaskId earlier) { builder_.After(task, earlier); }
  Played Play(const std::vector<sim::TaskId>& collective) && {
    const sim::Result<sim::Program> program = std::move(builder_).Build();
    EXPECT_TRUE(program.ok());
    const sim::Result<sim::Timeline> timeline = sim::Simulate(program.value());
    EXPECT_TRUE(timeline.ok());
    const auto end = [&](sim::TaskId task) { return timeline.value().end[task.pos()].since_start(); };
    Played played;
    for (const sim::TaskId task : collective) played.end = std::max(played.end, end(task));
    for (const sim::TaskId task : bystanders_) played.bystanders.push_back(end(task));
    return played;
  }

 private:
  sim::ProgramBuilder builder_;
  std::vector<sim::TaskId> bystanders_;
};

inline Played PlayCoupled(const Setting& setting, sim::CollectiveRequest request, sim::Bytes chunk) {
  Stage stage(setting);
  const sim::TaskId task =
      stage.Add(LowerCollective(setting.fabric, setting.timing, std::move(request), setting.devices, chunk),
                stage.NewStream());
  return std::move(stage).Play({task});
}

inline Played PlayCoupled(const Setting& setting, sim::CollectiveKind kind, sim::Bytes size,
                          sim::Bytes chunk) {
  return PlayCoupled(setting, sim::CollectiveRequest{.kind = kind, .size = size}, chunk);
}

inline Played PlayChunked(const Setting& setting, sim::CollectiveRequest request, sim::Bytes chunk) {
  Stage stage(setting);
  const ChunkedTraffic chunked =
      LowerIntoChunks(setting.fabric, setting.timing, std::move(request), setting.devices, chunk);
  std::vector<sim::TaskId> tasks = {stage.Add(chunked.rendezvous, stage.NewStream())};
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, sim::StreamId> streams;
  for (const ChunkedTraffic::Transfer& transfer : chunked.transfers) {
    const auto [stream, is_new] = streams.try_emplace({transfer.channel, transfer.from, transfer.to});
    if (is_new) stream->second = stage.NewStream();
    const sim::TaskId task = stage.Add(transfer.traffic, stream->second);
    if (transfer.after.empty()) stage.After(task, tasks[0]);
    for (const std::uint32_t earlier : transfer.after) stage.After(task, tasks[earlier + 1]);
    tasks.push_back(task);
  }
  return std::move(stage).Play(tasks);
}

inline Played PlayChunked(const Setting& setting, sim::CollectiveKind kind, sim::Bytes size,
                          sim::Bytes chunk) {
  return PlayChunked(setting, sim::CollectiveRequest{.kind = kind, .size = size}, chunk);
}

// How far apart the two forms may end.
//
// A loop of the chunk expansion cuts its bytes into n parts, of which the
// largest is less than one byte above 1/n of them. The parts of all loops but
// the last are whole chunks. So a chain of transfers through the last loop
// carries at most one byte a step more than the coupled flow, or less where its
// parts are smaller ones, at the rate of the slowest edge: that is how long the
// coupled flow takes for a byte. And each transfer ends on a whole picosecond,
// rounded up, as does the flow. A pair of an all-to-all has a chain of its own: its
// message differs from 1/n by less than a byte, its chunks are rounded up.
// A broadcast's chunks differ by a byte from each other, over each edge.
inline std::int64_t SlackPs(const Setting& setting, sim::CollectiveKind kind, sim::Bytes size,
                            sim::Bytes chunk, sim::Duration coupled_end) {
  const sim::CollectivePlan plan =
      sim::PlanCollective({kind, size, CommunicatorOf(setting.fabric, setting.devices)});
  const sim::TrafficDescription traffic =
      LowerCollective(setting.fabric, setting.timing, kind, size, setting.devices, chunk);
  if (plan.flows.empty()) return 0;
  const auto n = static_cast<std::int64_t>(setting.devices.size());
  const bool is_ring = kind == sim::CollectiveKind::kAllReduce || kind == sim::CollectiveKind::kAllGather ||
                       kind == sim::CollectiveKind::kReduceScatter;
  const std::int64_t a_loop = chunk.count() * (is_ring || kind == sim::CollectiveKind::kAllToAll ? n : 1);
  const std::int64_t loops = (plan.flows.front().size.count() + a_loop - 1) / a_loop;
  const std::int64_t steps = plan.steps_inside + plan.steps_between;
  const double seconds_per_byte =
      (coupled_end - traffic.latency).seconds() / traffic.flows.front().volume.bytes();
  return 2 + steps + loops * (is_ring ? steps : 1) +
         static_cast<std::int64_t>(static_cast<double>(steps) * seconds_per_byte * 1e12);
}

inline std::vector<std::uint32_t> Devices(std::uint32_t count, std::uint32_t stride = 1) {
  std::vector<std::uint32_t> devices(count);
  for (std::uint32_t i = 0; i < count; ++i) devices[i] = i * stride;
  return devices;
}

// The setting on a fabric whose routes take no time.
inline Setting WithoutLatency(Setting setting) {
  struct Instant final : topologies::Router {
    explicit Instant(std::shared_ptr<const topologies::Router> like) : router(std::move(like)) {}
    topologies::Route Between(std::uint32_t from, std::uint32_t to) const override {
      topologies::Route route = router->Between(from, to);
      route.latency = sim::Duration();
      return route;
    }
    std::optional<topologies::Route> ToNvSwitch(std::uint32_t device) const override {
      return WithoutLatency(router->ToNvSwitch(device));
    }
    std::optional<topologies::Route> FromNvSwitch(std::uint32_t device) const override {
      return WithoutLatency(router->FromNvSwitch(device));
    }
    static std::optional<topologies::Route> WithoutLatency(std::optional<topologies::Route> route) {
      if (route) route->latency = sim::Duration();
      return route;
    }
    std::shared_ptr<const topologies::Router> router;
  };
  setting.fabric.router = std::make_shared<Instant>(setting.fabric.router);
  return setting;
}

// The first so many devices of each node.
inline std::vector<std::uint32_t> OfEachNode(std::uint32_t nodes, std::uint32_t per_node,
                                             std::uint32_t take) {
  std::vector<std::uint32_t> devices;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < take; ++i) devices.push_back(node * per_node + i);
  }
  return devices;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_COLLECTIVE_TESTING_H_
