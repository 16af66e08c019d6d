// What `orrery sweep` is asked for.

#ifndef TOOLS_SWEEP_REQUEST_H_
#define TOOLS_SWEEP_REQUEST_H_

#include <array>
#include <iosfwd>
#include <optional>
#include <string>

#include "scenarios/sweep/journal.h"
#include "scenarios/sweep/points.h"
#include "scenarios/sweep/ranking.h"
#include "scenarios/sweep/sweep_job.h"
#include "tools/command_line.h"

namespace tools {

// Of names that --output takes.
inline constexpr std::array<const char*, 4> kSweepEndings = {".csv", ".csv.gz", ".json", ".json.gz"};

struct SweepRequest {
  scenarios::SweepJob job;
  scenarios::PointList list;
  std::optional<scenarios::Wanted> wanted;  // --best
  int jobs = 1;
  bool play_all = false;
  std::string output;  // empty: standard output
};

// Prints every mistake; nothing where there is one.
std::optional<SweepRequest> ReadSweepRequest(const Arguments& arguments, std::ostream& err);

// The sweep, for its journal. Of this very program: another one may give other rows.
scenarios::SweepIdentity IdentityOf(const SweepRequest& request);

}  // namespace tools

#endif  // TOOLS_SWEEP_REQUEST_H_
