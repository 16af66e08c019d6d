// Source of all tables: NCCL, tags v2.18.3 to v2.30.7, src/graph/tuning.cc, search.cc and topo.h.
// Where a value is not known of each version, the comment says from which one it is taken.

#include "sim/collective/nccl_constants.h"

#include <bit>
#include <cstddef>

namespace sim {
namespace {

using Row = std::array<double, kProtocolCount>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;           // 1, 2, more nodes
using ByArchitecture = std::array<ByNodes, 4>;   // Volta, Ampere, Hopper, Blackwell
using LatencyTable =
    std::array<Row, kAlgorithmCount - 1>;  // Tree, Ring, CollNet direct, chain, NVLS, NVLSTree, PAT

constexpr LatencyTable kBase = {
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8.0, 8.0, 8.0}}};
constexpr LatencyTable kNvlink = {
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr LatencyTable kPci = {
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}}};
constexpr LatencyTable kNetwork = {
    {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

constexpr ByArchitecture kLl = {
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
constexpr ByArchitecture kTreeLl128 = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr ByArchitecture kTreeSimple = {
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr ByArchitecture kNvlsTree = {{{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96.0, 80.0}}};
constexpr std::array<double, 4> kRingLl128 = {20, 20, 36.7, 40.0};

constexpr NcclVersion kV2_20{2, 20}, kV2_21{2, 21}, kV2_23{2, 23}, kV2_25{2, 25}, kV2_27{2, 27},
    kV2_28{2, 28}, kV2_30{2, 30};

std::size_t At(std::uint32_t nodes) { return nodes <= 2 ? nodes - 1 : 2; }
template <typename E>
std::size_t Pos(E element) {
  return static_cast<std::size_t>(element);
}

// Blackwell's rows were twice Hopper's until it was measured, in 2.28.
double ByVersion(const ByArchitecture& table, NcclArchitecture architecture, std::uint32_t nodes,
                 NcclVersion version) {
  if (architecture == NcclArchitecture::kBlackwell && version < kV2_28) {
    return 2 * table[Pos(NcclArchitecture::kHopper)][At(nodes)];
  }
  return table[Pos(architecture)][At(nodes)];
}

// From 64 B by powers of two.
constexpr std::array<std::array<double, 24>, kProtocolCount> kTreeCorrection = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

// Speeds of Volta and Ampere are from memory of search.cc; the others from its tables.
constexpr double kInside80[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kBetween80[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12};
constexpr double kInside90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kBetween90[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12};
constexpr double kInside100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kBetween100[] = {96,   48, 45.1, 42, 40, 30,  24,  22,  20,
                                  17.5, 15, 12,   6,  3,  2.4, 1.2, .24, .12};

}  // namespace

NcclArchitecture ArchitectureOf(int capability, NcclVersion version) {
  if (capability >= 100 && version >= kV2_25) return NcclArchitecture::kBlackwell;
  if (capability >= 90) return NcclArchitecture::kHopper;
  return capability >= 80 ? NcclArchitecture::kAmpere : NcclArchitecture::kVolta;
}

double BaseLatency(Algorithm algorithm, Protocol protocol, NcclVersion version) {
  if (algorithm == Algorithm::kTree && protocol == Protocol::kSimple && version < kV2_23) return 0;
  return kBase[Pos(algorithm)][Pos(protocol)];
}

double HardwareLatency(NcclHardware hardware, Algorithm algorithm, Protocol protocol, NcclVersion version) {
  if (hardware == NcclHardware::kNvlink && version < kV2_21 &&
      (algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree)) {
    return protocol == Protocol::kSimple ? 23 : 0;
  }
  // Two values are known: 14 of 2.21 to 2.27, 20.9 of 2.30. The rules of NVLSTree changed in 2.28, so the
  // later one is taken from there on.
  if (hardware == NcclHardware::kNetwork && algorithm == Algorithm::kNvlsTree && version < kV2_28) {
    return protocol == Protocol::kSimple ? 14 : 0;
  }
  const LatencyTable& table = hardware == NcclHardware::kNvlink ? kNvlink
                              : hardware == NcclHardware::kPci  ? kPci
                                                                : kNetwork;
  return table[Pos(algorithm)][Pos(protocol)];
}

// Inside a node by device; between nodes by processor, and the tables' first two rows are those of Intel and
// AMD.
double MostOfLl(NcclArchitecture architecture, CpuVendor cpu, std::uint32_t nodes, NcclVersion version) {
  if (nodes > 1) return kLl[cpu == CpuVendor::kAmd ? 1 : 0][At(nodes)];
  if (version < kV2_21 && architecture >= NcclArchitecture::kHopper) return 87.7;
  return kLl[Pos(architecture)][0];
}

double MostOfRingLl128(NcclArchitecture architecture, NcclVersion version) {
  if (architecture == NcclArchitecture::kBlackwell && version < kV2_28) return 2 * 36.7;
  return kRingLl128[Pos(architecture)];
}

double MostOfTreeLl128(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version) {
  return ByVersion(kTreeLl128, architecture, nodes, version);
}

double MostOfTreeSimple(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version) {
  return ByVersion(kTreeSimple, architecture, nodes, version);
}

double MostOfNvlsTree(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version) {
  if (architecture == NcclArchitecture::kBlackwell && nodes > 2 && version < kV2_30) return 43.8;
  return kNvlsTree[Pos(architecture)][At(nodes)];
}

// Published of 2.28 and later. Rows of 2.27 whose algorithm is known need it there too: H200 takes rings
// for 4 devices and NVLS for 5, B200 rings for 5 and NVLS for 6 (ml-engineering, network, NCCL 2.27.7).
double NvlsEfficiency(NcclArchitecture architecture, NcclVersion version) {
  if (architecture < NcclArchitecture::kHopper) return 0;
  if (version < kV2_27) return 1;
  return architecture == NcclArchitecture::kHopper ? 0.85 : 0.74;
}

double TreeCorrection(Algorithm algorithm, Protocol protocol, Bytes size) {
  const auto units = static_cast<std::uint64_t>(size.count()) >> 6;
  const auto& row = kTreeCorrection[Pos(protocol)];
  if (units == 0) return 1;
  const auto at = static_cast<std::size_t>(std::bit_width(units)) - 1;
  // Trees leave the last entry out.
  return at < (algorithm == Algorithm::kTree ? row.size() - 1 : row.size()) ? row[at] : 1;
}

double NvlinkRate(int capability, NcclVersion version) {
  if (capability >= 100) return version >= kV2_27 ? 40.1 : 40.0;
  return capability >= 90 && version >= kV2_20 ? 20.6 : 20.0;
}

std::span<const double> SpeedsInside(int capability) {
  if (capability >= 100) return kInside100;
  return capability >= 90 ? std::span<const double>(kInside90) : kInside80;
}

std::span<const double> SpeedsBetween(int capability) {
  if (capability >= 100) return kBetween100;
  return capability >= 90 ? std::span<const double>(kBetween90) : kBetween80;
}

}  // namespace sim
