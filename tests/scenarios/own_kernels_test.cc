// Steps whose communication NCCL does not do: DeepEP's kernels with their own figures, and all-reduces by
// direct reads; and those all-reduces by themselves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "hardware/device_cost_model.h"
#include "hardware/device_reader.h"
#include "scenarios/collective_use.h"
#include "scenarios/custom_all_reduce.h"
#include "scenarios/lowering.h"
#include "scenarios/run.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/loading.h"
#include "tests/topologies/fabric_testing.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

hardware::Device H100() {
  proto::Diagnostics diagnostics;
  return *hardware::ReadDevice("h100_sxm", {}, "", &diagnostics, "");
}

topologies::Fabric NodeOf(const hardware::Device& device) {
  const topologies::TopologySpec one{
      .name = "node", .file = "", .source = "", .family = topologies::SingleNodeSpec{}};
  return topologies::BuildFabric(one, device.node, 8).value();
}

std::vector<std::uint32_t> First(std::uint32_t ranks) {
  std::vector<std::uint32_t> devices(ranks);
  std::iota(devices.begin(), devices.end(), 0u);
  return devices;
}

double Us(const hardware::Device& device, sim::Algorithm algorithm, std::int64_t bytes, std::uint32_t ranks) {
  const topologies::Fabric node = NodeOf(device);
  const std::vector<std::uint32_t> devices = First(ranks);
  const auto traffic = LowerCollective(
      node, device,
      {.kind = sim::CollectiveKind::kAllReduce, .size = sim::Bytes(bytes), .algorithm = algorithm}, devices);
  return IdleTime(node, traffic).seconds() * 1e6;
}

// TensorRT-LLM on 8 H100 in a CUDA graph. Source: ai-dynamo aiconfigurator, custom all-reduce tables.
TEST(CustomAllReduce, TakesAsLongAsWasMeasured) {
  const hardware::Device h100 = H100();
  for (const auto& [bytes, us] :
       {std::pair{1 << 10, 3.2}, {64 << 10, 4.6}, {256 << 10, 10.2}, {1 << 20, 26.0}}) {
    EXPECT_NEAR(Us(h100, sim::Algorithm::kOneShot, bytes, 8), us, 0.15 * us) << bytes;
  }
}

// 7 S and 2 S 7/8 read at 320 GB/s, behind 2.5 us and a barrier of 0.7 us each; 1 S of two ranks.
TEST(CustomAllReduce, IsAStartItsBarriersAndWhatEachRankReads) {
  const hardware::Device h100 = H100();
  constexpr std::int64_t kMb = 1'000'000;
  EXPECT_NEAR(Us(h100, sim::Algorithm::kOneShot, kMb, 8), 2.5 + 0.7 + 7e6 / 320e3, 0.01);
  EXPECT_NEAR(Us(h100, sim::Algorithm::kTwoShot, kMb, 8), 2.5 + 1.4 + 2 * 0.875e6 / 320e3, 0.01);
  EXPECT_NEAR(Us(h100, sim::Algorithm::kOneShot, kMb, 2), 2.5 + 0.7 + 1e6 / 320e3, 0.01);
}

TEST(CustomAllReduce, OfVllmIsOneShotForSmallSizesAndNcclsForLargeOnes) {
  constexpr std::int64_t kKiB = 1024;
  const auto choice = [](std::size_t ranks, std::int64_t bytes) {
    return VllmChoice(ranks, sim::Bytes(bytes));
  };
  EXPECT_EQ(choice(2, 4096 * kKiB), sim::Algorithm::kOneShot);
  EXPECT_EQ(choice(4, 512 * kKiB - 16), sim::Algorithm::kOneShot);
  EXPECT_EQ(choice(4, 512 * kKiB), sim::Algorithm::kTwoShot);
  EXPECT_EQ(choice(8, 256 * kKiB - 16), sim::Algorithm::kOneShot);
  EXPECT_EQ(choice(8, 256 * kKiB), sim::Algorithm::kTwoShot);
  EXPECT_EQ(choice(8, 8192 * kKiB), std::nullopt);
  EXPECT_EQ(choice(8, 1000 * 16 + 8), std::nullopt);
}

TEST(CustomAllReduce, IsNeverNcclsChoice) {
  const hardware::Device h100 = H100();
  const topologies::Fabric node = NodeOf(h100);
  const std::vector<std::uint32_t> devices = First(8);
  for (const CollectiveWay& way :
       WaysOf(node, h100, {.kind = sim::CollectiveKind::kAllReduce, .size = sim::Bytes(1024)}, devices)) {
    EXPECT_FALSE(sim::IsCustom(way.algorithm));
  }
}

TEST(CustomAllReduce, IsRefusedWhereItsKernelsDoNotRun) {
  const hardware::Device h100 = H100();
  const topologies::Fabric node = NodeOf(h100);
  const auto why = [&](std::uint32_t ranks, std::int64_t bytes) {
    const std::vector<std::uint32_t> devices = First(ranks);
    const auto error = WhyNotCustom(node, h100, sim::Algorithm::kOneShot, sim::Bytes(bytes), devices);
    return error ? error->message : "";
  };
  EXPECT_EQ(why(8, 8'000'000), "");
  EXPECT_EQ(why(2, 16'000'000), "");
  EXPECT_THAT(why(8, 8'000'001), HasSubstr("TensorRT-LLM's buffers take 8000000 at most, of 8 ranks"));
  EXPECT_THAT(why(7, 1024), HasSubstr("7 ranks; its kernels are made for 2, 4, 6 and 8"));
  hardware::Device without = h100;
  without.collective_timing.clear();
  const std::vector<std::uint32_t> devices = First(8);
  EXPECT_THAT(WhyNotCustom(node, without, sim::Algorithm::kTwoShot, devices)->message,
              HasSubstr("no figures of TwoShot"));
  topologies::Fabric nodes = node;
  nodes.domain[7] = 1;
  EXPECT_THAT(WhyNotCustom(nodes, h100, sim::Algorithm::kTwoShot, devices)->message,
              HasSubstr("ranks of one NVLink domain are wanted"));
}

double StepOf(const Sets& sets) {
  const Loading loading = Load(sets);
  EXPECT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
  return scenarios::Run(*loading.scenario).value().report.step_time.seconds();
}

// 32 tokens of 4,096 channels in BF16 are 256 KiB, which one shot of four ranks sends in 5.7 us and NCCL in
// twice that and more; 2,048 tokens are 16.8 MB, which none of the kernels takes; the loss's 8 KiB they do.
TEST(OwnKernelSteps, ReduceSmallTensorsFasterAndLeaveLargeOnesToNccl) {
  Sets small = {{"batch.sequence_length", "32"}, {"model.layers", "2"}};
  Sets large = {{"batch.sequence_length", "2048"}, {"model.layers", "2"}};
  const double small_nccl = StepOf(small), large_nccl = StepOf(large);
  for (const char* kind : {"ONE_SHOT", "TWO_SHOT", "VLLM"}) {
    small.emplace_back("training.tensor_all_reduce", kind);
    large.emplace_back("training.tensor_all_reduce", kind);
    EXPECT_LT(StepOf(small), small_nccl) << kind;
    EXPECT_NEAR(StepOf(large), large_nccl, 0.01 * large_nccl) << kind;
    small.pop_back();
    large.pop_back();
  }
}

TEST(OwnKernelSteps, AreReportedAsWhatTheyRun) {
  const Loading job = Load(
      {{"batch.sequence_length", "32"}, {"model.layers", "2"}, {"training.tensor_all_reduce", "ONE_SHOT"}});
  ASSERT_TRUE(job.scenario);
  const StepProgram steps =
      BuildSteps(*job.scenario, hardware::DeviceCostModel(job.scenario->device)).value();
  int tensor = 0;
  for (const CollectiveReport& one : CollectivesOf(*job.scenario, steps, sim::Rank(0))) {
    EXPECT_EQ(one.algorithm == "OneShot", one.purpose == "tensor" && one.kind == "all-reduce") << one.purpose;
    tensor += one.algorithm == "OneShot" ? 1 : 0;
  }
  EXPECT_GE(tensor, 1);
}

const Sets kExperts = {{"model", "mixtral_8x7b"},       {"model.layers", "2"},
                       {"layout.tensor", "1"},          {"layout.pipeline", "1"},
                       {"layout.expert", "8"},          {"batch.sequence_length", "512"},
                       {"experts.dispatcher", "DEEPEP"}};

TEST(OwnKernelSteps, TakeLongerWithFewerSmsForDeepEp) {
  const auto with = [](const char* sms) {
    Sets sets = kExperts;
    sets.emplace_back("experts.deepep_sms", sms);
    return StepOf(sets);
  };
  const double few = with("4"), many = with("24"), free = StepOf(kExperts);
  EXPECT_GT(few, many);
  EXPECT_GT(many, free);
}

TEST(OwnKernelSteps, ChunkByChunkAreWithinAFewPerCentOfCoupledFlows) {
  Sets sets = kExperts;
  sets.emplace_back("experts.deepep_sms", "8");
  const double flow = StepOf(sets);
  sets.emplace_back("fidelity", "CHUNK");
  EXPECT_NEAR(StepOf(sets) / flow, 1, 0.02);
}

TEST(OwnKernelSteps, AreRefusedWithTheField) {
  const auto error = [](Sets sets, const char* path, const char* value) {
    sets.emplace_back(path, value);
    return Load(sets).errors();
  };
  EXPECT_THAT(error(kExperts, "experts.deepep_sms", "133"), ElementsAre(HasSubstr("experts.deepep_sms")));
  EXPECT_THAT(error(kExperts, "experts.deepep_kernels", "V2"), ElementsAre(HasSubstr("needs deepep_sms")));
  Sets without = kExperts;
  without.emplace_back("hardware", "a100_80_sxm");
  EXPECT_THAT(error(without, "experts.deepep_sms", "8"),
              ElementsAre(HasSubstr("no figures of these kernels")));
  Sets other = kExperts;
  other.emplace_back("experts.dispatcher", "ALLTOALL");
  EXPECT_THAT(error(other, "experts.deepep_sms", "8"), ElementsAre(HasSubstr("needs dispatcher DEEPEP")));
  EXPECT_THAT(error({{"layout.sequence", "true"}}, "training.tensor_all_reduce", "VLLM"),
              ElementsAre(HasSubstr("training.tensor_all_reduce: with layout.sequence")));
  EXPECT_THAT(error({{"layout.tensor", "1"}, {"layout.pipeline", "1"}}, "training.tensor_all_reduce", "VLLM"),
              ElementsAre(HasSubstr("layout.tensor is 1")));
  EXPECT_THAT(
      error({{"layout.tensor", "16"}, {"layout.pipeline", "1"}}, "training.tensor_all_reduce", "VLLM"),
      ElementsAre(HasSubstr("16 ranks; its kernels")));
}

}  // namespace
}  // namespace scenarios
