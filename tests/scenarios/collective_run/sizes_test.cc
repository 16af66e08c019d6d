#include "scenarios/collective_run/sizes.h"

#include <gtest/gtest.h>

#include "scenarios/collective_run/nccl_tests.h"

namespace scenarios {
namespace {

using sim::Bytes;
using namespace sim::literals;

Bytes Parsed(const char* text) {
  const auto size = ParseSize(text);
  EXPECT_TRUE(size.ok()) << text;
  return size.value();
}

std::vector<std::int64_t> Counts(const SizeSteps& steps) {
  const auto sizes = SizesOf(steps);
  EXPECT_TRUE(sizes.ok());
  std::vector<std::int64_t> counts;
  for (const Bytes size : sizes.value()) counts.push_back(size.count());
  return counts;
}

TEST(ParseSize, TakesUnitsOf1024AndFractionsAsNcclTestsDoes) {
  EXPECT_EQ(Parsed("0"), 0_B);
  EXPECT_EQ(Parsed("8"), 8_B);
  EXPECT_EQ(Parsed("64k"), 64_KiB);
  EXPECT_EQ(Parsed("1.5M"), 1536_KiB);
  EXPECT_EQ(Parsed("16G"), 16_GiB);
  EXPECT_EQ(Parsed("1T"), 1024_GiB);
  EXPECT_EQ(Parsed("0.7"), 0_B);
}

TEST(ParseSize, RefusesWhatIsNoSizeAndSaysTheRange) {
  for (const char* text : {"", "K", "8X", "8KB", "8 K", "nan", "1e3"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_NE(size.error().message.find("is no size"), std::string::npos) << size.error().message;
  }
  for (const char* text : {"-1", "2T", "1.0000001T", "99999999999999999999"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.error().message, '"' + std::string(text) + "\" is out of range; 0 to 1T would do");
  }
}

TEST(SizeText, IsReadAsTheSameSize) {
  for (const char* text : {"0", "1", "1000", "1536K", "3M", "16G", "1T"}) {
    EXPECT_EQ(SizeText(Parsed(text)), text);
  }
}

TEST(SizesOf, MultipliesOrAddsAndMeetsBothEnds) {
  EXPECT_EQ(Counts({8_B, 64_B, 1_MiB, 2}), (std::vector<std::int64_t>{8, 16, 32, 64}));
  EXPECT_EQ(Counts({8_B, 63_B, 1_MiB, 2}), (std::vector<std::int64_t>{8, 16, 32}));
  EXPECT_EQ(Counts({10_B, 40_B, 10_B, 1}), (std::vector<std::int64_t>{10, 20, 30, 40}));
  EXPECT_EQ(Counts({8_B, 8_B, 0_B, 1}), (std::vector<std::int64_t>{8}));
  // No factor makes 0 larger.
  EXPECT_EQ(Counts({0_B, 4_B, 1_MiB, 2}), (std::vector<std::int64_t>{0, 1, 2, 4}));
  EXPECT_EQ(Counts({0_B, 0_B, 1_MiB, 2}), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(Counts({512_GiB, 1024_GiB, 1_MiB, 2}).size(), 2u);
}

TEST(SizesOf, RefusesLaddersWithoutRungs) {
  EXPECT_EQ(SizesOf({16_B, 8_B, 1_B, 2}).error().message,
            "from 16 to 8 there is no size; a last one that is no smaller than the first would do");
  EXPECT_EQ(SizesOf({8_B, 16_B, 0_B, 1}).error().message,
            "a step of 0 leads nowhere; a factor above 1 or a step above 0 would do");
  EXPECT_EQ(SizesOf({0_B, 16_GiB, 8_B, 1}).error().message, "more than 10000 sizes; larger steps would do");
}

// nccl-tests, GetCollByteCount: 1,000 B of float over 8 ranks are 250 / 8 = 31
// elements each, and 28 of them fill 16 B evenly.
TEST(RunSize, IsRoundedDownToPartsOf16BytesWhereEachRankHasOne) {
  const DataType& as_float = *FindDataType("float");
  for (const char* name : {"all_gather", "reduce_scatter", "alltoall"}) {
    const RunSize run = RunSizeOf(*FindNcclTest(name), Bytes(1000), as_float, 8);
    EXPECT_EQ(run.count, 28);
    EXPECT_EQ(run.size, Bytes(28 * 4 * 8));
    EXPECT_EQ(RunSizeOf(*FindNcclTest(name), Bytes(127), as_float, 8).size, 0_B);
    EXPECT_EQ(RunSizeOf(*FindNcclTest(name), Bytes(128), as_float, 8).size, Bytes(128));
    EXPECT_EQ(RunSizeOf(*FindNcclTest(name), Bytes(1000), *FindDataType("double"), 3).count, 40);
  }
  for (const char* name : {"all_reduce", "broadcast", "sendrecv"}) {
    EXPECT_EQ(RunSizeOf(*FindNcclTest(name), Bytes(1003), as_float, 8).size, Bytes(1000));
    EXPECT_EQ(RunSizeOf(*FindNcclTest(name), Bytes(1003), *FindDataType("int8"), 8).count, 1003);
  }
}

}  // namespace
}  // namespace scenarios
