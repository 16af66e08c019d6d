// Digest: 64 bits that change when a result does. FNV-1a over 64-bit words,
// finished with a mixer, so that it is the same on every machine.

#ifndef SIM_BASE_DIGEST_H_
#define SIM_BASE_DIGEST_H_

#include <cstdint>
#include <string>

namespace sim {

// Spreads the bits of `x`: the finaliser of SplitMix64.
// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Digest {
 public:
  // Order matters.
  constexpr Digest& Add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3ULL;
    state_ = Mix(state_);
    return *this;
  }
  constexpr std::uint64_t value() const { return Mix(state_); }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

// Sixteen lower-case hex digits.
inline std::string ToHex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace sim

#endif  // SIM_BASE_DIGEST_H_
