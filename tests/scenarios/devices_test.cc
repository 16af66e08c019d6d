// Jobs on devices that are unlike the usual node of eight: no BF16, no NVLink, a rack as one node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/loader.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using topologies::Tier;

Scenario LoadLegal(const Sets& sets) {
  Loading loading = Load(sets);
  EXPECT_THAT(loading.errors(), IsEmpty());
  return loading.scenario.value_or(Scenario());
}

bool Crosses(const topologies::Fabric& fabric, std::uint32_t from, std::uint32_t to, Tier tier) {
  for (const topologies::RouteUse& use : fabric.router->Between(from, to).uses) {
    if (fabric.links[use.link.value()].tier == tier) return true;
  }
  return false;
}

// HB-213
TEST(V100, RefusesBf16InOneLine) {
  const Sets v100 = {{"hardware", "v100_32_sxm"}, {"topology", "rail_optimised_hdr"}};
  Sets unfused = v100;
  unfused.emplace_back("training.attention", "UNFUSED");
  EXPECT_THAT(Load(unfused).errors(),
              ElementsAre(HasSubstr("training.format: BF16 needs compute capability 8.0 or more, and "
                                    "\"v100_32_sxm\" has 7.0; use FP16")));
  unfused.emplace_back("training.format", "FP16");
  EXPECT_THAT(Load(unfused).errors(), IsEmpty());
}

TEST(V100, HasNoFusedAttention) {
  const Sets sets = {{"hardware", "v100_32_sxm"}, {"training.format", "FP16"}};
  EXPECT_THAT(Load(sets).errors(), ElementsAre(HasSubstr("training.attention: FLASH2 has no figures")));
}

// Eight are joined each with each, which is not simulated.
TEST(Mi300x, TrainsAloneOrNotAtAll) {
  const Sets mi300x = {{"hardware", "mi300x"}, {"training.attention", "UNFUSED"}};
  EXPECT_THAT(Load(mi300x).errors(), ElementsAre(HasSubstr("node \"one_mi300x\" has no NIC")));
  Sets alone = mi300x;
  for (const auto& [path, value] : Sets{
           {"topology", "single_node"}, {"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}}) {
    alone.emplace_back(path, value);
  }
  EXPECT_THAT(Load(alone).errors(), IsEmpty());
}

// Cards without a switch: neighbours of one node send over PCIe.
TEST(H100Pcie, HasNoNvlink) {
  for (const char* name : {"h100_pcie", "h100_nvl"}) {
    const Scenario node = LoadLegal({{"hardware", name}, {"topology", "single_node"}, {"devices", "8"}});
    EXPECT_FALSE(Crosses(node.fabric, 0, 1, Tier::kNvlink)) << name;
    EXPECT_TRUE(Crosses(node.fabric, 0, 1, Tier::kPcie)) << name;
  }
}

TEST(Nvl72, ARackIsOneNvlinkDomain) {
  const Scenario one = LoadLegal(
      {{"hardware", "gb200_nvl72"}, {"topology", "single_node"}, {"devices", "72"}, {"batch.global", "72"}});
  EXPECT_EQ(one.fabric.devices.size(), 72u);
  for (std::uint32_t device = 1; device < 72; ++device) {
    EXPECT_EQ(one.fabric.domain[device], 0u);
    EXPECT_TRUE(Crosses(one.fabric, 0, device, Tier::kNvlink)) << device;
  }
}

// 8 racks of 72, each device with a NIC of its own: 72 rails.
TEST(Nvl72, RacksMeetOverTheirRails) {
  const Scenario racks =
      LoadLegal({{"hardware", "gb200_nvl72"}, {"devices", "576"}, {"batch.global", "1152"}});
  const topologies::Fabric& fabric = racks.fabric;
  ASSERT_EQ(fabric.devices.size(), 576u);
  for (std::uint32_t device = 0; device < 576; ++device) {
    EXPECT_EQ(fabric.domain[device], device / 72);
    EXPECT_EQ(fabric.rail[device], device % 72);
  }
  EXPECT_FALSE(Crosses(fabric, 0, 71, Tier::kNic));
  EXPECT_TRUE(Crosses(fabric, 0, 72, Tier::kNic));
  EXPECT_FALSE(Crosses(fabric, 0, 72, Tier::kNvlink));  // the same rail
  EXPECT_TRUE(Crosses(fabric, 0, 73, Tier::kNvlink));   // to the rail of the destination first
}

// 32 heads: tensor groups of 8 fill a rack nine times, groups of 72 cannot be.
TEST(Nvl72, HeadsStillLimitTheTensorGroup) {
  const Sets rack = {{"hardware", "gb200_nvl72"}, {"devices", "72"}, {"layout.pipeline", "1"}};
  Sets eight = rack, all = rack;
  eight.insert(eight.end(), {{"layout.tensor", "8"}, {"batch.global", "9"}});
  all.insert(all.end(), {{"layout.tensor", "72"}, {"batch.global", "1"}});
  EXPECT_EQ(LoadLegal(eight).layout.data, 9);
  EXPECT_THAT(Load(all).errors(), testing::Contains(HasSubstr("72 does not divide the 32 attention heads")));
}

TEST(Nvl72, RacksAreFullOrAlone) {
  EXPECT_THAT(Load({{"hardware", "gb200_nvl72"}, {"devices", "64"}}).errors(), IsEmpty());
  EXPECT_THAT(Load({{"hardware", "gb200_nvl72"}, {"devices", "128"}}).errors(),
              testing::Contains(HasSubstr("128 devices do not fill nodes of 72 (uneven nodes are not "
                                          "supported); 72 and 144 do")));
}

TEST(DevicesWithoutNvlink, TalkOverPcie) {
  for (const char* name : {"l40s", "rtx4090"}) {
    const Scenario s = LoadLegal({{"hardware", name}, {"topology", "rail_optimised_hdr"}});
    EXPECT_TRUE(Crosses(s.fabric, 0, 7, Tier::kPcie)) << name;
    for (const topologies::Link& link : s.fabric.links) EXPECT_NE(link.tier, Tier::kNvlink) << name;
  }
}

}  // namespace
}  // namespace scenarios
