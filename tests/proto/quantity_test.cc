#include "proto/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proto {
namespace {

using testing::HasSubstr;

// HB-193: Gb/s and GB/s in one file; lower-case b is a bit.
TEST(ParseByteRate, TellsBitsFromBytes) {
  EXPECT_EQ(ParseByteRate("2880Gbps").value(), sim::ByteRate::BytesPerSecond(360'000'000'000));
  EXPECT_EQ(ParseByteRate("100Gbps").value(), sim::ByteRate::BytesPerSecond(12'500'000'000));
  EXPECT_EQ(ParseByteRate("400 Gb/s").value(), sim::ByteRate::BytesPerSecond(50'000'000'000));
  EXPECT_EQ(ParseByteRate("50GB/s").value(), sim::ByteRate::BytesPerSecond(50'000'000'000));
  EXPECT_EQ(ParseByteRate("1 GiB/s").value(), sim::ByteRate::BytesPerSecond(std::int64_t{1} << 30));
  EXPECT_EQ(ParseByteRate("1 b/s").value(), sim::ByteRate::MilliBytesPerSecond(125));  // an eighth of a byte
}

// HB-193: 0.000025 ms = 25e-9 s, exactly.
TEST(ParseDuration, IsExact) {
  EXPECT_EQ(ParseDuration("0.000025ms").value(), sim::Duration::Nanoseconds(25));
  EXPECT_EQ(ParseDuration("500ns").value(), sim::Duration::Nanoseconds(500));
  EXPECT_EQ(ParseDuration(" 1.5 us ").value(), sim::Duration::Nanoseconds(1500));
  EXPECT_EQ(ParseDuration("0.1 s").value(), sim::Duration::Milliseconds(100));  // 0.1 is no double
  EXPECT_EQ(ParseDuration("2 h").value(), sim::Duration::Milliseconds(7'200'000));
  EXPECT_EQ(ParseDuration("1.000 ps").value(), sim::Duration::Picoseconds(1));
}

// HB-195: a bare number is refused; 1600 GB/s and 1.6 TB/s are equal.
TEST(ParseByteRate, RefusesBareNumbers) {
  EXPECT_EQ(ParseByteRate("1600GB/s").value(), ParseByteRate("1.6TB/s").value());
  EXPECT_EQ(ParseByteRate("1.6TB/s").value(), sim::ByteRate::BytesPerSecond(1'600'000'000'000));
  ASSERT_FALSE(ParseByteRate("1600").ok());
  EXPECT_EQ(ParseByteRate("1600").error().message,
            "\"1600\" has no unit; wanted one like \"50 GB/s\" (bytes) or \"400 Gb/s\" (bits)");
}

TEST(ParseBytes, TellsPowersOf1000From1024) {
  EXPECT_EQ(ParseBytes("80GB").value(), sim::Bytes(80'000'000'000));
  EXPECT_EQ(ParseBytes("80 GiB").value(), sim::Bytes(85'899'345'920));
  EXPECT_EQ(ParseBytes("4294967297 B").value(), sim::Bytes(4'294'967'297));  // HB-221: above 2^32
  EXPECT_EQ(ParseBytes("0.5 KiB").value(), sim::Bytes(512));
}

TEST(ParseQuantity, RefusesWhatIsNotOne) {
  for (const char* text : {"", "GB/s", "-5 GB/s", "5 GB", "5 gb/s", "5 Gb", "1e3 GB/s", "1..5 GB/s", ". GB/s",
                           "nan GB/s", "5 GB/s x", "1e400 GB/s", "99999999999999999999999999 GB/s", "10 PB/s",
                           "0.0001 B/s", "5GB/s/s", "+5 GB/s", "0x5 GB/s", "99999999999 TB/s"}) {
    EXPECT_FALSE(ParseByteRate(text).ok()) << text;
  }
  for (const char* text : {"5", "5 NS", "0.5 ps", "107 d", "3000 h", "-1 s"})
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  for (const char* text : {"5 Gb", "0.5 B", "5 bytes", "10000 PB"})
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  EXPECT_THAT(ParseDuration("0.0001 ns").error().message,
              HasSubstr("is finer than 1 ps, the least that is kept"));
}

}  // namespace
}  // namespace proto
