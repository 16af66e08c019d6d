#include "scenarios/budget/deployment.h"

#include <algorithm>

#include "scenarios/budget/cost.h"
#include "scenarios/budget/round_up.h"
#include "sim/base/check.h"

namespace scenarios {

std::optional<Capacity> CapacityOf(const Server& server, double memory, double overhead, const Load& load,
                                   std::int64_t most) {
  CHECK(load.input > 0 && load.output > 0 && most > 0);
  // The last token is written to nowhere, so input + output - 1 are held at the end.
  const std::int64_t held = load.input + load.output - 1;
  Capacity c{.batch = std::min(RequestsThatFit(server, memory, overhead, held), most)};
  if (c.batch == 0) return std::nullopt;
  // Requests are at all stages of their output, half on average; the prefill makes the first token.
  c.step_s = DecodeSeconds(server, c.batch, load.input + load.output / 2);
  c.request_s = PrefillSeconds(server, load.input) +
                static_cast<double>(load.output - 1) * c.step_s / static_cast<double>(c.batch);
  return c;
}

double UsdPerMillionOutputs(const Server& server, const Capacity& capacity, const Load& load,
                            double usd_per_device_hour) {
  return UsdPerMillionTokens(static_cast<double>(server.tensor), usd_per_device_hour,
                             static_cast<double>(load.output) * capacity.requests_per_s());
}

Deployment DeploymentFor(const Server& server, const Capacity& capacity, double requests_per_day, double peak,
                         double usd_per_device_hour) {
  CHECK(requests_per_day > 0 && peak >= 0);
  const double mean = requests_per_day / 86400 * capacity.request_s;  // copies that are always busy
  Deployment d{.copies = RoundUp(mean * (1 + peak))};
  d.devices = d.copies * server.tensor;
  d.usd_per_day = static_cast<double>(d.devices) * usd_per_device_hour * 24;
  d.use = mean / static_cast<double>(d.copies);
  return d;
}

std::vector<double> FirstTokenSeconds(const Server& server, std::span<const Prompt> prompts) {
  std::vector<double> waits;
  double free_at = 0;
  for (const Prompt& prompt : prompts) {
    CHECK(waits.empty() || prompt.arrival_s >= prompts[waits.size() - 1].arrival_s);
    free_at = std::max(free_at, prompt.arrival_s) + PrefillSeconds(server, prompt.tokens);
    waits.push_back(free_at - prompt.arrival_s);
  }
  return waits;
}

std::vector<double> FirstTokenSecondsInChunks(const Server& server, std::span<const Prompt> prompts,
                                              std::int64_t chunk) {
  CHECK(chunk > 0);
  std::vector<double> waits(prompts.size());
  std::vector<std::int64_t> done(prompts.size());
  double now = 0;
  for (std::size_t left = prompts.size(); left > 0;) {
    std::vector<PromptPiece> step;
    double next_arrival = 0;
    for (std::size_t i = prompts.size(); i-- > 0;) {
      if (done[i] == prompts[i].tokens) continue;
      if (prompts[i].arrival_s > now) {
        next_arrival = prompts[i].arrival_s;
      } else {
        step.push_back({.before = done[i], .tokens = std::min(chunk, prompts[i].tokens - done[i])});
      }
    }
    if (step.empty()) {
      now = next_arrival;
      continue;
    }
    const double end = now + PiecesSeconds(server, step);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (prompts[i].arrival_s > now || done[i] == prompts[i].tokens) continue;
      done[i] = std::min(done[i] + chunk, prompts[i].tokens);
      if (done[i] < prompts[i].tokens) continue;
      waits[i] = end - prompts[i].arrival_s;
      --left;
    }
    now = end;
  }
  return waits;
}

}  // namespace scenarios
