// Utilisation: model FLOPs of a step over what all devices could do in its time, u(N, topology, B, T) of the
// textbook's section 27.6, as an outcome and in factors.
//
// Each stage's rank that is busiest stands for the ranks of the stage, which are as many on every stage. Its
// breakdown divides the step time t into causes, so the means over stages, c compute, r recomputation,
// o optimizer, h waits for the host, b waits for other stages, x exposed communication, add up to t. With
// F model FLOPs, N devices of peak R, and e the mean step in the long run, with saves:
//
//   u = F/(NRc) . c/(c+r) . (c+r)/(c+r+o) . (c+r+o)/(c+r+o+h) . (c+r+o+h)/(c+r+o+h+b) . (t-x)/t . t/e
//
// Every denominator is the next numerator, and c+r+o+h+b is t-x: the product is F/(NRe), whatever the parts
// are. Communication is last, so that a slower network changes its factor alone, as long as nobody waits for
// another stage longer.
//
// Leaves out: data loading, which is not simulated; the host's factor has offload, and launches where the
// scenario has them (training.launches). Where ranks of one stage differ (loads of experts, sequences that
// are not balanced), the others' idle time is in `kernels`, since the busiest one stands for them.

#ifndef SCENARIOS_VERDICT_UTILISATION_H_
#define SCENARIOS_VERDICT_UTILISATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"

namespace scenarios {

struct Utilisation {
  double u = 0;  // MFU, saves included
  // Their product is u; each in (0, 1], but for kernels above 1 where products are in eight bits.
  double kernels = 1;        // model FLOPs at peak over compute
  double recomputation = 1;  // compute over compute with what runs again
  double optimizer = 1;      // and whatever else is neither work nor wait
  double host = 1;           // waits for offload and launches
  double bubble = 1;         // waits for other stages
  double communication = 1;  // exposed
  double saves = 1;          // step over mean step with saves
  // Of 1 - communication, as shares of the step: data (with a tied table and the gradient norm), tensor,
  // expert, context, pipeline; all of them, in this order.
  struct Exposed {
    const char* kind = "";
    double share = 0;
  };
  std::vector<Exposed> exposed;
};

Utilisation UtilisationOf(const Report& report);

// What to tabulate; an empty list is the scenario's own value. Tensor, context, pipeline and expert groups
// stay as the scenario has them; data ranks follow the devices.
struct UtilisationRequest {
  std::vector<std::int64_t> devices;    // N
  std::vector<std::string> topologies;  // names or files
  std::vector<std::int64_t> batches;    // B, sequences a step
  std::vector<std::int64_t> sequences;  // T, tokens
  bool weak = false;                    // B is that of the scenario's devices, and grows with N
};

struct UtilisationRow {
  std::int64_t devices = 0;
  std::string topology;
  std::int64_t batch = 0, sequence = 0;
  // Of a row that is simulated; else why it is not, in one sentence.
  std::optional<Utilisation> utilisation;
  sim::Duration step_time, mean_step_time;  // without and with saves
  bool fits = false;                        // into the memory of its devices
  std::string refused;
};

// Plays one job; the message of what cannot be played is the row's.
using Play = std::function<sim::Result<Report>(const Scenario&)>;

// By topology, then T, then B, then N, as they were asked for. A job that does not divide, load or play is a
// row with its reason.
std::vector<UtilisationRow> UtilisationTable(const Scenario& scenario, const UtilisationRequest& request,
                                             const Reload& reload, const Play& play);

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_UTILISATION_H_
