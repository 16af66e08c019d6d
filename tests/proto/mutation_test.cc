// Property: whatever bytes arrive, reading ends, and either there is an error
// or protobuf's own reader agrees about the message.

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/base/random.h"
#include "tests/proto/reading.h"

namespace proto {
namespace {

constexpr std::string_view kText = R"(# A sample.
name: "llama_7b" micro_batch_size: 4
bandwidth_gb_per_s: 450.5 count: 7 small: -3 ratio: 0.25
dropout: true recompute: FULL
layout { tensor: 8 pipeline: 2 sequence: false }
failures { rank: 1 at_seconds: 1.5e2 } failures { rank: 2 }
stage_layers: [1, 2, 3] tags: 'a' kinds: [NONE, FULL] tree: 3
)";

constexpr std::string_view kJson = R"({
  "name": "llama_7b", "micro_batch_size": 4, "bandwidth_gb_per_s": 450.5, "small": -3,
  "dropout": true, "recompute": "FULL",
  "layout": {"tensor": 8, "pipeline": 2, "sequence": false},
  "failures": [{"rank": 1, "at_seconds": 1.5e2}, {"rank": 2}], "tags": ["a\n"]
})";

std::string Mutate(std::string_view text, sim::Random* random) {
  constexpr std::string_view kPieces[] = {"{",
                                          "}",
                                          "[",
                                          "]",
                                          "<",
                                          ">",
                                          ":",
                                          "\"",
                                          "'",
                                          "\\",
                                          "-",
                                          ",",
                                          ".",
                                          "e",
                                          "nan",
                                          "inf",
                                          "1e400",
                                          "0x1",
                                          "99999999999999999999",
                                          "\n",
                                          "#",
                                          "\xff",
                                          "\xc3\xa9",
                                          "tensor",
                                          "layout",
                                          "null",
                                          "stage_layers: ",
                                          "FULL",
                                          "\\u12",
                                          "00"};
  std::string out(text);
  const std::uint32_t edits = 1 + random->Below(4);
  for (std::uint32_t i = 0; i < edits && !out.empty(); ++i) {
    const std::size_t at = random->Below(static_cast<std::uint32_t>(out.size()));
    const std::size_t length = 1 + random->Below(12);
    switch (random->Below(5)) {
      case 0:
        out.erase(at, length);
        break;
      case 1:
        out.insert(at, kPieces[random->Below(std::size(kPieces))]);
        break;
      case 2:
        out.insert(at, out.substr(random->Below(static_cast<std::uint32_t>(out.size())), length));
        break;
      case 3:
        out[at] = static_cast<char>(random->Below(256));
        break;
      default:
        out.resize(at);
        break;
    }
  }
  return out;
}

// Protobuf prints errors to stderr unless somebody listens.
struct Silent : google::protobuf::io::ErrorCollector {
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

TEST(Mutation, WhatWeAcceptOfTextprotoProtobufReadsAlike) {
  sim::Random random(2024, "textproto");
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = Mutate(kText, &random);
    const Reading reading = ReadSample(text);
    EXPECT_EQ(reading.ok, reading.errors().empty());
    if (!reading.ok) continue;
    ++accepted;
    // A byte order mark, bytes that are not UTF-8 in comments or strings: ReadFile refuses the file.
    orrery::test::Sample expected;
    Silent silent;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&silent);
    ASSERT_TRUE(parser.ParseFromString(text, &expected)) << text;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(reading.sample, expected)) << text;
  }
  EXPECT_GT(accepted, 50);  // the property says something
}

TEST(Mutation, WhatWeAcceptOfJsonIsJson) {
  sim::Random random(2024, "json");
  int accepted = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = Mutate(kJson, &random);
    const Reading reading = ReadSample(text, "a.json");
    EXPECT_EQ(reading.ok, reading.errors().empty());
    if (!reading.ok) continue;
    ++accepted;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_GT(accepted, 10);  // strings and digits are small targets
}

TEST(Mutation, AnOverrideEndsInAValueOrAnError) {
  sim::Random random(2024, "override");
  for (int i = 0; i < 2000; ++i) {
    const Override set{1, Mutate("failures[1].at_seconds", &random),
                       Mutate("[1, 2.5e3, {rank: 4}]", &random)};
    const Reading reading = ReadSample(kText, "a.textproto", {set});
    EXPECT_EQ(reading.ok, reading.errors().empty());
  }
}

}  // namespace
}  // namespace proto
