#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "tests/proto/reading.h"

namespace proto {
namespace {

using orrery::test::Sample;
using testing::ElementsAre;
using testing::HasSubstr;

// Protobuf's own reader, which has the last word on what textproto means.
bool Oracle(std::string_view text, Sample* sample) {
  return google::protobuf::TextFormat::ParseFromString(std::string(text), sample);
}

TEST(TextReader, AgreesWithProtobufOnEveryNotationOfAValue) {
  constexpr std::string_view kTexts[] = {
      "name: \"llama\"",
      "# comment\nname: 'single' # another\n",
      "name: \"in \" \"parts\" 'three'",
      R"(name: "tab\t quote\" hex\x41 octal\101 \u00e9 \U0001F600 \ud83d\ude00 \?")",
      "micro_batch_size: 4, count: 7; small: -3",
      "micro_batch_size: 9223372036854775807 small: -2147483648",
      "micro_batch_size: -9223372036854775808 large: 18446744073709551615",
      "bandwidth_gb_per_s: 450 ratio: 0.25",
      "bandwidth_gb_per_s: 4.5e2 ratio: 1e-3",
      "bandwidth_gb_per_s: - 1.5",
      "bandwidth_gb_per_s: 1e308",
      "dropout: true recompute: FULL",
      "layout { tensor: 8 pipeline: 2 sequence: false }",
      "layout: { tensor: 8 }",
      "layout < tensor: 8 >",
      "layout {}",
      "failures { rank: 1 at_seconds: 0.5 } failures { rank: 2 }",
      "failures: [{ rank: 1 }, { rank: 2 }]",
      "stage_layers: 1 stage_layers: 2 stage_layers: [3, 4]",
      "stage_layers: [] name: \"none\"",
      "tags: \"a\" tags: [\"b\", 'c' \"d\"]",
      "kinds: [NONE, FULL]",
      "tree: 3",
      "name:\"tight\"count:3",
  };
  for (const std::string_view text : kTexts) {
    SCOPED_TRACE(text);
    const Reading reading = ReadSample(text);
    EXPECT_THAT(reading.errors(), ElementsAre());
    Sample expected;
    ASSERT_TRUE(Oracle(text, &expected));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(reading.sample, expected));
  }
}

// HB-214: "micro_batchsize": 4 must not run with the default.
TEST(TextReader, SuggestsTheNearestNameForAnUnknownField) {
  EXPECT_THAT(ReadSample("micro_batchsize: 4").errors(),
              ElementsAre("a.textproto:1:1: micro_batchsize: unknown field; did you mean micro_batch_size?"));
  EXPECT_THAT(ReadSample("layout {\n  tensr: 4\n}").errors(),
              ElementsAre("a.textproto:2:3: layout.tensr: unknown field; did you mean layout.tensor?"));
}

// HB-214: a nested key at the top level.
TEST(TextReader, SaysWhereAMisplacedFieldBelongs) {
  EXPECT_THAT(ReadSample("tensor: 4").errors(),
              ElementsAre("a.textproto:1:1: tensor: unknown field; did you mean layout.tensor?"));
}

TEST(TextReader, ListsTheFieldsWhereNoneIsNear) {
  EXPECT_THAT(
      ReadSample("layout { wombat: 4 }").errors(),
      ElementsAre(
          "a.textproto:1:10: layout.wombat: unknown field; one of tensor, pipeline, sequence is wanted"));
}

TEST(TextReader, ReportsEveryMistakeInOneRun) {
  const Reading reading = ReadSample(
      "name: 7\n"
      "micro_batch_size: 1.5\n"
      "layout {\n"
      "  tensor: \"eight\"\n"
      "  pipelin: 2\n"
      "}\n"
      "count: -1\n"
      "recompute: FUL\n"
      "count: 3\n"
      "failures { rank: 1 at_seconds: nan }\n"
      "dropout: yes\n");
  EXPECT_FALSE(reading.ok);
  EXPECT_THAT(
      reading.errors(),
      ElementsAre("a.textproto:1:1: name: 7 is not a string; text in double quotes is wanted",
                  "a.textproto:2:1: micro_batch_size: 1.5 is not whole; a whole number is wanted",
                  "a.textproto:4:3: layout.tensor: \"eight\" is not a number; a whole number is wanted",
                  "a.textproto:5:3: layout.pipelin: unknown field; did you mean layout.pipeline?",
                  "a.textproto:7:1: count: -1 is out of range; a whole number from 0 to 4294967295 is wanted",
                  "a.textproto:8:1: recompute: FUL is not known; did you mean FULL? one of NONE, SELECTIVE, "
                  "FULL is wanted",
                  "a.textproto:9:1: count: given again; once is wanted, and line 7 gives it",
                  "a.textproto:10:20: failures[0].at_seconds: nan is not a number; a finite number is wanted",
                  "a.textproto:11:1: dropout: yes; true or false is wanted"));
}

TEST(TextReader, KeepsWhatIsRightBesideWhatIsWrong) {
  const Reading reading = ReadSample("layout { tensor: x pipeline: 4 }");
  EXPECT_FALSE(reading.ok);
  EXPECT_EQ(reading.sample.layout().pipeline(), 4);
  EXPECT_FALSE(reading.sample.layout().has_tensor());
  EXPECT_TRUE(reading.document.root().At("layout").At("tensor").given());
  EXPECT_FALSE(reading.document.root().At("layout").At("sequence").given());
}

// HB-222: mbs = 1.5, bandwidth = Infinity, "1e400", NaN.
TEST(TextReader, RefusesNumbersThatAreNotFiniteOrNotInRange) {
  constexpr std::string_view kTexts[] = {
      "bandwidth_gb_per_s: nan",
      "bandwidth_gb_per_s: NaN",
      "bandwidth_gb_per_s: inf",
      "bandwidth_gb_per_s: -inf",
      "bandwidth_gb_per_s: infinity",
      "bandwidth_gb_per_s: 1e400",
      "bandwidth_gb_per_s: -1e400",
      "bandwidth_gb_per_s: 1e-400",
      "bandwidth_gb_per_s: \"400\"",
      "bandwidth_gb_per_s: 400Gbps",
      "bandwidth_gb_per_s: true",
      "bandwidth_gb_per_s: 0x10",
      "micro_batch_size: 1.5",
      "micro_batch_size: 1e3",
      "micro_batch_size: 9223372036854775808",
      "micro_batch_size: 010",
      "micro_batch_size: 0x10",
      "micro_batch_size: nan",
      "count: -1",
      "count: 4294967296",
      "small: 2147483648",
      "ratio: 1e39",
      "large: -1",
      "micro_batch_size: 1e400",
  };
  for (const std::string_view text : kTexts) {
    const Reading reading = ReadSample(text);
    ASSERT_EQ(reading.errors().size(), 1u) << text;
    EXPECT_THAT(reading.errors()[0], testing::AnyOf(HasSubstr("wanted"), HasSubstr("write 1000"))) << text;
    EXPECT_THAT(reading.errors()[0], HasSubstr(std::string(text.substr(0, text.find(':'))))) << text;
  }
  EXPECT_THAT(ReadSample("micro_batch_size: 1e3").errors()[0], HasSubstr("write 1000"));
}

TEST(TextReader, TellsZeroFromMissing) {
  EXPECT_TRUE(ReadSample("layout { tensor: 0 }").sample.layout().has_tensor());
  EXPECT_FALSE(ReadSample("layout { pipeline: 1 }").sample.layout().has_tensor());
}

TEST(TextReader, LocatesFieldsAndWhatLacksThem) {
  const Reading reading =
      ReadSample("# layout\nlayout {\n\ttensor: 4\n}\nfailures { rank: 1 }\n  failures { rank: 2 }\n");
  ASSERT_THAT(reading.errors(), ElementsAre());
  const Field root = reading.document.root();
  EXPECT_EQ(root.place(), "a.textproto:1:1");
  EXPECT_EQ(root.At("layout").At("tensor").place(), "a.textproto:3:2: layout.tensor");  // a tab is one column
  EXPECT_EQ(root.At("layout").At("pipeline").place(), "a.textproto:2:1: layout.pipeline");
  EXPECT_EQ(root.At("failures", 1).At("rank").place(), "a.textproto:6:14: failures[1].rank");
  EXPECT_EQ(root.At("name").place(), "a.textproto:1:1: name");
}

TEST(TextReader, CountsColumnsInCharacters) {
  const Reading reading = ReadSample("name: \"é😀\" micro: 1");
  EXPECT_THAT(reading.errors(), ElementsAre(HasSubstr("a.textproto:1:12: micro: unknown field")));
}

TEST(TextReader, SkipsAByteOrderMark) {
  const Reading reading = ReadSample("\xEF\xBB\xBFname: \"x\"");
  EXPECT_THAT(reading.errors(), ElementsAre());
  EXPECT_EQ(reading.document.root().At("name").place(), "a.textproto:1:1: name");
}

TEST(TextReader, RefusesEmptyText) {
  for (const char* text : {"", " \n\t", "# only a comment\n"}) {
    EXPECT_THAT(ReadSample(text).errors(),
                ElementsAre("a.textproto:1:1: no field is given; an empty file is not a Sample"));
  }
}

TEST(TextReader, GoesOnAfterSyntaxErrors) {
  const Reading reading = ReadSample(
      "name \"x\"\n"  // no colon
      "count: :\n"    // no value
      "layout {\n"
      "  tensor: 4 }}\n"      // one brace too many
      "micro: 3\n"            // unknown
      "tags: [\"a\" \"b\n");  // unclosed string
  EXPECT_THAT(
      reading.errors(),
      ElementsAre("a.textproto:1:6: found \"\"x\"\"; wanted \":\" after \"name\"",
                  "a.textproto:2:8: found \":\"; wanted a value",
                  "a.textproto:4:14: found \"}\"; wanted the name of a field",
                  HasSubstr("a.textproto:6:12: found a string without its closing quote"),
                  HasSubstr("a.textproto:5:1: micro: unknown field; did you mean micro_batch_size?")));
}

TEST(TextReader, NamesTheBlockThatIsNotClosed) {
  EXPECT_THAT(
      ReadSample("name: \"x\"\nlayout {\n  tensor: 4\n").errors(),
      ElementsAre("a.textproto:4:1: found the end of the text; wanted \"}\" for the block of line 2"));
}

TEST(TextReader, RefusesTextThatNestsTooDeep) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "layout {";
  EXPECT_THAT(ReadSample(deep).errors(), testing::Contains(HasSubstr("nested at most 64 deep")));
  const std::string lists = "stage_layers: " + std::string(100'000, '[');
  EXPECT_THAT(ReadSample(lists).errors(), testing::Contains(HasSubstr("nested at most 64 deep")));
}

TEST(TextReader, RefusesListsForSingleFieldsAndBlocksForValues) {
  EXPECT_THAT(ReadSample("count: [1]").errors(),
              ElementsAre("a.textproto:1:1: count: a list [ ... ]; one value is wanted"));
  EXPECT_THAT(ReadSample("layout: 4").errors(),
              ElementsAre("a.textproto:1:1: layout: 4; a block { ... } is wanted"));
  EXPECT_THAT(ReadSample("count { x: 1 }").errors(),
              ElementsAre(HasSubstr("count: a block { ... } is not a number")));
}

TEST(TextReader, RefusesTwoMembersOfAChoice) {
  EXPECT_THAT(ReadSample("ring: 1\ntree: 2").errors(),
              ElementsAre("a.textproto:2:1: tree: given beside ring; one of the two is wanted"));
}

TEST(TextReader, RefusesTheEnumValueThatMeansNotGiven) {
  EXPECT_THAT(
      ReadSample("recompute: UNSPECIFIED").errors(),
      ElementsAre(
          "a.textproto:1:1: recompute: UNSPECIFIED is not known; one of NONE, SELECTIVE, FULL is wanted"));
  EXPECT_THAT(ReadSample("recompute: \"FULL\"").errors(), ElementsAre(HasSubstr("without quotes is wanted")));
}

TEST(TextReader, AnErrorIsOneLineOfBoundedLengthWhateverTheInputHolds) {
  const auto errors = ReadSample(std::string(1'000'000, 'w') + ": 1\n").errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_LT(errors[0].size(), 2000u);
  Diagnostics diagnostics;
  diagnostics.Error("a\nb", "c\td\x1b[31m");
  EXPECT_EQ(diagnostics.errors()[0], "a b: c d [31m");
}

TEST(TextReader, StopsAfterAHundredErrors) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "wombat: 1\n";
  const auto errors = ReadSample(text).errors();
  ASSERT_EQ(errors.size(), 101u);
  EXPECT_EQ(errors.back(), "a.textproto: there are more mistakes than these; mend them first");
}

}  // namespace
}  // namespace proto
