// What bounds a batch and a layout from above and below, and what to have in reserve.
//
// Source: textbook, 17.5.4, 17.5.7, 27.8; errata A21.

#ifndef SCENARIOS_BUDGET_LIMITS_H_
#define SCENARIOS_BUDGET_LIMITS_H_

#include <cstdint>

#include "sim/base/units.h"

namespace scenarios {

// Sequences of a micro-batch whose activations fit beside what is held all the time; 0 where none
// does. `in_flight` micro-batches are held at once: p - s on stage s of 1F1B.
// REQUIRES: of_sequence > 0, in_flight > 0
std::int64_t MostMicroBatch(sim::Bytes memory, sim::Bytes held, sim::Bytes of_sequence,
                            std::int64_t in_flight);

// Below about 256K tokens a step the textbook expects worse convergence. Sequences that make as
// many, rounded up. Source: textbook, 17.5.7.
inline constexpr std::int64_t kLeastTokensOfStep = 262'144;
std::int64_t LeastGlobalBatch(std::int64_t sequence_length);

// Micro-batches of a step for a pipeline of `stages`: as many, or some wait the whole step; four times as
// many for a bubble of at most a fifth of the step. Source: textbook, 17.5.7.
constexpr std::int64_t LeastMicroBatches(std::int64_t stages) { return stages; }
constexpr std::int64_t GoodMicroBatches(std::int64_t stages) { return 4 * stages; }

// Reserves, each for a purpose of its own: none may stand for another, and a figure that was measured
// under peak load contains that peak. Source: textbook, 27.8.
struct Margins {
  double safety = 0;       // of a device's memory, for what was not counted
  double spares = 0;       // of the devices, ready to replace those that fail
  double maintenance = 0;  // of the time, when nothing runs
  double peak = 0;         // of the load above its mean; 0 where the mean was taken at peak
};

// Devices to buy so that `working` can work: rounded up to whole nodes.
std::int64_t WithSpares(std::int64_t working, double spares, std::int64_t node);

// Wall-clock seconds when a part of the time is not training.
constexpr double WithMaintenance(double seconds, double maintenance) { return seconds / (1 - maintenance); }

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_LIMITS_H_
