// NCCL's constants by version; for nccl_tuner.cc.

#ifndef SIM_COLLECTIVE_NCCL_CONSTANTS_H_
#define SIM_COLLECTIVE_NCCL_CONSTANTS_H_

#include <array>
#include <cstdint>
#include <span>

#include "sim/collective/algorithm.h"
#include "sim/collective/nccl_tuner.h"

namespace sim {

// How NCCL groups compute capabilities: its tables have a row each.
enum class NcclArchitecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
// Blackwell counts as Hopper before 2.25.
NcclArchitecture ArchitectureOf(int capability, NcclVersion version);

enum class NcclHardware : std::uint8_t { kNvlink, kPci, kNetwork };

double BaseLatency(Algorithm algorithm, Protocol protocol, NcclVersion version);  // us
double HardwareLatency(NcclHardware hardware, Algorithm algorithm, Protocol protocol, NcclVersion version);

// Caps in GB/s; `nodes` counts 1, 2, more.
double MostOfLl(NcclArchitecture architecture, CpuVendor cpu, std::uint32_t nodes, NcclVersion version);
double MostOfRingLl128(NcclArchitecture architecture, NcclVersion version);  // a channel
double MostOfTreeLl128(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version);
double MostOfTreeSimple(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version);
double MostOfNvlsTree(NcclArchitecture architecture, std::uint32_t nodes, NcclVersion version);
double NvlsEfficiency(NcclArchitecture architecture, NcclVersion version);

// Medium-sized trees are slower than latency and bandwidth say.
double TreeCorrection(Algorithm algorithm, Protocol protocol, Bytes size);

double NvlinkRate(int capability, NcclVersion version);  // GB/s of one link
// Rates that a search tries, the highest first.
std::span<const double> SpeedsInside(int capability);
std::span<const double> SpeedsBetween(int capability);

}  // namespace sim

#endif  // SIM_COLLECTIVE_NCCL_CONSTANTS_H_
