// What NCCL can do a collective with: its algorithms, protocols and versions.

#ifndef SIM_COLLECTIVE_ALGORITHM_H_
#define SIM_COLLECTIVE_ALGORITHM_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/result.h"

namespace sim {

// In NCCL's own order, which decides between equal times. Sends and receives, and
// the all-to-all, gather and scatter made of them, have no choice of algorithm.
enum class Algorithm : std::uint8_t {
  kTree,  // chains inside nodes, a double binary tree over them
  kRing,
  kCollNetDirect,  // switches of the network add up
  kCollNetChain,
  kNvls,      // the NVLink switch adds up and copies out
  kNvlsTree,  // NVLS inside nodes, a double binary tree over them
  kPat,       // parallel aggregated trees: log2(n) steps, one rank a node
  kPointToPoint,
  kByDimension,  // none of NCCL's: dimension after dimension of a grid of members, where somebody asks for it
  // Not NCCL's, and never its choice: frameworks' all-reduces of one kernel, by reading peers' memory.
  kOneShot,
  kTwoShot,
};
inline constexpr std::size_t kAlgorithmCount = 8;  // of NCCL
constexpr bool IsCustom(Algorithm algorithm) { return algorithm >= Algorithm::kOneShot; }
const char* ToText(Algorithm algorithm);  // "Tree", "Ring", ... as NCCL writes it

// How data and "it is there" travel together: a flag in every 8 bytes, in
// every 128 bytes, or a counter beside them.
enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::size_t kProtocolCount = 3;
const char* ToText(Protocol protocol);  // "LL", "LL128", "Simple"

struct NcclVersion {
  int major = 2, minor = 27;
  constexpr auto operator<=>(const NcclVersion&) const = default;
};
// "2.27" or "2.27.5". Error: what is no version, or one that is not known.
Result<NcclVersion> ReadNcclVersion(std::string_view text);
std::string ToText(NcclVersion version);  // "2.27"
// The versions whose rules are known.
inline constexpr NcclVersion kOldestNccl{2, 18}, kNewestNccl{2, 30};

}  // namespace sim

#endif  // SIM_COLLECTIVE_ALGORITHM_H_
