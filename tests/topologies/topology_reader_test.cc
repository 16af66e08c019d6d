// Topology files: what is read, and every mistake with its place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/topologies/fabric_testing.h"
#include "topologies/catalogue.h"

namespace topologies {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class TopologyReader : public testing::Test {
 protected:
  // A folder of its own for each test.
  TopologyReader() {
    folder_ =
        testing::TempDir() + "topology_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  ~TopologyReader() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + '/' + name) << text;
  }

  std::optional<TopologySpec> Read(const std::string& name,
                                   const std::vector<proto::Override>& overrides = {}) {
    diagnostics_ = {};
    return ReadTopology(name, overrides, folder_, &diagnostics_);
  }
  // The errors of a file of this text, without the folder.
  std::vector<std::string> ErrorsOf(const std::string& text) {
    Write("it.textproto", text);
    EXPECT_FALSE(Read("it").has_value());
    std::vector<std::string> errors;
    for (const std::string& error : diagnostics_.errors()) {
      errors.push_back(error.rfind(folder_, 0) == 0 ? error.substr(folder_.size() + 1) : error);
    }
    return errors;
  }

  std::string folder_;
  proto::Diagnostics diagnostics_;
};

constexpr const char* kHead = "name: 'it' source { title: 'a test' }\n";

TEST_F(TopologyReader, EveryEntryOfTheCatalogueIsReadAndBuilds) {
  ASSERT_EQ(Catalogue().size(), 13u);
  for (const proto::CatalogueFile& entry : Catalogue()) {
    SCOPED_TRACE(entry.name);
    const std::optional<TopologySpec> spec = Read(std::string(entry.name));
    ASSERT_TRUE(spec.has_value()) << diagnostics_.errors()[0];
    EXPECT_EQ(spec->name, entry.name);
    EXPECT_FALSE(spec->source.empty());
    ExpectAllPairsConnect(MustBuild(*spec, TestNode(8, 8), 8));
  }
}

TEST_F(TopologyReader, FiguresOfTheCatalogueAreThoseOfTheSwitches) {
  // NDR is 400 Gbit/s = 50 GB/s, 32 of 64 ports up; HDR half, 20 of 40 ports.
  const auto ndr = std::get<RailOptimisedSpec>(Read("rail_optimised_ndr")->family);
  EXPECT_EQ(ndr.uplink, 50_GB_per_s);
  EXPECT_EQ(ndr.nodes_per_leaf + ndr.uplinks_per_leaf, ndr.switch_ports);
  EXPECT_EQ(ndr.switch_latency, 250_ns);
  const auto hdr = std::get<RailOptimisedSpec>(Read("rail_optimised_hdr")->family);
  EXPECT_EQ(hdr.uplink, 25_GB_per_s);
  EXPECT_EQ(hdr.nodes_per_leaf + hdr.uplinks_per_leaf, hdr.switch_ports);
  EXPECT_EQ(std::get<SingleSwitchSpec>(Read("single_switch_ndr")->family).port, 50_GB_per_s);
}

TEST_F(TopologyReader, TreesOfTheCatalogueHaveTheSizesThatTheySay) {
  // Nodes of 8 devices and 8 NICs. Llama 3: 1,536 racks, 8 pods of 16 spines, 1:7 above them.
  const Fabric llama = MustBuild(Read("meta_llama3_roce").value(), TestNode(8, 8), 24'576);
  EXPECT_EQ(CountOf(llama, VertexKind::kLeaf), 1'536u);
  EXPECT_EQ(CountOf(llama, VertexKind::kSpine), 8u);  // each of 16
  double nics = 0, to_core = 0;
  for (const Link& link : llama.links) {
    if (link.tier == Tier::kNic) nics += link.capacity.bytes_per_second();
    if (link.tier == Tier::kSpineCore) to_core += link.capacity.bytes_per_second();
  }
  EXPECT_NEAR(nics / to_core, 7, 0.12);
  // The most that the ports do for, and one more.
  const std::pair<const char*, std::int64_t> most[] = {
      {"fat_tree_ndr", 256}, {"rail_only_ndr", 64}, {"rail_optimised_ndr", 2048}};
  for (const auto& [name, nodes] : most) {
    SCOPED_TRACE(name);
    EXPECT_EQ(ErrorOf(*Read(name), TestNode(8, 8), nodes * 8), "");
    EXPECT_NE(ErrorOf(*Read(name), TestNode(8, 8), nodes * 8 + 8), "");
  }
  // 100 km.
  const auto sites = std::get<FatTreeSpec>(Read("two_sites_ndr")->family).sites;
  EXPECT_EQ(sites.latency, 500_us);
}

TEST_F(TopologyReader, AFileBesideTheScenarioWinsOverTheCatalogue) {
  Write("single_node.textproto", std::string(kHead) + "single_switch { switch_latency_ns: 5 }");
  const std::optional<TopologySpec> spec = Read("single_node");
  ASSERT_TRUE(spec.has_value());
  EXPECT_TRUE(std::holds_alternative<SingleSwitchSpec>(spec->family));
  EXPECT_TRUE(Read(folder_ + "/single_node.textproto").has_value());  // by its path
}

TEST_F(TopologyReader, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_FALSE(Read("rail_optimized_ndr").has_value());
  EXPECT_THAT(diagnostics_.errors(), ElementsAre(AllOf(HasSubstr("topology: \"rail_optimized_ndr\""),
                                                       HasSubstr("did you mean rail_optimised_ndr"))));
}

TEST_F(TopologyReader, OverridesReachTheFile) {
  const auto spec = Read("rail_optimised_ndr", {{1, "rail_optimised.uplinks_per_leaf", "16"}});
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(std::get<RailOptimisedSpec>(spec->family).uplinks_per_leaf, 16);
  EXPECT_FALSE(Read("rail_optimised_ndr", {{3, "rail_optimised.uplinks_per_leaf", "-1"}}).has_value());
  EXPECT_THAT(diagnostics_.errors(), ElementsAre(AllOf(HasSubstr("--set 3: rail_optimised.uplinks_per_leaf"),
                                                       HasSubstr("-1 is not within 0 and 65536"))));
}

TEST_F(TopologyReader, AnExplicitFileIsAFabric) {
  Write("pair.textproto", std::string(kHead) + R"(
      explicit {
        nodes { name: "gpu0" kind: DEVICE }
        nodes { name: "gpu1" kind: DEVICE }
        nodes { name: "nvswitch" kind: NVSWITCH }
        links { from: "gpu0" to: "nvswitch" bandwidth_gb_per_s_each_way: 450 latency_ns: 300 }
        links { from: "gpu1" to: "nvswitch" bandwidth_gb_per_s_each_way: 450 latency_ns: 0.5 }
      })");
  const Fabric fabric = MustBuild(Read("pair").value(), sim::NodeShape(), 2);
  EXPECT_EQ(PathText(fabric, fabric.router->Between(0, 1)), "gpu0 -> nvswitch -> gpu1");
  EXPECT_EQ(fabric.router->Between(0, 1).latency, sim::Duration::Picoseconds(300'500));
  EXPECT_EQ(fabric.links[0].capacity, 450_GB_per_s);
}

TEST_F(TopologyReader, EveryMistakeOfAnExplicitListHasItsPlace) {
  EXPECT_THAT(
      ErrorsOf(R"(name: "it" source { title: "a test" }
explicit {
  nodes { name: "gpu0" kind: DEVICE }
  nodes { name: "gpu1" kind: GPU }
  nodes { name: "gpu0" kind: DEVICE }
  links { from: "gpu0" to: "gpu1" bandwidth_gb_per_s_each_way: 0 latency_ns: 300 }
  links { from: "gpu1" to: "gpu2" bandwidth_gb_per_s_each_way: 25 latency_ns: 2e9 }
  links { from: "gpu1" to: "gpu0" bandwidth_gb_per_s_each_way: 25 latency_ns: 300 }
  links { from: "gpu1" bandwidth_gb_per_s_each_way: -3 }
})"),
      AllOf(
          Contains(AllOf(HasSubstr("it.textproto:4:24: explicit.nodes[1].kind"), HasSubstr("GPU"))),
          Contains(AllOf(HasSubstr("it.textproto:5:11: explicit.nodes[2].name"), HasSubstr("\"gpu0\""))),
          Contains(AllOf(HasSubstr("it.textproto:6:35: explicit.links[0].bandwidth_gb_per_s_each_way"),
                         HasSubstr("gpu0 -> gpu1"), HasSubstr("zero"))),
          Contains(AllOf(HasSubstr("it.textproto:7:24: explicit.links[1].to"), HasSubstr("\"gpu2\""))),
          Contains(
              AllOf(HasSubstr("it.textproto:7:67: explicit.links[1].latency_ns"), HasSubstr("1000000000"))),
          Contains(AllOf(HasSubstr("it.textproto:8:11: explicit.links[2].from"), HasSubstr("gpu1 -> gpu0"),
                         HasSubstr("links[0]"))),
          Contains(AllOf(HasSubstr("it.textproto:9:3: explicit.links[3].to"), HasSubstr("names no element"))),
          Contains(AllOf(HasSubstr("it.textproto:9:24: explicit.links[3].bandwidth_gb_per_s_each_way"),
                         HasSubstr("-3"))),
          Contains(
              AllOf(HasSubstr("it.textproto:9:3: explicit.links[3].latency_ns"), HasSubstr("missing")))));
}

TEST_F(TopologyReader, AFatTreeHasAllItsFields) {
  Write("tree.textproto", std::string(kHead) + R"(
      fat_tree {
        rails: RAIL_ONLY nodes_per_leaf: 4 uplinks_per_leaf: 2 uplink_gbit_per_s: 400 spines: 2
        nodes_per_pod: 8 uplinks_per_pod: 6 core_uplink_gbit_per_s: 800 planes: 2
        switch_latency_ns: 250 switch_ports: 64 routing: ECMP seed: 7 flows_per_pair: 4
      })");
  const auto spec = std::get<FatTreeSpec>(Read("tree").value().family);
  EXPECT_EQ(spec.rails, RailKind::kOnly);
  EXPECT_EQ(spec.nodes_per_pod, 8);
  EXPECT_EQ(spec.uplinks_per_pod, 6);
  EXPECT_EQ(spec.core_uplink, 100_GB_per_s);
  EXPECT_EQ(spec.planes, 2);
  EXPECT_EQ(spec.routing.routing, Routing::kEcmp);
  EXPECT_EQ(spec.routing.seed, 7u);
  EXPECT_EQ(spec.routing.flows, 4u);
  EXPECT_THAT(ErrorsOf(std::string(kHead) +
                       "fat_tree { nodes_per_leaf: 4 uplinks_per_leaf: 2 nodes_per_pod: 6 planes: 65 "
                       "routing: ECMP sites { nodes_per_site: 2 latency_ms: 1001 } }"),
              AllOf(Contains(AllOf(HasSubstr("fat_tree.rails"), HasSubstr("missing; SHARED_LEAF"))),
                    Contains(AllOf(HasSubstr("fat_tree.uplink_gbit_per_s"), HasSubstr("missing"))),
                    Contains(AllOf(HasSubstr("fat_tree.nodes_per_pod"),
                                   HasSubstr("6 is no multiple of nodes_per_leaf, 4"))),
                    Contains(AllOf(HasSubstr("fat_tree.uplinks_per_pod"), HasSubstr("missing"))),
                    Contains(AllOf(HasSubstr("fat_tree.planes"), HasSubstr("65 is not within 1 and 64"))),
                    Contains(AllOf(HasSubstr("fat_tree.sites.gbit_per_s"), HasSubstr("missing"))),
                    Contains(AllOf(HasSubstr("fat_tree.sites.latency_ms"), HasSubstr("1001"))),
                    Contains(AllOf(HasSubstr("fat_tree.routing"), HasSubstr("ECMP in several sites")))));
  EXPECT_THAT(
      ErrorsOf(std::string(kHead) + "fat_tree { rails: SHARED_LEAF nodes_per_leaf: 4 uplinks_per_leaf: 0 "
                                    "uplinks_per_pod: 2 switch_latency_ns: 0 }"),
      ElementsAre(AllOf(HasSubstr("fat_tree.uplinks_per_pod"), HasSubstr("only where nodes_per_pod"))));
}

TEST_F(TopologyReader, ToriAndDragonfliesHaveAllTheirFields) {
  Write(
      "torus.textproto",
      std::string(kHead) + "torus { size: [4, 3] wrap: false link_gbit_per_s: 400 switch_latency_ns: 100 }");
  const auto torus = std::get<TorusSpec>(Read("torus").value().family);
  EXPECT_THAT(torus.size, ElementsAre(4, 3));
  EXPECT_FALSE(torus.wrap);
  EXPECT_EQ(torus.link, 50_GB_per_s);
  EXPECT_THAT(
      ErrorsOf(std::string(kHead) + "torus { size: [1, 2, 3, 4] link_gbit_per_s: 1 switch_latency_ns: 0 }"),
      ElementsAre(HasSubstr("torus.size[3]: 4 dimensions; 1 to 3 would do")));
  EXPECT_THAT(ErrorsOf(std::string(kHead) + "torus { size: [4096, 4096] }"),
              AllOf(Contains(HasSubstr("torus.size: 16777216 routers; at most 262144")),
                    Contains(AllOf(HasSubstr("torus.link_gbit_per_s"), HasSubstr("missing")))));
  EXPECT_THAT(ErrorsOf(std::string(kHead) + "torus { link_gbit_per_s: 1 switch_latency_ns: 0 }"),
              ElementsAre(AllOf(HasSubstr("torus.size"), HasSubstr("missing"))));
  EXPECT_THAT(
      ErrorsOf(
          std::string(kHead) +
          "dragonfly_plus { nodes_per_leaf: 2 leafs_per_group: 2 spines_per_group: 2 uplinks_per_leaf: 3 "
          "uplink_gbit_per_s: 400 global_links: 2 global_link_gbit_per_s: 400 }"),
      AllOf(Contains(AllOf(HasSubstr("dragonfly_plus.uplinks_per_leaf"), HasSubstr("3 is no multiple"))),
            Contains(AllOf(HasSubstr("dragonfly_plus.switch_latency_ns"), HasSubstr("missing")))));
}

TEST_F(TopologyReader, FaultsAreReadAndAppendedFromTheCommandLine) {
  const std::vector<proto::Override> half = {
      {1, "faults[0].from", "node3/nic5"}, {2, "faults[0].to", "*"},
      {3, "faults[0].rate_factor", "0.5"}, {4, "faults[1].from", "rail5/leaf0"},
      {5, "faults[1].to", "rail5/spine*"}, {6, "faults[1].failed_cables", "1"}};
  const auto spec = Read("rail_optimised_ndr", half);
  ASSERT_TRUE(spec.has_value()) << diagnostics_.errors()[0];
  ASSERT_EQ(spec->faults.size(), 2u);
  EXPECT_EQ(spec->faults[0].rate_factor, 0.5);
  EXPECT_EQ(spec->faults[1].failed_cables, 1);
  EXPECT_THAT(ErrorsOf(std::string(kHead) +
                       "single_node {}\nfaults { from: 'a' rate_factor: 1.5 }\nfaults { to: 'b' }"),
              AllOf(Contains(AllOf(HasSubstr("it.textproto:3:1: faults[0].to"), HasSubstr("missing"))),
                    Contains(AllOf(HasSubstr("it.textproto:3:20: faults[0].rate_factor"),
                                   HasSubstr("1.5 is not within"))),
                    Contains(AllOf(HasSubstr("it.textproto:4:1: faults[1]"),
                                   HasSubstr("says nothing of the link")))));
}

TEST_F(TopologyReader, ExactlyOneFamilyIsWanted) {
  EXPECT_THAT(ErrorsOf(kHead), ElementsAre(AllOf(HasSubstr("no family"), HasSubstr("rail_optimised"))));
  EXPECT_THAT(
      ErrorsOf(std::string(kHead) + "single_node {}\nsingle_switch { switch_latency_ns: 1 }"),
      ElementsAre(AllOf(HasSubstr("it.textproto:3:1: single_switch"), HasSubstr("single_node already"))));
}

TEST_F(TopologyReader, MissingAndImpossibleFiguresAreReportedTogether) {
  EXPECT_THAT(
      ErrorsOf("rail_optimised { nodes_per_leaf: 0 uplinks_per_leaf: 4 uplink_gbit_per_s: 1e-9 }"),
      AllOf(Contains(AllOf(HasSubstr("name"), HasSubstr("missing"))),
            Contains(AllOf(HasSubstr("source.title"), HasSubstr("missing"))),
            Contains(AllOf(HasSubstr("rail_optimised.nodes_per_leaf"), HasSubstr("0 is not within 1"))),
            Contains(AllOf(HasSubstr("rail_optimised.uplink_gbit_per_s"), HasSubstr("1e-09"))),
            Contains(AllOf(HasSubstr("rail_optimised.switch_latency_ns"), HasSubstr("missing")))));
}

TEST_F(TopologyReader, AnUnknownFamilyIsAnsweredWithTheNearest) {
  EXPECT_THAT(ErrorsOf(std::string(kHead) + "single_swich { switch_latency_ns: 1 }"),
              Contains(AllOf(HasSubstr("single_swich"), HasSubstr("single_switch"))));
}

TEST_F(TopologyReader, JsonIsReadAsWell) {
  Write("it.json",
        R"({"name": "it", "source": {"title": "a test"}, "single_switch": {"switch_latency_ns": 7}})");
  const auto spec = Read("it");
  ASSERT_TRUE(spec.has_value()) << diagnostics_.errors()[0];
  EXPECT_EQ(std::get<SingleSwitchSpec>(spec->family).switch_latency, 7_ns);
}

TEST_F(TopologyReader, AFileThatIsNoTopologyIsAnErrorNotACrash) {
  for (const char* text : {"", "{", "garbage", "explicit { nodes", "explicit {}", "rail_optimised: 3"}) {
    EXPECT_FALSE(ErrorsOf(text).empty()) << text;
  }
}

}  // namespace
}  // namespace topologies
