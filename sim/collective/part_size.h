// PartSize: cuts a buffer into parts that differ by at most one byte and add up.

#ifndef SIM_COLLECTIVE_PART_SIZE_H_
#define SIM_COLLECTIVE_PART_SIZE_H_

#include <cstdint>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace sim {

// The first size % parts parts get the spare bytes.
// REQUIRES: size >= 0, part < parts
constexpr Bytes PartSize(Bytes size, std::uint32_t parts, std::uint32_t part) {
  CHECK(size.count() >= 0 && part < parts);
  return Bytes(size.count() / parts + (part < size.count() % parts ? 1 : 0));
}

}  // namespace sim

#endif  // SIM_COLLECTIVE_PART_SIZE_H_
