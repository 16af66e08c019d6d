// Fabrics given element by element, and what can be wrong with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/topologies/fabric_testing.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two nodes of two devices on one switch.
ExplicitSpec TwoNodes() {
  ExplicitSpec spec;
  spec.nodes = {{"switch", VertexKind::kSwitch}};
  for (const char* node : {"node0", "node1"}) {
    const std::string prefix = std::string(node) + '/';
    spec.nodes.push_back({prefix + "nvswitch", VertexKind::kNvSwitch});
    for (const char* gpu : {"gpu0", "gpu1"}) {
      spec.nodes.push_back({prefix + gpu, VertexKind::kDevice});
      spec.links.push_back({prefix + gpu, prefix + "nvswitch", 450_GB_per_s, 300_ns, true});
      spec.links.push_back({prefix + gpu, "switch", 50_GB_per_s, 700_ns, true});
    }
  }
  return spec;
}

TopologySpec Named(const ExplicitSpec& spec) { return {"list", "", "", spec}; }

std::string ErrorOf(const ExplicitSpec& spec, std::int64_t devices = 4) {
  return topologies::ErrorOf(Named(spec), sim::NodeShape(), devices);
}

TEST(ExplicitFabric, HasItsElementsInTheOrderGiven) {
  const Fabric fabric = MustBuild(Named(TwoNodes()), sim::NodeShape(), 4);
  ASSERT_EQ(fabric.devices.size(), 4u);
  EXPECT_EQ(fabric.vertices[fabric.devices[2].pos()].name, "node1/gpu0");
  EXPECT_EQ(fabric.domain, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(fabric.rail, (std::vector<std::uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(fabric.LinkName(sim::LinkId(0)), "node0/gpu0 -> node0/nvswitch");
  EXPECT_EQ(fabric.LinkName(sim::LinkId(1)), "node0/nvswitch -> node0/gpu0");
  EXPECT_EQ(CountOf(fabric, Tier::kNvlink), 8u);
  EXPECT_EQ(CountOf(fabric, Tier::kNic), 8u);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(0, 3)), "node0/gpu0 -> switch -> node1/gpu1");
  ExpectAllPairsConnect(fabric);
}

TEST(ExplicitFabric, AJobMayUseFewerDevicesThanThereAre) {
  EXPECT_EQ(ErrorOf(TwoNodes(), 3), "");
  EXPECT_THAT(ErrorOf(TwoNodes(), 5),
              AllOf(HasSubstr("\"list\" has 4 devices"), HasSubstr("5 are asked for")));
}

TEST(ExplicitFabric, ALinkMayGoOneWay) {
  ExplicitSpec spec;
  spec.nodes = {{"a", VertexKind::kDevice}, {"b", VertexKind::kDevice}, {"c", VertexKind::kDevice}};
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "a")}) {
    spec.links.push_back({from, to, 25_GB_per_s, 100_ns, false});
  }
  const Fabric fabric = MustBuild(Named(spec), sim::NodeShape(), 3);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(0, 2)), "a -> b -> c");
  EXPECT_EQ(ToText(fabric), "list: 3 devices\n  NVLink     3 links of 25 GB/s, 0.075 TB/s in all\n");
  spec.links.pop_back();
  EXPECT_THAT(ErrorOf(spec, 3), AllOf(HasSubstr("disconnected"), HasSubstr("a"), HasSubstr("c")));
}

TEST(ExplicitFabric, DevicesThatDoNotReachEachOtherAreNamed) {
  ExplicitSpec spec = TwoNodes();
  std::erase_if(spec.links, [](const ExplicitLink& link) { return link.to == "switch"; });
  EXPECT_THAT(ErrorOf(spec), AllOf(HasSubstr("disconnected"), HasSubstr("node0/gpu0"),
                                   HasSubstr("node1/gpu0"), HasSubstr("node1/gpu1")));
}

TEST(ExplicitFabric, ALinkWithoutARateIsNamed) {
  ExplicitSpec spec = TwoNodes();
  spec.links[3].capacity = sim::ByteRate();
  EXPECT_THAT(ErrorOf(spec),
              AllOf(HasSubstr("links[3]"), HasSubstr("node0/gpu1 -> switch"), HasSubstr("zero")));
}

TEST(ExplicitFabric, RepeatedElementsAndLinksAreNamed) {
  ExplicitSpec spec = TwoNodes();
  spec.nodes[5].name = "node0/gpu0";
  EXPECT_THAT(ErrorOf(spec),
              AllOf(HasSubstr("nodes[5].name"), HasSubstr("\"node0/gpu0\""), HasSubstr("nodes[2]")));

  spec = TwoNodes();
  spec.links.push_back({"switch", "node1/gpu0", 50_GB_per_s, 1_us, true});  // the other way round
  EXPECT_THAT(ErrorOf(spec),
              AllOf(HasSubstr("links[8]"), HasSubstr("switch -> node1/gpu0"), HasSubstr("links[5]")));
}

TEST(ExplicitFabric, EndsThatAreNoElementAreNamedWithWhatMayBeMeant) {
  ExplicitSpec spec = TwoNodes();
  spec.links[0].to = "node0/nvswich";
  EXPECT_THAT(ErrorOf(spec),
              AllOf(HasSubstr("links[0].to"), HasSubstr("\"node0/nvswich\" is not one of the elements"),
                    HasSubstr("\"node0/nvswitch\"?")));
  spec = TwoNodes();
  spec.links[0].to = spec.links[0].from;
  EXPECT_THAT(ErrorOf(spec), AllOf(HasSubstr("\"node0/gpu0\""), HasSubstr("to itself")));
}

TEST(ExplicitFabric, EveryFaultIsFoundInOneRun) {
  ExplicitSpec spec = TwoNodes();
  spec.nodes.push_back({"", VertexKind::kDevice});
  spec.links.push_back({"nowhere", "switch", sim::ByteRate(), sim::Duration::Milliseconds(1001), true});
  EXPECT_EQ(FaultsOf(spec).size(), 4u);  // name, from, rate, latency
  EXPECT_EQ(FaultsOf(TwoNodes()).size(), 0u);
  EXPECT_THAT(ErrorOf(ExplicitSpec()), HasSubstr("no device"));
}

TEST(ExplicitFabric, AHundredThousandLinksAreNoTrouble) {
  ExplicitSpec spec;
  spec.nodes.push_back({"switch", VertexKind::kSwitch});
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "node" + std::to_string(i) + "/gpu";
    spec.nodes.push_back({name, VertexKind::kDevice});
    spec.links.push_back({name, "switch", 50_GB_per_s, 1_us, true});
  }
  const Fabric fabric = MustBuild(Named(spec), sim::NodeShape(), 50'000);
  ExpectConnects(fabric, 0, 49'999);
}

}  // namespace
}  // namespace topologies
