// Which ranks, traffics and links cannot be told apart.

#include "sim/program/equitable.h"

#include <gtest/gtest.h>

#include "sim/program/executor.h"

namespace sim {
namespace {

constexpr ByteRate kRate = ByteRate::BytesPerSecond(1'000'000);

// A send over one link, with a weight.
JointTraffic Send(std::uint32_t from, std::uint32_t to, std::uint32_t link, std::uint32_t weight = 1) {
  return {.traffic = {.name = "send",
                      .size = Bytes(1000),
                      .flows = {{.volume = Volume::Of(Bytes(1000)), .uses = {{LinkId(link), weight}}}}},
          .members = {{Rank(from), 0}, {Rank(to), 1}}};
}

std::vector<JointTraffic> Ring(std::uint32_t ranks) {
  std::vector<JointTraffic> sends;
  for (std::uint32_t r = 0; r < ranks; ++r) sends.push_back(Send(r, (r + 1) % ranks, r));
  return sends;
}

std::vector<Rank> Ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<Rank> ranks;
  for (const std::uint32_t value : values) ranks.emplace_back(value);
  return ranks;
}

TEST(EquitablePartition, OfARingIsOneClass) {
  const auto partition = PartitionOf(std::vector<std::uint64_t>(5, 0), Ring(5), std::vector(5, kRate));
  EXPECT_EQ(partition.rank, Ranks({0, 0, 0, 0, 0}));
  EXPECT_EQ(partition.traffic, (std::vector<std::uint32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(partition.link, std::vector<LinkId>(5, LinkId(0)));
}

TEST(EquitablePartition, TellsRanksOfDifferentColoursApartAndThenTheirNeighbours) {
  // 0 is marked. From there, each rank is as many sends away in its own way.
  const auto partition = PartitionOf({1, 0, 0, 0, 0}, Ring(5), std::vector(5, kRate));
  EXPECT_EQ(partition.rank, Ranks({0, 1, 2, 3, 4}));
}

TEST(EquitablePartition, TellsRanksApartByTheRateOfALinkThatTheyUse) {
  // Four pairs, each with a link of its own; one is slower.
  std::vector<JointTraffic> pairs;
  for (std::uint32_t p = 0; p < 4; ++p) pairs.push_back(Send(2 * p, 2 * p + 1, p));
  std::vector<ByteRate> rates(4, kRate);
  rates[2] = ByteRate::BytesPerSecond(500'000);
  const auto partition = PartitionOf(std::vector<std::uint64_t>(8, 0), pairs, rates);
  EXPECT_EQ(partition.rank, Ranks({0, 1, 0, 1, 4, 5, 0, 1}));
}

TEST(EquitablePartition, TellsRanksApartByWhoElseUsesTheirLink) {
  // Links 0 and 1 carry two pairs each, link 2 one: equal rates, other shares.
  const std::vector<JointTraffic> pairs = {Send(0, 1, 0), Send(2, 3, 0), Send(4, 5, 1), Send(6, 7, 1),
                                           Send(8, 9, 2)};
  const auto partition = PartitionOf(std::vector<std::uint64_t>(10, 0), pairs, std::vector(3, kRate));
  EXPECT_EQ(partition.rank, Ranks({0, 1, 0, 1, 0, 1, 0, 1, 8, 9}));
  EXPECT_EQ(partition.link, (std::vector<LinkId>{LinkId(0), LinkId(0), LinkId(2)}));
}

TEST(EquitablePartition, LooksPastLinksOfWhatMovesApart) {
  // All meet in one traffic that puts more on link 0 than on the others.
  std::vector<JointTraffic> traffics = Ring(3);
  JointTraffic all{.traffic = {.name = "norm", .size = Bytes(4)}, .members = {}};
  all.traffic.flows = {{.volume = Volume::Of(Bytes(4)), .uses = {{LinkId(0), 2}, {LinkId(1), 1}}}};
  for (std::uint32_t r = 0; r < 3; ++r) all.members.push_back({Rank(r), 2});
  traffics.push_back(all);
  const std::vector<ByteRate> rates(3, kRate);
  EXPECT_EQ(PartitionOf({0, 0, 0}, traffics, rates).rank, Ranks({0, 1, 2}));
  traffics.back().apart = true;
  const auto partition = PartitionOf({0, 0, 0}, traffics, rates);
  EXPECT_EQ(partition.rank, Ranks({0, 0, 0}));
  // It lies on copies of the links, as it is.
  const auto merged = MergedTraffics(partition, traffics).value();
  EXPECT_EQ(merged[3].flows[0].uses, (std::vector<Use>{{LinkId(3), 2}, {LinkId(4), 1}}));
}

TEST(MergedTraffics, PutOnALinkWhatAllOfAClassPutOnIt) {
  // Two pairs on each of two links: of the pairs one is left, with twice the weight on the first link.
  const std::vector<JointTraffic> pairs = {Send(0, 1, 0, 3), Send(2, 3, 0, 3), Send(4, 5, 1, 3),
                                           Send(6, 7, 1, 3)};
  const auto partition = PartitionOf(std::vector<std::uint64_t>(8, 0), pairs, std::vector(2, kRate));
  const auto merged = MergedTraffics(partition, pairs).value();
  ASSERT_EQ(merged.size(), 4u);
  EXPECT_EQ(merged[0].flows[0].uses, (std::vector<Use>{{LinkId(0), 6}}));
  EXPECT_TRUE(merged[1].flows.empty());
}

TEST(MergedTraffics, AreNoneWhereAWeightWouldNotFit) {
  const std::vector<JointTraffic> pairs = {Send(0, 1, 0, 1u << 31), Send(2, 3, 0, 1u << 31)};
  const auto partition = PartitionOf(std::vector<std::uint64_t>(4, 0), pairs, std::vector(1, kRate));
  EXPECT_FALSE(MergedTraffics(partition, pairs).has_value());
}

// Work, then its sends, of pairs that share a link, in full and as one pair with the weights of all.
TEST(MergedTraffics, TakeAsLongAsAllOfThemTogether) {
  const auto play = [](const std::vector<JointTraffic>& sends, std::vector<std::uint32_t> plays_for) {
    ProgramBuilder builder(8, {kRate, kRate});
    if (!plays_for.empty()) builder.PlayRanksFor(std::move(plays_for));
    for (const JointTraffic& send : sends) {
      if (send.traffic.flows.empty()) continue;
      const CommunicationId c = builder.AddCommunication(builder.AddTraffic(send.traffic));
      for (const JointTraffic::Member& member : send.members) {
        const StreamId stream = builder.AddStream(member.rank, StreamKind::kCompute);
        builder.Work(stream, builder.AddWork({Duration::Microseconds(5), Duration::Microseconds(5)}),
                     TaskClass::kForward, {});
        builder.Seat(stream, c, TaskClass::kPipeline, {});
      }
    }
    const Program program = std::move(builder).Build().value();
    return Simulate(program).value();
  };
  const std::vector<JointTraffic> pairs = {Send(0, 1, 0), Send(2, 3, 0), Send(4, 5, 1), Send(6, 7, 1)};
  const auto partition = PartitionOf(std::vector<std::uint64_t>(8, 0), pairs, std::vector(2, kRate));
  std::vector<JointTraffic> folded = pairs;
  const auto merged = MergedTraffics(partition, pairs).value();
  for (std::size_t t = 0; t < folded.size(); ++t) folded[t].traffic = merged[t];
  const Timeline whole = play(pairs, {}), one = play(folded, {4, 4, 0, 0, 0, 0, 0, 0});
  // 1,000 bytes at half of 1 MB/s, behind 5 us of work.
  EXPECT_EQ(whole.finish, Time::Start() + Duration::Microseconds(2005));
  EXPECT_EQ(one.finish, whole.finish);
  EXPECT_EQ(one.digest, whole.digest);
}

}  // namespace
}  // namespace sim
