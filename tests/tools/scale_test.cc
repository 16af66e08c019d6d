// orrery scale, from the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Temporary(const std::string& name) { return testing::TempDir() + name; }

std::string Contents(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string Written(const std::string& name, const std::string& text) {
  std::ofstream(Temporary(name)) << text;
  return Temporary(name);
}

Result Scale(std::vector<std::string> words) {
  words.insert(words.begin(), "scale");
  return RunWords(words);
}

// Two layers of MPT-13B on two and four nodes.
Result ScaleSmall(const std::string& scenario, std::vector<std::string> words) {
  words.insert(words.begin(), {scenario, "--set", "model.layers=2", "--weak", "--devices", "16,32"});
  return Scale(words);
}

TEST(ScaleCommand, TablesACurveAndFitsLaws) {
  const Result result = Scale({"llama_7b_256xh800", "--set", "model.layers=2", "--devices", "8,16,32,64,12",
                               "--extrapolate", "1024"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("llama_7b on h800_sxm, rail_optimised_ndr, strong scaling, layouts fixed"));
  EXPECT_THAT(result.out, HasSubstr("\n      12    1,024   batch: 1024 % (4*12) = 16: not a multiple"));
  EXPECT_THAT(result.out, HasSubstr("Laws fitted to 4 points (step_time_s)"));
  EXPECT_THAT(result.out, HasSubstr("serial_share"));
  EXPECT_THAT(result.out, HasSubstr("on 1,024 devices by amdahl: "));
  EXPECT_THAT(result.out, HasSubstr("warning: outside the points' 8 to 64"));
}

TEST(ScaleCommand, PrintsOneDocumentWithoutNaN) {
  const Result result =
      Scale({"llama_7b_256xh800", "--set", "model.layers=2", "--devices", "8,16,32,64", "--json"});
  ASSERT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["rows"].size(), 4u);
  EXPECT_EQ(json["curves"][0]["fits"].size(), 5u);
  EXPECT_EQ(json["curves"][0]["points"][3]["value"], json["rows"][3]["step_time_s"]);
  EXPECT_EQ(json["baseline"], nullptr);
  EXPECT_EQ(
      Lines(Scale({"llama_7b_256xh800", "--set", "model.layers=2", "--devices", "8,16", "--csv"}).out).size(),
      3u);
}

// The same curve again holds; its file is the same whoever writes it.
TEST(ScaleCommand, HoldsACurveToItsBaseline) {
  const std::string file = Temporary("ScaleCommand_holds.json");
  ASSERT_EQ(ScaleSmall("mpt_13b_16xh100", {"--baseline", file, "--update"}).status, kExitDone);
  const std::string first = Contents(file);
  const Result again = ScaleSmall("mpt_13b_16xh100", {"--baseline", file, "--threads", "1"});
  EXPECT_EQ(again.status, kExitDone) << again.err;
  EXPECT_THAT(again.out, HasSubstr(": holds, 2 points"));
  ASSERT_EQ(ScaleSmall("mpt_13b_16xh100", {"--baseline", file, "--update"}).status, kExitDone);
  EXPECT_EQ(Contents(file), first);
}

// The done-when of the issue: somebody edits a copy of the catalogue's device.
TEST(ScaleCommand, NamesANicLatencyThatChangedInACopyOfTheCatalogue) {
  const std::string file = Temporary("ScaleCommand_nic.json");
  ASSERT_EQ(ScaleSmall("mpt_13b_16xh100", {"--baseline", file, "--update"}).status, kExitDone);
  const std::string source = ORRERY_SOURCE_DIR;
  std::string device = Contents(source + "/hardware/h100_sxm.textproto");
  const std::size_t nic = device.find("\n  nic {");
  ASSERT_NE(nic, std::string::npos);
  const std::size_t latency = device.find("latency_ns: 600", nic);
  ASSERT_NE(latency, std::string::npos);
  device.replace(latency, std::string("latency_ns: 600").size(), "latency_ns: 60000");
  Written("ScaleCommand_nic_h100.textproto", device);
  std::string scenario = Contents(source + "/scenarios/mpt_13b_16xh100.textproto");
  const std::string named = "hardware: \"h100_sxm\"";
  scenario.replace(scenario.find(named), named.size(), "hardware: \"ScaleCommand_nic_h100\"");
  const std::string copy = Written("ScaleCommand_nic_scenario.textproto", scenario);
  const Result result = ScaleSmall(copy, {"--baseline", file});
  EXPECT_EQ(result.status, kExitNo) << result.err;
  EXPECT_THAT(result.out, HasSubstr("does not hold: 2 of 2 points"));
  EXPECT_THAT(result.out, HasSubstr("\n  hardware.node.nic.latency_ns: 600 -> 60000\n"));
  EXPECT_THAT(result.out, HasSubstr("; data +"));  // the cause
  // And nothing else but the name of the file.
  EXPECT_THAT(result.out,
              HasSubstr("\nChanged inputs\n  hardware: \"h100_sxm\" -> \"ScaleCommand_nic_h100\"\n"
                        "  hardware.node.nic.latency_ns"));
}

TEST(ScaleCommand, NamesWhatSetChangedInDeviceTopologyAndJob) {
  const std::string file = Temporary("ScaleCommand_set.json");
  ASSERT_EQ(ScaleSmall("mpt_13b_16xh100", {"--baseline", file, "--update"}).status, kExitDone);
  const auto changed = [&](const std::string& set, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--set", set, "--baseline", file});
    return ScaleSmall("mpt_13b_16xh100", more);
  };
  const Result network = changed("topology.rail_optimised.switch_latency_ns=25000");
  EXPECT_EQ(network.status, kExitNo);
  EXPECT_THAT(network.out, HasSubstr("\n  topology.rail_optimised.switch_latency_ns: 250 -> 25000\n"));
  const Result job = changed("training.recompute=FULL");
  EXPECT_EQ(job.status, kExitNo);
  EXPECT_THAT(job.out, HasSubstr("\n  training.recompute: NONE -> FULL\n"));
  EXPECT_THAT(job.out, HasSubstr("recomputation +"));
  // A change that is tolerated is told, and holds.
  const Result small = changed("hardware.node.nic.latency_ns=601", {"--tolerance", "2%"});
  EXPECT_EQ(small.status, kExitDone) << small.out;
  EXPECT_THAT(small.out, HasSubstr("within 2.00 %"));
  EXPECT_THAT(small.out, HasSubstr("hardware.node.nic.latency_ns: 600 -> 601"));
  const auto json = nlohmann::json::parse(changed("hardware.node.nic.latency_ns=601", {"--json"}).out);
  EXPECT_EQ(json["baseline"]["holds"], false);
  EXPECT_EQ(json["baseline"]["inputs"][0]["key"], "hardware.node.nic.latency_ns");
}

TEST(ScaleCommand, FitsMeasuredPointsAndDrawsThem) {
  const std::string points =
      Written("ScaleCommand_points.csv",
              "name,devices,mfu\nbook,8,0.48\nbook,80,0.43\nbook,800,0.38\nbook,8000,0.33\n");
  const std::string svg = Temporary("ScaleCommand_points.svg");
  const Result result = Scale({"--points", points, "--weak", "--svg", svg, "--extrapolate", "80000"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("per_decade    -0.05 MFU"));
  EXPECT_THAT(result.out, HasSubstr("on 80,000 devices by per_decade: 28.00 %"));
  const std::string picture = Contents(svg);
  EXPECT_THAT(picture, testing::StartsWith("<svg xmlns"));
  EXPECT_THAT(picture, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(picture, Not(HasSubstr("nan")));
  EXPECT_EQ(Lines(Scale({"--points", points, "--csv"}).out).size(), 5u);
  ASSERT_EQ(Scale({"--points", points, "--weak", "--svg", svg, "--extrapolate", "80000"}).status, kExitDone);
  EXPECT_EQ(Contents(svg), picture);
}

// Half of the first curve's noise again holds; a last point that is a fifth slower does not.
TEST(ScaleCommand, TellsNoiseFromDriftInMeasuredPoints) {
  const std::string file = Temporary("ScaleCommand_drift.json");
  const std::string head = "devices,step_time_s\n8,1.01\n16,0.495\n32,0.2525\n64,0.1225\n";
  const std::string points = Written("ScaleCommand_drift.csv", head + "128,0.0631\n");
  ASSERT_EQ(Scale({"--points", points, "--baseline", file, "--update"}).status, kExitDone);
  Written("ScaleCommand_drift.csv", "devices,step_time_s\n8,1.0\n16,0.5\n32,0.25\n64,0.124\n128,0.0625\n");
  const Result noise = Scale({"--points", points, "--baseline", file});
  EXPECT_EQ(noise.status, kExitDone) << noise.out;
  EXPECT_THAT(noise.out, HasSubstr(": holds, 5 points"));
  Written("ScaleCommand_drift.csv", head + "128,0.0757\n");
  const Result drift = Scale({"--points", points, "--baseline", file});
  EXPECT_EQ(drift.status, kExitNo);
  EXPECT_THAT(drift.out, HasSubstr("point on 128 devices: 0.0631 -> 0.0757, +19.97 %"));
  EXPECT_THAT(drift.out, Not(HasSubstr("Changed inputs")));
  EXPECT_EQ(Scale({"--points", points, "--baseline", file, "--tolerance", "25%"}).status, kExitDone);
}

// The widest intervals that one degree of freedom gives are still numbers.
TEST(ScaleCommand, PrintsNumbersForPointsThatAreFarFromAnyLaw) {
  const std::string points =
      Written("ScaleCommand_wild.csv", "devices,tokens_per_s\n8,1e30\n16,1e-30\n32,1e30\n");
  const Result result = Scale({"--points", points, "--json", "--extrapolate", "1000000000"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("nan")));
  EXPECT_EQ(nlohmann::json::parse(result.out)["curves"].size(), 1u);
  EXPECT_EQ(Scale({"--points", points, "--svg", Temporary("ScaleCommand_wild.svg")}).status, kExitDone);
  EXPECT_THAT(Contents(Temporary("ScaleCommand_wild.svg")),
              Not(testing::AnyOf(HasSubstr("nan"), HasSubstr("inf"))));
}

TEST(ScaleCommand, RefusesPointsThatNoLawFits) {
  const std::string few = Written("ScaleCommand_few.csv", "devices,mfu\n8,0.4\n16,0.4\n");
  const Result result = Scale({"--points", few});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("2 points for 2 parameters; at least 3 are wanted"));
  const std::string same =
      Written("ScaleCommand_same.csv", "name,devices,mfu\na,8,0.4\na,8,0.41\na,8,0.39\n");
  EXPECT_THAT(Scale({"--points", same}).err, HasSubstr("curve \"a\": 1 different numbers of devices"));
  EXPECT_EQ(Scale({"--points", Temporary("ScaleCommand_missing.csv")}).status, kExitUsage);
}

TEST(ScaleCommand, TellsAllMistakesInOneRun) {
  const Result result = Scale({"--devices", "8,8,x", "--weak", "--strong", "--layouts", "worst", "--update",
                               "--tolerance", "lots", "--svg", "a.png", "--set", "layout.tensor=3"});
  EXPECT_EQ(result.status, kExitUsage);
  for (const char* what :
       {"--devices: \"x\"", "--devices: 8 is given twice", "--strong: is given beside --weak",
        "--layouts: \"worst\" is unknown", "--update: --baseline FILE is wanted", "--tolerance: \"lots\"",
        "a name in .svg is wanted", "layout.tensor: 3"}) {
    EXPECT_THAT(result.err, HasSubstr(what));
  }
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(Scale({}).err, HasSubstr("--devices: numbers of devices to simulate are wanted"));
  EXPECT_THAT(Scale({"llama_7b_256xh800", "--points", "a.csv"}).err, HasSubstr("is given beside scenario"));
  EXPECT_THAT(ScaleSmall("mpt_13b_16xh100", {"--baseline", Temporary("ScaleCommand_none.json")}).err,
              HasSubstr("there is no such file; --update makes it of this curve"));
}

}  // namespace
}  // namespace tools
