#include "models/kv_pool.h"

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace models {

std::int64_t PagedTokens(std::span<const std::int64_t> lengths, std::int64_t block) {
  CHECK(block > 0);
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths) sum += (length + block - 1) / block * block;
  return sum;
}

sim::Bytes KvBudget(sim::Bytes memory, double utilisation, sim::Bytes weights, sim::Bytes workspace) {
  CHECK(utilisation > 0 && utilisation <= 1);
  const auto usable = static_cast<std::int64_t>(static_cast<double>(memory.count()) * utilisation);
  return std::max(sim::Bytes(usable) - weights - workspace, sim::Bytes());
}

std::int64_t ReusedTokens(std::int64_t prompt, std::int64_t shared, std::int64_t block) {
  CHECK(prompt > 0 && shared >= 0 && block > 0);
  return std::min(shared, prompt - 1) / block * block;
}

std::int64_t CommonBlock(std::span<const std::int64_t> blocks) {
  CHECK(!blocks.empty());
  std::int64_t common = 1;
  for (const std::int64_t block : blocks) common = std::lcm(common, block);
  return common;
}

}  // namespace models
