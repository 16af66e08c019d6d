#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/reading.h"

namespace proto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kText =
    "name: \"x\"\nlayout { tensor: 4 }\nfailures { rank: 1 }\nstage_layers: [5, 6]\n";

Reading Set(const std::vector<Override>& overrides) { return ReadSample(kText, "a.textproto", overrides); }

std::string OneError(const std::string& path, const std::string& value) {
  const Reading reading = Set({{2, path, value}});
  return reading.errors().size() == 1 ? reading.errors()[0]
                                      : std::to_string(reading.errors().size()) + " errors";
}

TEST(Override, ReplacesAndAddsFieldsOfAnyDepth) {
  const Reading reading = Set({{1, "layout.tensor", "8"},
                               {2, "failures[0].rank", "7"},
                               {3, "failures[1].at_seconds", "0.5"},  // one more element
                               {4, "stage_layers[1]", "9"},
                               {5, "recompute", "FULL"},
                               {6, "tags", "[\"a\", b]"},
                               {7, "dropout", "true"}});
  EXPECT_THAT(reading.errors(), ElementsAre());
  EXPECT_EQ(reading.sample.ShortDebugString(),
            "name: \"x\" dropout: true recompute: FULL layout { tensor: 8 } failures { rank: 7 } "
            "failures { at_seconds: 0.5 } stage_layers: 5 stage_layers: 9 tags: \"a\" tags: \"b\"");
}

TEST(Override, SetsWholeListsAndBlocks) {
  const Reading reading =
      Set({{1, "stage_layers", "[1,2,3]"}, {2, "layout", "{ pipeline: 2 }"}, {3, "failures", "[]"}});
  EXPECT_THAT(reading.errors(), ElementsAre());
  EXPECT_EQ(reading.sample.ShortDebugString(),
            "name: \"x\" layout { pipeline: 2 } stage_layers: 1 stage_layers: 2 stage_layers: 3");
}

TEST(Override, TakesStringsWithoutQuotes) {
  for (const auto& [value, want] :
       std::vector<std::pair<std::string, std::string>>{{"llama_7b", "llama_7b"},
                                                        {"\"quoted\"", "quoted"},
                                                        {"a b/c.textproto", "a b/c.textproto"},
                                                        {"7", "7"},
                                                        {"../x", "../x"},
                                                        {"h100-sxm", "h100-sxm"},
                                                        {"", ""}}) {
    const Reading reading = Set({{1, "name", value}});
    EXPECT_THAT(reading.errors(), ElementsAre()) << value;
    EXPECT_EQ(reading.sample.name(), want);
  }
}

TEST(Override, OfAListWithoutItsBracketsIsTheListOfThatOne) {
  for (const char* value :
       {"NCCL_ALGO=^Tree,Ring", "\"NCCL_ALGO=^Tree,Ring\"", "[\"NCCL_ALGO=^Tree,Ring\"]"}) {
    const Reading reading = Set({{1, "tags", "[a, b]"}, {2, "tags", value}});
    EXPECT_THAT(reading.errors(), ElementsAre()) << value;
    EXPECT_THAT(reading.sample.tags(), ElementsAre("NCCL_ALGO=^Tree,Ring")) << value;
  }
}

TEST(Override, TheLastOneOfTheSamePathWins) {
  EXPECT_EQ(Set({{1, "layout.tensor", "8"}, {2, "layout.tensor", "2"}}).sample.layout().tensor(), 2);
}

TEST(Override, IsThePlaceOfWhatItGave) {
  const Reading reading =
      Set({{3, "layout.tensor", "8"}, {4, "layout.pipeline", "2"}, {5, "failures[1].rank", "3"}});
  const Field root = reading.document.root();
  EXPECT_EQ(root.At("layout").At("tensor").place(), "--set 3: layout.tensor");
  EXPECT_EQ(root.At("layout").At("sequence").place(), "a.textproto:2:1: layout.sequence");
  EXPECT_EQ(root.At("failures", 1).At("at_seconds").place(), "--set 5: failures[1].at_seconds");
  EXPECT_EQ(root.At("failures", 0).At("rank").place(), "a.textproto:3:12: failures[0].rank");
}

TEST(Override, IsCitedInItsErrors) {
  EXPECT_EQ(OneError("layout.tensr", "8"),
            "--set 2: layout.tensr: unknown field; did you mean layout.tensor?");
  EXPECT_EQ(OneError("tensor", "8"), "--set 2: tensor: unknown field; did you mean layout.tensor?");
  EXPECT_EQ(OneError("layout.tensor", "eight"),
            "--set 2: layout.tensor: eight is not a number; a whole number is wanted");
  EXPECT_EQ(OneError("layout.tensor[0]", "8"),
            "--set 2: layout.tensor[0]: tensor is one field; no [0] is wanted");
  EXPECT_EQ(
      OneError("failures[3].rank", "8"),
      "--set 2: failures[3].rank: failures has 1 elements, numbered from 0; up to [1] (a new one) is wanted");
  EXPECT_EQ(OneError("failures.rank", "8"),
            "--set 2: failures.rank: failures is a list; which one is wanted, as in failures[0]");
  EXPECT_EQ(OneError("name.x", "8"),
            "--set 2: name.x: name is a value, without fields; a path that ends there is wanted");
  EXPECT_EQ(OneError("layout", "8"), "--set 2: layout: 8; a block { ... } is wanted");
  EXPECT_EQ(OneError("count", ""), "--set 2: count: found the end of the text; wanted a value");
  EXPECT_EQ(OneError("count", "1 2"), "--set 2: count: found \"2\"; wanted one value");
  EXPECT_EQ(
      OneError("recompute", "full"),
      "--set 2: recompute: full is not known; did you mean FULL? one of NONE, SELECTIVE, FULL is wanted");
  EXPECT_EQ(OneError("bandwidth_gb_per_s", "1e400"),
            "--set 2: bandwidth_gb_per_s: 1e400 is out of range; a number from 2.3e-308 to 1.7e308 in size "
            "is wanted");
  EXPECT_EQ(OneError("stage_layers", "[1, x]").substr(0, 26), "--set 2: stage_layers[1]: ");
  EXPECT_EQ(OneError("layout", "{ tensr: 3 }"),
            "--set 2: layout.tensr: unknown field; did you mean layout.tensor?");
}

TEST(Override, RefusesWhatIsNotAPath) {
  for (const char* path : {"", ".", "a..b", "layout.", "failures[", "failures[x].rank", "failures[-1].rank",
                           "failures[99999999999].rank", "failures[0]rank"}) {
    EXPECT_THAT(OneError(path, "1"), HasSubstr("not a path; wanted names as in")) << path;
  }
}

}  // namespace
}  // namespace proto
