// What a simulated result leans on, as keys and values: fields of the files that it was read from, and
// figures of its device.

#ifndef SCENARIOS_SCALE_INPUTS_H_
#define SCENARIOS_SCALE_INPUTS_H_

#include <string>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scale/scale_run.h"
#include "scenarios/scenario.h"

namespace scenarios {

// By key, each once: "hardware.KEY" for each figure of the report that the result can change with,
// "topology.PATH" and paths of proto/scenario.proto for what the files give, "model.KEY" for the model's
// shape. Left out is what the rows of a curve differ in: devices, batch and layout.
std::vector<InputValue> InputsOf(const Scenario& scenario, const Report& report);

// A value that changed: of the whole, or of the parts of it ("latency_ns: 600") that differ.
struct InputChange {
  std::string key;            // "hardware.node.nic.latency_ns"
  std::string before, after;  // empty: it was not there, or is not any more
};
std::vector<InputChange> ChangesBetween(const std::vector<InputValue>& before,
                                        const std::vector<InputValue>& after);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_INPUTS_H_
