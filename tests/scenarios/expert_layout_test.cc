// The experts' layout: its groups, and which layouts are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hardware/device_cost_model.h"
#include "scenarios/groups.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

sim::Rank R(std::int64_t rank) { return sim::Rank(static_cast<std::uint32_t>(rank)); }

std::vector<std::uint32_t> Numbers(const std::vector<sim::Rank>& ranks) {
  std::vector<std::uint32_t> numbers;
  for (const sim::Rank rank : ranks) numbers.push_back(rank.value());
  return numbers;
}

using Ints = std::vector<std::uint32_t>;

// 16 ranks, tensor 4, data 2, pipeline 2; experts 2 x 2, so expert data 2. By hand, as
// Megatron's order tp-cp-ep-dp-pp lays them out.
TEST(ExpertLayout, IsConsecutiveRanksOfAStageExpertTensorFastest) {
  const Layout layout{.tensor = 4, .data = 2, .pipeline = 2, .expert = 2, .expert_tensor = 2};
  EXPECT_EQ(layout.expert_data(), 2);
  EXPECT_EQ(Numbers(layout.Group(R(5), ExpertDimension::kExpertTensor)), (Ints{4, 5}));
  EXPECT_EQ(Numbers(layout.Group(R(5), ExpertDimension::kExpert)), (Ints{5, 7}));
  EXPECT_EQ(Numbers(layout.Group(R(5), ExpertDimension::kExpertData)), (Ints{1, 5}));
  EXPECT_EQ(Numbers(layout.Group(R(5), ExpertDimension::kExpertModel)), (Ints{4, 5, 6, 7}));
  EXPECT_EQ(Numbers(layout.Group(R(13), ExpertDimension::kExpertData)), (Ints{9, 13}));
}

TEST(ExpertLayout, GroupsOfADimensionCutTheRanksWhateverTheOrder) {
  for (const bool pipeline_fastest : {false, true}) {
    for (const std::int64_t expert : {1, 2, 4, 8}) {
      for (const std::int64_t cut : {1, 2}) {
        Layout layout{.tensor = 2, .data = 8, .pipeline = 3, .expert = expert, .expert_tensor = cut};
        if (pipeline_fastest)
          std::rotate(std::begin(layout.order), std::end(layout.order) - 1, std::end(layout.order));
        for (const ExpertDimension d : {ExpertDimension::kExpertTensor, ExpertDimension::kExpert,
                                        ExpertDimension::kExpertData, ExpertDimension::kExpertModel}) {
          std::set<std::uint32_t> seen;
          for (std::int64_t r = 0; r < layout.ranks(); ++r) {
            const auto group = layout.Group(R(r), d);
            EXPECT_EQ(std::count(group.begin(), group.end(), R(r)), 1);
            for (const sim::Rank other : group) {
              EXPECT_EQ(layout.Group(other, d), group);
              EXPECT_EQ(layout.Coordinate(other, Dimension::kPipeline),
                        layout.Coordinate(R(r), Dimension::kPipeline));
            }
            if (group.front() != R(r)) continue;
            for (const sim::Rank other : group) EXPECT_TRUE(seen.insert(other.value()).second);
          }
          EXPECT_EQ(static_cast<std::int64_t>(seen.size()), layout.ranks());
        }
        for (const sim::Rank rank : layout.Group(R(0), ExpertDimension::kExpert)) {
          EXPECT_EQ(Numbers(layout.Group(
                        R(0), ExpertDimension::kExpert))[static_cast<std::size_t>(layout.ExpertOf(rank))],
                    rank.value());
        }
      }
    }
  }
}

// Mixtral on two nodes: tensor 1, pipeline 1, data 16.
Sets Mixtral(Sets more = {}) {
  Sets sets = {{"model", "mixtral_8x7b"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

bool Says(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// HB-121: 256 experts on 3, 64 heads on 3: both said at once.
TEST(ExpertLayout, RefusesExpertsAndHeadsThatDoNotDivideInOneRun) {
  const Loading loading = Load({{"model", "deepseek_v3"},
                                {"model.heads", "64"},
                                {"devices", "18"},
                                {"layout.tensor", "3"},
                                {"layout.sequence", "true"},
                                {"layout.expert", "3"}});
  EXPECT_FALSE(loading.scenario);
  EXPECT_TRUE(Says(loading.errors(), "layout.expert: 3 does not divide the 256 routed experts"));
  EXPECT_TRUE(Says(loading.errors(), "layout.tensor: 3 does not divide the 64 attention heads"));
  // 258 = 3 x 86 experts do, and the heads still do not.
  const Loading more = Load({{"model", "deepseek_v3"},
                             {"model.heads", "64"},
                             {"model.experts.routed", "258"},
                             {"devices", "18"},
                             {"layout.tensor", "3"},
                             {"layout.sequence", "true"},
                             {"layout.expert", "3"}});
  EXPECT_FALSE(more.scenario);
  EXPECT_FALSE(Says(more.errors(), "layout.expert: "));
  EXPECT_TRUE(Says(more.errors(), "layout.tensor: 3 does not divide the 64 attention heads"));
}

// HB-122: four ranks with tensor 1 x pipeline 2 x expert 2, and with tensor 4 x expert 4: expert
// data 1 in both, data 2 and 1. expert_tensor is 1, not tensor.
TEST(ExpertLayout, CountsRanksWithExpertTensorNotTensor) {
  const Sets common = {{"model", "mixtral_8x7b"}, {"devices", "4"}, {"layout.sequence", "false"}};
  Sets first = common, second = common;
  first.insert(first.end(), {{"layout.tensor", "1"}, {"layout.pipeline", "2"}, {"layout.expert", "2"}});
  second.insert(second.end(), {{"layout.tensor", "4"},
                               {"layout.pipeline", "1"},
                               {"layout.expert", "4"},
                               {"layout.sequence", "true"}});
  const Loading a = Load(first), b = Load(second);
  ASSERT_TRUE(a.scenario && b.scenario);
  EXPECT_EQ(a.scenario->layout.expert_data(), 1);
  EXPECT_EQ(b.scenario->layout.expert_data(), 1);
  EXPECT_EQ(a.scenario->layout.data, 2);
  EXPECT_EQ(b.scenario->layout.data, 1);
}

TEST(ExpertLayout, RefusesMoreExpertGroupsThanRanks) {  // HB-124: no clamping
  const Loading loading = Load(Mixtral({{"model.experts.routed", "32"}, {"layout.expert", "32"}}));
  EXPECT_FALSE(loading.scenario);
  EXPECT_TRUE(
      Says(loading.errors(), "expert 32 x expert_tensor 1 = 32 does not divide the 16 ranks of a stage"));
  EXPECT_TRUE(Says(loading.errors(), "expert 1, 2, 4, 8 and 16 would do"));
}

TEST(ExpertLayout, RefusesWhatCannotBe) {
  const auto refused = [](const Sets& sets, const std::string& why) {
    const Loading loading = Load(sets);
    EXPECT_FALSE(loading.scenario) << why;
    EXPECT_TRUE(Says(loading.errors(), why)) << why << " not in " << testing::PrintToString(loading.errors());
  };
  refused({{"layout.expert", "2"}}, "has no experts; 1 is wanted");
  refused(Mixtral({{"layout.expert_tensor", "3"}}), "3 does not divide the 14336 channels of an expert");
  refused(Mixtral({{"experts.dispatcher", "ALLGATHER"}}), "no token leaves its tensor group");
  refused({{"experts.dispatcher", "ALLGATHER"}}, "has none; leave it out");
  const auto spread = [&](Sets more) {
    more.insert(more.begin(), {"layout.expert", "8"});
    return Mixtral(more);
  };
  // HB-126: a capacity that is a number of tokens.
  refused(spread({{"experts.capacity_factor", "16384"}}), "it is a factor, not a number of tokens");
  refused(spread({{"experts.node_limit", "2"}}), "needs dispatcher DEEPEP");
  refused(spread({{"experts.dispatcher", "DEEPEP"}, {"layout.expert_tensor", "2"}}),
          "expert_tensor 1, or ALLTOALL");
  refused(spread({{"experts.overlap_shared", "true"}}), "has no shared experts");
  refused(spread({{"experts.dispatch_format", "FP16"}}), "neither FP8 nor training.format");
  refused(spread({{"experts.routing", "ZIPF"}}), "experts.zipf_exponent");
  refused(spread({{"experts.seed", "1"}}), "needs routing ZIPF");
  refused(spread({{"experts.routing", "HISTOGRAM"}}), "0 loads for 8 routed experts");
  // 8 experts with popularity i^-3: the first would get 84 % of all choices, more than 1 of 2.
  refused(spread({{"experts.routing", "ZIPF"}, {"experts.zipf_exponent", "3"}}), "flatter loads are wanted");
  refused(
      spread({{"experts.routing", "ZIPF"}, {"experts.zipf_exponent", "1"}, {"experts.dispatcher", "DEEPEP"}}),
      "only UNIFORM");
}

// Section 17.9.3 of the textbook puts expert 8 and tensor 8 into one node of 8 (errata E12).
TEST(ExpertLayout, WarnsThatExpert8TimesTensor8CannotShareANodeOf8) {
  const Loading loading = Load({{"model", "moe_1_8t"},
                                {"hardware", "h800_sxm"},
                                {"devices", "1024"},
                                {"layout.tensor", "8"},
                                {"layout.sequence", "true"},
                                {"layout.pipeline", "8"},
                                {"layout.expert", "8"},
                                {"layout.expert_tensor", "8"},
                                {"batch.global", "64"}});
  ASSERT_TRUE(loading.scenario);
  EXPECT_TRUE(
      Says(loading.warnings(), "the 64 ranks of expert 8 x expert_tensor 8 do not share one NVLink domain"));
  EXPECT_EQ(loading.scenario->layout.expert_data(), 2);
}

// Section 17.9.2: 236e9 parameters on 64 H800 with expert 8 and ZeRO-1 take 162 GB a device if
// all of them are cut by 8 (errata E11). Of DeepSeek-V2, 59 x 160 x 3 x 5,120 x 1,536 = 223e9 are
// experts' and are; 13e9 are on every rank: 4 (27.8 + 13) of weights and BF16 gradients, and
// 12 x 236 / 64 of optimizer state, in GB: 208.
TEST(ExpertLayout, TheTextbooksDeepSeekOn64DevicesDoesNotFit) {
  const Loading loading = Load({{"model", "deepseek_v2"},
                                {"hardware", "h800_sxm"},
                                {"devices", "64"},
                                {"layout.tensor", "1"},
                                {"layout.pipeline", "1"},
                                {"layout.expert", "8"},
                                {"batch.global", "64"},
                                {"training.gradient_type", "BF16"}});
  ASSERT_TRUE(loading.scenario);
  const auto stages = PlanStages(*loading.scenario, hardware::DeviceCostModel(loading.scenario->device));
  const StageMemory memory = LargestStageMemory(*loading.scenario, stages);
  double states = 0;
  for (const BytePart& part : memory.parts) {
    if (part.name != "activations" && part.name != "recomputed")
      states += static_cast<double>(part.bytes.count());
  }
  const double experts = 59.0 * 160 * 3 * 5120 * 1536, all = 235'741'434'880;
  EXPECT_NEAR(states, 4 * (experts / 8 + all - experts) + 12 * all / 64, 1e4);  // vocabulary padding: none
  EXPECT_GT(memory.total, loading.scenario->device.usable_memory);
}

TEST(ExpertLayout, GroupsSayHowFarTheyReach) {
  const Loading loading =
      Load(Mixtral({{"layout.tensor", "2"}, {"layout.sequence", "true"}, {"layout.expert", "8"}}));
  ASSERT_TRUE(loading.scenario);
  std::vector<std::string> lines;
  for (const GroupKind& kind : GroupsOf(*loading.scenario)) lines.push_back(ToText(kind));
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "tensor: 8 groups of 2, as ranks 0, 1: inside one NVLink domain",
                "data: 2 groups of 8, as ranks 0, 2, 4, ..., 14: over the network, up to 2 NVLink domains",
                "expert: 2 groups of 8, as ranks 0, 1, 2, ..., 7: inside one NVLink domain",
                "expert data: 8 groups of 2, as ranks 0, 8: over the network, up to 2 NVLink domains"}));
}

TEST(ExpertLayout, ZipfIsTheSameForTheSameSeedAndAnotherForAnother) {
  const auto loads = [](const char* seed) {
    const Loading loading = Load(Mixtral({{"layout.expert", "8"},
                                          {"experts.routing", "ZIPF"},
                                          {"experts.zipf_exponent", "1"},
                                          {"experts.seed", seed}}));
    return loading.scenario.value().experts.loads;
  };
  EXPECT_EQ(loads("7"), loads("7"));
  EXPECT_NE(loads("7"), loads("8"));
  std::vector<std::int64_t> sorted = loads("7");
  std::sort(sorted.rbegin(), sorted.rend());
  EXPECT_EQ(sorted, (std::vector<std::int64_t>{1'000'000'000, 500'000'000, 333'333'333, 250'000'000,
                                               200'000'000, 166'666'667, 142'857'143, 125'000'000}));
}

}  // namespace
}  // namespace scenarios
