// The job that a subcommand is about, and the same again with more fields set.

#ifndef TOOLS_LOAD_JOB_H_
#define TOOLS_LOAD_JOB_H_

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/verdict/reload.h"

namespace tools {

struct Job {
  scenarios::Scenario scenario;
  scenarios::Reload reload;
};

// A name of the catalogue, a file, or "-" for standard input, which is read once. Prints warnings and
// mistakes; nothing where there are any of the latter.
std::optional<Job> LoadJob(const std::string& name, const std::vector<proto::Override>& overrides,
                           std::ostream& err);

}  // namespace tools

#endif  // TOOLS_LOAD_JOB_H_
