#include "scenarios/output/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/output/made_runs.h"
#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

std::string Drawn(const Made& made, TraceOptions options) {
  options.path = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".svg";
  EXPECT_TRUE(WriteTimelineSvg(made.program, made.timeline, "a < b", options).ok());
  return ReadMaybeGz(options.path);
}

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

constexpr const char* kForwardColour = "#4e79a7";

// 1,200 pixels from x = 80 on are 12 ms: a work of [3, 6) ms is 300 of them, from 380 on.
TEST(TimelineSvg, DrawsEachWorkInItsPlace) {
  const Made made = WorksAt({{3 * kMs, 6 * kMs}, {9 * kMs, 12 * kMs}});
  const std::string svg = Drawn(made, {});
  EXPECT_THAT(svg, HasSubstr("<title>a &lt; b</title>"));
  EXPECT_THAT(svg,
              HasSubstr("<rect x=\"380.00\" y=\"34\" width=\"300.00\" height=\"20\" fill=\"#4e79a7\"/>"));
  EXPECT_THAT(svg,
              HasSubstr("<rect x=\"980.00\" y=\"34\" width=\"300.00\" height=\"20\" fill=\"#4e79a7\"/>"));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
}

// Of [3, 9) ms, [3, 6) ms is the first half.
TEST(TimelineSvg, OfAWindowIsAsWideAsThat) {
  const Made made = WorksAt({{3 * kMs, 6 * kMs}, {9 * kMs, 12 * kMs}});
  const std::string svg = Drawn(made, {.window = sim::Interval{sim::At(3 * kMs), sim::At(9 * kMs)}});
  EXPECT_THAT(svg, HasSubstr("<rect x=\"80.00\" y=\"34\" width=\"600.00\" height=\"20\" fill=\"#4e79a7\"/>"));
  EXPECT_EQ(Count(svg, kForwardColour), 2u);  // and the legend
}

// One lane a rank; communication is not drawn.
TEST(TimelineSvg, HasALaneARank) {
  const std::string svg = Drawn(OneSend(), {});
  EXPECT_THAT(svg, HasSubstr(">rank 0</text>"));
  EXPECT_THAT(svg, HasSubstr(">rank 1</text>"));
  EXPECT_EQ(Count(svg, kForwardColour), 2u);
}

// 100,000 works side by side are one shape, and as many with gaps no more than there are quarters of pixels.
TEST(TimelineSvg, IsNoLongerForLongerRuns) {
  std::vector<sim::Span> touching, apart;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    touching.push_back({i * 1000, (i + 1) * 1000});
    apart.push_back({i * 1000, i * 1000 + 500});
  }
  EXPECT_EQ(Count(Drawn(WorksAt(touching), {}), kForwardColour), 2u);
  EXPECT_LE(Count(Drawn(WorksAt(apart), {}), kForwardColour), 4801u);
}

}  // namespace
}  // namespace scenarios
