// How far coupled flows are from their chunk expansions, by algorithm, fabric and size.

#ifndef TESTS_COUPLED_FLOW_DIFFERENCES_H_
#define TESTS_COUPLED_FLOW_DIFFERENCES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/scenarios/collective_testing.h"

namespace coupled_flow {

// One collective on one fabric, without latencies.
struct Case {
  scenarios::Setting setting;
  sim::Algorithm algorithm = sim::Algorithm::kRing;
  sim::CollectiveKind kind = sim::CollectiveKind::kAllReduce;
};

// Coupled flow over expansion, less one: the least and the most.
struct Difference {
  double least = 0, most = 0;
};

struct Row {
  Case of;
  std::map<std::int64_t, Difference> alone, changing;  // by size, in chunks a member and flow
};

// Sizes at which both are played, where the expansion has few enough transfers.
inline constexpr std::int64_t kSizes[] = {1, 4, 16, 64};

// Beside traffic that changes: connections between random members come at random times. Each would take an
// eighth of the collective's time at the most, if it had half of the slowest link of its way.
inline constexpr int kConnections = 20;
inline constexpr std::uint64_t kSeeds = 3;

std::vector<Row> AllRows();

// Of 128 ranks with S = 64 * n * chunk bytes: millions of transfers, which take minutes. They are played by
// hand and kept in large.csv.
inline constexpr std::uint32_t kLargeRanks = 128;
inline constexpr std::int64_t kLargeLoops = 64;
std::vector<Case> LargeCases();
struct LargeRow {
  std::string algorithm, collective, fabric;
  std::int64_t transfers = 0;
  Difference changing;  // in per cent
};
LargeRow PlayLarge(const Case& one);
std::string LargeLine(const LargeRow& row);  // of large.csv, with its end
std::vector<LargeRow> KeptLargeRows();

}  // namespace coupled_flow

#endif  // TESTS_COUPLED_FLOW_DIFFERENCES_H_
