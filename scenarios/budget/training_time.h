// Time, utilisation and devices of a training run by hand: work over peak and utilisation.
//
// `utilisation` is the one figure that nobody knows before the run: model FLOPs over what the
// devices could have done in the same wall-clock time (MFU). It contains every wait and every
// recomputation, so none of these may be taken off once more. A figure that counts recomputation
// as work (HFU) or a kernel alone is another one; see Losses.
//
// Source: textbook, (27.18), (27.19), 17.5.2 to 17.5.4. Chowdhery et al., "PaLM", 2022, appendix B.

#ifndef SCENARIOS_BUDGET_TRAINING_TIME_H_
#define SCENARIOS_BUDGET_TRAINING_TIME_H_

#include <cstdint>

namespace scenarios {

inline constexpr double kSecondsOfDay = 86400;

// Of so many FLOPs in `seconds` on `devices` with this peak, FLOP/s each.
constexpr double UtilisationOf(double flops, double seconds, double devices, double peak) {
  return flops / (devices * peak * seconds);
}

// The same from a rate of all devices together: tokens a second times FLOPs a token.
constexpr double UtilisationOfRate(double tokens_per_s, double flops_per_token, double devices, double peak) {
  return tokens_per_s * flops_per_token / (devices * peak);
}

constexpr double TokensPerSecond(double utilisation, double flops_per_token, double devices, double peak) {
  return utilisation * devices * peak / flops_per_token;
}

constexpr double TrainingSeconds(double flops, double devices, double peak, double utilisation) {
  return flops / (devices * peak * utilisation);
}

// Devices that finish within `seconds`, rounded up to a whole one. Source: textbook, (27.19).
std::int64_t DevicesFor(double flops, double peak, double utilisation, double seconds);

// The same, rounded up to whole groups: nodes, or tensor x pipeline ranks. REQUIRES: group > 0
constexpr std::int64_t WholeGroups(std::int64_t devices, std::int64_t group) {
  return (devices + group - 1) / group * group;
}

// What keeps a device from its peak. Kernels and recomputation are factors, the others parts of the
// wall-clock time, 0 ... 1.
struct Losses {
  double kernels = 1;        // model FLOPs' rate over the peak while kernels run
  double recomputation = 1;  // work that counts, over work that is done
  double communication = 0;  // exposed
  double bubble = 0;
  double data = 0;         // waits for input
  double checkpoints = 0;  // stalls of saves
};

// Which losses a measured utilisation contains already. One from a wall clock contains all of them; one
// of kernels alone only the first.
struct Contained {
  bool kernels = true, recomputation = true, communication = true, bubble = true, data = true,
       checkpoints = true;
};

// What is left of a measured utilisation when the losses that it does not contain are taken off, each
// once; those that it contains are not looked at. Source: textbook, 27.6, 27.8, exercise 27.9.
double UtilisationWith(double measured, const Contained& contained, const Losses& losses);

// FLOPs with the whole forward once more over those without: 4/3 of 6PD is 8PD.
inline constexpr double kFullRecomputeFactor = 4.0 / 3;

// Steps that consume `tokens`: D / (B S), rounded up; the last one may be short.
std::int64_t StepsFor(double tokens, double tokens_per_step);

// Tokens that compute-optimal training takes: about 20 a parameter.
// Source: Hoffmann et al., "Training compute-optimal large language models", 2022, table 3.
inline constexpr double kTokensPerParameter = 20;

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_TRAINING_TIME_H_
