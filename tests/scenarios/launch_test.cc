// Hosts that launch kernels one by one: against kernels one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "scenarios/launch_queue.h"
#include "sim/program/executor.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using sim::Duration;
using namespace sim::literals;

// The same numbers on every machine.
class Dice {
 public:
  std::int64_t Below(std::int64_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_ = 2024;
};

struct OneKernel {
  Duration takes, launch;
};

PhaseTimes PhaseOf(const std::vector<OneKernel>& kernels) {
  PhaseTimes phase;
  for (const OneKernel& k : kernels) phase = phase + PhaseTimes{{k.takes, k.takes}, k.launch, k.launch};
  return phase;
}

std::vector<OneKernel> AnyKernels(Dice* dice) {
  std::vector<OneKernel> kernels(static_cast<std::size_t>(1 + dice->Below(6)));
  for (OneKernel& k : kernels)
    k = {Duration::Picoseconds(1 + dice->Below(50)), Duration::Picoseconds(dice->Below(50))};
  return kernels;
}

// Kernel by kernel: each begins when it is launched and the one before has ended.
struct Exact {
  Duration host, device;
  void Play(const std::vector<OneKernel>& kernels) {
    for (const OneKernel& k : kernels) {
      host += k.launch;
      device = std::max(device, host) + k.takes;
    }
  }
};

TEST(PhaseTimes, EndWhenTheirKernelsOneByOneDo) {
  Dice dice;
  for (int i = 0; i < 2000; ++i) {
    const std::vector<OneKernel> kernels = AnyKernels(&dice);
    const PhaseTimes phase = PhaseOf(kernels);
    Exact exact{Duration::Picoseconds(dice.Below(200)), Duration::Picoseconds(dice.Below(200))};
    const Duration end = std::max(exact.device, exact.host + phase.lead) + phase.alone;
    const Duration launched = exact.host + phase.host;
    exact.Play(kernels);
    EXPECT_EQ(end, exact.device);
    EXPECT_EQ(launched, exact.host);
  }
}

TEST(PhaseTimes, InARowDoNotDependOnHowTheyAreCut) {
  Dice dice;
  for (int i = 0; i < 500; ++i) {
    const PhaseTimes a = PhaseOf(AnyKernels(&dice)), b = PhaseOf(AnyKernels(&dice)),
                     c = PhaseOf(AnyKernels(&dice));
    const PhaseTimes left = (a + b) + c, right = a + (b + c);
    EXPECT_EQ(left.host, right.host);
    EXPECT_EQ(left.lead, right.lead);
    EXPECT_EQ((a + PhaseTimes()).lead, a.lead);
    EXPECT_EQ((PhaseTimes() + a).lead, a.lead);
  }
}

// Phases of a rank, some of which the host waits for; and as many tasks of the host at the most.
TEST(LaunchQueue, GivesTheTimesOfKernelsOneByOne) {
  Dice dice;
  for (int i = 0; i < 300; ++i) {
    sim::ProgramBuilder builder(1, {});
    LaunchQueue queue(&builder, sim::Rank(0), Duration());
    const sim::StreamId compute = builder.AddStream(sim::Rank(0), sim::StreamKind::kCompute);
    Exact exact;
    std::vector<std::pair<sim::TaskId, Duration>> ends;
    std::size_t phases = 0;
    for (; phases < 12; ++phases) {
      const std::vector<OneKernel> kernels = AnyKernels(&dice);
      const PhaseTimes phase = PhaseOf(kernels);
      const sim::TaskId launch = queue.LaunchWork(phase, {});
      const sim::TaskId work = builder.Work(compute, builder.AddWork(phase), sim::TaskClass::kForward, {});
      if (launch.valid()) builder.After(work, launch);
      exact.Play(kernels);
      ends.emplace_back(work, exact.device);
      if (dice.Below(4) > 0) continue;
      queue.WaitFor({work});
      exact.host = std::max(exact.host, exact.device);
    }
    EXPECT_LE(builder.tasks(), 2 * phases);
    const sim::Program program = std::move(builder).Build().value();
    const sim::Timeline timeline = sim::Simulate(program).value();
    for (const auto& [task, end] : ends) EXPECT_EQ(timeline.end[task.pos()] - sim::Time::Start(), end);
  }
}

// 1,000 kernels of 5 ns, each launched in 2: the device waits for the first alone, and one task tells it to.
TEST(LaunchQueue, OfLongKernelsIsOneTask) {
  sim::ProgramBuilder builder(1, {});
  LaunchQueue queue(&builder, sim::Rank(0), 2_ns);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(queue.LaunchWork({{5_ns, 5_ns}, 2_ns, 2_ns}, {}).valid(), i == 0);
  }
  EXPECT_EQ(builder.tasks(), 1u);
}

// Each kernel takes `kernel` and the host `launch`.
class EqualKernels final : public hardware::CostModel {
 public:
  EqualKernels(Duration kernel, Duration launch) : kernel_(kernel), launch_(launch) {}
  hardware::KernelTimes TimeOf(const sim::Kernel&) const override { return {kernel_, kernel_}; }
  Duration LaunchTimeOf(const sim::Kernel&) const override { return launch_; }

 private:
  Duration kernel_, launch_;
};

// All kernels of a step on one rank: as long as their launches where those take longer, with the last kernel
// behind; as long as the kernels where they take longer, behind the first launch.
TEST(EagerSteps, TakeAsLongAsTheSlowerOfHostAndDevice) {
  Scenario s = SyntheticScenario(1, 3, 1, "1f1b", 4);
  s.steps = 1;
  s.training.gradient_norm = false;
  const auto makespan = [&](Duration kernel, Duration launch) {
    const StepProgram steps = BuildSteps(s, EqualKernels(kernel, launch)).value();
    return sim::Simulate(steps.program).value().finish - sim::Time::Start();
  };
  const std::int64_t kernels = makespan(1_ns, 0_ns).ps() / 1000;
  EXPECT_GT(kernels, 3 * 4 * 10);
  EXPECT_EQ(makespan(1_ns, 7_ns), Duration::Nanoseconds(7 * kernels + 1));
  EXPECT_EQ(makespan(7_ns, 1_ns), Duration::Nanoseconds(7 * kernels + 1));
}

// Where the host reads the gradient norm it starts again from there: one launch more is waited for, a step.
TEST(EagerSteps, WaitForAFirstLaunchBehindTheGradientNorm) {
  Scenario s = SyntheticScenario(1, 3, 1, "1f1b", 4);
  const auto step = [&](bool norm) {
    s.training.gradient_norm = norm;
    return StepTime(s, EqualKernels(7_ns, 1_ns));
  };
  EXPECT_EQ(step(true) - step(false), 1_ns);
}

TEST(EagerSteps, WaitForTheirHostWhereKernelsAreShort) {
  const Scenario eager = Loaded({{"training.launches", "EAGER"}, {"batch.sequence_length", "128"}});
  const Scenario graphs = Loaded({{"batch.sequence_length", "128"}});
  const Report slow = scenarios::Run(eager).value().report, fast = scenarios::Run(graphs).value().report;
  EXPECT_GT(2 * slow.step_time, 3 * fast.step_time);
  const auto of_host = [](const Report& report) {
    for (const TimePart& part : report.breakdown) {
      if (part.name == "host") return part.time;
    }
    return Duration();
  };
  EXPECT_GT(4 * of_host(slow), slow.step_time);
  EXPECT_EQ(of_host(fast), Duration());
}

}  // namespace
}  // namespace scenarios
