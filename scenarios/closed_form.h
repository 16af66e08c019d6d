// The planner's hand calculation for a scenario, to stand beside the simulation.

#ifndef SCENARIOS_CLOSED_FORM_H_
#define SCENARIOS_CLOSED_FORM_H_

#include <vector>

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"

namespace scenarios {

// 6PD and, given a step time, the MFU that makes it equal to it (else 0); the
// bubble; and what a rank sends in a step, the largest over the stages. Bytes are what ring
// algorithms send: (n-1)/n of a gathered or scattered tensor, twice that of a
// reduced one. Each rank reduces only the parameters that it holds.
//
// Sources: Kaplan et al. 2020; Narayanan et al., SC 2021; Korthikanti et al. 2022;
// Rajbhandari et al., SC 2020.
ClosedForm ClosedFormOf(const Scenario& scenario, const std::vector<StagePlan>& stages,
                        sim::Duration step_time = {});

// Of them, what one device sends in a context or a tensor group for one layer (the
// first) and one micro-batch, forward and backward.
double ContextBytesOfLayer(const Scenario& scenario);
double TensorBytesOfLayer(const Scenario& scenario);

}  // namespace scenarios

#endif  // SCENARIOS_CLOSED_FORM_H_
