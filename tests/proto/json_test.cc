#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/proto/reading.h"

namespace proto {
namespace {

using orrery::test::Sample;
using testing::ElementsAre;
using testing::HasSubstr;

Reading ReadJson(std::string_view text) { return ReadSample(text, "a.json"); }

TEST(JsonReader, AgreesWithProtobufsJsonReader) {
  constexpr std::string_view kTexts[] = {
      R"({"name": "llama", "micro_batch_size": 4})",
      R"({"name": "q\" b\\ s\/ n\n \u00e9 \ud83d\ude00"})",
      R"({"bandwidth_gb_per_s": 4.5E+2, "ratio": -0.25, "small": -7, "dropout": true})",
      R"({"layout": {"tensor": 8, "sequence": false}, "recompute": "FULL"})",
      R"({"failures": [{"rank": 1}, {"rank": 2, "at_seconds": 0.5}], "stage_layers": [1, 2, 3], "tags": []})",
      "{\n  \"kinds\": [\"NONE\", \"FULL\"],\n  \"count\": 0\n}\n",
  };
  for (const std::string_view text : kTexts) {
    SCOPED_TRACE(text);
    const Reading reading = ReadJson(text);
    EXPECT_THAT(reading.errors(), ElementsAre());
    Sample expected;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(std::string(text), &expected).ok());
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(reading.sample, expected));
  }
}

TEST(JsonReader, LocatesFields) {
  const Reading reading = ReadJson("{\n  \"layout\": {\n    \"tensor\": 4\n  }\n}");
  EXPECT_EQ(reading.document.root().At("layout").At("tensor").place(), "a.json:3:5: layout.tensor");
}

// HB-214 in JSON.
TEST(JsonReader, SuggestsTheNearestNameForAnUnknownField) {
  EXPECT_THAT(ReadJson(R"({"micro_batchsize": 4, "microBatchSize": 4})").errors(),
              ElementsAre("a.json:1:2: micro_batchsize: unknown field; did you mean micro_batch_size?",
                          "a.json:1:24: microBatchSize: unknown field; did you mean micro_batch_size?"));
}

// HB-222: JSON NaN and null are refused.
TEST(JsonReader, RefusesNanInfinityNullAndWrongTypes) {
  EXPECT_THAT(
      ReadJson(
          "{\"bandwidth_gb_per_s\": NaN,\n \"ratio\": -Infinity,\n \"count\": null,\n \"layout\": null,\n "
          "\"tags\": null, \"dropout\": \"true\", \"micro_batch_size\": \"4\", \"recompute\": FULL,\n"
          "\"large\": 1e400, \"small\": 1.5}")
          .errors(),
      ElementsAre("a.json:1:2: bandwidth_gb_per_s: NaN is not a number; a finite number is wanted",
                  "a.json:2:2: ratio: -Infinity is not a number; a finite number is wanted",
                  "a.json:3:2: count: null is not a number; a whole number from 0 to 4294967295 is wanted",
                  "a.json:4:2: layout: null; a block { ... } is wanted",
                  "a.json:5:2: tags: null; a list [ ... ] is wanted",
                  HasSubstr("dropout: \"true\"; true or false is wanted"),
                  HasSubstr("micro_batch_size: \"4\" is not a number"),
                  HasSubstr("recompute: FULL; one of NONE, SELECTIVE, FULL in double quotes is wanted"),
                  HasSubstr("large: 1e400 is out of range"), HasSubstr("small: 1.5 is not whole")));
}

TEST(JsonReader, RefusesKeysGivenTwice) {
  EXPECT_THAT(ReadJson("{\"stage_layers\": [1],\n \"stage_layers\": [2]}").errors(),
              ElementsAre("a.json:2:2: stage_layers: given twice in the same block; once is wanted"));
  EXPECT_THAT(ReadJson("{\"count\": 1, \"count\": 1}").errors(), testing::SizeIs(testing::Ge(1u)));
}

// HB-223: an empty file, and one cut short.
TEST(JsonReader, SaysWhereACutFileEnds) {
  EXPECT_THAT(ReadJson("").errors(),
              ElementsAre("a.json:1:1: no field is given; an empty file is not a Sample"));
  EXPECT_THAT(ReadJson("{}").errors(),
              ElementsAre("a.json:1:1: no field is given; an empty file is not a Sample"));
  EXPECT_THAT(
      ReadJson("{\"name\": \"x\",\n \"layout\": {\"tensor\": 4").errors(),
      ElementsAre(
          "a.json:2:24: found the end of the text; wanted \",\" or \"}\" after the value of \"tensor\""));
}

// Whatever nlohmann's strict parser refuses, we refuse; each of these once
// passed through some lax reader.
TEST(JsonReader, RefusesWhatIsNotJson) {
  constexpr std::string_view kTexts[] = {
      R"({"count": 01})",
      R"({"count": 1,})",
      R"({'count': 1})",
      R"({count: 1})",
      R"({"count": 1 "small": 2})",
      R"({"count": +1})",
      R"({"ratio": .5})",
      R"({"ratio": 1.})",
      R"({"tags": ["a",]})",
      "{\"name\": \"a\tb\"}",
      R"({"name": "\x41"})",
      R"({"count": 1} x)",
      R"({"count": 1 /* c */})",
      "# c\n{\"count\": 1}",

      R"({"name": "\ud83d"})",
      R"({"count" 1})",
      R"({"count": 1}})",
      R"({"name": "a" "b"})",
      R"({"layout": <"tensor": 1>})",
      R"({"count": - 1})",
  };
  for (const std::string_view text : kTexts) {
    EXPECT_FALSE(nlohmann::json::accept(text)) << text;
    EXPECT_FALSE(ReadJson(text).ok) << text;
  }
  EXPECT_THAT(ReadJson("[\"count\"]").errors()[0], HasSubstr("a.json:1:1: found \"[\"; wanted { ... }"));
  EXPECT_THAT(ReadJson("{\n \"count\": 01}").errors(),
              ElementsAre(HasSubstr("a.json:2:2: count: 01 has leading zeros")));
  EXPECT_THAT(ReadJson("{\n\"name\": \"a\tb\"}").errors(), ElementsAre(HasSubstr("a.json:2:11: not JSON")));
}

}  // namespace
}  // namespace proto
