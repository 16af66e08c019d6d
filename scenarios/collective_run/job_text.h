// Collectives as words of a command line or a line of a file.

#ifndef SCENARIOS_COLLECTIVE_RUN_JOB_TEXT_H_
#define SCENARIOS_COLLECTIVE_RUN_JOB_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/collective_run/lower_job.h"
#include "sim/base/result.h"

namespace scenarios {

// What lies between blanks.
std::vector<std::string_view> WordsOf(std::string_view text);

// A test of nccl-tests by name; the error names those that there are.
sim::Result<const NcclTest*> ParseTest(std::string_view name);

// "alltoall 0-31 64M", "broadcast 0-7 1G root 3": kind, ranks, size, and the rank that is the root.
sim::Result<CollectiveJob> ParseJob(std::string_view text, std::uint32_t ranks);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_JOB_TEXT_H_
