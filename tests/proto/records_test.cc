#include "proto/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/base/random.h"

namespace proto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Varint(std::uint64_t n) {
  std::string text;
  for (; n >= 0x80; n >>= 7) text += static_cast<char>(n | 0x80);
  return text + static_cast<char>(n);
}

TEST(Records, AreSplitAtTheirLengths) {
  const std::string bytes =
      std::string("\x03") + "abc" + std::string(1, '\0') + Varint(300) + std::string(300, 'x');
  EXPECT_THAT(SplitRecords(bytes).value(), ElementsAre("abc", "", std::string(300, 'x')));
  EXPECT_TRUE(SplitRecords("").value().empty());
}

TEST(Records, ATruncatedRecordIsNamedWithItsOffset) {  // HB-224
  const auto result = SplitRecords(
      "\x02"
      "ab" +
      Varint(1000) + "0123456789");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "truncated at offset 3 (record 1): it says 1000 bytes and 10 remain");
}

TEST(Records, AHugeLengthNeitherAllocatesNorLoops) {  // HB-224: 2^40
  const auto result = SplitRecords(Varint(std::uint64_t{1} << 40) + "ab");
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("it says 1099511627776 bytes and 2 remain"));
  EXPECT_FALSE(SplitRecords(std::string(64, '\xff')).ok());
}

TEST(Records, ExtraBytesAfterTheLastRecordAreAnError) {  // HB-224
  EXPECT_THAT(SplitRecords("\x01"
                           "a"
                           "\x80")
                  .error()
                  .message,
              HasSubstr("truncated at offset 2 (record 1)"));
}

TEST(Records, RandomBytesGiveRecordsThatCoverThemOrAnError) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    sim::Random random(seed, "records");
    std::string bytes;
    for (std::uint32_t i = random.Below(40); i > 0; --i)
      bytes += static_cast<char>(random.Below(256) & random.Below(256));
    const auto result = SplitRecords(bytes);
    if (!result.ok()) continue;
    std::string again;
    for (const std::string_view record : result.value()) again += Varint(record.size()) + std::string(record);
    EXPECT_LE(again.size(), bytes.size());  // a varint may be longer than it need be
  }
}

}  // namespace
}  // namespace proto
