#include "scenarios/collective_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "hardware/device_cost_model.h"
#include "scenarios/lowering.h"
#include "scenarios/nccl_setup.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// LLaMA-7B on two nodes: tensor 4, pipeline 2, data 2; rank 8 is in the last stage.
std::vector<CollectiveReport> Collectives(const Scenario& scenario, std::uint32_t rank = 8) {
  const StepProgram steps = BuildSteps(scenario, hardware::DeviceCostModel(scenario.device)).value();
  return CollectivesOf(scenario, steps, sim::Rank(rank));
}

const CollectiveReport& Find(const std::vector<CollectiveReport>& list, const std::string& purpose,
                             const std::string& kind) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const CollectiveReport& c) {
    return c.purpose == purpose && c.kind == kind;
  });
  EXPECT_NE(found, list.end()) << purpose << ' ' << kind;
  return *found;
}

TEST(CollectiveUse, CountsWhatARankTakesPartIn) {
  const Loading job = Load();
  const auto list = Collectives(*job.scenario);
  // 2,048 tokens of 4,096 halves. Four a layer (two each way) and the gradient of the head's
  // input, over 8 micro-batches of 16 layers in 3 steps.
  const CollectiveReport& tensor = Find(list, "tensor", "all-reduce");
  EXPECT_EQ(tensor.bytes.count(), 2048 * 4096 * 2);
  EXPECT_EQ(tensor.times, 3 * 8 * (16 * 4 + 1));
  EXPECT_EQ(tensor.ranks, 4);
  EXPECT_EQ(tensor.nodes, 1);
  // All ranks' norms together, once a step.
  const CollectiveReport& norm = Find(list, "gradient norm", "all-reduce");
  EXPECT_EQ(norm.ranks, 16);
  EXPECT_EQ(norm.nodes, 2);
  EXPECT_EQ(norm.times, 3);
}

TEST(CollectiveUse, SaysHowNcclDoesItAndWhatWouldBeFaster) {
  const Loading job = Load();
  const std::vector<std::uint32_t> group = {8, 9, 10, 11};
  const sim::Bytes size(2048 * 4096 * 2);
  const CollectiveReport tensor = Find(Collectives(*job.scenario), "tensor", "all-reduce");
  const auto traffic = LowerCollective(job.scenario->fabric, job.scenario->device,
                                       sim::CollectiveKind::kAllReduce, size, group);
  EXPECT_EQ(tensor.alone, IdleTime(job.scenario->fabric, traffic));
  // Where NCCL is told to take what is said to be faster, that is what it takes and its time.
  ASSERT_NE(tensor.fastest_algorithm, "");
  const Loading told =
      Load({{"nccl.environment", "[\"NCCL_ALGO=" + tensor.fastest_algorithm +
                                     "\", \"NCCL_PROTO=" + tensor.fastest_protocol + "\"]"}});
  ASSERT_THAT(told.errors(), IsEmpty());
  const CollectiveReport other = Find(Collectives(*told.scenario), "tensor", "all-reduce");
  EXPECT_EQ(other.algorithm, tensor.fastest_algorithm);
  EXPECT_EQ(other.protocol, tensor.fastest_protocol);
  EXPECT_EQ(other.alone, tensor.fastest_alone);
  EXPECT_EQ(other.fastest_algorithm, "");
}

TEST(CollectiveUse, PutsWhatTakesLongestFirst) {
  const auto list = Collectives(*Load().scenario);
  ASSERT_GT(list.size(), 3u);
  for (std::size_t i = 1; i < list.size(); ++i) {
    EXPECT_GE(list[i - 1].alone.seconds() * static_cast<double>(list[i - 1].times),
              list[i].alone.seconds() * static_cast<double>(list[i].times));
  }
}

TEST(CollectiveUse, IsEmptyWhereARankIsAloneOrTransfersAreTakenOneByOne) {
  const Loading alone =
      Load({{"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}, {"model.layers", "2"}});
  ASSERT_THAT(alone.errors(), IsEmpty());
  EXPECT_THAT(Collectives(*alone.scenario, 0), IsEmpty());
  const Loading chunks = Load({{"fidelity", "CHUNK"}, {"model.layers", "2"}});
  ASSERT_THAT(chunks.errors(), IsEmpty());
  EXPECT_THAT(Collectives(*chunks.scenario), IsEmpty());
}

// What fewer channels do to rates is not known here, so they may not seem to help or to hurt either.
TEST(NcclSetup, LimitsOfChannelsMoveNoTime) {
  const Loading free = Load(), one = Load({{"nccl.environment", "NCCL_MAX_NCHANNELS=1"}});
  std::vector<std::uint32_t> all(16);
  std::iota(all.begin(), all.end(), 0u);
  for (const std::uint32_t ranks : {8u, 16u}) {
    const auto group = std::span(all).first(ranks);
    const sim::CollectiveRequest request{.kind = sim::CollectiveKind::kAllReduce,
                                         .size = sim::Bytes(64 << 20)};
    const auto ways = WaysOf(free.scenario->fabric, free.scenario->device, request, group);
    const auto limited = WaysOf(one.scenario->fabric, one.scenario->device, request, group);
    ASSERT_EQ(ways.size(), limited.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      EXPECT_EQ(limited[i].idle, ways[i].idle) << sim::ToText(ways[i].algorithm);
      EXPECT_LE(limited[i].channels, 1);
    }
  }
}

TEST(NcclSetup, OfACommandIsThatOfAScenario) {
  sim::NcclSetup setup;
  proto::Diagnostics diagnostics;
  EXPECT_TRUE(SetNccl({{1, "nccl.version", "2.29"}, {2, "nccl.environment", "NCCL_MAX_NCHANNELS=4"}}, &setup,
                      &diagnostics));
  const Loading job = Load({{"nccl.version", "2.29"}, {"nccl.environment", "NCCL_MAX_NCHANNELS=4"}});
  EXPECT_EQ(setup.version, job.scenario->device.nccl.version);
  const sim::NcclGroup group{8, 1, 8};
  EXPECT_EQ(
      sim::ChannelsUsed(setup, group, sim::Algorithm::kRing, sim::Protocol::kSimple, sim::Bytes(1 << 30)), 4);
  EXPECT_FALSE(SetNccl({{1, "nccl.vrsion", "2.29"}, {2, "nccl.environment", "X=1"}}, &setup, &diagnostics));
  EXPECT_THAT(diagnostics.errors(),
              ElementsAre("--set 1: nccl.vrsion: unknown field; did you mean nccl.version?",
                          testing::StartsWith("--set 2: nccl.environment[0]: X: is not simulated")));
}

}  // namespace
}  // namespace scenarios
