#include "scenarios/kernel_run/extents.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace scenarios {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Extents, DoubleOrAdd) {
  const std::pair<const char*, Numbers> cases[] = {{"4096", {4096}},
                                                   {"1:9", {1, 2, 4, 8}},
                                                   {"3:24", {3, 6, 12, 24}},
                                                   {"7:7", {7}},
                                                   {"128:500:128", {128, 256, 384}},
                                                   {"1:3:1", {1, 2, 3}}};
  for (const auto& [text, want] : cases) {
    const auto got = ParseExtents(text);
    ASSERT_TRUE(got.ok()) << text;
    EXPECT_EQ(got.value(), want) << text;
  }
}

TEST(Extents, ThatAreNoneAreRefusedInOneSentence) {
  const std::pair<const char*, const char*> cases[] = {{"", "no whole number"},
                                                       {"4k", "no whole number"},
                                                       {"1:", "no whole number"},
                                                       {"-1", "out of range"},
                                                       {"0", "out of range"},
                                                       {"1073741825", "out of range"},
                                                       {"99999999999999999999", "out of range"},
                                                       {"8:4", "goes down"},
                                                       {"1:2:3:4", "more than first, last and step"},
                                                       {"1:1000000:1", "more than 10000"}};
  for (const auto& [text, want] : cases) {
    const auto got = ParseExtents(text);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_NE(got.error().message.find(want), std::string::npos) << got.error().message;
  }
}

TEST(Extents, OfBytesHaveUnitsAndMayBeZero) {
  EXPECT_EQ(ParseByteSteps("64K:256K").value(),
            (std::vector<sim::Bytes>{sim::Bytes(65'536), sim::Bytes(131'072), sim::Bytes(262'144)}));
  EXPECT_EQ(ParseByteSteps("0").value(), std::vector<sim::Bytes>{sim::Bytes()});
  EXPECT_FALSE(ParseByteSteps("0:1G").ok());
  EXPECT_FALSE(ParseByteSteps("1:8:0").ok());
}

TEST(GemmShapes, AreAllThatTheirExtentsMake) {
  const auto shapes = ParseGemmShapes("1:2x8x4:12:4", 3);
  ASSERT_TRUE(shapes.ok());
  std::vector<Numbers> got;
  for (const sim::GemmShape& s : shapes.value()) got.push_back({s.m, s.n, s.k, s.batch});
  EXPECT_EQ(got, (std::vector<Numbers>{
                     {1, 8, 4, 3}, {1, 8, 8, 3}, {1, 8, 12, 3}, {2, 8, 4, 3}, {2, 8, 8, 3}, {2, 8, 12, 3}}));
}

// 2 (2^30)^2 8 is 2^64; a kernel holds less than 2^63.
TEST(GemmShapes, ThatDoNotFitAKernelAreRefused) {
  EXPECT_TRUE(ParseGemmShapes("1073741824x1073741824x3", 1).ok());
  for (const char* text :
       {"1073741824x1073741824x8", "8x8", "8x8x8x8", "8x8x", "8xax8", "1:1000:1x1:100:1x8"}) {
    EXPECT_FALSE(ParseGemmShapes(text, 1).ok()) << text;
  }
  EXPECT_FALSE(ParseGemmShapes("1073741824x1073741824x3", 3).ok());
}

RC_GTEST_PROP(Extents, RiseFromTheFirstToTheLast, ()) {
  const auto first = *rc::gen::inRange<std::int64_t>(1, 2000);
  const auto last = *rc::gen::inRange<std::int64_t>(first, 5000);
  const auto step = *rc::gen::inRange<std::int64_t>(0, 100);
  const std::string text =
      std::to_string(first) + ':' + std::to_string(last) + (step > 0 ? ':' + std::to_string(step) : "");
  const auto read = ParseExtents(text);
  RC_ASSERT(read.ok());
  const Numbers& numbers = read.value();
  RC_ASSERT(numbers.front() == first);
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    RC_ASSERT(numbers[i] == (step > 0 ? numbers[i - 1] + step : 2 * numbers[i - 1]));
  }
  RC_ASSERT(numbers.back() <= last);
  RC_ASSERT(numbers.back() + (step > 0 ? step : numbers.back()) > last);
}

// Any text is read or refused, and what is read is a legal shape.
RC_GTEST_PROP(GemmShapes, OfAnyTextAreLegalOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789x:-.k")));
  const auto shapes = ParseGemmShapes(text, 1);
  if (!shapes.ok()) RC_SUCCEED("refused");
  for (const sim::GemmShape& s : shapes.value()) {
    RC_ASSERT(s.m >= 1 && s.n >= 1 && s.k >= 1 && static_cast<sim::Wide>(2) * s.m * s.n * s.k <= INT64_MAX);
  }
}

}  // namespace
}  // namespace scenarios
