// The NCCL_* variables that decide how a collective is done.

#ifndef SIM_COLLECTIVE_NCCL_ENVIRONMENT_H_
#define SIM_COLLECTIVE_NCCL_ENVIRONMENT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/result.h"
#include "sim/collective/algorithm.h"

namespace sim {

// The functions that NCCL chooses an algorithm for.
enum class NcclFunction : std::uint8_t { kBroadcast, kReduce, kAllGather, kReduceScatter, kAllReduce };
inline constexpr std::size_t kNcclFunctions = 5;
const char* ToText(NcclFunction function);  // "AllReduce", ... as NCCL writes it

// Which of a list may be used, a bit each; as long as nobody said, all.
template <typename Element>
class Allowed {
 public:
  bool Has(Element element) const { return (bits_ >> static_cast<unsigned>(element) & 1) != 0; }
  void Set(Element element, bool on) {
    const unsigned bit = 1u << static_cast<unsigned>(element);
    bits_ = on ? bits_ | bit : bits_ & ~bit;
  }
  void SetAll(bool on) { bits_ = on ? ~0u : 0u; }
  bool operator==(const Allowed&) const = default;

 private:
  unsigned bits_ = ~0u;
};

struct NcclEnvironment {
  std::array<Allowed<Algorithm>, kNcclFunctions> algorithms;  // by NcclFunction
  std::array<Allowed<Protocol>, kNcclFunctions> protocols;
  std::array<bool, kNcclFunctions> ll128_forced{};  // asked for by name, so also where it is off by itself
  std::optional<int> min_channels, max_channels;    // 1 ... 64
  bool nvls = true;
  bool collnet = false;
  bool pat = true;
  std::int64_t p2p_ll_threshold = 16'384;  // bytes to one peer up to which sends use LL

  const Allowed<Algorithm>& AlgorithmsOf(NcclFunction f) const {
    return algorithms[static_cast<std::size_t>(f)];
  }
  const Allowed<Protocol>& ProtocolsOf(NcclFunction f) const {
    return protocols[static_cast<std::size_t>(f)];
  }
};

// Takes over one variable: NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS (also _CTAS),
// NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE, NCCL_PAT_ENABLE, NCCL_P2P_LL_THRESHOLD. Those that change neither
// choice nor cost (NCCL_DEBUG, NCCL_SOCKET_IFNAME, NCCL_IB_HCA and the like) are taken and forgotten.
//
// Lists are NCCL's: names in any case between commas, "^" before them for all but
// these; since 2.24 "function:list" after semicolons, where only the first list may have
// no function and then stands for all of them: "ring;allreduce:tree,nvls".
//
// What is wrong, or nothing. Source: NVIDIA NCCL user guide, "Environment variables".
std::optional<Error> SetVariable(std::string_view name, std::string_view value, NcclEnvironment* environment);

// The same for "NAME=value".
std::optional<Error> SetVariable(std::string_view assignment, NcclEnvironment* environment);

}  // namespace sim

#endif  // SIM_COLLECTIVE_NCCL_ENVIRONMENT_H_
