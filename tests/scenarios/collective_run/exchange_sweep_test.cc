// Dispatch and combine on small clusters with round figures, by hand; and beside their chunk expansion.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "scenarios/collective_run/exchange_sweep.h"
#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

using namespace sim::literals;
using hardware::Exchange;
using testing::ElementsAre;
using testing::HasSubstr;

// 10 GB/s an SM up to 400 over NVLink, 40 out of a node; low latency 200 and 20.
Cluster WithExchanges(Cluster cluster) {
  for (const bool combine : {false, true}) {
    cluster.device.exchanges.push_back({.kernels = Exchange::Kernels::kNormal,
                                        .combine = combine,
                                        .base = 10_us,
                                        .base_multi_node = 20_us,
                                        .of_sm = 10_GB_per_s,
                                        .inside = 400_GB_per_s,
                                        .between = 40_GB_per_s});
    cluster.device.exchanges.push_back({.kernels = Exchange::Kernels::kLowLatency,
                                        .combine = combine,
                                        .base = 5_us,
                                        .base_multi_node = 7_us,
                                        .of_sm = {},
                                        .inside = 200_GB_per_s,
                                        .between = 20_GB_per_s});
  }
  cluster.device.sms = 132;
  return cluster;
}

std::vector<std::uint32_t> All(const Cluster& cluster) {
  std::vector<std::uint32_t> ranks(cluster.ranks());
  std::iota(ranks.begin(), ranks.end(), 0u);
  return ranks;
}

// One expert a token, of 16: it visits one rank and one node. Rows of 2,048 bytes.
ExpertExchange OneEach(Exchange::Kernels kernels, std::int64_t sms) {
  return {.kernels = kernels, .combine = true, .hidden = 1024, .per_token = 1, .experts = 16, .sms = sms};
}

ExchangeRow RowOf(const Cluster& cluster, const ExpertExchange& exchange, std::int64_t tokens) {
  EXPECT_THAT(WhyNotExchange(cluster, exchange, All(cluster)), ElementsAre());
  auto table = PlayExchanges(cluster, exchange, All(cluster), {tokens}, {});
  EXPECT_TRUE(table.ok());
  return table.value().rows.at(0);
}

double Us(const ExchangeRow& row) { return row.time.seconds() * 1e6; }

// 1,000 tokens are 2.048 MB: of 4 SMs at 40 GB/s 51.2 us, of 100 at 400 GB/s 5.12 us.
TEST(Exchange, InOneNodeIsAsFastAsItsSmsOrNvLink) {
  const Cluster node = WithExchanges(NodesOf(8));
  EXPECT_NEAR(Us(RowOf(node, OneEach(Exchange::Kernels::kNormal, 4), 1000)), 10 + 51.2, 0.01);
  EXPECT_NEAR(Us(RowOf(node, OneEach(Exchange::Kernels::kNormal, 100), 1000)), 10 + 5.12, 0.01);
  EXPECT_NEAR(Us(RowOf(node, OneEach(Exchange::Kernels::kLowLatency, 0), 1000)), 5 + 10.24, 0.01);
  // Links count too: at 2,000 GB/s 7/8 of 2.048 MB go over ports of 450 GB/s.
  Cluster fast = node;
  for (Exchange& exchange : fast.device.exchanges) exchange.inside = exchange.of_sm = 2000_GB_per_s;
  EXPECT_NEAR(Us(RowOf(fast, OneEach(Exchange::Kernels::kNormal, 1), 1000)), 10 + 2.048 * 0.875 / 0.45, 0.01);
}

// Half of the tokens leave one of two nodes: 1.024 MB at 40 and 20 GB/s.
TEST(Exchange, BetweenNodesIsAsFastAsWhatLeavesThem) {
  const Cluster nodes = WithExchanges(NodesOf(16));
  const ExchangeRow normal = RowOf(nodes, OneEach(Exchange::Kernels::kNormal, 100), 1000);
  EXPECT_NEAR(Us(normal), 20 + 25.6, 0.01);
  EXPECT_NEAR(normal.rdma(), 2 * normal.out_of_node(), 1e-9);  // a token's own node is counted
  EXPECT_NEAR(normal.out_of_node(), 1.024e6 / 45.6e-6 * 1e-9, 0.01);
  EXPECT_NEAR(Us(RowOf(nodes, OneEach(Exchange::Kernels::kLowLatency, 0), 1000)), 7 + 51.2, 0.01);
  // With two SMs NVLink is slower than the NIC: 2.048 MB at 20 GB/s.
  EXPECT_NEAR(Us(RowOf(nodes, OneEach(Exchange::Kernels::kNormal, 2), 1000)), 20 + 102.4, 0.01);
}

TEST(Exchange, GetsGoingInProportionToItsBytes) {
  Cluster node = WithExchanges(NodesOf(8));
  for (Exchange& exchange : node.device.exchanges) {
    exchange.ramp = 8_us;
    exchange.ramp_bytes = sim::Bytes(4'096'000);
  }
  EXPECT_NEAR(Us(RowOf(node, OneEach(Exchange::Kernels::kNormal, 100), 1000)), 10 + 4 + 5.12, 0.01);
  EXPECT_NEAR(Us(RowOf(node, OneEach(Exchange::Kernels::kNormal, 100), 4000)), 10 + 8 + 20.48, 0.01);
}

// FP8 has a scale of 4 bytes every 128 channels, low latency 16 bytes more; sums come home in BF16.
TEST(Exchange, SendsRowsAsDeepEpCountsThem) {
  ExpertExchange exchange{.hidden = 7168};
  EXPECT_EQ(RowBytes(exchange), 7168 + 56 * 4);
  exchange.kernels = Exchange::Kernels::kLowLatency;
  EXPECT_EQ(RowBytes(exchange), 7168 + 56 * 4 + 16);
  exchange.fp8 = false;
  EXPECT_EQ(RowBytes(exchange), 2 * 7168 + 16);
  exchange.combine = true;
  EXPECT_EQ(RowBytes(exchange), 2 * 7168);
}

TEST(Exchange, ChunkByChunkTakesAsLong) {
  const Cluster nodes = WithExchanges(NodesOf(16));
  for (const Exchange::Kernels kernels : {Exchange::Kernels::kNormal, Exchange::Kernels::kLowLatency}) {
    for (const std::int64_t sms : {2, 100}) {
      const auto table =
          PlayExchanges(nodes, OneEach(kernels, sms), All(nodes), {1000, 100'000}, {.chunks = true});
      ASSERT_TRUE(table.ok());
      for (const ExchangeRow& row : table.value().rows) {
        EXPECT_NEAR(row.chunk_difference().value(), 0, 1e-3) << ToText(kernels) << ' ' << sms;
      }
    }
  }
}

// The NIC of rank 0, 50 GB/s, carries its dispatch's 40 alone; beside one connection out of it each gets 25.
TEST(Exchange, SharesItsLinksWithOtherTraffic) {
  const Cluster nodes = WithExchanges(NodesOf(16));
  PlayOptions options;
  options.background = {Job(nodes, "sendrecv 0,8 64M")};
  const ExpertExchange exchange = OneEach(Exchange::Kernels::kNormal, 100);
  const auto beside = PlayExchanges(nodes, exchange, All(nodes), {10'000}, options);
  ASSERT_TRUE(beside.ok());
  const double alone = Us(RowOf(nodes, exchange, 10'000));
  EXPECT_NEAR(alone, 20 + 256, 0.01);
  EXPECT_GT(Us(beside.value().rows[0]), 1.3 * alone);
  EXPECT_LT(Us(beside.value().rows[0]), 1.7 * alone);
}

TEST(Exchange, IsRefusedWithAllReasons) {
  const Cluster cluster = WithExchanges(NodesOf(16));
  ExpertExchange exchange = OneEach(Exchange::Kernels::kV2, 24);
  EXPECT_THAT(WhyNotExchange(cluster, exchange, All(cluster)),
              ElementsAre(HasSubstr("no figures of DeepEP's v2")));
  exchange = OneEach(Exchange::Kernels::kNormal, 133);
  exchange.per_token = 9;
  exchange.node_limit = 1;
  EXPECT_THAT(WhyNotExchange(cluster, exchange, All(cluster)),
              ElementsAre("--top-k: 9 experts a token; it may reach 8", "--sms: 133; the device has 132"));
  const std::vector<std::uint32_t> uneven = {0, 1, 8};
  EXPECT_THAT(WhyNotExchange(cluster, OneEach(Exchange::Kernels::kNormal, 1), uneven),
              ElementsAre("--ranks: different numbers of them on NVLink domains; as many on each are wanted",
                          "--experts: 3 ranks do not divide 16 experts; a multiple of 3 would do"));
}

}  // namespace
}  // namespace scenarios
