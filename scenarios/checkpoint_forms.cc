#include "scenarios/checkpoint_forms.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace scenarios {

sim::Duration EarliestInterval(const SaveRhythm& rhythm) {
  if (rhythm.slots == 1) return rhythm.copy + rhythm.write;
  return std::max(rhythm.copy, rhythm.write);
}

sim::Bytes BacklogPerInterval(sim::Bytes save, const SaveRhythm& rhythm) {
  if (rhythm.write <= rhythm.interval) return {};
  const sim::Wide written = sim::Wide{save.count()} * rhythm.interval.ps() / rhythm.write.ps();
  return save - sim::Bytes(static_cast<std::int64_t>(written));
}

std::optional<FirstStall> FirstStallOf(const SaveRhythm& rhythm) {
  const std::int64_t interval = rhythm.interval.ps(), copy = rhythm.copy.ps(), write = rhythm.write.ps();
  CHECK(interval > 0 && rhythm.slots > 0);
  std::int64_t save = rhythm.slots + 1;
  sim::Wide written = 0;  // when the write of save - slots ends, after the first save was due
  if (write > interval) {
    // Writes follow each other, so write j ends at copy + j write. The first i with
    // copy + (i - slots) write > (i - 1) interval.
    const sim::Wide behind = sim::Wide{write} * rhythm.slots - interval - copy;
    if (behind >= 0) {
      save = std::max(save, static_cast<std::int64_t>(behind / (write - interval)) + 1);
    }
    written = copy + sim::Wide{save - rhythm.slots} * write;
  } else {
    written = sim::Wide{copy} + write;
  }
  const sim::Wide due = sim::Wide{save - 1} * interval;
  if (written <= due || due > INT64_MAX || written > INT64_MAX) return std::nullopt;
  return FirstStall{save, sim::Duration::Picoseconds(static_cast<std::int64_t>(due)),
                    sim::Duration::Picoseconds(static_cast<std::int64_t>(written - due))};
}

std::int64_t ServersNeeded(sim::Bytes save, std::int64_t replicas, sim::ByteRate of_server,
                           sim::Wide window_ps) {
  CHECK(window_ps > 0 && of_server > sim::ByteRate());
  const sim::Wide femto_bytes = sim::Wide{save.count()} * replicas * 1'000'000'000'000'000;
  // Rounded up twice is rounded up once, and the product of the two need not fit.
  const sim::Wide by_rate = (femto_bytes + of_server.milli() - 1) / of_server.milli();
  return static_cast<std::int64_t>((by_rate + window_ps - 1) / window_ps);
}

double YoungInterval(double cost, double mtbf) { return std::sqrt(2 * cost * mtbf); }

}  // namespace scenarios
