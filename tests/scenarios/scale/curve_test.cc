#include "scenarios/scale/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadCurves, TakesRowsOfOneNameAsOneCurve) {
  proto::Diagnostics diagnostics;
  const auto curves =
      ReadCurves("t.csv", "name,devices,where,tokens_per_s\na,8,x,10\nb,8,y,11\na,16,z,19.5\n",
                 Scaling::kWeak, &diagnostics);
  ASSERT_TRUE(diagnostics.ok());
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name, "a");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[1].devices, 16);
  EXPECT_EQ(curves[0].points[1].value, 19.5);
  EXPECT_EQ(curves[0].quantity, Quantity::kTokenRate);
  EXPECT_EQ(curves[1].name, "b");
  EXPECT_TRUE(curves[0].measured);
}

TEST(ReadCurves, TellsAllMistakesInOneRun) {
  proto::Diagnostics diagnostics;
  const std::string text = "devices,mfu\n0,0.5\n8,NaN\n8.5,0.4\n16,40\n32,-1\n";
  EXPECT_TRUE(ReadCurves("t.csv", text, Scaling::kStrong, &diagnostics).empty());
  EXPECT_THAT(diagnostics.errors(),
              ElementsAre("t.csv:2: devices: \"0\"; a whole number from 1 to 1,000,000,000 is wanted",
                          "t.csv:3: mfu: \"NaN\"; a number above 0, a part of 1, is wanted",
                          "t.csv:4: devices: \"8.5\"; a whole number from 1 to 1,000,000,000 is wanted",
                          "t.csv:5: mfu: \"40\"; a number above 0, a part of 1, is wanted",
                          "t.csv:6: mfu: \"-1\"; a number above 0, a part of 1, is wanted"));
}

TEST(ReadCurves, WantsDevicesAndOneQuantity) {
  const auto first_error = [](const char* text) {
    proto::Diagnostics diagnostics;
    EXPECT_TRUE(ReadCurves("t.csv", text, Scaling::kStrong, &diagnostics).empty());
    return diagnostics.errors().front();
  };
  EXPECT_THAT(first_error("mfu\n0.5\n"), HasSubstr("t.csv:1: no column \"devices\""));
  EXPECT_THAT(first_error("devices\n8\n"), HasSubstr("t.csv:1: no column of results"));
  EXPECT_THAT(first_error("devices,mfu,step_time_s\n8,0.5,1\n"), HasSubstr("one of them is wanted"));
  EXPECT_THAT(first_error("devices,mfu\n"), HasSubstr("no points"));
}

// Work in a second: steps, where all devices share one; else steps times devices.
TEST(RateOf, IsTheSameCurveWhateverWasMeasured) {
  EXPECT_EQ(RateOf({.scaling = Scaling::kStrong}, {16, 0.5}), 2);
  EXPECT_EQ(RateOf({.scaling = Scaling::kWeak}, {16, 0.5}), 32);
  EXPECT_EQ(RateOf({.quantity = Quantity::kTokenRate}, {16, 0.5}), 0.5);
  EXPECT_EQ(RateOf({.quantity = Quantity::kMfu}, {16, 0.5}), 8);
}

}  // namespace
}  // namespace scenarios
