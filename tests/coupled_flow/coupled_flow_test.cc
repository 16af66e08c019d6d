// Coupled flows beside their chunk expansions, and docs/coupled_flow.md from what comes of them.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "tests/coupled_flow/differences.h"
#include "tests/pages/page.h"

namespace coupled_flow {
namespace {

std::string NameOf(const Row& row) {
  return std::string(ToText(row.of.algorithm)) + ' ' + ToText(row.of.kind) + ", " + row.of.setting.name +
         " of " + std::to_string(row.of.setting.devices.size());
}

// No "-0.0".
std::string Signed(double part) {
  const double rounded = std::round(part * 1000) / 10 + 0.0;
  return (rounded > 0 ? "+" : "") + pages::Number(rounded == 0 ? 0 : rounded, 1);
}

std::string Table(const std::vector<Row>& rows, bool changing) {
  std::vector<std::string> heads = {"algorithm", "collective", "fabric", "ranks"};
  for (const std::int64_t size : kSizes) heads.push_back(std::to_string(size));
  std::string table = pages::TableHead(heads);
  for (const Row& row : rows) {
    std::vector<std::string> cells = {ToText(row.of.algorithm), ToText(row.of.kind), row.of.setting.name,
                                      std::to_string(row.of.setting.devices.size())};
    const auto& of = changing ? row.changing : row.alone;
    for (const std::int64_t size : kSizes) {
      const auto found = of.find(size);
      std::string cell;
      if (found != of.end()) cell = Signed(found->second.most);
      if (changing && found != of.end()) cell = Signed(found->second.least) + " ... " + cell;
      cells.push_back(cell);
    }
    table += pages::TableLine(cells);
  }
  return table;
}

std::string LargeTable() {
  std::string table = pages::TableHead({"algorithm", "collective", "fabric", "transfers", "difference"});
  for (const LargeRow& row : KeptLargeRows()) {
    table += pages::TableLine({row.algorithm, row.collective, row.fabric, pages::Count(row.transfers),
                               Signed(row.changing.least / 100) + " ... " + Signed(row.changing.most / 100)});
  }
  return table;
}

constexpr const char* kHead =
    "`ctest --preset release -R CoupledFlowPage` makes this page and fails when it is not up to date. A "
    "collective is a few coupled flows, all of whose edges advance in lockstep. Its chunk expansion plays "
    "every "
    "transfer, as NCCL's loops do, with its buffers: a sender is 8 steps ahead at most of what is passed on, "
    "which are two chunks of a ring and eight of a tree. Cells are how much longer the flow takes than the "
    "expansion, in per cent; below zero it is faster. Columns are sizes, in chunks of 16 KiB for each member "
    "and channel; what takes more than 100,000 transfers is left out.";

constexpr const char* kFabrics =
    "The fabrics are a node of 8 (NVLink of 450 GB/s), one switch with a NIC of 50 GB/s for each rank, "
    "rail-optimised nodes of 8 with a NIC each, and the same nodes on a fat tree that is over-subscribed "
    "twice. Latencies are left out, as they are the same in both.";

constexpr const char* kChanging =
    "Twenty connections between random members come at random times. Each would take an eighth of the "
    "collective's time at most, if it had half of the slowest link of its way. The least and the most of "
    "three "
    "such backgrounds. A flow stops for each of them on all its edges, while chunks wait in buffers: so it "
    "is "
    "slower, the more so the fewer chunks there are. The fill is spread over the flow, so that traffic which "
    "comes when the first or the last chunks are under way counts as much as any other: where there are few "
    "chunks for the depth of a tree the flow can be faster.";

constexpr const char* kLarge =
    "128 ranks with 64 * 128 chunks of 16 KiB, over all channels together, beside three such backgrounds: 64 "
    "loops on the switch, 8 for each of the eight channels elsewhere. The expansions take minutes each, so "
    "they are not played by the test; `build/release/tests/coupled_flow/coupled_flow_test "
    "--gtest_also_run_disabled_tests --gtest_filter='*Large*' | grep ^csv,` prints the rows of "
    "`tests/coupled_flow/large.csv`. What is missing has not been played.";

std::string Document(const std::vector<Row>& rows) {
  return "# Coupled flows beside their chunks\n\n" + pages::Wrapped(kHead) + "\n\n" +
         pages::Wrapped(kFabrics) + "\n\n## Alone\n\n" + Table(rows, false) +
         "\n## Beside traffic that changes\n\n" + pages::Wrapped(kChanging) + "\n\n" + Table(rows, true) +
         "\n## 128 ranks\n\n" + pages::Wrapped(kLarge) + "\n\n" + LargeTable();
}

// Never more than 2 % faster than the chunks, nor 5 % slower.
void ExpectWithin(const Difference& difference, const std::string& name, double slower = 0.05,
                  double faster = 0.02) {
  EXPECT_GE(difference.least, -faster) << name;
  EXPECT_LE(difference.most, slower) << name;
}

void ExpectWithin(const Row& row) {
  for (const auto& [size, difference] : row.alone) {
    EXPECT_NEAR(difference.most, 0, 0.001) << NameOf(row) << ", " << size;
  }
  const auto large = row.changing.find(64);
  if (large == row.changing.end()) return;
  const bool pat = row.of.algorithm == sim::Algorithm::kPat;
  ExpectWithin(large->second, NameOf(row), pat ? 0.07 : 0.05, pat ? 0.03 : 0.02);
}

// Eight channels have 8 loops each.
void ExpectWithin(const LargeRow& row) {
  ExpectWithin({row.changing.least / 100, row.changing.most / 100}, LargeLine(row),
               row.fabric == "switch" ? 0.05 : 0.08);
}

// One test, as the rows take seconds.
TEST(CoupledFlowPage, HasNothingBeyondFivePerCentWhereBuffersAreLargeButPat) {
  const std::vector<Row> rows = AllRows();
  for (const Row& row : rows) ExpectWithin(row);
  for (const LargeRow& row : KeptLargeRows()) ExpectWithin(row);
  const std::string page = Document(rows);
  if (page == pages::Kept("coupled_flow.md")) return;
  ADD_FAILURE() << "docs/coupled_flow.md is not up to date; the new one is "
                << pages::WriteNew("coupled_flow.md", page);
}

// Each takes minutes, and several GB.
class DISABLED_Large : public testing::TestWithParam<std::size_t> {};

TEST_P(DISABLED_Large, OfItsRows) {
  const LargeRow row = PlayLarge(LargeCases().at(GetParam()));
  ExpectWithin(row);
  std::cout << "csv," << LargeLine(row) << std::flush;
}

INSTANTIATE_TEST_SUITE_P(Coupled, DISABLED_Large, testing::Range(std::size_t{0}, LargeCases().size()));

}  // namespace
}  // namespace coupled_flow
