// Measured collectives: from a table of our own, or from what nccl-tests prints.

#ifndef SCENARIOS_CALIBRATION_MEASURED_COLLECTIVE_H_
#define SCENARIOS_CALIBRATION_MEASURED_COLLECTIVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/published/csv.h"
#include "sim/collective/collective.h"

namespace scenarios {

// A longer time is none that was measured: 17 minutes.
inline constexpr double kMostMicroseconds = 1e9;

struct MeasuredCollective {
  std::string file;
  int line = 0;
  std::string source, device, network, nccl, note;  // as written; `nccl` "2.27.3", empty: not stated
  std::string collective;                           // as nccl-tests calls it: "all_reduce"
  sim::CollectiveKind kind = sim::CollectiveKind::kAllReduce;
  std::uint32_t ranks = 0, nodes = 1;
  sim::Bytes bytes;    // as nccl-tests counts them
  double seconds = 0;  // > 0, finite

  std::string place() const { return file + ":" + std::to_string(line); }
};

// Columns gpu, ranks, nodes, nccl, collective, bytes, and time_us or busbw_gb_per_s, which stands in for
// an empty time; source, network and note may be there. `where` keeps rows with these values in these
// columns. A mistake is an error at its line; the same one of many lines is told once, at the first, with how
// many more there are. Notes that begin with "NCCL_ALGO=" are what NCCL was told, up to a semicolon.
std::vector<MeasuredCollective> ReadMeasuredCollectives(
    const CsvTable& table, const std::vector<std::pair<std::string, std::string>>& where,
    proto::Diagnostics* diagnostics);

// What an output of nccl-tests need not say.
struct NcclTestsDefaults {
  std::string collective;  // "all_reduce", where the text has no "all_reduce_perf"
  std::string nccl;        // where it has no "NCCL version 2.27.5" and no "nccl-library=22705"
};

// Which of them a text needed.
struct NcclTestsNeeds {
  bool collective = false, nccl = false;
};

// The tables of one or more runs, with whatever is printed around them: times out of place, ranks and
// devices of the lines "Rank ... on HOST device ...". Sizes of 0 bytes are skipped. A mistake of many lines
// is told once, at the first, with how many more there are; so are lines with "#wrong" above 0.
// `needs` becomes true where a default was needed, and else stays.
// Source of the form: NVIDIA/nccl-tests, src/common.cu, 2.10 to 2.17.
std::vector<MeasuredCollective> ReadNcclTestsOutput(const std::string& file, std::string_view text,
                                                    const NcclTestsDefaults& defaults,
                                                    proto::Diagnostics* diagnostics,
                                                    NcclTestsNeeds* needs = nullptr);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_MEASURED_COLLECTIVE_H_
