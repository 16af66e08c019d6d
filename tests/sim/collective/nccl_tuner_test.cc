// The tuner against rows whose algorithm is known, against its formula written down a second time, and what
// the environment variables do to it.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/collective/nccl_tuner.h"
#include "tests/sim/collective/groups.h"

namespace sim {
namespace {

constexpr Bytes k8GiB{std::int64_t{8} << 30};

NcclSetup Hopper(NcclVersion version = {}) {
  return {.capability = 90,
          .nvlinks = 18,
          .nvswitch = true,
          .pcie_gb_per_s = 52,
          .nic_gb_per_s = 50,
          .version = version};
}
NcclSetup Blackwell(NcclVersion version = {}) {
  NcclSetup setup = Hopper(version);
  setup.capability = 100;
  return setup;
}
NcclSetup Ampere(NcclVersion version = {}) {
  return {.capability = 80,
          .nvlinks = 12,
          .nvswitch = true,
          .pcie_gb_per_s = 26,
          .nic_gb_per_s = 25,
          .cpu = CpuVendor::kAmd,
          .version = version};
}
NcclGroup Nodes(std::uint32_t nodes, std::uint32_t per_node = 8) {
  return {nodes * per_node, nodes, per_node};
}

std::string Choice(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind, Bytes size) {
  const auto choice = Predict(setup, group, kind, size);
  if (!choice) return "none";
  return std::string(ToText(choice->algorithm)) + ' ' + ToText(choice->protocol);
}

// NVIDIA/nccl#1221 (2 and 4 nodes of 8 H100, RoCE, 2.19.3); ml-engineering, network (8 GiB, 2.27.7).
TEST(Tuner, TakesWhatNcclTookWhereThatIsKnown) {
  const auto all_reduce = CollectiveKind::kAllReduce;
  EXPECT_EQ(Choice(Hopper({2, 19}), Nodes(2), all_reduce, k8GiB), "NVLSTree Simple");
  EXPECT_EQ(Choice(Hopper({2, 19}), Nodes(4), all_reduce, k8GiB), "Ring Simple");
  EXPECT_EQ(Choice(Hopper({2, 27}), Nodes(1, 4), all_reduce, k8GiB), "Ring Simple");
  for (const std::uint32_t devices : {5u, 6u, 7u, 8u}) {
    EXPECT_EQ(Choice(Hopper({2, 27}), Nodes(1, devices), all_reduce, k8GiB), "NVLS Simple") << devices;
  }
  EXPECT_EQ(Choice(Blackwell({2, 27}), Nodes(1, 5), all_reduce, k8GiB), "Ring Simple");
  for (const std::uint32_t devices : {6u, 7u, 8u}) {
    EXPECT_EQ(Choice(Blackwell({2, 27}), Nodes(1, devices), all_reduce, k8GiB), "NVLS Simple") << devices;
  }
  EXPECT_EQ(Choice(Hopper({2, 27}), Nodes(1), CollectiveKind::kAllGather, 2 * k8GiB), "Ring Simple");
}

// Curves of aiconfigurator jump where the protocol changes: 2 H200, all-reduce, between 1 and 2 MiB; 4
// B200, all-gather, between 4 and 8 MiB; 8 B200, all-gather, 2.29, between 8 and 16 MiB, and not in 2.27.
TEST(Tuner, ChangesTheProtocolWhereMeasuredCurvesJump) {
  const auto at = [](const NcclSetup& setup, std::uint32_t devices, CollectiveKind kind, int mib) {
    return Choice(setup, Nodes(1, devices), kind, Bytes(std::int64_t{mib} << 20));
  };
  EXPECT_EQ(at(Hopper({2, 29}), 2, CollectiveKind::kAllReduce, 1), "Ring LL");
  EXPECT_EQ(at(Hopper({2, 29}), 2, CollectiveKind::kAllReduce, 2), "Ring Simple");
  EXPECT_EQ(at(Blackwell({2, 29}), 4, CollectiveKind::kAllGather, 4), "Ring LL");
  EXPECT_EQ(at(Blackwell({2, 29}), 4, CollectiveKind::kAllGather, 8), "Ring Simple");
  EXPECT_EQ(at(Blackwell({2, 29}), 8, CollectiveKind::kAllGather, 8), "Ring LL");
  EXPECT_EQ(at(Blackwell({2, 29}), 8, CollectiveKind::kAllGather, 16), "Ring Simple");
  EXPECT_EQ(at(Blackwell({2, 27}), 8, CollectiveKind::kAllGather, 16), "Ring LL128");
  EXPECT_EQ(at(Ampere({2, 27}), 8, CollectiveKind::kAllGather, 8), "Ring LL128");
  EXPECT_EQ(at(Ampere({2, 27}), 8, CollectiveKind::kAllGather, 16), "Ring Simple");
}

// By hand, from nccl-tuning.csv. 8 H100, ring, all-reduce of 64 MiB in Simple: 12 channels of 30; 8.4 + 14
// * 3.4 and 360 * 8 / 14 GB/s.
TEST(Tuner, CountsAsByHand) {
  const auto find = [](const std::vector<NcclPrediction>& all, Algorithm algorithm, Protocol protocol) {
    for (const NcclPrediction& one : all) {
      if (one.algorithm == algorithm && one.protocol == protocol) return one;
    }
    ADD_FAILURE() << ToText(algorithm) << ' ' << ToText(protocol) << " is not there";
    return NcclPrediction{};
  };
  const Bytes size(std::int64_t{64} << 20);
  const auto one_node = PredictAll(Hopper({2, 28}), Nodes(1), CollectiveKind::kAllReduce, size);
  const NcclPrediction ring = find(one_node, Algorithm::kRing, Protocol::kSimple);
  EXPECT_NEAR(ring.latency_us, 56, 1e-9);
  EXPECT_NEAR(ring.bandwidth_gb_per_s, 205.714285714, 1e-6);
  EXPECT_NEAR(ring.time_us, 56 + 67108.864 / 205.714285714, 1e-6);
  // LL: at most 141; LL128: 0.92 * 360; tree: 0.92 * 360 = 331.2, at most 12 * 38.7, half of it, 0.8 at 64
  // MiB (2^20 units of 64 B).
  EXPECT_NEAR(find(one_node, Algorithm::kRing, Protocol::kLl).bandwidth_gb_per_s, 141 * 8 / 14.0, 1e-6);
  EXPECT_NEAR(find(one_node, Algorithm::kRing, Protocol::kLl128).bandwidth_gb_per_s, 331.2 * 8 / 14.0, 1e-6);
  EXPECT_NEAR(find(one_node, Algorithm::kTree, Protocol::kSimple).bandwidth_gb_per_s, 331.2 * 0.5 * 0.8,
              1e-6);
  EXPECT_NEAR(find(one_node, Algorithm::kTree, Protocol::kSimple).latency_us, 8.4 + 14 * 4.0, 1e-9);
  // NVLS of 2.28: 16 * 20 * 0.85 * 15 / 16 * 2 * 8 / 14, after 25 us.
  EXPECT_NEAR(find(one_node, Algorithm::kNvls, Protocol::kSimple).bandwidth_gb_per_s, 255 * 2 * 8 / 14.0,
              1e-6);
  EXPECT_NEAR(find(one_node, Algorithm::kNvls, Protocol::kSimple).latency_us, 25, 1e-9);
  // 16 nodes: 8 channels of 45; (254 - 30) * 3.4 + 30 * 14, 1.4 times with work for all channels.
  const auto many = PredictAll(Hopper({2, 28}), Nodes(16), CollectiveKind::kAllReduce, size);
  EXPECT_NEAR(find(many, Algorithm::kRing, Protocol::kSimple).latency_us, (8.4 + 224 * 3.4 + 30 * 14) * 1.4,
              1e-6);
  EXPECT_NEAR(find(many, Algorithm::kRing, Protocol::kSimple).bandwidth_gb_per_s, 360.0 * 128 / 254, 1e-6);
  EXPECT_NEAR(find(many, Algorithm::kTree, Protocol::kLl).latency_us, 6.8 + 2 * (7 * 0.6 + 4 * 5.0), 1e-9);
  EXPECT_NEAR(find(many, Algorithm::kTree, Protocol::kLl).bandwidth_gb_per_s, 20.4 / 2, 1e-9);
  // NVLSTree: 14 us of 2.21 to 2.27, 20.9 from 2.28 on.
  EXPECT_NEAR(find(many, Algorithm::kNvlsTree, Protocol::kSimple).latency_us, 25 + 8 * 20.9, 1e-9);
  const auto older = PredictAll(Hopper({2, 27}), Nodes(16), CollectiveKind::kAllReduce, size);
  EXPECT_NEAR(find(older, Algorithm::kNvlsTree, Protocol::kSimple).latency_us, 25 + 8 * 14, 1e-9);
  // PAT over 16 nodes of one device: 8 + 4 * 14 / 3.5 + 16 * 2.8, three quarters of 48.
  const auto single = PredictAll(Hopper({2, 28}), Nodes(16, 1), CollectiveKind::kAllGather, size);
  EXPECT_NEAR(find(single, Algorithm::kPat, Protocol::kSimple).latency_us, 8 + 4 * 14 / 3.5 + 16 * 2.8, 1e-9);
  EXPECT_NEAR(find(single, Algorithm::kPat, Protocol::kSimple).bandwidth_gb_per_s, 36, 1e-9);
}

TEST(Tuner, TakesTreesWhereMessagesAreSmallAndNodesMany) {
  EXPECT_EQ(Choice(Hopper(), Nodes(64), CollectiveKind::kAllReduce, Bytes(4)), "Tree LL");
  EXPECT_EQ(Choice(Ampere(), Nodes(128), CollectiveKind::kAllReduce, Bytes(1 << 20)).substr(0, 4), "Tree");
  EXPECT_EQ(Choice(Hopper(), Nodes(64), CollectiveKind::kAllGather, Bytes(4)), "Ring LL");
}

TEST(Environment, DecidesAsNcclReadsIt) {
  NcclSetup setup = Hopper();
  const auto set = [&](const char* assignment) {
    const auto wrong = SetVariable(assignment, &setup.environment);
    EXPECT_FALSE(wrong.has_value()) << wrong->message;
  };
  const auto choice = [&](CollectiveKind kind, Bytes size) { return Choice(setup, Nodes(1), kind, size); };
  set("NCCL_ALGO=Tree");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "Tree Simple");
  EXPECT_EQ(choice(CollectiveKind::kAllGather, k8GiB), "none");  // as NCCL fails since 2.24
  setup.version = {2, 23};
  EXPECT_EQ(choice(CollectiveKind::kAllGather, k8GiB), "Ring Simple");
  setup.version = {};
  set("NCCL_ALGO=ring;allreduce:^nvls,ring");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "Tree Simple");
  EXPECT_EQ(choice(CollectiveKind::kAllGather, k8GiB), "Ring Simple");
  set("NCCL_ALGO=^Tree");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "NVLS Simple");
  set("NCCL_NVLS_ENABLE=0");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "Ring Simple");
  set("NCCL_PROTO=LL,ll128");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "Ring LL128");
  set("NCCL_PROTO=^LL128;AllReduce:LL");
  EXPECT_EQ(choice(CollectiveKind::kAllReduce, k8GiB), "Ring LL");
  EXPECT_EQ(choice(CollectiveKind::kAllGather, k8GiB), "Ring Simple");
  set("NCCL_MAX_NCHANNELS=4");
  EXPECT_EQ(ChannelsUsed(setup, Nodes(1), Algorithm::kRing, Protocol::kSimple, k8GiB), 4);
  set("NCCL_MAX_CTAS=64");
  set("NCCL_MIN_NCHANNELS=32");
  EXPECT_EQ(ChannelsUsed(setup, Nodes(1), Algorithm::kRing, Protocol::kSimple, Bytes(8)), 32);
}

TEST(Environment, SaysWhatIsWrong) {
  NcclEnvironment environment;
  const auto wrong = [&](const char* assignment) {
    const auto error = SetVariable(assignment, &environment);
    return error ? error->message : std::string("taken");
  };
  EXPECT_EQ(
      wrong("NCCL_ALGO=Butterfly"),
      "NCCL_ALGO: \"Butterfly\" is none of Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT");
  EXPECT_EQ(wrong("NCCL_ALGO=allreduce:tree;ring"),
            "NCCL_ALGO: \"ring\" names no function; only the first list may leave it out");
  EXPECT_EQ(wrong("NCCL_PROTO=sum:LL"),
            "NCCL_PROTO: \"sum\" is none of Broadcast, Reduce, AllGather, ReduceScatter, AllReduce");
  EXPECT_EQ(wrong("NCCL_PROTO="), "NCCL_PROTO: \"\" is none of LL, LL128, Simple");
  EXPECT_EQ(wrong("NCCL_MAX_NCHANNELS=65"), "NCCL_MAX_NCHANNELS: \"65\" is no whole number of 1 ... 64");
  EXPECT_EQ(wrong("NCCL_MAX_NCHANNELS=4x"), "NCCL_MAX_NCHANNELS: \"4x\" is no whole number of 1 ... 64");
  EXPECT_EQ(wrong("NCCL_MAX_NCHANNELS=2"), "taken");
  EXPECT_EQ(wrong("NCCL_MIN_NCHANNELS=4"), "NCCL_MIN_NCHANNELS: at least 4 channels, but at most 2");
  EXPECT_EQ(wrong("NCCL_ALGO"), "\"NCCL_ALGO\" is no NAME=value");
  EXPECT_EQ(wrong("NCCL_BUFFSIZE=1M").substr(0, 28), "NCCL_BUFFSIZE: is not simula");
  EXPECT_TRUE(environment.ProtocolsOf(NcclFunction::kAllReduce) == Allowed<Protocol>());  // nothing half done
}

TEST(Version, IsReadWithOrWithoutItsPatch) {
  EXPECT_TRUE(ReadNcclVersion("2.27").value() == (NcclVersion{2, 27}));
  EXPECT_TRUE(ReadNcclVersion("2.18.3").value() == (NcclVersion{2, 18}));
  for (const char* wrong : {"", "2", "2.", "2.17", "2.31", "3.0", "2.27.", "2.27x", "v2.27", "-2.27"}) {
    ASSERT_FALSE(ReadNcclVersion(wrong).ok()) << wrong;
  }
  EXPECT_EQ(ReadNcclVersion("2.31").error().message,
            "\"2.31\" is none of the versions of NCCL that are known, 2.18 to 2.30");
}

// The formula of 2.30 once more, straight down as src/graph/tuning.cc has it: tables first, then algorithm by
// algorithm. Returns the time, or infinity for what is off.
double TimeOf230(int capability, bool amd, double ranks, double nodes, bool all_reduce, int algorithm,
                 int protocol, double channels, double intra, double inter, double size) {
  const int arch = capability >= 100  ? 3
                   : capability >= 90 ? 2
                                      : 1,
            n = nodes <= 2 ? static_cast<int>(nodes) - 1 : 2;
  const double ll[4][3] = {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}};
  const double ring128[4] = {20, 20, 36.7, 40};
  const double tree128[4][3] = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
  const double tree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
  const double nvls_tree[4][3] = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}};
  const double nvls[4] = {0, 0, .85, .74};
  const double factor[3][24] = {
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};
  const double ppn = ranks / nodes, steps = all_reduce ? 2 * (ranks - 1) : ranks - 1;
  const double most_ll = ll[nodes == 1 ? arch : amd ? 1 : 0][n];
  double bw = nodes <= 2 ? intra : inter, latency = 0;
  const bool is_nvls = algorithm >= 4;
  if (is_nvls && (protocol != 2 || arch < 2 || ppn <= 2)) return INFINITY;
  if (algorithm == 5 && !all_reduce) return INFINITY;
  if (algorithm == 4 && nodes > 1) return INFINITY;
  if (algorithm == 5 && nodes == 1) return INFINITY;
  if (algorithm == 0 && !all_reduce) return INFINITY;
  if (is_nvls) {
    const double inside = intra * nvls[arch] * (channels - 1) / channels * (all_reduce ? 2 : (ppn - 1) / ppn);
    bw = std::min(inside, algorithm == 4 ? INFINITY : inter * (nodes <= 2 ? 2 : 1));
    if (algorithm == 5) bw = std::min(bw, nvls_tree[arch][n]);
  }
  double bus = channels * bw;
  if (algorithm == 1 && protocol == 0) bus = std::min(most_ll, bus * .5);
  if (algorithm == 1 && protocol == 1) bus = std::min(bus * .92, channels * ring128[arch]);
  if (algorithm == 0) bus = std::min(bus * .92, channels * tree[arch][n]);
  if (algorithm == 0 && protocol == 0) bus = std::min(bus / 3.8, most_ll);
  if (algorithm == 0 && protocol == 1)
    bus = std::min(bus * (nodes == 1 ? 7. / 9 : 120. / 128), channels * tree128[arch][n]);
  if (algorithm == 1 || all_reduce) bus *= algorithm == 0 ? .5 : ranks / steps;
  const double base[2][3] = {{6.8, 14, 8.4}, {6.6, 14, 8.4}};
  const double nvl[2][3] = {{.6, 1.25, 4}, {.6, 1.9, 3.4}}, net[2][3] = {{5, 8.5, 14}, {2.7, 4, 14}};
  if (algorithm == 1) {
    double inside = nvl[1][protocol];
    const double between = ppn == 1 ? net[0][protocol] : net[1][protocol];
    if (nodes > 1) inside = std::max(inside, (amd ? 2.0 : 1.0) * (protocol == 2 ? 3 : 1));
    const double crossings = nodes == 1 ? 0 : all_reduce ? 2 * (nodes - 1) : nodes - 1;
    latency = base[1][protocol] + (steps - crossings) * inside + crossings * between;
  } else if (algorithm == 0) {
    latency = base[0][protocol] + 2 * ((std::floor(ppn) - 1) * nvl[0][protocol] +
                                       std::floor(std::log2(nodes)) * net[0][protocol]);
  } else if (algorithm == 4) {
    latency = 25;
  } else {
    latency = 25 + 2 * std::floor(std::log2(nodes)) * 20.9;
  }
  const int log_size = size < 64 ? -1 : static_cast<int>(std::floor(std::log2(std::floor(size / 64))));
  if (algorithm == 0 && log_size >= 0 && log_size < 23) bus *= factor[protocol][log_size];
  if (algorithm == 5 && log_size >= 0 && log_size < 24 && capability >= 100)
    bus *= factor[protocol][log_size];
  if (algorithm == 1 && protocol == 2 && nodes > 1 && all_reduce &&
      std::floor(size / (2 * channels * ranks)) >= 64)
    latency *= 1.4;
  return latency + size / (1000 * bus);
}

TEST(Tuner, AgreesWithTheFormulaWrittenASecondTime) {
  int compared = 0;
  for (const NcclSetup& setup : {Ampere({2, 30}), Hopper({2, 30}), Blackwell({2, 30})}) {
    for (const std::uint32_t nodes : {1u, 2u, 3u, 4u, 16u, 125u}) {
      for (const std::uint32_t per_node : {1u, 2u, 4u, 5u, 8u}) {
        if (nodes * per_node == 1) continue;
        for (const bool all_reduce : {true, false}) {
          for (std::int64_t size = 8; size <= std::int64_t{16} << 30; size *= 2) {
            const NcclGroup group = Nodes(nodes, per_node);
            double best = INFINITY;
            std::string wanted;
            for (const int algorithm : {0, 1, 4, 5}) {
              const auto name = static_cast<Algorithm>(algorithm);
              const NcclGraph graph = GraphOf(setup, group, name);
              for (int protocol = 0; protocol < 3; ++protocol) {
                const double time = TimeOf230(setup.capability, setup.cpu == CpuVendor::kAmd, group.ranks,
                                              nodes, all_reduce, algorithm, protocol, graph.channels,
                                              graph.inside, graph.between, static_cast<double>(size));
                if (time < best) {
                  best = time;
                  wanted = std::string(ToText(name)) + ' ' + ToText(static_cast<Protocol>(protocol));
                }
              }
            }
            NcclSetup without_pat = setup;
            without_pat.environment.pat = false;
            const CollectiveKind kind =
                all_reduce ? CollectiveKind::kAllReduce : CollectiveKind::kReduceScatter;
            const auto got = Predict(without_pat, group, kind, Bytes(size));
            ASSERT_TRUE(got.has_value());
            ASSERT_NEAR(got->time_us, best, best * 1e-12)
                << nodes << " x " << per_node << ", " << size << " B, capability " << setup.capability
                << ", all-reduce " << all_reduce << ": " << Choice(without_pat, group, kind, Bytes(size))
                << ", wanted " << wanted;
            ASSERT_EQ(Choice(without_pat, group, kind, Bytes(size)), wanted)
                << nodes << " x " << per_node << ", " << size << " B, capability " << setup.capability;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace sim
