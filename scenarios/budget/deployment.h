// Serving a load: what a copy of a model manages of it, how many copies it takes, and what that costs; and
// how long prompts keep each other waiting.
//
// A copy alternates between prefills and decode steps of all requests that it holds. Leaves out what
// serving.h does, and requests that come at random: a load is its mean, or its peak.
//
// Source: textbook, 17.8.9, 17.8.11, tables 17-125 and 17-137; erratum A13. Agrawal et al., "Taming
// throughput-latency tradeoff in LLM inference with Sarathi-Serve", 2024, for chunks.

#ifndef SCENARIOS_BUDGET_DEPLOYMENT_H_
#define SCENARIOS_BUDGET_DEPLOYMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/budget/serving.h"

namespace scenarios {

// Requests that are all alike. Tokens, > 0.
struct Load {
  std::int64_t input = 1, output = 1;
};

// What one copy manages when it always has as many requests as it may.
struct Capacity {
  std::int64_t batch = 0;  // requests at once
  double request_s = 0;    // of the copy's time, a request: its prefill and its part of the steps
  double step_s = 0;       // of decode, half of the output held
  double requests_per_s() const { return 1 / request_s; }
};
// As many requests as fit beside the weights and `overhead` bytes, at most `most`; nothing where none fits.
std::optional<Capacity> CapacityOf(const Server& server, double memory, double overhead, const Load& load,
                                   std::int64_t most = INT64_MAX);

// Dollars for a million tokens of output, on devices that are busy all the time.
double UsdPerMillionOutputs(const Server& server, const Capacity& capacity, const Load& load,
                            double usd_per_device_hour);

// Whole copies for a demand.
struct Deployment {
  std::int64_t copies = 0, devices = 0;
  double usd_per_day = 0;
  double use = 0;  // of the copies' time at the mean load, 0 ... 1
};
// `peak`: of the load above its mean. REQUIRES: requests_per_day > 0
Deployment DeploymentFor(const Server& server, const Capacity& capacity, double requests_per_day, double peak,
                         double usd_per_device_hour);

// A prompt that comes at a time. In order of arrival.
struct Prompt {
  double arrival_s = 0;
  std::int64_t tokens = 1;
};
// Seconds from each one's arrival to its first token: first come first served, one whole prompt after
// another.
std::vector<double> FirstTokenSeconds(const Server& server, std::span<const Prompt> prompts);
// The same where each step takes the next `chunk` tokens of every prompt that is there: a prompt waits for
// the rest of a step, and shares the following ones.
std::vector<double> FirstTokenSecondsInChunks(const Server& server, std::span<const Prompt> prompts,
                                              std::int64_t chunk);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_DEPLOYMENT_H_
