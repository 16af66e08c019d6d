#include "scenarios/sweep/points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Axis AxisOf(const std::string& text) { return ParseAxis(text).value(); }

TEST(Axis, IsAPathAndItsValues) {
  const Axis axis = AxisOf("layout.tensor=1,2,4");
  EXPECT_THAT(axis.paths, ElementsAre("layout.tensor"));
  EXPECT_THAT(axis.values, ElementsAre(ElementsAre("1"), ElementsAre("2"), ElementsAre("4")));
}

TEST(Axis, MovesTwoFieldsTogether) {
  const Axis axis = AxisOf("layout.tensor:layout.sequence=1:false,8:true");
  EXPECT_THAT(axis.paths, ElementsAre("layout.tensor", "layout.sequence"));
  EXPECT_THAT(axis.values, ElementsAre(ElementsAre("1", "false"), ElementsAre("8", "true")));
}

TEST(Axis, LeavesCommasAndColonsBetweenQuotesAndBracketsAlone) {
  EXPECT_THAT(AxisOf("nccl.environment=[\"NCCL_ALGO=ring,tree\", \"A]=b\"],[]").values,
              ElementsAre(ElementsAre("[\"NCCL_ALGO=ring,tree\", \"A]=b\"]"), ElementsAre("[]")));
  EXPECT_THAT(AxisOf("a:b=\"x,:\\\"y\":1").values, ElementsAre(ElementsAre("\"x,:\\\"y\"", "1")));
  // With one field colons mean nothing.
  EXPECT_THAT(AxisOf("nccl.environment=NCCL_ALGO=allreduce:tree").values,
              ElementsAre(ElementsAre("NCCL_ALGO=allreduce:tree")));
}

TEST(Axis, SaysWhatIsWrong) {
  const auto wrong = [](const std::string& text) { return ParseAxis(text).error().message; };
  EXPECT_THAT(wrong("layout.tensor"), HasSubstr("--over layout.tensor: PATH=VALUE,VALUE,... is wanted"));
  EXPECT_THAT(wrong("=1"), HasSubstr("is wanted"));
  EXPECT_THAT(wrong("a="), HasSubstr("is wanted"));
  EXPECT_THAT(wrong("a=1,,2"), HasSubstr("a value is empty"));
  EXPECT_THAT(wrong("a:b=1:2,3"), HasSubstr("\"3\" is not a value for each of the 2 fields"));
  EXPECT_THAT(wrong("a:a=1:2"), HasSubstr("a is there twice"));
  EXPECT_THAT(wrong("a:=1:2"), HasSubstr("a path is empty"));
}

TEST(Points, AreAllCombinationsOfAxesTheLastChangesFastest) {
  const PointList list = PointsOf({}, {AxisOf("a=1,2"), AxisOf("b:c=3:x,4:y")}).value();
  EXPECT_THAT(list.paths, ElementsAre("a", "b", "c"));
  std::vector<std::string> texts;
  for (const Point& point : list.points) texts.push_back(ToText(point));
  EXPECT_THAT(texts, ElementsAre("a=1 b=3 c=x", "a=1 b=4 c=y", "a=2 b=3 c=x", "a=2 b=4 c=y"));
}

TEST(Points, OfAFileAreALineEachAndCombineWithAxes) {
  proto::Diagnostics diagnostics;
  const std::string text = "# layouts\n\n a=1 b=\"x y\"\t# both\nb=2\r\n";
  const std::vector<Point> listed = ReadPoints("p.txt", text, &diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  const PointList list = PointsOf(listed, {AxisOf("c=5,6")}).value();
  EXPECT_THAT(list.paths, ElementsAre("a", "b", "c"));
  std::vector<std::string> texts;
  for (const Point& point : list.points) texts.push_back(ToText(point));
  EXPECT_THAT(texts, ElementsAre("a=1 b=\"x y\" c=5", "a=1 b=\"x y\" c=6", "b=2 c=5", "b=2 c=6"));
}

TEST(Points, OfAFileAreRefusedAtTheirLine) {
  proto::Diagnostics diagnostics;
  ReadPoints("p.txt", "a=1\nb\nc=1 c=2\n=4\n", &diagnostics);
  EXPECT_THAT(diagnostics.errors(),
              ElementsAre(HasSubstr("p.txt:2: \"b\" is not PATH=VALUE"), HasSubstr("p.txt:3: c is set twice"),
                          HasSubstr("p.txt:4: \"=4\" is not")));
  proto::Diagnostics empty;
  ReadPoints("p.txt", "# nothing\n", &empty);
  EXPECT_THAT(empty.errors(), ElementsAre(HasSubstr("there is no point")));
}

TEST(Points, AreRefusedWhereAPathIsSweptTwiceOrThereAreTooMany) {
  EXPECT_THAT(PointsOf({}, {AxisOf("a=1"), AxisOf("b:a=1:2")}).error().message,
              HasSubstr("a is swept twice"));
  EXPECT_THAT(PointsOf({{{"a", "1"}}}, {AxisOf("a=1")}).error().message, HasSubstr("a is swept twice"));
  std::string thousand = "=0";
  for (int i = 1; i < 1001; ++i) thousand += ',' + std::to_string(i);
  EXPECT_THAT(PointsOf({}, {AxisOf("a" + thousand), AxisOf("b" + thousand)}).error().message,
              HasSubstr("more than 1000000 points"));
}

}  // namespace
}  // namespace scenarios
