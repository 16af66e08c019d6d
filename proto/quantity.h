// Quantities written with their unit, as other tools' files do ("2880Gbps",
// "50GB/s", "0.000025ms"). Exact: no double on the way. A bare number is
// refused, because half of all readers take it for another unit. (Our own files
// need none of this; there the unit is in the key.)

#ifndef PROTO_QUANTITY_H_
#define PROTO_QUANTITY_H_

#include <string_view>

#include "sim/base/result.h"
#include "sim/base/units.h"

namespace proto {

// "400 Gb/s", "400Gbps", "400Gbit/s" are bits; "50GB/s", "46.6 GiB/s" bytes:
// lower-case b is a bit. k, M, G, T, P are powers of 1000; Ki ... Pi of 1024.
// Refused: no unit, negative, not a whole number of 10^-3 B/s, above 9.2e15 B/s.
sim::Result<sim::ByteRate> ParseByteRate(std::string_view text);

// "500ns", "0.000025ms", "1.5 us", "3 s", "2 min", "1 h". Refused: no unit,
// negative, not a whole number of picoseconds, above 106 days.
sim::Result<sim::Duration> ParseDuration(std::string_view text);

// "80GB", "80 GiB", "1024 B". Refused: no unit, bits, negative, not a whole
// number of bytes, above 9.2e18.
sim::Result<sim::Bytes> ParseBytes(std::string_view text);

}  // namespace proto

#endif  // PROTO_QUANTITY_H_
