// What a flow is: an amount of progress, and the links it loads in lockstep
// while it makes that progress.

#ifndef SIM_NETWORK_FLOW_H_
#define SIM_NETWORK_FLOW_H_

#include <cstdint>
#include <span>

#include "sim/base/check.h"
#include "sim/base/index.h"
#include "sim/base/units.h"

namespace sim {

// An amount of progress, in whole 10^-15 bytes (so that rate x time is exact).
class Volume {
 public:
  constexpr Volume() = default;
  static constexpr Volume FemtoBytes(Wide n) { return Volume(n); }
  static constexpr Volume Of(Bytes bytes) { return OfFraction(bytes, 1, 1); }
  // bytes * numerator / denominator, rounded up to 10^-15 byte.
  // REQUIRES: bytes >= 0, numerator < 2^14 * 2^10, denominator > 0
  static constexpr Volume OfFraction(Bytes bytes, std::int64_t numerator, std::int64_t denominator) {
    CHECK(bytes.count() >= 0 && numerator >= 0 && numerator < (std::int64_t{1} << 24) && denominator > 0);
    const Wide part = static_cast<Wide>(bytes.count()) * numerator;  // below 2^87
    const Wide whole = part / denominator, rest = part % denominator;
    return Volume(whole * kFemto + (rest * kFemto + denominator - 1) / denominator);
  }
  friend constexpr Volume operator+(Volume a, Volume b) { return Volume(a.n_ + b.n_); }
  constexpr Wide femto_bytes() const { return n_; }
  constexpr double bytes() const { return static_cast<double>(n_) * 1e-15; }
  constexpr auto operator<=>(const Volume&) const = default;

 private:
  static constexpr Wide kFemto = 1'000'000'000'000'000;
  explicit constexpr Volume(Wide n) : n_(n) {}
  Wide n_ = 0;
};

// One link that a flow loads. While the flow makes one byte of progress, the
// link carries weight / (the network's weight denominator) bytes.
struct Use {
  LinkId link;
  std::uint32_t weight = 1;
  auto operator<=>(const Use&) const = default;
};

struct FlowSpec {
  Volume volume;
  std::span<const Use> uses;  // each link at most once; must outlive the flow; empty = needs no link
  std::uint32_t share = 1;    // rates are fair in rate / share; see "Sharing" in ARCHITECTURE.md. >= 1
  ByteRate limit;             // the flow's own fastest progress; zero = no limit
};

}  // namespace sim

#endif  // SIM_NETWORK_FLOW_H_
