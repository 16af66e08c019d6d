#include "scenarios/budget/limits.h"

#include <algorithm>
#include <cmath>

#include "scenarios/budget/training_time.h"
#include "sim/base/check.h"

namespace scenarios {

std::int64_t MostMicroBatch(sim::Bytes memory, sim::Bytes held, sim::Bytes of_sequence,
                            std::int64_t in_flight) {
  CHECK(of_sequence > sim::Bytes() && in_flight > 0);
  return std::max((memory - held).count() / in_flight / of_sequence.count(), std::int64_t{0});
}

std::int64_t LeastGlobalBatch(std::int64_t sequence_length) {
  CHECK(sequence_length > 0);
  return (kLeastTokensOfStep + sequence_length - 1) / sequence_length;
}

std::int64_t WithSpares(std::int64_t working, double spares, std::int64_t node) {
  CHECK(working > 0 && spares >= 0 && node > 0);
  return WholeGroups(static_cast<std::int64_t>(std::ceil(static_cast<double>(working) * (1 + spares))), node);
}

}  // namespace scenarios
