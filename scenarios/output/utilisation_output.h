// Tables of utilisation as text, JSON and CSV.

#ifndef SCENARIOS_OUTPUT_UTILISATION_OUTPUT_H_
#define SCENARIOS_OUTPUT_UTILISATION_OUTPUT_H_

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/verdict/utilisation.h"

namespace scenarios {

// A table for each topology and sequence length; factors in parts of 1, the longest wait of the exposed ones
// as a share of the step. `scenario` is the job that the rows vary.
std::string UtilisationText(const Scenario& scenario, const std::vector<UtilisationRow>& rows);

// One document; times in seconds, null where a row was refused.
std::string UtilisationJson(const Scenario& scenario, const std::vector<UtilisationRow>& rows);

// A line a row: devices,topology,batch,sequence_length,step_time_s,mean_step_time_s,fits,u,kernels,
// recomputation,optimizer,host,bubble,communication,saves,exposed_data,...,exposed_pipeline,refused
std::string UtilisationCsv(const std::vector<UtilisationRow>& rows);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_UTILISATION_OUTPUT_H_
