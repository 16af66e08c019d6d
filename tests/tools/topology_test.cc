// orrery topology, from the command line to its text, JSON and picture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result Topology(std::vector<std::string> words) {
  words.insert(words.begin(), "topology");
  return RunWords(words);
}

// One device and one NIC a node: 50 GB/s, latencies of its own.
const std::vector<std::string> kPlain = {
    "--set", "hardware.node.devices=1", "--set", "hardware.node.nics=1", "--devices", "8"};

Result Plain(std::vector<std::string> words) {
  words.insert(words.end(), kPlain.begin(), kPlain.end());
  return Topology(words);
}

TEST(TopologyCommand, ShowsElementsTiersAndBisection) {
  const Result result = Topology({"rail_optimised_ndr", "--devices", "512"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("rail_optimised_ndr: rails with spines of their own, nodes \"hgx_h100\"\n"),
            HasSubstr("  512 devices, 64 NVLink switches, 512 PCIe switches, 64 hosts, 512 NICs, 16 leafs, "
                      "8 spines\n"),
            HasSubstr("  routing: SPRAY; by the destination's rail\n")));
  // 16 leafs with 32 cables each, both ways, of 50 GB/s.
  EXPECT_THAT(result.out, HasSubstr("  leaf-spine      32    1024  1600                   51.2"));
  for (const std::string& line : Lines(result.out)) EXPECT_LE(line.size(), 110u) << line;
}

TEST(TopologyCommand, SaysTheSameInJson) {
  const Result result = Plain({"single_switch_ndr", "--json", "--set", "hardware.node.nic.efficiency=1"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["devices"], 8);
  EXPECT_EQ(json["elements"]["NIC"], 8);
  // Eight devices on one switch: four NICs of 50 GB/s part the halves, and a pair has one.
  EXPECT_EQ(json["bisection_bytes_per_s"], 4 * 50e9);
  EXPECT_EQ(json["pairs_bytes_per_s"], 50e9);
  for (const auto& tier : json["tiers"]) {
    if (tier["name"] == "NIC") {
      EXPECT_EQ(tier["total_bytes_per_s"], 16 * 50e9);
    }
  }
}

// A device's PCIe lanes, and those of its NIC, are rows of their own: 51.5 GB/s each, not 103.
TEST(TopologyCommand, CountsPcieOnce) {
  const Result result = Topology({"rail_optimised_ndr", "--devices", "16"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("51.5  device, PCIe switch\n"),
                                HasSubstr("51.5  PCIe switch, NIC\n"), Not(HasSubstr(" 103"))));
  // What an NVLink switch joins sends nothing through its host.
  EXPECT_THAT(Topology({"single_node"}).out,
              AllOf(HasSubstr("367 GB/s for each of them"), HasSubstr("367 GB/s each way between device i")));
}

TEST(TopologyCommand, TakesNodesOfDifferentSizes) {
  const Result result = Topology({"rail_optimised_ndr", "--devices", "8,5"});
  EXPECT_THAT(result.out, HasSubstr("  13 devices, 2 NVLink switches"));
  EXPECT_EQ(Topology({"rail_optimised_ndr", "--devices", "13"}).out, result.out);
  EXPECT_THAT(Topology({"rail_optimised_ndr", "--devices", "8,9"}).err,
              HasSubstr("9 devices on node 1; 1 to 8 would do"));
}

TEST(TopologyCommand, TakesFieldsOfTopologyAndHardware) {
  const Result result = Plain({"fat_tree_ndr", "--set", "topology.fat_tree.nodes_per_leaf=2", "--set",
                               "topology.fat_tree.uplinks_per_leaf=1", "--set",
                               "topology.fat_tree.routing=ECMP", "--set", "topology.fat_tree.seed=3"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("4 leafs, 1 spine\n"), HasSubstr("routing: ECMP, seed 3\n")));
}

TEST(TopologyCommand, PrintsARoute) {
  const Result result = Plain({"single_switch_ndr", "--route", "0,7"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\n  route from device 0 to 7, "),
                                HasSubstr("\n    node0/gpu0 -> node0/pcie0\n    node0/pcie0 -> node0/nic0\n"
                                          "    node0/nic0 -> switch\n    switch -> node7/nic0\n")));
  EXPECT_THAT(Plain({"single_switch_ndr", "--route", "0,8"}).err,
              HasSubstr("--route: \"0,8\" is no pair of devices; two of 0 to 7 are wanted, as 0,7"));
}

TEST(TopologyCommand, AFaultSlowsAndCutsWhatItNames) {
  const std::vector<std::string> fault = {"single_switch_ndr",
                                          "--set",
                                          "topology.faults[0].from=node3/nic0",
                                          "--set",
                                          "topology.faults[0].to=switch",
                                          "--set",
                                          "hardware.node.nic.efficiency=1"};
  auto half = fault;
  half.insert(half.end(), {"--set", "topology.faults[0].rate_factor=0.5"});
  EXPECT_THAT(Plain(half).out, AllOf(HasSubstr("25 to 50"), HasSubstr("  bisection  0.175 TB/s")));
  auto gone = fault;
  gone.insert(gone.end(), {"--set", "topology.faults[0].failed=true"});
  const Result cut = Plain(gone);
  EXPECT_EQ(cut.status, kExitUsage);
  EXPECT_EQ(cut.err,
            "orrery: error: topology \"single_switch_ndr\" is disconnected: node0/gpu0 and node3/gpu0 do not "
            "reach each other; links both ways must join them\n");
}

TEST(TopologyCommand, NamesEveryMistakeInOneRun) {
  const Result result =
      Topology({"fat_tree_ndx", "--devices", "many", "--hardware", "h100", "--set", "layout.tensor=2"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--set 1: layout.tensor: is no field here; topology.FIELD or hardware.FIELD"),
                    HasSubstr("--devices: \"many\" is no number of devices; 1 to 1048576 in all"),
                    HasSubstr("did you mean fat_tree_ndr")));
  EXPECT_THAT(Topology({}).err, HasSubstr("topology: no name; `orrery list topologies` names all"));
  EXPECT_THAT(Topology({"single_node", "--json", "--route", "0,1"}).err,
              HasSubstr("--route: is given beside"));
  EXPECT_THAT(Topology({"single_node", "--dot", "-"}).err, HasSubstr("the name of a file is wanted"));
}

TEST(TopologyCommand, WritesThePicture) {
  const std::string path = testing::TempDir() + "orrery_topology.dot";
  std::filesystem::remove(path);
  ASSERT_EQ(Topology({"single_node", "--hardware", "gb200_nvl72", "--dot", path}).status, kExitDone);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str().rfind("graph \"single_node\" {\n", 0), 0u);
  EXPECT_THAT(text.str(), HasSubstr("v71 -- v72 "));  // the rack's last device and its NVLink switch
  std::filesystem::remove(path);
  EXPECT_EQ(Topology({"single_node", "--devices", "9", "--dot", path}).status, kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tools
