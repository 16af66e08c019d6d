#include "sim/collective/nccl_tuner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "sim/base/check.h"
#include "sim/collective/nccl_constants.h"

namespace sim {
namespace {

constexpr NcclVersion kV2_19{2, 19}, kV2_21{2, 21}, kV2_23{2, 23}, kV2_24{2, 24}, kV2_25{2, 25},
    kV2_27{2, 27}, kV2_28{2, 28};

constexpr int kChannelsInside = 12;  // of rings in one NVSwitch node, as logs of A100 and H100 show

// The highest speed of a search that fits; the lowest one where none does.
double FastestUpTo(std::span<const double> speeds, double rate) {
  for (const double speed : speeds) {
    if (speed <= rate) return speed;
  }
  return speeds.back();
}

int NvlsChannels(const NcclSetup& setup, const NcclGroup& group) {
  if (ArchitectureOf(setup.capability, setup.version) < NcclArchitecture::kBlackwell) return 16;
  return group.nodes == 1 && setup.version >= kV2_27 ? 24 : 32;
}

int Log2(std::uint32_t n) { return static_cast<int>(std::bit_width(n)) - 1; }

// Latency and bandwidth of one function, algorithm by algorithm and protocol by protocol.
class Model {
 public:
  Model(const NcclSetup& setup, const NcclGroup& group, NcclFunction function)
      : setup_(setup),
        group_(group),
        function_(function),
        architecture_(ArchitectureOf(setup.capability, setup.version)),
        per_node_(static_cast<double>(group.ranks) / group.nodes) {}

  // Whether NCCL has it at all for this function and group.
  bool Exists(Algorithm algorithm, Protocol protocol) const {
    const bool reduces_all = function_ == NcclFunction::kAllReduce;
    const bool moves_parts =
        function_ == NcclFunction::kAllGather || function_ == NcclFunction::kReduceScatter;
    const bool simple = protocol == Protocol::kSimple;
    const bool nvls = setup_.environment.nvls && setup_.nvswitch && setup_.nvlinks > 0 &&
                      architecture_ >= NcclArchitecture::kHopper && group_.ranks > 2 * group_.nodes;
    const bool collnet = setup_.environment.collnet && group_.nodes > 1;
    switch (algorithm) {
      case Algorithm::kRing:
        return protocol != Protocol::kLl128 || HasLl128();
      case Algorithm::kTree:
        return reduces_all && (protocol != Protocol::kLl128 || HasLl128());
      case Algorithm::kCollNetDirect:
        return simple && collnet && setup_.nvswitch &&
               (reduces_all || (moves_parts && group_.nics >= per_node_));
      case Algorithm::kCollNetChain:
        return simple && collnet && reduces_all;
      case Algorithm::kNvls:
        return simple && nvls && (group_.nodes == 1 || collnet) &&
               (reduces_all || (moves_parts && setup_.version >= kV2_19));
      case Algorithm::kNvlsTree:
        return simple && nvls && group_.nodes > 1 && reduces_all;
      case Algorithm::kPat:
        return simple && moves_parts && setup_.environment.pat && setup_.version >= kV2_23 &&
               group_.ranks == group_.nodes;
      case Algorithm::kPointToPoint:
      case Algorithm::kByDimension:
      case Algorithm::kOneShot:
      case Algorithm::kTwoShot:
        return false;
    }
    return false;
  }

  double Bandwidth(Algorithm algorithm, Protocol protocol) const {
    const NcclGraph graph = GraphOf(setup_, group_, algorithm);
    const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
    const double bus = nvls ? NvlsBus(graph, algorithm) : Bus(graph, algorithm, protocol);
    const bool reduces_all = function_ == NcclFunction::kAllReduce;
    const bool moves_parts =
        function_ == NcclFunction::kAllGather || function_ == NcclFunction::kReduceScatter;
    if (algorithm != Algorithm::kRing && moves_parts) return bus;
    if (nvls && setup_.version < kV2_28) return bus * (5.0 / 6.0);
    if (algorithm == Algorithm::kRing || nvls) {
      return bus * group_.ranks / Steps();
    }
    CHECK(reduces_all);
    return bus * 0.5;
  }

  double Latency(Algorithm algorithm, Protocol protocol) const {
    const double base = BaseLatency(algorithm, protocol, setup_.version);
    double inside = HardwareLatency(setup_.nvlinks > 0 ? NcclHardware::kNvlink : NcclHardware::kPci,
                                    algorithm, protocol, setup_.version);
    const double between =
        HardwareLatency(NcclHardware::kNetwork, group_.ranks == group_.nodes ? Algorithm::kTree : algorithm,
                        protocol, setup_.version);
    const double others = group_.ranks / group_.nodes - 1;  // in a node; whole, as NCCL counts
    switch (algorithm) {
      case Algorithm::kRing: {
        if (function_ == NcclFunction::kBroadcast || function_ == NcclFunction::kReduce) {
          return base + (group_.nodes > 1
                             ? HardwareLatency(NcclHardware::kNetwork, algorithm, protocol, setup_.version)
                             : inside);
        }
        if (group_.nodes > 1) {
          const double posting = setup_.cpu == CpuVendor::kAmd ? 2.0 : 1.0;
          inside = std::max(inside, protocol == Protocol::kSimple ? 3 * posting : posting);
        }
        const double rounds = function_ == NcclFunction::kAllReduce ? 2 : 1;
        const double crossings = rounds * (group_.nodes - 1);
        return base + (Steps() - crossings) * inside + crossings * between;
      }
      case Algorithm::kTree:
        return base + 2 * (others * inside + Log2(group_.nodes) * between);
      case Algorithm::kCollNetDirect:
        return base + 2 * (std::min(1.0, others) * inside + others * 0.4) + between;
      case Algorithm::kCollNetChain:
        return base + 2 * others * inside + between;
      case Algorithm::kNvls:
        return inside + (group_.nodes > 1 ? between : 0);
      case Algorithm::kNvlsTree:
        return base + inside + 2 * Log2(group_.nodes) * between;
      case Algorithm::kPat:
        return base + Log2(group_.nodes) * (between / 3.5) + group_.ranks * 2.8;
      case Algorithm::kPointToPoint:
      case Algorithm::kByDimension:
      case Algorithm::kOneShot:
      case Algorithm::kTwoShot:
        return 0;
    }
    return 0;
  }

  // A long ring between nodes falls behind once its channels have work.
  double RingPlateau(Algorithm algorithm, Protocol protocol, Bytes size) const {
    if (algorithm != Algorithm::kRing || protocol != Protocol::kSimple || group_.nodes == 1 ||
        function_ != NcclFunction::kAllReduce) {
      return 1;
    }
    const std::int64_t channels = 2 * GraphOf(setup_, group_, algorithm).channels;
    if (size.count() / (channels * group_.ranks) < 64) return 1;
    return setup_.capability < 80 ? 1.9 : 1.4;
  }

  double Correction(Algorithm algorithm, Protocol protocol, Bytes size) const {
    const bool corrected_nvls_tree = algorithm == Algorithm::kNvlsTree && setup_.version >= kV2_28 &&
                                     setup_.capability >= 100 && setup_.cpu != CpuVendor::kOther;
    return algorithm == Algorithm::kTree || corrected_nvls_tree ? TreeCorrection(algorithm, protocol, size)
                                                                : 1;
  }

 private:
  // LL128 needs NVLink inside nodes; NICs are beside their devices in all nodes here.
  bool HasLl128() const {
    return (setup_.nvlinks > 0 || group_.ranks == group_.nodes ||
            setup_.environment.ll128_forced[static_cast<std::size_t>(function_)]) &&
           setup_.capability >= 70;
  }

  double Steps() const {
    if (function_ == NcclFunction::kAllReduce) return 2.0 * (group_.ranks - 1);
    if (function_ == NcclFunction::kAllGather || function_ == NcclFunction::kReduceScatter) {
      return group_.ranks - 1;
    }
    return group_.ranks;
  }

  double Bus(const NcclGraph& graph, Algorithm algorithm, Protocol protocol) const {
    const bool collnet = algorithm == Algorithm::kCollNetDirect || algorithm == Algorithm::kCollNetChain;
    double bus = graph.channels * (group_.nodes <= 2 || collnet ? graph.inside : graph.between);
    const double most_of_ll = MostOfLl(architecture_, setup_.cpu, group_.nodes, setup_.version);
    if (algorithm == Algorithm::kRing && protocol == Protocol::kLl) {
      return setup_.version >= kV2_21 ? std::min(most_of_ll, bus * 0.5) : bus * OldLlFactor();
    }
    if (algorithm == Algorithm::kRing && protocol == Protocol::kLl128) {
      return std::min(bus * 0.92, graph.channels * MostOfRingLl128(architecture_, setup_.version));
    }
    if (algorithm == Algorithm::kTree) {
      bus = std::min(bus * 0.92,
                     graph.channels * MostOfTreeSimple(architecture_, group_.nodes, setup_.version));
      if (protocol == Protocol::kLl) return std::min(bus / 3.8, most_of_ll);
      if (protocol == Protocol::kLl128) {
        return std::min(bus * (group_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                        graph.channels * MostOfTreeLl128(architecture_, group_.nodes, setup_.version));
      }
    }
    if (algorithm == Algorithm::kPat) return bus * 0.75;
    if (algorithm == Algorithm::kCollNetDirect) return CollNetBus(graph, bus);
    return bus;
  }

  double CollNetBus(const NcclGraph& graph, double bus) const {
    if (function_ != NcclFunction::kAllReduce) {
      return per_node_ * std::min(graph.inside, graph.between * 0.9);
    }
    double devices_a_nic = per_node_ / graph.channels;
    devices_a_nic -= (devices_a_nic - 1) / 2;
    return bus / devices_a_nic * (setup_.capability >= 90 ? 0.85 : 1);
  }

  double OldLlFactor() const {
    const bool slow =
        group_.nodes > 1 || function_ == NcclFunction::kAllReduce || function_ == NcclFunction::kReduce;
    return slow ? 1.0 / 4 : 1.0 / 3;
  }

  double NvlsBus(const NcclGraph& graph, Algorithm algorithm) const {
    const bool tree = algorithm == Algorithm::kNvlsTree;
    double inside = graph.inside * NvlsEfficiency(architecture_, setup_.version);
    if (setup_.version < kV2_28) {
      const double between = group_.nodes == 1          ? std::numeric_limits<double>::max()
                             : tree && group_.nodes > 2 ? graph.between / 2
                                                        : graph.between;
      return graph.channels * std::min(inside, between);
    }
    inside *= static_cast<double>(graph.channels - 1) / graph.channels;
    inside *= function_ == NcclFunction::kAllReduce ? 2 : (per_node_ - 1) / per_node_;
    double rate = inside;
    if (group_.nodes > 1) rate = std::min(rate, graph.between * (tree && group_.nodes <= 2 ? 2 : 1));
    if (tree) rate = std::min(rate, MostOfNvlsTree(architecture_, group_.nodes, setup_.version));
    return graph.channels * rate;
  }

  const NcclSetup& setup_;
  const NcclGroup& group_;
  NcclFunction function_;
  NcclArchitecture architecture_;
  double per_node_;
};

}  // namespace

NcclGroup GroupOf(const Communicator& group) {
  std::map<std::uint32_t, std::uint32_t> members;  // by domain
  for (const std::uint32_t domain : group.domain) ++members[domain];
  std::uint32_t fewest = group.size();
  for (const auto& [domain, count] : members) fewest = std::min(fewest, count);
  return {.ranks = group.size(), .nodes = static_cast<std::uint32_t>(members.size()), .nics = fewest};
}

NcclGraph GraphOf(const NcclSetup& setup, const NcclGroup& group, Algorithm algorithm) {
  const double total =
      setup.nvlinks > 0 ? setup.nvlinks * NvlinkRate(setup.capability, setup.version) : setup.pcie_gb_per_s;
  const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
  NcclGraph graph;
  if (nvls) {
    graph.channels = NvlsChannels(setup, group);
    graph.inside = FastestUpTo(SpeedsInside(setup.capability), total / graph.channels);
    // All NICs of a node together, shared out.
    graph.between = group.nics * setup.nic_gb_per_s / graph.channels;
    return graph;
  }
  if (group.nodes == 1) {
    graph.channels = setup.nvlinks > 0 ? kChannelsInside : 2;
    graph.inside = graph.between = FastestUpTo(SpeedsInside(setup.capability), total / graph.channels);
    return graph;
  }
  graph.channels = static_cast<int>(group.nics);
  const double rate =
      group.ranks == group.nodes ? setup.nic_gb_per_s : std::min(setup.nic_gb_per_s, total / graph.channels);
  graph.inside = graph.between = FastestUpTo(SpeedsBetween(setup.capability), rate);
  return graph;
}

std::optional<NcclFunction> FunctionOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return NcclFunction::kAllReduce;
    case CollectiveKind::kAllGather:
      return NcclFunction::kAllGather;
    case CollectiveKind::kReduceScatter:
      return NcclFunction::kReduceScatter;
    case CollectiveKind::kBroadcast:
      return NcclFunction::kBroadcast;
    case CollectiveKind::kReduce:
      return NcclFunction::kReduce;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kAllToAllByNode:
    case CollectiveKind::kRingShift:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<NcclPrediction> PredictAll(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind,
                                       Bytes size) {
  const std::optional<NcclFunction> function = FunctionOf(kind);
  CHECK(function.has_value() && group.ranks >= 2 && size.count() > 0);
  const Model model(setup, group, *function);
  const bool heeds_algorithms = *function == NcclFunction::kAllReduce || setup.version >= kV2_24;
  std::vector<NcclPrediction> predictions;
  for (std::size_t a = 0; a < kAlgorithmCount; ++a) {
    for (std::size_t p = 0; p < kProtocolCount; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      if (!model.Exists(algorithm, protocol) || !setup.environment.ProtocolsOf(*function).Has(protocol) ||
          (heeds_algorithms && !setup.environment.AlgorithmsOf(*function).Has(algorithm))) {
        continue;
      }
      const double bandwidth =
          model.Bandwidth(algorithm, protocol) * model.Correction(algorithm, protocol, size);
      if (!(bandwidth > 0)) continue;
      const double latency =
          model.Latency(algorithm, protocol) * model.RingPlateau(algorithm, protocol, size);
      const double time = latency + static_cast<double>(size.count()) / (1000 * bandwidth);
      predictions.push_back({algorithm, protocol, latency, bandwidth, time});
    }
  }
  return predictions;
}

std::optional<NcclPrediction> Predict(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind,
                                      Bytes size) {
  const std::vector<NcclPrediction> all = PredictAll(setup, group, kind, size);
  const auto fastest = std::min_element(all.begin(), all.end(),
                                        [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
  if (fastest == all.end()) return std::nullopt;
  return *fastest;
}

int ChannelsUsed(const NcclSetup& setup, const NcclGroup& group, Algorithm algorithm, Protocol protocol,
                 Bytes size) {
  const NcclEnvironment& environment = setup.environment;
  const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
  const int found = GraphOf(setup, group, algorithm).channels;
  int channels = nvls ? found : std::min(2 * found, setup.version >= kV2_25 ? 64 : 32);
  if (environment.min_channels) channels = std::max(channels, *environment.min_channels);
  if (environment.max_channels) channels = std::min(channels, *environment.max_channels);
  // Threads of a channel, and bytes for each of them.
  const std::int64_t threads = protocol == Protocol::kLl128 ? 640 : 512;
  std::int64_t threshold = protocol == Protocol::kSimple ? 64 : 8;
  if (algorithm == Algorithm::kRing && protocol == Protocol::kLl) threshold *= group.ranks;
  while (channels > std::max(1, environment.min_channels.value_or(1)) &&
         size.count() < channels * threads * threshold) {
    --channels;
  }
  return channels;
}

Protocol PointToPointProtocol(const NcclSetup& setup, Bytes to_one_peer) {
  return to_one_peer.count() <= setup.environment.p2p_ll_threshold ? Protocol::kLl : Protocol::kSimple;
}

}  // namespace sim
