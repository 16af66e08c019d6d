// orrery collective dispatch and combine, and frameworks' all-reduces, from the command line to what they
// print.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/scenarios/loading.h"
#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

std::vector<std::string> Rows(const std::string& out) {
  std::vector<std::string> rows;
  for (const std::string& line : Lines(out)) {
    EXPECT_LE(line.size(), 110u) << line;
    if (line[0] != '#') rows.push_back(line);
  }
  return rows;
}

TEST(ExchangeCommand, PrintsWhatDeepEpPrints) {
  const Result r = RunWords({"collective", "dispatch", "--hardware", "h800_sxm", "--devices", "16",
                             "--tokens", "128,4096", "--node-limit", "2", "--chunk"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("# dispatch of 16 ranks: 0-15, by DeepEP's normal kernels on 24 SMs"),
                           HasSubstr("7168 channels in FP8, 7392 bytes a token; 8 of 256 experts"),
                           HasSubstr("RDMA"), HasSubstr("by chunk")));
  EXPECT_EQ(Rows(r.out).size(), 2u);
}

// 256 experts of 16 ranks on 2 nodes: 2 (1 - (128 choose 8) / (256 choose 8)) = 1.993 nodes a token, half of
// which are not its own.
TEST(ExchangeCommand, WritesADocument) {
  const Result r =
      RunWords({"collective", "combine", "--devices", "16", "--tokens", "1000", "--sms", "20", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json json = Json::parse(r.out);
  EXPECT_EQ(json["operation"], "combine");
  EXPECT_EQ(json["kernels"], "normal");
  EXPECT_EQ(json["sms"], 20);
  EXPECT_EQ(json["bytes_a_token"], 14336);
  EXPECT_NEAR(json["nodes_a_token"].get<double>(), 1.99302, 1e-4);
  const Json& row = json["rows"].at(0);
  EXPECT_NEAR(row["to_nodes_bytes"].get<double>(), 1000 * 14336 * 1.99302, 1e3);
  EXPECT_NEAR(row["out_of_node_bytes"].get<double>(), row["to_nodes_bytes"].get<double>() / 2, 1);
  EXPECT_NEAR(row["rdma_gb_per_s"].get<double>(),
              row["to_nodes_bytes"].get<double>() / row["time_s"].get<double>() * 1e-9, 1e-6);
}

TEST(ExchangeCommand, TellsEveryMistakeInOneRun) {
  const Result r = RunWords({"collective", "dispatch", "-b", "8", "--kernels", "fast", "--tokens", "1,x",
                             "--top-k", "0", "--algorithm", "ONE_SHOT"});
  EXPECT_EQ(r.status, 2);
  for (const char* part :
       {"--minbytes: is not of dispatch", "--kernels: \"fast\" is unknown; one of normal, low_latency, v2",
        "--tokens: \"x\" is no number", "--top-k: \"0\" is out of range",
        "--algorithm: is not of dispatch"}) {
    EXPECT_THAT(r.err, HasSubstr(part));
  }
  EXPECT_THAT(RunWords({"collective", "dispatch", "--hardware", "a100_80_sxm"}).err,
              HasSubstr("--hardware: \"a100_80_sxm\" has no figures of DeepEP's normal kernels"));
  EXPECT_THAT(RunWords({"collective", "combine", "--kernels", "low_latency", "--sms", "8"}).err,
              HasSubstr("--sms: is not of low_latency"));
  EXPECT_THAT(RunWords({"collective", "all_reduce", "--tokens", "8"}).err,
              HasSubstr("--tokens: is not of all_reduce"));
}

TEST(CustomAllReduceCommand, PlaysOneAndTwoShotsAndSaysWhatIsFaster) {
  const Result one =
      RunWords({"collective", "all_reduce", "-b", "64K", "--algorithm", "ONE_SHOT", "--chunk"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("OneShot/S"));
  const Result two = RunWords({"collective", "all_reduce", "-b", "1M", "--algorithm", "TWO_SHOT", "--json"});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_EQ(Json::parse(two.out)["rows"].at(0)["by"]["algorithm"], "TwoShot");
}

// A report says that NCCL chose, and of a framework's own all-reduce that it did not.
TEST(CustomAllReduceCommand, IsNoChoiceOfNcclInReports) {
  const std::string job = testing::TempDir() + "exchange_test_own_all_reduce.textproto";
  std::ofstream(job) << scenarios::kScenario;
  const std::vector<std::string> words = {"run",           job, "--set", "batch.sequence_length=32", "--set",
                                          "model.layers=2"};
  EXPECT_THAT(RunWords(words).out, HasSubstr("\nCollectives of rank 8, as NCCL 2.27 chooses\n"));
  std::vector<std::string> own = words;
  own.insert(own.end(), {"--set", "training.tensor_all_reduce=VLLM"});
  EXPECT_THAT(RunWords(own).out,
              HasSubstr("as NCCL 2.27 chooses; OneShot, TwoShot: training.tensor_all_reduce\n"));
  std::filesystem::remove(job);
}

TEST(CustomAllReduceCommand, IsRefusedInOneLine) {
  const auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), "collective");
    const Result r = RunWords(words);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(Lines(r.err).size(), 1u) << r.err;
    return r.err;
  };
  EXPECT_THAT(
      error({"all_reduce", "-b", "16M", "--algorithm", "ONE_SHOT"}),
      HasSubstr(
          "--algorithm ONE_SHOT: all_reduce 0-7 16M: 16777216 bytes; TensorRT-LLM's buffers take 8000000"));
  EXPECT_THAT(error({"all_reduce", "-b", "1M", "--devices", "16", "--algorithm", "TWO_SHOT"}),
              HasSubstr("16 ranks; its kernels are made for 2, 4, 6 and 8"));
  EXPECT_THAT(
      error({"all_reduce", "-b", "1M", "--devices", "16", "--ranks", "4-11", "--algorithm", "TWO_SHOT"}),
      HasSubstr("one NVLink domain are wanted"));
  EXPECT_THAT(error({"all_gather", "-b", "1M", "--algorithm", "ONE_SHOT"}),
              HasSubstr("--algorithm: ONE_SHOT is of all_reduce"));
  EXPECT_THAT(error({"all_reduce", "-b", "1M", "--algorithm", "ONE_SHOT", "--by-dimension", "ring:8"}),
              HasSubstr("--by-dimension: is another way than --algorithm"));
  EXPECT_THAT(
      error({"all_reduce", "-b", "1M", "--by-dimension", "ring:8", "--background", "sendrecv 0,1 1G"}),
      HasSubstr("--by-dimension: beside other traffic it is not simulated"));
  EXPECT_THAT(error({"dispatch", "--devices", "1"}), HasSubstr("--ranks: 1 rank sends no tokens"));
  EXPECT_THAT(error({"dispatch", "--by-dimension", "ring:8"}),
              HasSubstr("--by-dimension: is not of dispatch"));
}

}  // namespace
}  // namespace tools
