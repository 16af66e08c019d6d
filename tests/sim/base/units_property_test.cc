// What holds of every amount and rate.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/base/units.h"

namespace sim {
namespace {

// Up to 1 PB, at 1 kB/s or more.
Bytes AnyBytes() { return Bytes(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000)); }
ByteRate AnyRate() {
  return ByteRate::MilliBytesPerSecond(*rc::gen::inRange<std::int64_t>(1'000'000'000'000, INT64_MAX / 1000));
}

// rate x time >= amount, and a picosecond less would not do.
RC_GTEST_PROP(Duration, IsTheLeastInWhichAllBytesPass, ()) {
  const Bytes amount = AnyBytes();
  const ByteRate rate = AnyRate();
  const Wide need = static_cast<Wide>(amount.count()) * 1'000'000'000'000'000;  // 10^-15 B
  const Wide ps = (amount / rate).ps();
  RC_ASSERT(ps * rate.milli() >= need);
  RC_ASSERT(ps == 0 || (ps - 1) * rate.milli() < need);
}

// Two parts one after the other are no faster than the whole, and at most a picosecond slower.
RC_GTEST_PROP(Duration, OfPartsIsThatOfTheWholeUpToAPicosecond, ()) {
  const Bytes a = AnyBytes(), b = AnyBytes();
  const ByteRate rate = AnyRate();
  const std::int64_t apart = (a / rate).ps() + (b / rate).ps(), together = ((a + b) / rate).ps();
  RC_ASSERT(apart >= together && apart <= together + 1);
}

}  // namespace
}  // namespace sim
