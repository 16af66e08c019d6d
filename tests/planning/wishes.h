// A plan with small searches, and the lines that the page shows of it.

#ifndef TESTS_PLANNING_WISHES_H_
#define TESTS_PLANNING_WISHES_H_

#include <string>
#include <vector>

#include "scenarios/plan/plan.h"

namespace planning {

// As `orrery plan MODEL --tokens TOKENS`, but of four plays of slices of some 32 devices, none whole. Names
// of models and devices are those of the catalogue.
scenarios::PlanRequest Wishes(const std::string& model, double tokens,
                              const std::vector<std::string>& devices = {"h800_sxm"});

// The whole plan, or that of its only device. A contradictory request ends the test with its message.
scenarios::Plan PlanOf(const scenarios::PlanRequest& request);
scenarios::DevicePlan OnePlanOf(const scenarios::PlanRequest& request);

// Of the best layout. REQUIRES: there is one
const scenarios::Played& Best(const scenarios::DevicePlan& plan);
double StepSeconds(const scenarios::DevicePlan& plan);
double Utilisation(const scenarios::DevicePlan& plan);  // 6PD, as simulated
double Expected(const scenarios::DevicePlan& plan);     // the same less what steps take longer
double Days(const scenarios::DevicePlan& plan);
double Usd(const scenarios::DevicePlan& plan);
std::string LayoutText(const scenarios::DevicePlan& plan);
// What of the step a cause takes, 0 to 1; "tensor", "data", "bubble", ...
double PartOf(const scenarios::Report& report, const std::string& cause);
double ShareOf(const scenarios::DevicePlan& plan, const std::string& cause);
// The longest parts of a step that are not computing, longest first: "data 12.0 %, bubble 3.1 %".
std::string WaitsText(const scenarios::Report& report);

// Lines of the table in front: of what the textbook prints, and of what is found; why they differ.
using Line = std::vector<std::string>;
Line Heads();
Line Printed(const std::string& plan, const std::string& devices, const std::string& layout,
             const std::string& utilisation, const std::string& days, const std::string& usd);
Line Found(const scenarios::DevicePlan& plan, const std::string& why);
// The command that makes the same plan with a whole search.
std::string Command(const std::string& arguments);

}  // namespace planning

#endif  // TESTS_PLANNING_WISHES_H_
