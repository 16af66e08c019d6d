// orrery kernel, from the command line to what it prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hardware/device_cost_model.h"
#include "hardware/device_reader.h"
#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

Result Kernel(Words words, const Words& more = {}) {
  words.insert(words.begin(), "kernel");
  words.insert(words.end(), more.begin(), more.end());
  return RunWords(words);
}

const Words kGemm = {"gemm", "--shape", "8192x4096x4096"};

TEST(KernelCommand, PrintsTheTimeThatAStepIsCharged) {
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice("h100_sxm", {}, "", &diagnostics);
  sim::Kernel kernel;
  kernel.kind = sim::KernelKind::kGemm;
  kernel.gemm = {8192, 4096, 4096, 1};
  const hardware::KernelTimes times = hardware::DeviceCostModel(*device).TimeOf(kernel);
  const Result r = Kernel(kGemm, {"--json", "--beside"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json row = Json::parse(r.out)["rows"].at(0);
  EXPECT_DOUBLE_EQ(row["time_us"].get<double>(), times.alone.seconds() * 1e6);
  EXPECT_DOUBLE_EQ(row["beside_us"].get<double>(), times.beside_communication.seconds() * 1e6);
  EXPECT_DOUBLE_EQ(row["flops"].get<double>(), 2.0 * 8192 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(row["bytes"].get<double>(), 2.0 * (8192 * 4096 * 2 + 4096 * 4096));
  EXPECT_EQ(row["bound"], "tensor");
  EXPECT_EQ(row["by"], "fit");
}

TEST(KernelCommand, HasTheSameRowsAsTextJsonAndCsv) {
  const Words sweep = {"gemm", "--shape", "1:4096x4096x4096", "--format", "BF16,FP8"};
  const Result text = Kernel(sweep), json = Kernel(sweep, {"--json"}), csv = Kernel(sweep, {"--csv"});
  std::vector<std::string> rows;
  for (const std::string& line : Lines(text.out)) {
    EXPECT_LE(line.size(), 110u) << line;
    if (line[0] != '#') rows.push_back(line);
  }
  EXPECT_EQ(rows.size(), 1 + 2 * 13u);
  const Json document = Json::parse(json.out);
  EXPECT_EQ(document["rows"].size(), 26u);
  EXPECT_EQ(document["rows"].at(25)["format"], "FP8");
  const auto lines = Lines(csv.out);
  EXPECT_EQ(lines.size(), 27u);
  EXPECT_EQ(lines[0],
            "format,m,n,k,count,time_us,flops,tflops,part_of_peak,flops_per_byte,bytes,gb_per_s,bound,tile_m,"
            "tile_n,k_parts,waves,by");
  EXPECT_THAT(lines[26], testing::StartsWith("FP8,4096,4096,4096,1,"));
}

TEST(KernelCommand, SaysHowWellATimeIsKnown) {
  EXPECT_THAT(Kernel({"gemm", "--shape", "65536x4096x4096"}).out,
              AllOf(HasSubstr("extrapolation"), HasSubstr("beyond the shapes")));
  EXPECT_THAT(Kernel({"gemm", "--shape", "4096x4096x4096", "--hardware", "h800_sxm"}).out,
              HasSubstr("# derived: figures that follow from others"));
  EXPECT_THAT(Kernel({"gemm", "--shape", "4096x4096x4096", "--format", "TF32"}).out,
              HasSubstr("# assumed: "));
}

TEST(KernelCommand, ExplainsItsColumns) {
  const Result r = Kernel({"--explain"});
  EXPECT_EQ(r.status, 0);
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
  for (const char* column : {"us ", "bound", "tile", "by "}) EXPECT_THAT(r.out, HasSubstr(column));
}

TEST(KernelCommand, TabulatesAttentionAndMemory) {
  const Result attention = Kernel({"attention", "--sequence", "512:2048", "--kv-heads", "8", "--backward"});
  EXPECT_EQ(attention.status, 0) << attention.err;
  EXPECT_THAT(attention.out, HasSubstr("# FLASH2 backward, 8 key heads, 128 wide, causal"));
  EXPECT_EQ(Json::parse(Kernel({"attention", "--sequence", "512:2048", "--json"}).out)["rows"].size(), 3u);
  const Result memory = Kernel({"memory", "--bytes", "1M:8M", "--class", "norm", "--csv"});
  EXPECT_EQ(Lines(memory.out).size(), 5u) << memory.err;
  for (const std::string& line : Lines(attention.out)) EXPECT_LE(line.size(), 110u) << line;
}

// 989.4 TFLOP/s over 3,350 GB/s is a ridge of 295.3 FLOPs a byte.
TEST(KernelCommand, DrawsRooflinesWithTheirSources) {
  const Result r = Kernel({"roofline"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("BF16           989.4   295.3  published [3]"),
                           HasSubstr("measured [4]"), HasSubstr("\n[3] NVIDIA H100 data sheet, ")));
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
  const Json json = Json::parse(Kernel({"roofline", "--json"}).out);
  for (const Json& figure : json["figures"]) EXPECT_NE(figure["source"], "") << figure.dump();
  EXPECT_EQ(Lines(Kernel({"roofline", "--csv"}).out).size(), json["figures"].size() + 1);
}

TEST(KernelCommand, TellsEveryMistakeInOneRun) {
  const Result r = Kernel({"gemm", "--shape", "8x8", "--shape", "8x0x8", "--format", "BF15,NVFP4", "--count",
                           "0", "--window", "8", "--csv", "--json", "--set", "layout.tensor=2"});
  EXPECT_EQ(r.status, kExitUsage);
  EXPECT_EQ(r.out, "");
  for (const char* part :
       {"--shape: \"8x8\" is no MxNxK", "--shape: \"8x0x8\": \"0\" is out of range",
        "--format: \"BF15\" is no format; \"h100_sxm\" has BF16, FP16", "--format: NVFP4 needs compute",
        "--count: \"0\" is out of range", "--window: is not of gemm", "--csv: is given beside --json",
        "--set 1: \"layout.tensor\" is no field of a kernel"}) {
    EXPECT_THAT(r.err, HasSubstr(part));
  }
}

TEST(KernelCommand, RefusesInOneLine) {
  const auto error = [](const Words& words) {
    const Result r = Kernel(words);
    EXPECT_EQ(r.status, kExitUsage);
    EXPECT_EQ(Lines(r.err).size(), 1u) << r.err;
    return r.err;
  };
  EXPECT_THAT(error({}), HasSubstr("one of gemm, attention, memory, roofline is wanted"));
  EXPECT_THAT(error({"conv"}), HasSubstr("no kernel conv"));
  EXPECT_THAT(error({"gemm"}), HasSubstr("--shape: missing"));
  EXPECT_THAT(error({"memory"}), HasSubstr("--bytes: missing"));
  EXPECT_THAT(error({"memory", "--bytes", "many"}), HasSubstr("--bytes: \"many\" is no size"));
  EXPECT_THAT(error({"attention", "--kv-heads", "3"}), HasSubstr("--kv-heads: 3 does not divide the 32"));
  EXPECT_THAT(error({"attention", "--kind", "FLASH9"}),
              HasSubstr("--kind: \"FLASH9\" is unknown; one of FLASH2"));
  EXPECT_THAT(error({"attention", "--paged", "--backward"}), HasSubstr("paged attention has none"));
  EXPECT_THAT(error({"attention", "--sequence", "1073741824", "--batch", "1000"}), HasSubstr("too long"));
  EXPECT_THAT(error({"attention", "--hardware", "v100_32_sxm"}), HasSubstr("has no fused attention"));
  EXPECT_THAT(error({"roofline", "--hardware",
                     "h100"
                     "_sxn"}),
              HasSubstr("did you mean"));
  EXPECT_THAT(error({"gemm", "--shape", "1:1000:1x1:1000:1x8"}), HasSubstr("more than 10000 shapes"));
}

// Every option with every table: refused in a line that names it, or what is printed changes.
TEST(KernelCommand, RefusesEveryOptionWithoutEffect) {
  const std::vector<Words> tables = {
      kGemm, {"attention", "--heads", "8"}, {"memory", "--bytes", "64M"}, {"roofline"}};
  const std::vector<Words> options = {{"--hardware", "a100_80_sxm"},
                                      {"--shape", "64x64x64"},
                                      {"--format", "FP8"},
                                      {"--count", "2"},
                                      {"--accumulate"},
                                      {"--constant-data"},
                                      {"--batch", "2"},
                                      {"--sequence", "2048"},
                                      {"--keys", "8192"},
                                      {"--kv-heads", "2"},
                                      {"--head-dim", "64"},
                                      {"--value-dim", "64"},
                                      {"--kind", "FLASH3"},
                                      {"--full"},
                                      {"--window", "256"},
                                      {"--backward"},
                                      {"--bytes", "1M"},
                                      {"--class", "norm"},
                                      {"--beside"},
                                      {"--set", "hardware.sms=100"},
                                      {"--set", "hardware.l2_mib=10"},
                                      {"--set", "hardware.memory.bandwidth_gb_per_s=1000"},
                                      {"--set", "hardware.memory.usable_gib=40"},
                                      {"--set", "hardware.kernel.random_data_derate=0.5"},
                                      {"--set", "hardware.memory_bound.norm_efficiency=0.5"},
                                      {"--set", "hardware.interference.communication_sms=1"},
                                      {"--set", "hardware.node.nics=4"},
                                      {"--set", "hardware.tdp_watts=100"}};
  std::size_t refused = 0, heeded = 0;
  for (const Words& table : tables) {
    const Result bare = Kernel(table, {"--json"});
    ASSERT_EQ(bare.status, kExitDone) << bare.err;
    for (const Words& option : options) {
      if (std::find(table.begin(), table.end(), option[0]) != table.end() && option[0] != "--shape") continue;
      SCOPED_TRACE(testing::PrintToString(table) + " with " + testing::PrintToString(option));
      Words more = option;
      more.emplace_back("--json");
      const Result r = Kernel(table, more);
      if (r.status == kExitDone) {
        EXPECT_NE(r.out, bare.out) << "has no effect";
        ++heeded;
        continue;
      }
      ++refused;
      EXPECT_EQ(r.status, kExitUsage);
      EXPECT_EQ(Lines(r.err).size(), 1u) << r.err;
      EXPECT_THAT(r.err,
                  HasSubstr(option[0] == "--set" ? option[1].substr(0, option[1].find('=')) : option[0]));
    }
  }
  EXPECT_GT(refused, 30u);
  EXPECT_GT(heeded, 20u);
}

}  // namespace
}  // namespace tools
