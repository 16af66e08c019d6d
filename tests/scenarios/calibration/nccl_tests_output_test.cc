// What nccl-tests prints, with what surrounds it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/calibration/measured_collective.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Ranks(int ranks, int hosts) {
  std::string text = "# Using devices\n";
  for (int i = 0; i < ranks; ++i) {
    text += "#  Rank  " + std::to_string(i) + " Group  0 Pid  516 on host" +
            std::to_string(i * hosts / ranks) + " device  0 [0x07] NVIDIA H100 80GB HBM3\n";
  }
  return text;
}

constexpr const char* kColumns =
    "#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)\n";
constexpr const char* kRows =
    "           0             0     float     sum      -1     0.19    0.00    0.00      0     0.18    0.00\n"
    "        1024           256     float     sum      -1    17.75    0.06    0.10      0    17.02    0.06\n"
    "     1048576        262144     float     sum      -1    31.27   33.53   58.68      0    30.90   33.93\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 29.4\n";

std::string RunOf(const std::string& before, int ranks, int hosts) {
  return before + "# nThread 1 nGpus 1 minBytes 0 maxBytes 1048576 step: 2(factor) warmup iters: 5\n#\n" +
         Ranks(ranks, hosts) + "#\n" + kColumns + kRows;
}

struct Output {
  std::vector<MeasuredCollective> rows;
  std::vector<std::string> errors;
};

Output ReadOutput(const std::string& text, const NcclTestsDefaults& defaults = {}) {
  proto::Diagnostics diagnostics;
  Output read{ReadNcclTestsOutput("out.txt", text, defaults, &diagnostics), {}};
  read.errors = diagnostics.errors();
  return read;
}

TEST(NcclTestsOutput, RowsHaveTimesOutOfPlaceRanksAndDevices) {
  const Output read =
      ReadOutput(RunOf("$ mpirun -np 8 ./all_reduce_perf -b 0 -e 1M\nNCCL version 2.20.3+cuda12.3\n", 8, 2));
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.rows.size(), 2u);  // nothing is sent for 0 bytes
  const MeasuredCollective& row = read.rows[1];
  EXPECT_EQ(row.kind, sim::CollectiveKind::kAllReduce);
  EXPECT_EQ(row.ranks, 8u);
  EXPECT_EQ(row.nodes, 2u);
  EXPECT_EQ(row.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(row.nccl, "2.20.3");
  EXPECT_EQ(row.bytes, sim::Bytes(1048576));
  EXPECT_DOUBLE_EQ(row.seconds, 31.27e-6);
}

TEST(NcclTestsOutput, ASecondRunHasItsOwnTestAndRanks) {
  const Output read = ReadOutput(RunOf("# Collective test starting: all_gather_perf\n", 8, 1) +
                                 RunOf("# nccl-tests version 2.17.6 nccl-headers=22705 nccl-library=22705\n"
                                       "# Collective test starting: alltoall_perf\n",
                                       4, 1));
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.rows.size(), 4u);
  EXPECT_EQ(read.rows[0].kind, sim::CollectiveKind::kAllGather);
  EXPECT_EQ(read.rows[0].nccl, "");
  EXPECT_EQ(read.rows[2].kind, sim::CollectiveKind::kAllToAll);
  EXPECT_EQ(read.rows[2].ranks, 4u);
  EXPECT_EQ(read.rows[2].nccl, "2.27.5");
}

TEST(NcclTestsOutput, WhatTheTextDoesNotSayIsGivenBeside) {
  const Output read = ReadOutput(RunOf("", 4, 1), {.collective = "reduce_scatter", .nccl = "2.23"});
  ASSERT_EQ(read.rows.size(), 2u);
  EXPECT_EQ(read.rows[0].kind, sim::CollectiveKind::kReduceScatter);
  EXPECT_EQ(read.rows[0].nccl, "2.23");
}

// Two rows, one mistake.
TEST(NcclTestsOutput, AMistakeOfManyLinesIsToldOnce) {
  EXPECT_THAT(
      ReadOutput(RunOf("", 4, 1)).errors,
      ElementsAre("out.txt:13: which test it is is not said; give it with --collective (and 1 more line)"));
  const std::string six = RunOf("", 4, 1) + RunOf("", 4, 1) + RunOf("", 4, 1);
  EXPECT_THAT(ReadOutput(six).errors, ElementsAre(testing::EndsWith("(and 5 more lines)")));
}

// A run that moved other bytes tells no time; "N/A" was not checked.
TEST(NcclTestsOutput, WrongResultsAreRefused) {
  const auto row = [](const std::string& wrong) {
    return "all_reduce_perf\n# nThread 1 nGpus 2 minBytes 1\n" + Ranks(2, 1) + kColumns +
           "  1024  256  float  sum  -1  17.75  0.06  0.10  " + wrong + "  17.02  0.06\n";
  };
  EXPECT_THAT(ReadOutput(row("3")).errors,
              ElementsAre("out.txt:9: #wrong: 3 elements; 0 is wanted, since a run that moved other bytes "
                          "tells no time"));
  for (const char* fine : {"0", "N/A", "0e+00"}) {
    const Output read = ReadOutput(row(fine));
    EXPECT_THAT(read.errors, IsEmpty()) << fine;
    EXPECT_EQ(read.rows.size(), 1u);
  }
}

TEST(NcclTestsOutput, SaysWhichDefaultsItNeeded) {
  const auto needs = [](const std::string& text) {
    proto::Diagnostics diagnostics;
    NcclTestsNeeds found;
    ReadNcclTestsOutput("out.txt", text, {.collective = "all_reduce", .nccl = "2.23"}, &diagnostics, &found);
    return found;
  };
  EXPECT_TRUE(needs(RunOf("", 4, 1)).collective);
  EXPECT_TRUE(needs(RunOf("", 4, 1)).nccl);
  const NcclTestsNeeds none = needs(RunOf("all_reduce_perf\nNCCL version 2.20.3+cuda12.3\n", 4, 1));
  EXPECT_FALSE(none.collective);
  EXPECT_FALSE(none.nccl);
}

// Before 2.11 all-gathers had no columns redop and root.
TEST(NcclTestsOutput, TheNamesOfColumnsSayWhereTheTimeIs) {
  const Output read = ReadOutput("all_gather_perf\n# nThread 1 nGpus 2 minBytes 1\n" + Ranks(2, 1) +
                                 "#       size         count      type     time   algbw   busbw     error\n"
                                 "       65536          2048     float    52.01    1.26    1.10  0e+00\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 52.01e-6);
}

TEST(NcclTestsOutput, WhatIsNoOutputIsRefused) {
  EXPECT_THAT(
      ReadOutput("hello\n1024 7\n").errors,
      ElementsAre("out.txt: no rows of nccl-tests; a line of \"# size count type ...\" goes before them"));
  EXPECT_THAT(
      ReadOutput("all_reduce_perf\n" + std::string(kColumns) + "  1024  256  float  sum  -1\n").errors,
      ElementsAre("out.txt:5: no time where the columns' names have it"));
  EXPECT_THAT(
      ReadOutput("all_reduce_perf\n" + std::string(kColumns) + "  1024  256  float  sum  -1  17.5\n").errors,
      ElementsAre("out.txt:5: 0 ranks on 0 hosts before it; 2 and more, as many on each, are wanted"));
  for (const char* time : {"inf", "nan", "0", "1e10"}) {
    EXPECT_THAT(
        ReadOutput("all_gather_perf\n# nThread 1 nGpus 2 minBytes 1\n" + Ranks(2, 1) +
                   "#       size         count      type     time\n" + "  65536  2048  float  " + time + "\n")
            .errors,
        ElementsAre(
            testing::EndsWith(std::string("a time of ") + time + " us; above 0 and at most 1e9 is wanted")));
  }
}

}  // namespace
}  // namespace scenarios
