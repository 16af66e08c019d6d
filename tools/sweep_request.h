// What `orrery sweep` is asked for.

#ifndef TOOLS_SWEEP_REQUEST_H_
#define TOOLS_SWEEP_REQUEST_H_

#include <array>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/sweep/journal.h"
#include "scenarios/sweep/points.h"
#include "scenarios/sweep/ranking.h"
#include "scenarios/sweep/sweep_job.h"
#include "tools/command_line.h"

namespace tools {

// Of names that --output takes.
inline constexpr std::array<const char*, 4> kSweepEndings = {".csv", ".csv.gz", ".json", ".json.gz"};

// A part of a sweep: every `of`-th point, the first of which has the number `index`.
struct Shard {
  std::size_t index = 0, of = 1;
  bool has(std::size_t point) const { return point % of == index; }
};

// --engine slurm.
struct SlurmOptions {
  std::size_t shards = 16;         // tasks of the array, at most; never more than points
  std::vector<std::string> words;  // for sbatch
};

struct SweepRequest {
  scenarios::SweepJob job;
  scenarios::PointList list;
  std::optional<scenarios::Wanted> wanted;  // --best
  int jobs = 1;
  bool play_all = false;
  std::string output;  // empty: standard output
  std::optional<SlurmOptions> slurm;
  std::optional<Shard> shard;  // of a task of such an array: its journal is all that it writes
};

// Prints every mistake; nothing where there is one.
std::optional<SweepRequest> ReadSweepRequest(const Arguments& arguments, std::ostream& err);

// The sweep, for its journal. Of this very program: another one may give other rows.
scenarios::SweepIdentity IdentityOf(const SweepRequest& request);

// The folder of a sweep's shards, and in it the journal of one.
std::string ShardFolder(const std::string& output);
std::string ShardJournal(const std::string& output, std::size_t index);

}  // namespace tools

#endif  // TOOLS_SWEEP_REQUEST_H_
