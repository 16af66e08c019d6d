// Options of orrery collective that say nothing of what is asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Result Collective(Words words, const Words& more = {}) {
  words.insert(words.begin(), "collective");
  words.insert(words.end(), more.begin(), more.end());
  return RunWords(words);
}

// The one line that is all a command says.
std::string ErrorOf(const Words& words, const Words& more = {}) {
  const Result r = Collective(words, more);
  EXPECT_EQ(r.status, kExitUsage) << testing::PrintToString(more);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(Lines(r.err).size(), 1u) << r.err;
  return r.err;
}

std::string TemporaryFile(const std::string& name) {
  return testing::TempDir() + "idle_settings_" +
         testing::UnitTest::GetInstance()->current_test_info()->name() + '_' + name;
}

Words Environment(const std::string& assignment) { return {"--set", "nccl.environment=" + assignment}; }

// Every option with every kind of command: refused in one line that names it, or what is printed changes.
TEST(IdleSettings, EveryOptionIsRefusedOrHasItsEffect) {
  const std::string operations = TemporaryFile("ranks.txt");
  std::ofstream(operations) << "rank 0-7: all_reduce 1M\n";
  const std::vector<Words> commands = {
      {"all_reduce", "--devices", "8"},
      {"alltoall", "--devices", "8"},
      {"all_reduce", "--devices", "8", "--algorithm", "ONE_SHOT", "-b", "64K"},
      {"all_reduce", "--devices", "8", "--algorithm", "VLLM", "-b", "16M"},
      {"all_reduce", "--devices", "8", "--by-dimension", "ring:8"},
      {"--devices", "8", "--job", "all_reduce 0-7 1M"},
      {"--devices", "8", "--operations", operations},
      {"dispatch", "--devices", "8", "--tokens", "128"},
      {"combine", "--devices", "8", "--tokens", "128"},
      {"dispatch", "--devices", "8", "--tokens", "128", "--kernels", "low_latency"}};
  const std::vector<Words> options = {

      {"--ranks", "0-3"},
      {"--minbytes", "2M"},
      {"--maxbytes", "2M"},
      {"--stepbytes", "1M"},
      {"--stepfactor", "2"},
      {"--datatype", "half"},
      {"--root", "1"},
      {"--by-dimension", "direct:8"},
      {"--job", "broadcast 0-3 1M"},
      {"--background", "sendrecv 0,1 1G"},
      {"--operations", operations},
      {"--chunk"},
      {"--links"},
      {"--algorithm", "TWO_SHOT"},
      {"--kernels", "v2"},
      {"--sms", "12"},
      {"--tokens", "64"},

      {"--node-limit", "1"},
      {"--bf16"},
      {"--set", "nccl.version=2.18"},
      Environment("NCCL_ALGO=Tree"),
      Environment("NCCL_PROTO=LL128"),
      Environment("NCCL_NVLS_ENABLE=0"),
      Environment("NCCL_PAT_ENABLE=0"),
      Environment("NCCL_P2P_LL_THRESHOLD=100000000"),
      Environment("NCCL_MAX_NCHANNELS=1"),

      {"--set", "hardware.sms=100"},
      {"--set", "hardware.capability=100"},
      {"--set", "hardware.memory.usable_gib=40"},
      {"--set", "hardware.node.nic.bandwidth_gb_per_s_each_way=10"},

  };
  std::size_t refused = 0, heeded = 0;
  for (const Words& command : commands) {
    const Result bare = Collective(command, {"--json"});
    ASSERT_EQ(bare.status, kExitDone) << testing::PrintToString(command) << bare.err;
    for (const Words& option : options) {
      if (std::find(command.begin(), command.end(), option[0]) != command.end() ||
          (option[0] == "--minbytes" && std::find(command.begin(), command.end(), "-b") != command.end())) {
        continue;
      }
      SCOPED_TRACE(testing::PrintToString(command) + " with " + testing::PrintToString(option));
      Words more = option;
      more.emplace_back("--json");
      const Result r = Collective(command, more);
      if (r.status == kExitDone) {
        EXPECT_NE(r.out + r.err, bare.out) << "has no effect";
        ++heeded;
        continue;
      }
      ++refused;
      EXPECT_EQ(r.status, kExitUsage);
      const std::string name = option[0] != "--set" ? option[0] : option[1].substr(0, option[1].find('='));
      for (const std::string& line : Lines(r.err)) {
        EXPECT_THAT(line, testing::AnyOf(HasSubstr(name), HasSubstr("--by-dimension")));
      }
    }
  }
  EXPECT_GT(refused, 60u);
  EXPECT_GT(heeded, 60u);
  std::filesystem::remove(operations);
}

TEST(IdleSettings, NcclIsNotAskedWhereItDoesNothing) {
  const std::string idle = "--set 1: nccl.environment[0]: NCCL_ALGO=Ring: has no effect: ";
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16"}, Environment("NCCL_ALGO=Ring")),
              HasSubstr(idle + "dispatch is DeepEP's; leave it out"));
  EXPECT_THAT(ErrorOf({"all_reduce", "--algorithm", "TWO_SHOT"}, Environment("NCCL_ALGO=Ring")),
              HasSubstr(idle + "--algorithm is another way than NCCL's"));
  EXPECT_THAT(ErrorOf({"all_reduce", "--by-dimension", "ring:8"}, Environment("NCCL_ALGO=Ring")),
              HasSubstr(idle + "--by-dimension is another way than NCCL's"));
  EXPECT_THAT(ErrorOf({"alltoall"}, Environment("NCCL_ALGO=Ring")),
              HasSubstr(idle + "NCCL does not look at it for alltoall of 8 ranks on 1 NVLink domain"));
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16"}, {"--set", "nccl.version=2.29"}),
              HasSubstr("nccl.version: 2.29: has no effect"));
  // Beside it NCCL has work; vLLM leaves 16 MiB to NCCL, and 1 MiB not.
  EXPECT_EQ(Collective({"dispatch", "--devices", "16", "--background", "all_reduce 0-7 64M"},
                       Environment("NCCL_ALGO=Ring"))
                .status,
            kExitDone);
  const Words vllm = {"all_reduce", "--algorithm", "VLLM", "-b"};
  EXPECT_EQ(Collective(vllm, {"16M", "--set", "nccl.environment=NCCL_ALGO=Ring"}).status, kExitDone);
  EXPECT_THAT(ErrorOf(vllm, {"1M", "--set", "nccl.environment=NCCL_ALGO=Ring"}), HasSubstr("has no effect"));
}

TEST(IdleSettings, VariablesThatMoveNoTimeAreWarnedAbout) {
  const Result bare = Collective({"all_reduce", "-b", "1M"});
  const Result harmless = Collective({"all_reduce", "-b", "1M"}, Environment("NCCL_IB_HCA=mlx5_0"));
  EXPECT_EQ(harmless.status, kExitDone);
  EXPECT_EQ(harmless.out, bare.out);
  EXPECT_EQ(
      harmless.err,
      "orrery: warning: --set 1: nccl.environment[0]: NCCL_IB_HCA: changes nothing that is simulated\n");
  EXPECT_THAT(Collective({"all_reduce", "-b", "1M"}, Environment("NCCL_MAX_NCHANNELS=4")).err,
              HasSubstr("warning: --set 1: nccl.environment[0]: NCCL_MAX_NCHANNELS: counts channels (SMs) in "
                        "reports, and moves no time"));
  EXPECT_THAT(ErrorOf({"all_reduce"}, Environment("[\"NCCL_ALGO=Ring\", \"NCCL_ALGO=Tree\"]")),
              HasSubstr("nccl.environment[1]: NCCL_ALGO: is given twice; once is wanted"));
}

TEST(IdleSettings, StepsWantBothEndsAndOneKind) {
  EXPECT_THAT(ErrorOf({"all_reduce", "-b", "8", "-f", "2"}),
              HasSubstr("--stepfactor: 2; steps lead from --minbytes to --maxbytes, and both are wanted"));
  EXPECT_THAT(ErrorOf({"all_reduce", "-b", "64K", "-e", "1M"}),
              HasSubstr("--maxbytes: 1M is not met from 64K by steps of 1M; --stepfactor 2 would do"));
  EXPECT_THAT(ErrorOf({"all_reduce", "-b", "8", "-e", "64", "-f", "2", "-i", "8"}),
              HasSubstr("--stepbytes: 8; with --stepfactor 2 sizes are multiplied"));
}

TEST(IdleSettings, ExchangesRefuseWhatTheyDoNotDo) {
  EXPECT_THAT(ErrorOf({"combine", "--devices", "16", "--bf16"}),
              HasSubstr("--bf16: is not of combine, whose sums are BF16 always"));
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16", "--kernels", "low_latency", "--node-limit", "1"}),
              HasSubstr("--node-limit: is not of low_latency"));
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16", "--node-limit", "3"}),
              HasSubstr("--node-limit: 3; the ranks are on 2 nodes, and 1 to 2 would do"));
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16", "--experts", "100"}),
              HasSubstr("--experts: 16 ranks do not divide 100 experts"));
  EXPECT_THAT(ErrorOf({"dispatch", "--devices", "16", "--sms", "1000"}),
              HasSubstr("--sms: 1000; the device"));
}

// What NCCL would refuse is refused in lists of operations, too.
TEST(IdleSettings, OperationsWithoutAnAlgorithmAreRefused) {
  const std::string operations = TemporaryFile("ranks.txt");
  std::ofstream(operations) << "rank 0-7: all_gather 1M\n";
  EXPECT_THAT(ErrorOf({"--operations", operations}, Environment("NCCL_ALGO=Tree")),
              HasSubstr(operations + ":1: nccl.environment: leaves all_gather 0-7 1M no algorithm"));
  std::filesystem::remove(operations);
}

TEST(IdleSettings, OwnAllReducesHaveSizesOfTheirOwn) {
  const auto rows = [](const Result& r) {
    std::vector<std::string> found;
    for (const std::string& line : Lines(r.out)) {
      if (line[0] != '#') found.push_back(line);
    }
    return found;
  };
  // 1K, 2K, ... 4M.
  EXPECT_EQ(rows(Collective({"all_reduce", "--algorithm", "ONE_SHOT"})).size(), 13u);
  // Below 256 KiB one shot of eight, below 8 MiB two, NCCL at 8M and 16M.
  const Result vllm = Collective({"all_reduce", "--algorithm", "VLLM"});
  const std::vector<std::string> by_size = rows(vllm);
  ASSERT_EQ(by_size.size(), 15u);
  EXPECT_THAT(by_size[7], HasSubstr("OneShot/S"));   // 128K
  EXPECT_THAT(by_size[8], HasSubstr("TwoShot/S"));   // 256K
  EXPECT_THAT(by_size[12], HasSubstr("TwoShot/S"));  // 4M
  EXPECT_THAT(by_size[13], testing::Not(HasSubstr("Shot")));
  EXPECT_THAT(vllm.out, HasSubstr("# as vLLM chooses"));
}

}  // namespace
}  // namespace tools
