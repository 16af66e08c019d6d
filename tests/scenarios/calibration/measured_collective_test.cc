// Tables of measured collectives.

#include "scenarios/calibration/measured_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kHead =
    "source,gpu,ranks,nodes,network,nccl,collective,bytes,time_us,busbw_gb_per_s,note\n";

struct Read {
  std::vector<MeasuredCollective> rows;
  std::vector<std::string> errors;
};

Read ReadText(const std::string& text, const std::vector<std::pair<std::string, std::string>>& where = {}) {
  proto::Diagnostics diagnostics;
  Read read;
  if (const auto table = ReadCsv("rows.csv", text, &diagnostics)) {
    read.rows = ReadMeasuredCollectives(*table, where, &diagnostics);
  }
  read.errors = diagnostics.errors();
  return read;
}

TEST(MeasuredCollectives, ARowIsWhatItsColumnsSay) {
  const Read read =
      ReadText(std::string(kHead) + "lab,h100_sxm,8,2,IB,2.27.3,all_gather,1048576,42.5,,a note\n");
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.rows.size(), 1u);
  const MeasuredCollective& row = read.rows[0];
  EXPECT_EQ(row.place(), "rows.csv:2");
  EXPECT_EQ(row.kind, sim::CollectiveKind::kAllGather);
  EXPECT_EQ(row.ranks, 8u);
  EXPECT_EQ(row.nodes, 2u);
  EXPECT_EQ(row.bytes, sim::Bytes(1048576));
  EXPECT_DOUBLE_EQ(row.seconds, 42.5e-6);
}

// busbw = 2 (n-1)/n x bytes / time, so 1.75e9 bytes at 350 GB/s take 5 ms.
TEST(MeasuredCollectives, BusBandwidthStandsInForATime) {
  const Read read = ReadText(std::string(kHead) + "lab,h100_sxm,8,1,,,all_reduce,1000000000,,350,\n");
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 1.75e9 / 350e9);
}

TEST(MeasuredCollectives, WhereKeepsRowsWithAValue) {
  const std::string text = std::string(kHead) + "a,h100_sxm,8,1,,,all_reduce,1024,10,,\n" +
                           "b,h100_sxm,8,1,,,all_reduce,2048,11,,\n";
  const Read read = ReadText(text, {{"source", "b"}});
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].line, 3);
  EXPECT_THAT(ReadText(text, {{"source", "c"}}).errors,
              ElementsAre("rows.csv: no row has what --where asks for"));
  EXPECT_THAT(ReadText(text, {{"host", "c"}}).errors, ElementsAre("rows.csv:1: there is no column \"host\""));
}

TEST(MeasuredCollectives, EveryMistakeIsAnErrorAtItsLine) {
  const Read read =
      ReadText(std::string(kHead) + "a,h100_sxm,1,1,,,all_reduce,1024,10,,\n" +
               "a,h100_sxm,8,3,,,all_reduce,1024,10,,\n" + "a,h100_sxm,8,1,,,allreduce,1024,10,,\n" +
               "a,h100_sxm,8,1,,,all_reduce,1024,,,\n");
  EXPECT_THAT(read.rows, IsEmpty());
  EXPECT_THAT(
      read.errors,
      ElementsAre("rows.csv:2: ranks: \"1\"; a whole number from 2 to 4294967295 is wanted",
                  "rows.csv:3: nodes: 3 do not divide 8 ranks",
                  "rows.csv:4: collective: \"allreduce\"; a test of nccl-tests is wanted: all_reduce, "
                  "all_gather, reduce_scatter, broadcast, reduce, alltoall, gather, scatter, sendrecv",
                  "rows.csv:5: busbw_gb_per_s: \"\"; a number from 0.001 to 1e+06 is wanted"));
}

TEST(MeasuredCollectives, AMistakeOfManyLinesIsToldOnce) {
  const std::string row = "a,h100_sxm,8,1,,,allreduce,1024,10,,\n";
  EXPECT_THAT(
      ReadText(std::string(kHead) + row + row + row).errors,
      ElementsAre(testing::AllOf(testing::StartsWith("rows.csv:2: collective: \"allreduce\"; a test of"),
                                 testing::EndsWith(" (and 2 more lines)"))));
}

// Notes that say what NCCL was told are read.
TEST(MeasuredCollectives, ANoteThatIsNoAlgorithmIsRefused) {
  EXPECT_THAT(
      ReadText(std::string(kHead) + "a,h100_sxm,8,1,,,all_reduce,1024,10,,NCCL_ALGO=Circle; in place\n")
          .errors,
      ElementsAre(testing::StartsWith("rows.csv:2: note: NCCL_ALGO: \"Circle\" is none of Tree, Ring")));
}

// An infinite time, or a bandwidth that makes it zero, has no logarithm to fit.
TEST(MeasuredCollectives, WhatIsNoTimeIsRefused) {
  const Read read =
      ReadText(std::string(kHead) + "a,h100_sxm,8,1,,,all_reduce,1024,inf,,\n" +
               "a,h100_sxm,8,1,,,all_reduce,1024,1e300,,\n" + "a,h100_sxm,8,1,,,all_reduce,1024,,inf,\n" +
               "a,h100_sxm,8,1,,,all_reduce,1024,nan,,\n");
  EXPECT_THAT(read.rows, IsEmpty());
  EXPECT_THAT(
      read.errors,
      ElementsAre("rows.csv:2: time_us: \"inf\"; a number from 0.001 to 1e+09 is wanted (and 2 more lines)",
                  "rows.csv:4: busbw_gb_per_s: \"inf\"; a number from 0.001 to 1e+06 is wanted"));
}

TEST(MeasuredCollectives, ATableWithoutItsColumnsIsRefused) {
  EXPECT_THAT(ReadText("gpu,ranks,nodes,nccl,collective,time_us\n").errors,
              ElementsAre("rows.csv:1: there is no column \"bytes\""));
}

}  // namespace
}  // namespace scenarios
