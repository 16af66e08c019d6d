#include "sim/collective/nccl_chunk.h"

#include <bit>

#include "sim/base/check.h"

namespace sim {
namespace {

// Halves `chunk`, down to `least`, while there are fewer loops than `wanted`.
void HalveWhile(double wanted, double buffer, std::int64_t least, std::int64_t* chunk) {
  while (buffer / static_cast<double>(*chunk) < wanted && *chunk > least) *chunk /= 2;
}

}  // namespace

Bytes TreeChunk(Algorithm algorithm, Protocol protocol, const NcclGroup& group, Bytes size, int channels) {
  CHECK((algorithm == Algorithm::kTree || algorithm == Algorithm::kNvlsTree) && channels >= 1);
  const double levels = std::bit_width(group.nodes) - 1, per_node = group.ranks / group.nodes;
  const double buffer = static_cast<double>(size.count()) / channels;
  if (algorithm == Algorithm::kNvlsTree) {
    std::int64_t chunk = group.nodes >= 4 ? 65'536 : 131'072;
    const double of_head = buffer / per_node;
    HalveWhile(32, of_head, 262'144, &chunk);
    HalveWhile(16, of_head, 131'072, &chunk);
    HalveWhile(4, of_head, 65'536, &chunk);
    HalveWhile(1, of_head, 32'768, &chunk);
    return Bytes(chunk);
  }
  if (protocol == Protocol::kLl) return Bytes(32'768);  // half of a step is flags
  if (protocol == Protocol::kLl128) {
    const double steps = 1 + levels + 0.1 * per_node;
    std::int64_t chunk = 4'915'200 / 8 * 15 / 16;
    HalveWhile(steps * 64 / per_node, buffer, 131'072, &chunk);
    HalveWhile(steps * 16 / per_node, buffer, 32'768, &chunk);
    return Bytes(chunk);
  }
  const double depth = per_node - 1 + levels;
  std::int64_t chunk = 524'288;
  HalveWhile(depth * 8, buffer, 131'072, &chunk);
  HalveWhile(depth * 4, buffer, 65'536, &chunk);
  HalveWhile(depth, buffer, 32'768, &chunk);
  return Bytes(chunk);
}

Bytes NvlsChunk(const NcclGroup& group, Bytes size, int channels) {
  CHECK(channels >= 1);
  const std::int64_t at_once = std::int64_t{channels} * (group.ranks / group.nodes);
  std::int64_t chunk = 131'072;
  if (size.count() < 64 * at_once * chunk) chunk = 65'536;
  if (size.count() < 8 * at_once * chunk) chunk = 32'768;
  if (size.count() < 2 * at_once * chunk) chunk = 16'384;
  return Bytes(chunk);
}

}  // namespace sim
