// WorkTimes: how long work takes on a device that communication takes a part of.

#ifndef SIM_BASE_WORK_TIMES_H_
#define SIM_BASE_WORK_TIMES_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "sim/base/units.h"

namespace sim {

// What communication takes of a device: thread blocks that sit on an SM each, and of the memory's rate
// so many parts of 1,024. Of several at a time it is the sum.
struct DeviceTaken {
  std::int32_t sms = 0;
  std::int32_t memory = 0;
  bool operator==(const DeviceTaken&) const = default;
};
inline constexpr std::int32_t kWholeMemory = 1024;
inline constexpr std::int32_t kMostMemoryTaken = 768;  // more is not taken: three streams share with the work

// Work is timed beside so many SMs that are taken; what lies between counts as the next one, and more than
// the last as the last. Rings of NCCL have 2 to 32 channels, NVLS 16 or 24, DeepEP's kernels 20 or 24.
inline constexpr std::array<std::int32_t, 8> kSmsTaken = {4, 8, 12, 16, 20, 24, 32, 48};

// Entry of kSmsTaken. REQUIRES: sms > 0
constexpr std::size_t SmLevel(std::int32_t sms) {
  std::size_t level = 0;
  while (level + 1 < kSmsTaken.size() && kSmsTaken[level] < sms) ++level;
  return level;
}

// The slow-down table of one kind of work.
//
//   time = ( alone, or beside[level] where SMs are taken ) + memory * s / (1 - s)
//
// with a part s of the memory's rate taken. That is exact for work which the memory bounds; elsewhere the
// two parts of the slow-down are told apart and added.
struct WorkTimes {
  Duration alone;
  std::array<Duration, kSmsTaken.size()> beside{};  // with SMs taken, none shorter than the one before
  Duration memory;                                  // what it takes longer alone at half of the memory's rate

  WorkTimes() = default;
  // The same however many SMs are taken, and no memory.
  WorkTimes(Duration alone_time, Duration beside_time) : alone(alone_time) { beside.fill(beside_time); }

  Duration Beside(const DeviceTaken& taken) const {
    const Duration by_sms = taken.sms > 0 ? beside[SmLevel(taken.sms)] : alone;
    if (taken.memory == 0 || memory == Duration()) return by_sms;
    const std::int32_t part = taken.memory < kMostMemoryTaken ? taken.memory : kMostMemoryTaken;
    return by_sms +
           Duration::Picoseconds(static_cast<std::int64_t>(Wide{memory.ps()} * part / (kWholeMemory - part)));
  }
  // Whatever is taken, it takes no longer.
  Duration longest() const { return beside.back() + 3 * memory; }

  auto operator<=>(const WorkTimes&) const = default;
  friend WorkTimes operator+(WorkTimes a, const WorkTimes& b) {
    a.alone += b.alone;
    for (std::size_t i = 0; i < a.beside.size(); ++i) a.beside[i] += b.beside[i];
    a.memory += b.memory;
    return a;
  }
};
static_assert(kMostMemoryTaken == 3 * (kWholeMemory - kMostMemoryTaken));

}  // namespace sim

#endif  // SIM_BASE_WORK_TIMES_H_
