// A job that saves, with steps and saves of known length: a synthetic scenario
// whose copies and writes take links of their own.

#ifndef TESTS_SCENARIOS_SAVING_H_
#define TESTS_SCENARIOS_SAVING_H_

#include <memory>
#include <vector>

#include "models/parameters.h"
#include "scenarios/checkpoint_plan.h"
#include "scenarios/step_builder.h"
#include "sim/analysis/saves.h"
#include "sim/program/executor.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {

inline sim::Duration Ms(std::int64_t ms) { return sim::Duration::Milliseconds(ms); }

// Rank r copies its part in `copy` and writes it in `write`, alone; all ranks
// are on one node. One stage a rank.
inline Scenario Saving(std::int64_t ranks, const Checkpoint& checkpoint, sim::Duration copy,
                       sim::Duration write, std::int64_t steps) {
  Scenario s = SyntheticScenario(ranks, 1, 1, "1f1b");
  s.model.hidden = 64;
  s.model.vocabulary = 1'000'000;  // so that a save of an hour is not below the slowest rate
  s.steps = steps;
  s.training.vocabulary_divisor = 1;
  s.checkpoint = checkpoint;
  s.checkpoint->write = s.checkpoint->read = s.checkpoint->server_write = sim::ByteRate::BytesPerSecond(1000);
  const CheckpointPlan plan = PlanCheckpoint(s);
  topologies::StorageRoutes routes;
  const auto link = [&](sim::Bytes bytes, sim::Duration time) {
    const sim::Wide milli = sim::Wide{bytes.count()} * 1'000'000'000'000'000 / time.ps();
    s.fabric.links.push_back(
        {.from = {},
         .to = {},
         .capacity = sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(milli)),
         .latency = {}});
    return topologies::Route{.uses = {{sim::LinkId(s.fabric.links.size() - 1)}}, .latency = {}};
  };
  for (const sim::Bytes bytes : plan.rank_bytes) {
    // A rank that writes nothing has a link all the same.
    const sim::Bytes some = std::max(bytes, sim::Bytes(1));
    routes.to_host.push_back(link(some, copy));
    routes.to_device.push_back(link(some, copy));
    routes.write.push_back(link(some, write));
    routes.read.push_back(link(some, write));
  }
  s.fabric.storage = std::make_shared<const topologies::StorageRoutes>(routes);
  return s;
}

struct Played {
  sim::Program program;
  sim::Timeline timeline;
  std::vector<sim::Save> saves;
};

// The scenario with a step of `step` on each rank: a third of it forward.
inline Played Play(const Scenario& scenario, sim::Duration step) {
  const sim::Duration forward = sim::Duration::Picoseconds(step.ps() / 3);
  Played played{.program = BuildSteps(scenario, LayerCost(forward, step - forward)).value().program,
                .timeline = {},
                .saves = {}};
  played.timeline = sim::Simulate(played.program).value();
  played.saves = sim::FindSaves(played.program, played.timeline, sim::FindPredecessors(played.program));
  return played;
}

// A rate is rounded down to 10^-3 B/s, of some 10^2 B/s and more here: times are this exact.
inline void ExpectTime(sim::Duration found, sim::Duration want) {
  EXPECT_NEAR(found.seconds(), want.seconds(), 1e-5 * want.seconds() + 1e-9);
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_SAVING_H_
