// Hosts that wait for their device: launches that block, transfers, counts of experts' tokens.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "scenarios/kernel_costs.h"
#include "sim/program/executor.h"
#include "tests/scenarios/playing.h"
#include "tests/scenarios/synthetic.h"

namespace scenarios {
namespace {

using sim::Duration;
using namespace sim::literals;

// Each kernel takes `kernel` and the host `launch`.
class AllKernels final : public hardware::CostModel {
 public:
  AllKernels(Duration kernel, Duration launch) : kernel_(kernel), launch_(launch) {}
  hardware::KernelTimes TimeOf(const sim::Kernel&) const override { return {kernel_, kernel_}; }
  Duration LaunchTimeOf(const sim::Kernel&) const override { return launch_; }

 private:
  Duration kernel_, launch_;
};

// A layer is one kernel of 10 us each way, which the host takes `launch` for.
class LayerKernels final : public hardware::CostModel {
 public:
  explicit LayerKernels(Duration launch) : launch_(launch) {}
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    return IsLayer(kernel) ? hardware::KernelTimes{10_us, 10_us} : hardware::KernelTimes{};
  }
  Duration LaunchTimeOf(const sim::Kernel& kernel) const override {
    return IsLayer(kernel) ? launch_ : Duration();
  }

 private:
  static bool IsLayer(const sim::Kernel& kernel) {
    const std::string_view name = kernel.name;
    return name == "qkv" || name == "qkv_dgrad";
  }
  Duration launch_;
};

// One step by itself.
Duration MakespanOf(const Scenario& s, const hardware::CostModel& cost) {
  const StepProgram steps = BuildSteps(s, cost).value();
  return sim::Simulate(steps.program).value().finish - sim::Time::Start();
}

Scenario OneStep(std::int64_t stages, std::int64_t micro_batches, std::int64_t chunks, const char* schedule,
                 Launches launches) {
  Scenario s = SyntheticScenario(stages, micro_batches, chunks, schedule);
  s.steps = 1;
  s.training.gradient_norm = false;
  s.training.launches = launches;
  return s;
}

// All kernels and all launches, one after the other, whichever take longer.
TEST(BlockingSteps, TakeAsLongAsAllLaunchesAndAllKernels) {
  Scenario s = OneStep(1, 3, 1, "1f1b", Launches::kEager);
  const std::int64_t kernels = MakespanOf(s, AllKernels(1_ns, 0_ns)).ps() / 1000;
  EXPECT_GT(kernels, 3 * 10);
  s.training.launches = Launches::kBlocking;
  EXPECT_EQ(MakespanOf(s, AllKernels(1_ns, 7_ns)), Duration::Nanoseconds(8 * kernels));
  EXPECT_EQ(MakespanOf(s, AllKernels(7_ns, 1_ns)), Duration::Nanoseconds(8 * kernels));
  EXPECT_EQ(MakespanOf(s, AllKernels(7_ns, 0_ns)), Duration::Nanoseconds(7 * kernels));
}

// Equal stages, free links: m + p - 1 times the two passes of a stage, each behind its launch. Eager hosts
// are ahead but for the first.
TEST(BlockingSteps, OfAPipelineLaunchInEveryPass) {
  for (const char* schedule : {"gpipe", "1f1b"}) {
    for (const std::int64_t stages : {2, 4}) {
      const Scenario eager = OneStep(stages, 8, 1, schedule, Launches::kEager);
      const Scenario blocking = OneStep(stages, 8, 1, schedule, Launches::kBlocking);
      const std::int64_t passes = 8 + stages - 1;
      EXPECT_EQ(MakespanOf(blocking, LayerKernels(3_us)), passes * (2 * 13_us)) << schedule << stages;
      EXPECT_EQ(MakespanOf(eager, LayerKernels(3_us)), passes * (2 * 10_us) + 3_us) << schedule << stages;
    }
  }
}

// Two stages, one micro-batch, 2 us to launch a transfer: the last stage goes on when the first one's send is
// launched (2 us), sends its gradient (2 us), which the first has asked for meanwhile.
TEST(BlockingSteps, LaunchTransfersToo) {
  Scenario s = OneStep(2, 1, 1, "1f1b", Launches::kBlocking);
  s.device.host.eager_operation_s = 2e-6 / 1.45;  // kOperationsPerKernel
  EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), 4 * 13_us + 2 * 2_us);
}

// Their stages wait for each other's batches, in every order that may.
TEST(BlockingSteps, OfPipelinesEnd) {
  int orders = 0;
  const auto plays = [&](std::int64_t p, std::int64_t m, std::int64_t v, const char* schedule) {
    const Scenario blocking = OneStep(p, m, v, schedule, Launches::kBlocking);
    const Scenario eager = OneStep(p, m, v, schedule, Launches::kEager);
    const StepProgram steps = BuildSteps(blocking, LayerKernels(3_us)).value();
    const auto timeline = sim::Simulate(steps.program);
    ASSERT_TRUE(timeline.ok()) << schedule << " " << p << " " << m << " " << v;
    EXPECT_GE(timeline.value().finish - sim::Time::Start(), MakespanOf(eager, LayerKernels(3_us)));
    ++orders;
  };
  for (const std::int64_t p : {2, 3, 4, 5}) {
    for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 9}) {
      plays(p, m, 1, "gpipe");
      plays(p, m, 1, "1f1b");
    }
    for (const std::int64_t groups : {1, 2, 3}) {
      for (const std::int64_t v : {2, 3}) plays(p, groups * p, v, "interleaved");
    }
  }
  EXPECT_EQ(orders, 4 * (7 * 2 + 3 * 2));
}

// Of all that a rank runs or sits in, from when it arrives. Transfers of one batch are side by side, and the
// launch of the second one beside the first.
TEST(BlockingSteps, RunNothingBesideAnythingElse) {
  Sets sets = {{"training.launches", "BLOCKING"}, {"model.layers", "4"}, {"batch.sequence_length", "512"}};
  for (const bool cut : {false, true}) {
    if (cut) sets.insert(sets.end(), {{"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_3"}});
    const Scenario s = Loaded(sets);
    const StepProgram steps = BuildSteps(s, CostModelOf(s)).value();
    const sim::Program& program = steps.program;
    const sim::Timeline timeline = sim::Simulate(program).value();
    struct Part {
      sim::Time start, end;
      bool transfer, launch;
    };
    std::vector<Part> parts;
    program.ForEachTask([&](sim::TaskId task, const sim::Place& at) {
      if (program.rank_of(at) != sim::Rank(5) || program.row(at).kind == sim::TaskKind::kMark) return;
      const sim::TaskClass task_class = program.row(at).task_class;
      parts.push_back({timeline.start[task.pos()], timeline.end[task.pos()],
                       task_class == sim::TaskClass::kPipeline, task_class == sim::TaskClass::kLaunch});
    });
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.start != b.start ? a.start < b.start : a.end < b.end;
    });
    EXPECT_GT(parts.size(), 100u);
    sim::Time transfers = sim::Time::Start(), launches = transfers, others = transfers;  // their ends
    for (const Part& part : parts) {
      EXPECT_GE(part.start, others);
      const sim::Time before = part.transfer ? others
                               : part.launch ? launches
                                             : std::max(transfers, launches);
      EXPECT_GE(part.start, before);
      sim::Time& end = part.transfer ? transfers : part.launch ? launches : others;
      end = std::max(end, part.end);
    }
  }
}

TEST(BlockingSteps, RefuseWhatRunsBesideOrWaitsInACircle) {
  const auto error = [](Sets sets) {
    sets.push_back({"training.launches", "BLOCKING"});
    const Loading loading = Load(sets);
    return loading.errors().empty() ? std::string() : loading.errors()[0];
  };
  EXPECT_EQ(error({}), "");
  EXPECT_NE(error({{"pipeline.schedule", "ZB1P"}}).find("wait for each other in zb1p"), std::string::npos);
  EXPECT_NE(error({{"layout.virtual", "2"}, {"pipeline.group_size", "4"}}).find("INTERLEAVED without group"),
            std::string::npos);
  EXPECT_NE(error({{"training.offload.activation_layers", "1"}}).find("offload"), std::string::npos);
}

// A pass of three kernels, of which the host hides all launches but the first. The last stage trades nothing
// between a forward and its backward. One micro-batch goes down the stages and up again; many are held back
// by the last stage of two.
TEST(TransferWaits, ExposeTheFirstLaunchBehindEachBatch) {
  const auto makespans = [](std::int64_t stages, std::int64_t micro_batches, Duration eager,
                            Duration waiting) {
    Scenario s = SyntheticScenario(stages, micro_batches, 1, "1f1b", 3);
    s.steps = 1;
    s.training.gradient_norm = false;
    s.training.launches = Launches::kEager;
    EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), eager);
    s.training.host_waits.transfers = HostWaits::Transfers::kUnlessInterleaved;
    EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), waiting);
    s.training.host_waits.transfers = HostWaits::Transfers::kAlways;
    EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), waiting);
    // Captured steps have no host to wait.
    s.training.launches = Launches::kCudaGraphs;
    EXPECT_EQ(MakespanOf(s, LayerKernels(0_us)), eager - 3_us);
  };
  makespans(2, 1, 2 * 60_us + 3_us, 66_us + 63_us);
  makespans(4, 1, 4 * 60_us + 3_us, 3 * 66_us + 63_us);
  makespans(2, 8, 9 * 60_us + 3_us, 66_us + 8 * 63_us);
}

// Each stage's passes but the first stage's forwards and the last one's backwards begin with a receive. On
// two stages the way of a micro-batch is forward, forward behind a wait, backward, backward behind a wait.
TEST(TransferWaits, ForReceivesExposeALaunchBehindEach) {
  Scenario s = OneStep(2, 1, 1, "1f1b", Launches::kEager);
  EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), 40_us + 3_us);
  s.training.host_waits.transfers = HostWaits::Transfers::kReceives;
  EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), 40_us + 3 * 3_us);
}

TEST(TransferWaits, OfInterleavedStagesAreMegatronsWithoutOverlap) {
  Scenario s = OneStep(2, 4, 2, "interleaved", Launches::kEager);
  const Duration overlapped = MakespanOf(s, LayerKernels(3_us));
  s.training.host_waits.transfers = HostWaits::Transfers::kUnlessInterleaved;
  EXPECT_EQ(MakespanOf(s, LayerKernels(3_us)), overlapped);
  s.training.host_waits.transfers = HostWaits::Transfers::kAlways;
  EXPECT_GT(MakespanOf(s, LayerKernels(3_us)), overlapped);
}

TEST(HostWaits, AreAsTheFrameworksPresetsSay) {
  using enum HostWaits::Transfers;
  const auto waits = [](const char* preset, Sets sets = {}) {
    sets.push_back({"preset", preset});
    return Loaded(sets).training.host_waits;
  };
  EXPECT_EQ(waits("megatron_core_0_8").transfers, kUnlessInterleaved);
  EXPECT_TRUE(waits("megatron_core_0_8").token_counts);
  EXPECT_FALSE(waits("megatron_core_0_8", {{"training.host_waits.token_counts", "false"}}).token_counts);
  EXPECT_EQ(waits("megatron_lm_sc21").transfers, kAlways);
  EXPECT_EQ(waits("nanotron").transfers, kReceives);
  EXPECT_EQ(waits("megatron_deepspeed_fp16").transfers, kNever);
}

// Router and experts take 100 us each, and the host 30 us for the experts' kernel; all else is free.
class RouterAndExperts final : public hardware::CostModel {
 public:
  hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
    const std::string_view name = kernel.name;
    if (name == "router" || name == "expert_gate_up") return {100_us, 100_us};
    return {};
  }
  Duration LaunchTimeOf(const sim::Kernel& kernel) const override {
    return std::string_view(kernel.name) == "expert_gate_up" ? 30_us : 0_us;
  }
};

// Four ranks, four experts, three layers, free links.
Scenario Experts(models::Dispatcher dispatcher) {
  Scenario s = SyntheticScenario(1, 2, 1, "1f1b", 3);
  s.model.ffn = 0;
  s.model.experts = {.routed = 4, .per_token = 2, .ffn = 16};
  s.devices = s.layout.data = 4;
  s.layout.expert = 2;
  s.batch = {.global = 8, .micro = 1, .sequence_length = 64, .micro_batches = 2};
  s.fabric.domain.assign(4, 0);
  s.fabric.rail = {0, 1, 2, 3};
  s.experts.dispatcher = dispatcher;
  s.training.launches = Launches::kEager;
  return s;
}

// In every forward of a layer, 2 x 3 a step, the experts' launch has been hidden behind the router.
TEST(TokenCountWaits, ExposeTheExpertsLaunchInEachForward) {
  for (const models::Dispatcher dispatcher :
       {models::Dispatcher::kAllToAll, models::Dispatcher::kAllGather, models::Dispatcher::kDeepEp}) {
    Scenario s = Experts(dispatcher);
    EXPECT_EQ(StepTime(s, RouterAndExperts()), 6 * 200_us);
    s.training.host_waits.token_counts = true;
    EXPECT_EQ(StepTime(s, RouterAndExperts()), 6 * 230_us);
    // What runs a forward again waits again.
    s.training.recompute = Recompute::kFull;
    EXPECT_EQ(StepTime(s, RouterAndExperts()), 12 * 230_us);
  }
}

TEST(TokenCountWaits, AreNoneWhereRowsArePadded) {
  Scenario s = Experts(models::Dispatcher::kAllToAll);
  s.training.host_waits.token_counts = true;
  s.experts.capacity_factor = 1;
  EXPECT_EQ(StepTime(s, RouterAndExperts()), 6 * 200_us);
  s.experts.dispatcher = models::Dispatcher::kDeepEp;  // which pads nothing
  EXPECT_EQ(StepTime(s, RouterAndExperts()), 6 * 230_us);
}

}  // namespace
}  // namespace scenarios
