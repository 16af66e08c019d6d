// A job simulated on more and more devices: the points of a scaling curve, and what they lean on.

#ifndef SCENARIOS_SCALE_SCALE_RUN_H_
#define SCENARIOS_SCALE_SCALE_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scale/curve.h"
#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"
#include "sim/base/result.h"

namespace scenarios {

// How the layout follows the devices.
enum class LayoutRule : std::uint8_t {
  kFixed,  // tensor, context, pipeline and expert groups stay; data ranks grow
  kBest,   // the fastest of what best_layout.h looks at, anew at each size
};
const char* ToText(LayoutRule rule);  // "fixed"

struct ScaleRequest {
  std::vector<std::int64_t> devices;  // ascending, each once
  Scaling scaling = Scaling::kStrong;
  LayoutRule layouts = LayoutRule::kFixed;
};

// A field or figure that a result leans on: "hardware.node.nic" and its value as files have it.
struct InputValue {
  std::string key, value;
  auto operator<=>(const InputValue&) const = default;
};

struct ScaleRow {
  std::int64_t devices = 1, batch = 1;
  std::string refused;  // why it is not simulated, in one sentence; empty: it is, and there is the rest
  std::string layout;   // "tensor 8 x pipeline 2 x data 4"
  std::string digest;
  sim::Duration step_time;  // without saves
  double tokens_per_s = 0, mfu = 0;
  double efficiency = 0;                          // tokens a device, over those of the first simulated row
  double exposed = 0, bubble = 0;                 // parts of the step, of the rank that idles least
  std::vector<TimePart> breakdown;                // of that rank; adds up to step_time
  std::optional<double> usd_per_trillion_tokens;  // where the scenario has a price
  bool fits = false;                              // into the memory of the devices
  std::vector<InputValue> inputs;                 // by key
  bool simulated() const { return refused.empty(); }
};

// Plays one job, within so many parts of what may be used; the message of what cannot be played is the row's.
using PlayPart = std::function<sim::Result<Report>(const Scenario&, std::size_t parts)>;

struct ScaleEffort {
  std::size_t threads = 1;             // rows at a time; they do not depend on it
  std::function<bool()> stopped = {};  // asked now and then; rows after it are refused. Empty: never
};

// Side by side. What a part of the memory is too little for is played again alone.
std::vector<ScaleRow> RunScale(const Scenario& scenario, const ScaleRequest& request, const Reload& reload,
                               const PlayPart& play, const ScaleEffort& effort);

// Step times of the rows that are simulated.
Curve CurveOf(const std::vector<ScaleRow>& rows, Scaling scaling);

// Whether a part of a breakdown is communication that the step waits for.
bool IsExposed(const std::string& part);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_SCALE_RUN_H_
