#include "sim/collective/algorithm.h"

#include <charconv>
#include <string>

namespace sim {
namespace {

// A number at the start of `text`, which is taken off; -1 where there is none.
int TakeNumber(std::string_view* text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || number < 0) return -1;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return number;
}

bool TakeDot(std::string_view* text) {
  if (!text->starts_with('.')) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string ToText(NcclVersion version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor);
}

Result<NcclVersion> ReadNcclVersion(std::string_view text) {
  std::string_view rest = text;
  const int major = TakeNumber(&rest);
  const int minor = TakeDot(&rest) ? TakeNumber(&rest) : -1;
  if (TakeDot(&rest) && TakeNumber(&rest) < 0) rest = text;
  const NcclVersion version{major, minor};
  if (rest.empty() && minor >= 0 && version >= kOldestNccl && version <= kNewestNccl) return version;
  return Error{'"' + std::string(text) + "\" is none of the versions of NCCL that are known, 2.18 to 2.30"};
}

const char* ToText(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTree:
      return "Tree";
    case Algorithm::kRing:
      return "Ring";
    case Algorithm::kCollNetDirect:
      return "CollNetDirect";
    case Algorithm::kCollNetChain:
      return "CollNetChain";
    case Algorithm::kNvls:
      return "NVLS";
    case Algorithm::kNvlsTree:
      return "NVLSTree";
    case Algorithm::kPat:
      return "PAT";
    case Algorithm::kPointToPoint:
      return "P2P";
    case Algorithm::kByDimension:
      return "ByDim";
    case Algorithm::kOneShot:
      return "OneShot";
    case Algorithm::kTwoShot:
      return "TwoShot";
  }
  return "?";
}

const char* ToText(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "LL";
    case Protocol::kLl128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  return "?";
}

}  // namespace sim
