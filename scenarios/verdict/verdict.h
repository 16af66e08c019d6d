// Verdict: what limits a step, and what to try. Under every report of `orrery run`.
//
// The largest loss counts (losses.h) if it is 5 % of the step or more; else the kernels do: the device's
// memory where most of compute waits for it, else compute itself, and there is nothing obvious to gain. A
// host that is behind with its launches is named beside another loss, too.
//
// Source of what is told apart: textbook, table 17-59 (recomputation, data parallelism, bubble); and table
// 17-93, of which only the last row, ranks with unequal loads, is simulated: feeding the devices is a note.

#ifndef SCENARIOS_VERDICT_VERDICT_H_
#define SCENARIOS_VERDICT_VERDICT_H_

#include "scenarios/report.h"
#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"

namespace scenarios {

// Suggestions are what `reload` takes, what then fits into memory and what has no longer bubble for all that
// it could gain; three at most. The report is of the scenario.
Verdict MakeVerdict(const Scenario& scenario, const Report& report, const Reload& reload);

}  // namespace scenarios

#endif  // SCENARIOS_VERDICT_VERDICT_H_
