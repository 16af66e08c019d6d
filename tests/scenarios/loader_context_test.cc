// What may be asked of context parallelism, and what is said otherwise.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/groups.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 16 devices: tensor 2, context 4, data 2.
Loading LoadContext(const Sets& more) {
  Sets sets = {{"layout.tensor", "2"}, {"layout.pipeline", "1"}, {"layout.context", "4"}};
  sets.insert(sets.end(), more.begin(), more.end());
  return Load(sets);
}

TEST(LoadContext, IsABalancedRingUnlessToldOtherwise) {
  const Layout layout = LoadContext({}).scenario->layout;
  EXPECT_EQ(layout.context_kind, models::ContextKind::kRing);
  EXPECT_EQ(layout.ulysses, 1);
  EXPECT_TRUE(layout.zigzag);
  EXPECT_EQ(layout.data, 2);
  EXPECT_EQ(LoadContext({{"layout.context_kind", "ULYSSES"}}).scenario->layout.ulysses, 4);
  const Layout hybrid =
      LoadContext(
          {{"layout.context_kind", "ALL_GATHER"}, {"layout.ulysses", "2"}, {"layout.zigzag", "false"}})
          .scenario->layout;
  EXPECT_EQ(hybrid.context_kind, models::ContextKind::kAllGather);
  EXPECT_EQ(hybrid.ulysses, 2);
  EXPECT_FALSE(hybrid.zigzag);
  // Of a context of one nothing matters, so that a sweep may begin with it.
  EXPECT_THAT(Load({{"layout.context_kind", "ULYSSES"}}).errors(), IsEmpty());
}

// HB-206: with tensor 4 and sequence parallelism, lcm(2 x 4, 4 x 4) = 16.
TEST(LoadContext, WantsAMultipleOfWhatCutsTheSequence) {
  EXPECT_THAT(
      LoadContext({{"layout.tensor", "4"}, {"layout.sequence", "true"}, {"batch.sequence_length", "4104"}})
          .errors(),
      ElementsAre(HasSubstr("batch.sequence_length: 4104 tokens are not a multiple of 16 ranks; 4096 and "
                            "4112 are")));
  EXPECT_THAT(LoadContext({{"batch.sequence_length", "4104"}}).errors(), IsEmpty());
}

// HB-208 by way of a scenario: 32 heads over tensor 2 are 16 a rank.
TEST(LoadContext, WantsUlyssesToDivideTheHeadsOfARank) {
  EXPECT_THAT(
      LoadContext({{"devices", "48"},
                   {"layout.context", "12"},
                   {"layout.context_kind", "ULYSSES"},
                   {"batch.sequence_length", "6144"},
                   {"batch.global", "16"}})
          .errors(),
      ElementsAre(HasSubstr("layout.ulysses: 12 does not divide the 16 attention heads; 1, 2, 4, 8 and 16 "
                            "do (of each of tensor 2)")));
  EXPECT_THAT(
      LoadContext({{"model", "llama3_8b"}, {"layout.context", "8"}, {"layout.context_kind", "ULYSSES"}})
          .errors(),
      IsEmpty());
}

// HB-210 with context: tensor 4 x context 2 x pipeline 1 of 8 devices leaves data 1.
TEST(LoadContext, MultipliesToTheDevices) {
  const Loading loading = LoadContext({{"devices", "8"}, {"layout.tensor", "4"}, {"layout.context", "2"}});
  EXPECT_EQ(loading.scenario->layout.data, 1);
  EXPECT_THAT(LoadContext({{"layout.context", "3"}, {"batch.sequence_length", "3072"}}).errors(),
              ElementsAre(HasSubstr(
                  "devices: 16 devices are not a multiple of tensor 2 x context 3 x pipeline 1 = 6")));
}

TEST(LoadContext, RefusesWhatIsNotSimulated) {
  EXPECT_THAT(LoadContext({{"training.attention", "UNFUSED"}}).errors(),
              ElementsAre(HasSubstr("training.attention: UNFUSED is not simulated with layout.context 4")));
  EXPECT_THAT(LoadContext({{"layout.ulysses", "3"}}).errors(),
              ElementsAre("--set 4: layout.ulysses: 3 does not divide the 4 context ranks; 1, 2 and 4 do"));
  EXPECT_THAT(
      LoadContext({{"layout.context_kind", "ULYSSES"}, {"layout.ulysses", "2"}}).errors(),
      ElementsAre(HasSubstr("layout.ulysses: 2 is not all of context 4, as context_kind ULYSSES means")));
  EXPECT_THAT(LoadContext({{"layout.context_kind", "ULYSSES"}, {"layout.zigzag", "false"}}).errors(),
              ElementsAre(HasSubstr("layout.zigzag: false needs ranks that pass on or gather keys")));
  EXPECT_THAT(
      LoadContext({{"model.sliding_window_tokens", "1024"}}).errors(),
      ElementsAre(HasSubstr("layout.context: sliding windows of 1024 tokens of model \"llama_7b\" are not "
                            "simulated where a sequence is cut by RING or ALL_GATHER")));
  EXPECT_THAT(
      LoadContext({{"model.sliding_window_tokens", "1024"}, {"layout.context_kind", "ULYSSES"}}).errors(),
      IsEmpty());
  // A window as long as the sequence is none.
  EXPECT_THAT(LoadContext({{"model.sliding_window_tokens", "2048"}}).errors(), IsEmpty());
}

// Over nodes of 8: the ring of tensor 4 x context 4 lies on two. A rank has 512 of 2,048 tokens and 8 heads:
// 2 MB of keys and values, 3 times forward, 6 times backward with the gradients: 18.9 MB.
TEST(LoadContext, WarnsOfGroupsThatLeaveANodeWithWhatTheySend) {
  EXPECT_THAT(LoadContext({{"layout.tensor", "4"}}).warnings(),
              ElementsAre(HasSubstr(
                  "layout.context: a context group of 4 reaches beyond one NVLink domain of 8; keys "
                  "and values of every layer cross the network (NIC, 48 GB/s): 18 MB from each device")));
  EXPECT_THAT(LoadContext({}).warnings(), IsEmpty());
  // 4 all-reduces of 16.8 MB over 16 ranks, 2 x 15/16 of it each: 125.8 MB.
  EXPECT_THAT(
      Load({{"layout.tensor", "16"}, {"layout.pipeline", "1"}}).warnings(),
      ElementsAre(HasSubstr(
          "its all-reduce of every layer crosses the network (NIC, 48 GB/s): 125 MB from each device")));
}

TEST(LoadContext, GroupsRanksAsMegatronDoes) {
  const auto groups = [](const Sets& more) {
    std::vector<std::string> texts;
    for (const GroupKind& kind : GroupsOf(*LoadContext(more).scenario)) {
      std::string text = kind.name + " " + std::to_string(kind.groups) + ":";
      for (const sim::Rank rank : kind.example) text += " " + std::to_string(rank.value());
      texts.push_back(text);
    }
    return texts;
  };
  EXPECT_THAT(groups({}), ElementsAre("tensor 8: 0 1", "context 4: 0 2 4 6", "data 8: 0 8",
                                      "data x context 2: 0 2 4 6 8 10 12 14"));
  EXPECT_THAT(groups({{"layout.ulysses", "2"}}),
              ElementsAre("tensor 8: 0 1", "context 4: 0 2 4 6", "context heads 8: 0 2",
                          "context ring 8: 0 4", "data 8: 0 8", "data x context 2: 0 2 4 6 8 10 12 14"));
  // Data faster than context, both faster than tensor.
  EXPECT_THAT(
      groups({{"layout.rank_order", "dp-cp-tp-pp"}}),
      ElementsAre("tensor 8: 0 8", "context 4: 0 2 4 6", "data 8: 0 1", "data x context 2: 0 1 2 3 4 5 6 7"));
}

}  // namespace
}  // namespace scenarios
