// Random numbers that depend on nothing but their name: (seed, purpose, index).
// A new consumer does not shift the numbers of an old one. Whole numbers only.

#ifndef SIM_BASE_RANDOM_H_
#define SIM_BASE_RANDOM_H_

#include <cstdint>
#include <string_view>

#include "sim/base/check.h"
#include "sim/base/digest.h"

namespace sim {

class Random {
 public:
  Random(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0) {
    Digest name;
    name.Add(seed).Add(index);
    for (const char c : purpose) name.Add(static_cast<unsigned char>(c));
    state_ = name.value();
  }

  std::uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15ULL); }

  // Uniform in [0, n), without bias worth naming (n < 2^32). REQUIRES: n > 0
  std::uint32_t Below(std::uint32_t n) {
    CHECK(n > 0);
    return static_cast<std::uint32_t>(((Next() >> 32) * n) >> 32);
  }

  // Uniform in [low, high]. REQUIRES: low <= high, high - low < 2^32 - 1
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    CHECK(low <= high);
    return low + Below(static_cast<std::uint32_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

}  // namespace sim

#endif  // SIM_BASE_RANDOM_H_
