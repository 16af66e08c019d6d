#include "proto/field_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/reading.h"

namespace proto {
namespace {

std::vector<std::string> Listed(const google::protobuf::Message& message) {
  std::vector<std::string> lines;
  for (const FieldValue& field : FieldsOf(message)) lines.push_back(field.path + '=' + field.value);
  return lines;
}

// What is listed of a message, set on an empty one, is that message again.
TEST(FieldList, IsWhatSetTakes) {
  const Reading reading = ReadSample(
      "name: \"a b\"\nlayout { tensor: 4 sequence: true }\nfailures { rank: 1 }\nfailures { at_seconds: 0.5 "
      "}\n"
      "stage_layers: [5, 6]\nrecompute: FULL\nring: 3\n",
      "a.textproto", {});
  EXPECT_THAT(Listed(reading.sample),
              testing::ElementsAre("name=\"a b\"", "recompute=FULL", "layout.tensor=4",
                                   "layout.sequence=true", "failures[0].rank=1", "failures[1].at_seconds=0.5",
                                   "stage_layers[0]=5", "stage_layers[1]=6", "ring=3"));
  std::vector<Override> sets;
  for (const FieldValue& field : FieldsOf(reading.sample)) sets.push_back({1, field.path, field.value});
  const Reading again = ReadSample("count: 1\n", "b.textproto", sets);
  EXPECT_THAT(again.errors(), testing::ElementsAre());
  EXPECT_EQ(again.sample.ShortDebugString().size(),
            reading.sample.ShortDebugString().size() + std::string("count: 1 ").size());
}

// A list of more than a hundred is one line, which still tells two lists apart.
TEST(FieldList, GivesLongListsAsOneField) {
  const auto line = [](int last) {
    std::string text = "stage_layers: [";
    for (int i = 0; i < 100; ++i) text += std::to_string(i) + ", ";
    const Reading reading = ReadSample(text + std::to_string(last) + "]\n", "a.textproto", {});
    EXPECT_EQ(Listed(reading.sample).size(), 1u);
    return Listed(reading.sample).front();
  };
  EXPECT_THAT(line(7), testing::StartsWith("stage_layers=101 entries, digest "));
  EXPECT_EQ(line(7), line(7));
  EXPECT_NE(line(7), line(8));
}

}  // namespace
}  // namespace proto
