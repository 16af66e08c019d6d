// The files that `orrery run` writes, as its command line names them.

#ifndef TOOLS_OUTPUTS_H_
#define TOOLS_OUTPUTS_H_

#include <optional>

#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/output_file.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"
#include "tools/command_line.h"

namespace tools {

// What goes to files, checked before anything runs: nothing is written when one
// of them cannot be.
struct Outputs {
  std::optional<scenarios::TraceOptions> trace;
  std::optional<scenarios::OutputFile> report;
  bool report_as_text = false;
};

// Fails when a name is no file's, has another ending than what will be in it, is
// that of a file that was read or of the other output, or cannot be written.
sim::Result<Outputs> PrepareOutputs(const Arguments& arguments, const scenarios::Scenario& scenario);

}  // namespace tools

#endif  // TOOLS_OUTPUTS_H_
