#include "sim/collective/nccl_heed.h"

#include <algorithm>

#include "sim/base/check.h"

namespace sim {
namespace {

// The first with which NCCL_ALGO is not for all-reduces alone.
constexpr NcclVersion kAlgorithmsOfAll{2, 24};

// Whether NCCL would ever do it so, by an environment that says nothing.
bool HasWay(NcclSetup setup, const NcclGroup& group, CollectiveKind kind, Algorithm algorithm) {
  setup.environment = {};
  const std::vector<NcclPrediction> all = PredictAll(setup, group, kind, Bytes(1));
  return std::any_of(all.begin(), all.end(), [&](const auto& way) { return way.algorithm == algorithm; });
}

}  // namespace

bool IsHarmlessVariable(std::string_view name) {
  constexpr std::string_view kNames[] = {"NCCL_DEBUG",         "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE",
                                         "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA",       "NCCL_IB_GID_INDEX"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::optional<std::string> WhyMovesNoTime(std::string_view name) {
  if (IsHarmlessVariable(name)) return std::string(name) + ": changes nothing that is simulated";
  if (name.ends_with("_NCHANNELS") || name.ends_with("_CTAS")) {
    return std::string(name) +
           ": counts channels (SMs) in reports, and moves no time: what fewer or more of them do to rates is "
           "not simulated";
  }
  return std::nullopt;
}

bool Heeds(const NcclSetup& setup, const NcclGroup& group, CollectiveKind kind, std::string_view name,
           std::string_view value) {
  if (group.ranks < 2) return false;
  if (IsHarmlessVariable(name)) return true;  // for no collective less than for others
  const std::optional<NcclFunction> function = FunctionOf(kind);
  if (name == "NCCL_P2P_LL_THRESHOLD" || !function) return name == "NCCL_P2P_LL_THRESHOLD" && !function;
  // A list leaves other functions what they had.
  NcclEnvironment listed;
  CHECK(!SetVariable(name, value, &listed));
  if (name == "NCCL_ALGO") {
    return (*function == NcclFunction::kAllReduce || setup.version >= kAlgorithmsOfAll) &&
           listed.AlgorithmsOf(*function) != NcclEnvironment().AlgorithmsOf(*function);
  }
  if (name == "NCCL_PROTO") {
    return listed.ProtocolsOf(*function) != NcclEnvironment().ProtocolsOf(*function);
  }
  if (name == "NCCL_NVLS_ENABLE") {
    return HasWay(setup, group, kind, Algorithm::kNvls) || HasWay(setup, group, kind, Algorithm::kNvlsTree);
  }
  if (name == "NCCL_PAT_ENABLE") return HasWay(setup, group, kind, Algorithm::kPat);
  return true;
}

}  // namespace sim
