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
  ASSERT_EQ(Catalogue().size(), 5u);
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
