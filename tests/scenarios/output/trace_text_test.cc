#include "scenarios/output/trace_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "sim/base/random.h"

namespace scenarios {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;  // ps

TEST(MicrosecondText, KeepsEveryPicosecond) {
  EXPECT_EQ(MicrosecondText(0), "0.000000");
  EXPECT_EQ(MicrosecondText(1), "0.000001");
  EXPECT_EQ(MicrosecondText(1'000'000), "1.000000");
  EXPECT_EQ(MicrosecondText(INT64_MAX), "9223372036854.775807");  // 106 days
}

// Reading and scaling back round once each, by 2^-53 of the value: together less
// than half a picosecond up to 2^51 ps, 37 minutes.
TEST(MicrosecondText, SurvivesARoundTripThroughDoublesForHalfAnHour) {
  sim::Random random(1, "times");
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t ps =
        static_cast<std::int64_t>(random.Next() % static_cast<std::uint64_t>(1800 * kSecond));
    const double read = std::strtod(MicrosecondText(ps).c_str(), nullptr);
    ASSERT_EQ(std::llround(read * 1e6), ps);
  }
}

TEST(GigabyteText, IsADecimalNumber) {
  EXPECT_EQ(GigabyteText(sim::ByteRate()), "0.000");
  EXPECT_EQ(GigabyteText(sim::ByteRate::BytesPerSecond(450'000'000'000)), "450.000");
  EXPECT_EQ(GigabyteText(sim::ByteRate::BytesPerSecond(50'000'999'999)), "50.000");
  EXPECT_EQ(GigabyteText(sim::ByteRate::BytesPerSecond(1'012'000'000)), "1.012");
}

TEST(Quoted, EscapesWhatJsonForbids) {
  EXPECT_EQ(Quoted("qkv"), "\"qkv\"");
  EXPECT_EQ(Quoted("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
}

TEST(ReadableLength, IsOnePicosecondShortWhenSlicesTouchAndExactWhenTheyDoNot) {
  EXPECT_EQ(ReadableLength(0, 10'000'000, 10'000'000), 9'999'999);
  EXPECT_EQ(ReadableLength(0, 10'000'000, 20'000'000), 10'000'000);
  EXPECT_EQ(ReadableLength(0, 1, 1), 0);
}

// The trap: of 20,000 touching slices with exact decimals a quarter ends after
// the next one starts, once start and length are added as doubles. Ours end in
// time, early or late in a run, and lose at most a nanosecond of their length.
TEST(ReadableLength, KeepsTouchingSlicesApartForReadersThatAddDoublesOrRound) {
  for (const std::int64_t origin : {std::int64_t{0}, kSecond, 3600 * kSecond, 3 * 3600 * kSecond}) {
    sim::Random random(7, "touching slices");
    std::int64_t start = origin;
    int trapped = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::int64_t end = start + random.Between(1, i % 2 == 0 ? 5'000 : 50'000'000);
      const auto read = [](std::int64_t ps) { return std::strtod(MicrosecondText(ps).c_str(), nullptr); };
      if (read(start) + read(end - start) > read(end)) ++trapped;
      const std::int64_t length = ReadableLength(start, end, end);
      ASSERT_LE(read(start) + read(length), read(end));
      ASSERT_LE(std::llround(read(start) * 1e3) + std::llround(read(length) * 1e3),
                std::llround(read(end) * 1e3));
      ASSERT_LT(length, end - start);
      ASSERT_GE(length, std::max(std::int64_t{0}, end - start - 1'003));
      start = end;
    }
    EXPECT_GT(trapped, 1000);  // the trap is real
  }
}

}  // namespace
}  // namespace scenarios
