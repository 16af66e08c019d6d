// The parts of `orrery sweep` that its engines share.

#ifndef TOOLS_SWEEP_PARTS_H_
#define TOOLS_SWEEP_PARTS_H_

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <optional>
#include <vector>

#include "scenarios/sweep/row.h"
#include "sim/base/result.h"
#include "tools/command_line.h"
#include "tools/sweep_request.h"

namespace tools {

using SweepRows = std::vector<std::optional<scenarios::Row>>;
std::size_t Done(const SweepRows& rows);

// Writes all rows to the request's file, prints what is to be printed, and returns the exit status. `finish`
// is called when the file has its name: what was kept to go on from can go.
int Conclude(const SweepRequest& request, const Arguments& arguments, SweepRows rows,
             const std::function<void()>& finish, std::ostream& out, std::ostream& err);

// --engine slurm: as the local engine, by a job array.
int RunOnSlurm(const SweepRequest& request, const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_SWEEP_PARTS_H_
