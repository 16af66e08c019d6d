#include "scenarios/estimate.h"

#include <array>
#include <cstdio>

namespace scenarios {
namespace {

// Measured: 71 B a task at the peak of a run of 11 million tasks.
constexpr double kBytesPerTask = 80;
// A program's tasks have 30-bit ids; see sim::ProgramBuilder.
constexpr double kMostTasks = 1.0e9;

// Tasks of one block for one micro-batch, forward once and backward once.
double TasksOf(const BlockPlan& block, const Layout& layout, bool recomputed, bool selective) {
  const bool cut = layout.tensor > 1;
  const auto with = [](sim::Bytes bytes, double tasks) { return bytes > sim::Bytes() ? tasks : 0; };
  double forward = 1, backward = 1;
  if (cut) {
    forward += with(block.reduce_forward, 2) + 2 * static_cast<double>(block.small_reduces);
    backward += with(block.reduce_backward, 3);
    if (layout.sequence) {
      forward += with(block.gather_forward, 2);
      backward += with(block.gather_backward, 2) + with(block.gather_again, 1);
    }
  }
  if (selective && block.selective_recompute.alone > sim::Duration()) backward += 2;
  return (recomputed ? 2 : 1) * forward + backward;
}

double TasksOf(const Scenario& scenario, const StagePlan& plan) {
  const Recompute recompute = scenario.training.recompute;
  double tasks = 0;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      const bool again = recompute == Recompute::kFull && unit.kind == Unit::Kind::kLayer;
      for (const std::uint32_t block : unit.blocks) {
        tasks += TasksOf(plan.blocks[block], scenario.layout, again, recompute == Recompute::kSelective);
      }
    }
    if (scenario.layout.pipeline > 1) tasks += 4;  // a send and a receive each way
  }
  double reductions = 0;
  for (const Bucket& bucket : plan.buckets) reductions += static_cast<double>(bucket.parts);
  constexpr double kPerStep = 6;  // norms, tied embedding, clip, optimizer, end
  return tasks * static_cast<double>(scenario.batch.micro_batches) + 2 * reductions + kPerStep;
}

std::string Engineering(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

}  // namespace

Estimate EstimateOf(const Scenario& scenario, const std::vector<StagePlan>& stages) {
  const std::int64_t ranks_of_stage = scenario.layout.ranks() / scenario.layout.pipeline;
  Estimate estimate;
  for (const StagePlan& plan : stages)
    estimate.tasks += static_cast<double>(ranks_of_stage) * TasksOf(scenario, plan);
  estimate.tasks *= static_cast<double>(scenario.steps);
  estimate.memory_bytes = estimate.tasks * kBytesPerTask;
  return estimate;
}

std::optional<sim::Error> RefuseToSimulate(const Estimate& estimate, double memory_limit) {
  if (estimate.tasks <= kMostTasks && estimate.memory_bytes <= memory_limit) return std::nullopt;
  return sim::Error{
      "too large to simulate rank by rank: about " + Engineering(estimate.tasks) + " tasks, " +
      Engineering(estimate.memory_bytes / (1 << 30)) + " GiB of memory; there is room for " +
      Engineering(kMostTasks) + " tasks and " + Engineering(memory_limit / (1 << 30)) +
      " GiB; fewer data ranks or micro-batches would do, and `orrery check` gives the closed forms"};
}

}  // namespace scenarios
