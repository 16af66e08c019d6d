// From the units in the keys of a device's file to those in types.

#ifndef HARDWARE_FILE_UNITS_H_
#define HARDWARE_FILE_UNITS_H_

#include <cstdint>

#include "sim/base/units.h"

namespace hardware {

inline sim::Bytes Gib(double gib) { return sim::Bytes(static_cast<std::int64_t>(gib * (1 << 30))); }
inline sim::Bytes Mib(double mib) { return sim::Bytes(static_cast<std::int64_t>(mib * (1 << 20))); }
inline sim::ByteRate Gb(double gb_per_s) { return sim::ByteRate::GigabytesPerSecond(gb_per_s); }
inline sim::Duration Us(double us) { return sim::Duration::FromSeconds(us * 1e-6); }
inline sim::Duration Ns(double ns) { return sim::Duration::FromSeconds(ns * 1e-9); }

}  // namespace hardware

#endif  // HARDWARE_FILE_UNITS_H_
