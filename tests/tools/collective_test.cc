// orrery collective, from the command line to what it prints and writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

// A file of the test's own: two tests that run side by side share none.
class TestFile {
 public:
  explicit TestFile(const std::string& name, const std::string& text = "")
      : path_(std::filesystem::path(testing::TempDir()) /
              ("collective_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
               '_' + name)) {
    std::filesystem::remove(path_);
    if (!text.empty()) std::ofstream(path_) << text;
  }
  ~TestFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

// The words of a row.
std::vector<std::string> Row(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(CollectiveCommand, PrintsTheColumnsOfNcclTests) {
  const Result r = RunWords({"collective", "all_reduce", "-b", "8", "-e", "128", "-f", "4"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  std::vector<std::vector<std::string>> rows;
  std::string columns;
  for (const std::string& line : Lines(r.out)) {
    EXPECT_LE(line.size(), 110u) << line;
    if (line[0] != '#') rows.push_back(Row(line));
    if (line.find("count") != std::string::npos) columns = line;
  }
  EXPECT_THAT(Row(columns), ElementsAre("#", "size", "count", "type", "redop", "root", "time", "algbw",
                                        "busbw", "bound", "gap", "by"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(std::vector(rows[1].begin(), rows[1].begin() + 5),
            (std::vector<std::string>{"32", "8", "float", "sum", "-1"}));
  EXPECT_EQ(rows[1].size(), 11u);
  EXPECT_THAT(r.out, AllOf(HasSubstr("# 8 x h100_sxm on single_node\n# all_reduce of 8 ranks: 0-7\n"),
                           HasSubstr("# Avg bus bandwidth    : ")));
}

// A time of 0 is said to be none.
TEST(CollectiveCommand, WarnsOfRowsThatSendNothing) {
  const Result alone = RunWords({"collective", "all_reduce", "--devices", "1", "-b", "1M"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_THAT(Lines(alone.err), ElementsAre(HasSubstr("warning: a group of one rank sends nothing")));
  // 64 bytes over eight ranks are less than 16 bytes each.
  for (const auto& words : {std::vector<std::string>{"collective", "all_reduce", "-b", "0", "-e", "0"},
                            {"collective", "all_gather", "-b", "64", "-e", "1K", "-f", "16"}}) {
    const Result empty = RunWords(words);
    EXPECT_EQ(empty.status, 0) << empty.err;
    EXPECT_THAT(Lines(empty.err), ElementsAre(HasSubstr("warning: rows of 0 bytes")));
  }
}

TEST(CollectiveCommand, PrintsTheRootAndTheOracle) {
  const Result r =
      RunWords({"collective", "broadcast", "-b", "1M", "-r", "3", "--ranks", "1-7:2", "--chunk"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("by chunk"), HasSubstr("# broadcast of 4 ranks: 1-7:2\n")));
  EXPECT_EQ(Row(Lines(r.out)[5])[4], "3");
  EXPECT_EQ(Row(Lines(r.out)[5]).size(), 13u);
}

// Rates that are set are the rates: an all-gather of 1 GB on ports of 25 GB/s, a byte in 8/7 of 40 ps.
TEST(CollectiveCommand, SetsFieldsOfHardwareAndTopology) {
  const Result r = RunWords({"collective", "all_gather", "--devices", "8", "--topology", "single_switch_ndr",
                             "--set", "hardware.node.devices=1", "--set", "hardware.node.nics=1", "--set",
                             "topology.single_switch.port_gbit_per_s=200", "-b", "1G", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json row = Json::parse(r.out)["rows"][0];
  EXPECT_NEAR(row["bound_s"].get<double>(), 7.0 / 8 * (1 << 30) / 25e9, 2e-3);
}

TEST(CollectiveCommand, WritesOneDocument) {
  const Result r =
      RunWords({"collective", "alltoall", "--devices", "16", "-b", "1M", "-e", "64M", "-f", "8", "--links",
                "--background", "sendrecv 0,8 16M", "--json", "--chunk", "-d", "half"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json json = Json::parse(r.out);
  EXPECT_EQ(json["topology"], "rail_optimised_ndr");
  ASSERT_EQ(json["rows"].size(), 3u);
  const Json& row = json["rows"][2];
  EXPECT_EQ(row["size_bytes"], 64 << 20);
  EXPECT_EQ(row["count"], (64 << 20) / 2 / 16);
  EXPECT_EQ(row["ranks"], "0-15");
  EXPECT_GE(row["time_s"].get<double>(), row["bound_s"].get<double>());
  EXPECT_GT(row["chunk_time_s"].get<double>(), 0);
  EXPECT_EQ(json["background"][0]["collective"], "sendrecv");
  EXPECT_EQ(json["shared_ranks"][0]["ranks"], "0,8");
  const Json& link = json["links"][0];
  EXPECT_LE(link["utilisation"].get<double>(), 1 + 1e-9);
  double shares = 0;
  for (const Json& share : link["by"]) shares += share["bytes"].get<double>();
  EXPECT_NEAR(shares, link["bytes"].get<double>(), 1);
  EXPECT_EQ(json["digest"].get<std::string>().size(), 16u);
}

TEST(CollectiveCommand, GivesEachJobItsRow) {
  const Result r =
      RunWords({"collective", "--job", "all_reduce 0-7 1G", "--job", "broadcast 0-3 256M root 2", "--links"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("  all_reduce 0-7 1G\n"), HasSubstr("  broadcast 0-3 256M root 2\n"),
                    HasSubstr("\"all_reduce 0-7 1G\" and \"broadcast 0-3 256M root 2\" share ranks 0-3"),
                    HasSubstr("# most loaded links of each tier"), HasSubstr("#  NVLink\n")));
}

TEST(CollectiveCommand, WritesFiles) {
  const TestFile table("test.txt"), document("test.json"), trace("trace.json");
  const Result r =
      RunWords({"collective", "all_reduce", "-b", "1M", "--output", table.path(), "--trace", trace.path()});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(table.text(), r.out);
  std::size_t seats = 0;
  const Json events = Json::parse(trace.text());
  for (const Json& event : events["traceEvents"]) seats += event["ph"] == "X";
  EXPECT_EQ(seats, 8u);
  ASSERT_EQ(RunWords({"collective", "all_reduce", "-b", "1M", "--output", document.path()}).status, 0);
  EXPECT_EQ(Json::parse(document.text())["rows"].size(), 1u);
}

// HB-104: exit status 2, both ranks, the operation and the sizes on standard error, and no time.
TEST(CollectiveCommand, ReportsADeadlockAndNoTime) {
  const TestFile file("ranks.txt",
                      "rank 0: all_reduce 4096 group 0-1\nrank 0: all_gather 4096 group 0-1\n"
                      "rank 1: all_reduce 2048 group 0-1\nrank 1: all_gather 4096 group 0-1\n");
  const TestFile trace("trace.json");
  const Result r = RunWords({"collective", "--operations", file.path(), "--trace", trace.path()});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err,
            "orrery: error: " + file.path() +
                ":3: deadlock: operation 0 of group 0-1: rank 0 issues all_reduce of 4096 bytes (line 1), "
                "rank 1 issues all_reduce of 2048 bytes (line 3); all members must issue the same\n");
  EXPECT_FALSE(std::filesystem::exists(trace.path()));
}

TEST(CollectiveCommand, PlaysAListOfOperations) {
  const TestFile file(
      "ranks.txt", "rank 0-7: all_reduce 1M\nrank 0-3: all_gather 64M group 0-3\nrank 0-7: all_reduce 1G\n");
  const Result r = RunWords({"collective", "--operations", file.path()});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("         by  operation\n"), HasSubstr("    Ring/S  all_gather 0 of 0-3"),
                    HasSubstr("all_reduce 0 of 0-7, line 1\n"), HasSubstr("all_gather 0 of 0-3, line 2\n"),
                    HasSubstr("all_reduce 1 of 0-7, line 3\n"), HasSubstr("# all ended after ")));
  const Json json = Json::parse(RunWords({"collective", "--operations", file.path(), "--json"}).out);
  const Json& last = json["operations"][2];
  EXPECT_EQ(last["by"]["protocol"], "Simple");
  EXPECT_GT(last["begin_s"].get<double>(), last["arrived_s"].get<double>());
  EXPECT_NEAR(last["begin_s"].get<double>() + last["time_s"].get<double>(), json["finish_s"].get<double>(),
              1e-12);
}

TEST(CollectiveCommand, TellsEveryMistakeInOneRun) {
  const TestFile output("mistake.pdf");
  const Result r = RunWords({"collective", "all_reduce", "-b", "2T", "-f", "two", "--ranks", "0-8", "--root",
                             "0", "-d", "fp32", "--background", "alltoall 0-7", "--output", output.path()});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  for (const char* part :
       {"--ranks: rank 8 is not there; ranks from 0 to 7 are", "--datatype: \"fp32\" is unknown; one of int8",
        "--background: \"alltoall 0-7\" is no job; KIND RANKS SIZE is wanted", "ends in .json or .txt"}) {
    EXPECT_THAT(r.err, HasSubstr(part));
  }
  const Result sizes = RunWords({"collective", "all_reduce", "-b", "2T", "-f", "two", "--root", "0"});
  EXPECT_THAT(sizes.err, AllOf(HasSubstr("--minbytes: \"2T\" is out of range; 0 to 1T would do"),
                               HasSubstr("--stepfactor: \"two\" is not a number"),
                               HasSubstr("--root: all_reduce has none; leave it out")));
}

TEST(CollectiveCommand, RefusesFlagsThatSayNothing) {
  const std::string both = "one of a collective's name, --job and --operations is wanted";
  EXPECT_THAT(RunWords({"collective"}).err, HasSubstr(both));
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--job", "all_reduce 0-7 1G"}).err, HasSubstr(both));
  EXPECT_THAT(RunWords({"collective", "--job", "all_reduce 0-7 1G", "-b", "8"}).err,
              HasSubstr("--minbytes: is not of jobs"));
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--set", "layout.tensor=2"}).err,
              HasSubstr("\"layout.tensor\" is no field of a collective"));
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--hardware", "h900", "--devices", "0"}).err,
              AllOf(HasSubstr("h900"), HasSubstr("--devices: \"0\" is no number of devices; 1 to 1048576")));
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--devices", "12", "--topology", "single_node"}).err,
              HasSubstr("has 8 devices, not 12"));
}

// Only what is wrong with a flag is told as if it were.
TEST(CollectiveCommand, NamesWhatIsWrong) {
  const auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"collective", "all_gather", "-b", "1M"});
    return RunWords(words).err;
  };
  EXPECT_EQ(error({"--devices", "16", "--set", "topology.faults[0].from=node9/nic5", "--set",
                   "topology.faults[0].to=rail5/*", "--set", "topology.faults[0].rate_factor=0.5"}),
            "orrery: error: topology \"rail_optimised_ndr\": faults[0]: \"node9/nic5\" is no element of this "
            "fabric; did you mean \"node0/nic5\"?\n");
  EXPECT_EQ(error({"-e", "16M", "-f", "1.5"}),
            "orrery: error: --stepfactor: \"1.5\" is not a whole number; 1 to 1099511627776 would do\n");
  EXPECT_EQ(error({"--ranks", "7-0"}),
            "orrery: error: --ranks: \"7-0\" goes down; from the lower to the higher is wanted, as 0-7, or "
            "ranks one by one, as 7,6\n");
  EXPECT_THAT(error({"--set", "nccl.environment=NCCL_FOO=1"}),
              HasSubstr("--set 1: nccl.environment[0]: NCCL_FOO: is not simulated, and may change what NCCL "
                        "does; leave it out"));
}

// HB-114 (astra-sim/astra-sim#57): three dimensions, and an algorithm for one.
TEST(CollectiveCommand, WantsAnAlgorithmForEachDimension) {
  const TestFile torus("orrery_torus.textproto",
                       "name: \"torus\" source { title: \"test\" }\n"
                       "torus { size: [4, 4, 4] link_gbit_per_s: 400 switch_latency_ns: 200 }\n");
  const auto run = [&](const char* dimensions) {
    return RunWords({"collective", "all_reduce", "-b", "64M", "--topology", torus.path(), "--devices", "64",
                     "--set", "hardware.node.devices=1", "--set", "hardware.node.nics=1", "--by-dimension",
                     dimensions});
  };
  const Result one = run("ring");
  EXPECT_EQ(one.status, kExitUsage);
  EXPECT_EQ(one.out, "");
  EXPECT_EQ(one.err,
            "orrery: error: --by-dimension: 1 algorithm for 3 dimensions, 4 x 4 x 4; one for each is wanted, "
            "as ring,ring,ring\n");
  EXPECT_EQ(run("ring,ring,rong").err,
            "orrery: error: --by-dimension: \"rong\" is no algorithm of a dimension; ring, one_way_ring or "
            "direct would do\n");
  const Result three = run("ring,direct,one_way_ring");
  EXPECT_EQ(three.status, kExitDone) << three.err;
  EXPECT_THAT(three.out, AllOf(HasSubstr("# by dimension: ring of 4, direct of 4, one_way_ring of 4\n"),
                               HasSubstr("  ByDim/")));
  EXPECT_EQ(RunWords({"collective", "alltoall", "--by-dimension", "ring:8"}).err,
            "orrery: error: --by-dimension: alltoall is not done so; all_reduce, all_gather and "
            "reduce_scatter are\n");
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--by-dimension", "ring"}).err,
              HasSubstr("the fabric is no torus and has no dimensions of its own; sizes are wanted"));
}

TEST(CollectiveCommand, TakesNodesOfDifferentSizes) {
  const Result result = RunWords({"collective", "all_reduce", "-b", "1G", "--devices", "8,5"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("# 13 x h100_sxm on rail_optimised_ndr\n"),
                                HasSubstr("# all_reduce of 13 ranks: 0-12\n")));
  EXPECT_EQ(RunWords({"collective", "all_reduce", "-b", "1G", "--devices", "13"}).out, result.out);
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--devices", "8,9"}).err,
              HasSubstr("9 devices on node 1; 1 to 8 would do"));
}

TEST(CollectiveCommand, ExplainsItself) {
  EXPECT_THAT(RunWords({"collective", "--help"}).out, HasSubstr("  -b, --minbytes SIZE"));
  const Result r = RunWords({"collective", "--explain"});
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr("bound"), HasSubstr("rank 0-7: all_reduce 64M")));
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
}

}  // namespace
}  // namespace tools
