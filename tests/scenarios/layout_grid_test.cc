// Every pair of what a layout can choose: each row builds, runs, puts on every group the
// bytes of the closed forms, keeps bytes on links, and accounts for its step.

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "scenarios/output/report_json.h"
#include "scenarios/run.h"
#include "sim/analysis/link_load.h"
#include "tests/scenarios/group_bytes.h"
#include "tests/scenarios/layout_grid.h"
#include "tests/scenarios/pairwise.h"

namespace scenarios {
namespace {

TEST(Pairwise, CoversAllPairsInFewRowsWhereNothingIsForbidden) {
  const PairwiseSpace space{{3, 3, 3, 3}, [](const PairwiseRow&) { return true; }};
  const std::vector<PairwiseRow> rows = CoverPairs(space);
  std::set<Pair> covered;
  for (const PairwiseRow& row : rows) AddPairs(row, &covered);
  EXPECT_EQ(covered, AllPairs(space));
  EXPECT_GE(rows.size(), 9u);  // the pairs of two dimensions
  EXPECT_LE(rows.size(), 12u);
}

TEST(Pairwise, NeverHasWhatIsForbiddenAndStillCoversTheRest) {
  // The first two differ.
  const PairwiseSpace space{{3, 3, 2}, [](const PairwiseRow& row) {
                              return row[0] == kOpen || row[1] == kOpen || row[0] != row[1];
                            }};
  std::set<Pair> covered, wanted = AllPairs(space);
  for (const PairwiseRow& row : CoverPairs(space)) AddPairs(row, &covered);
  for (int value = 0; value < 3; ++value) wanted.erase({0, value, 1, value});
  EXPECT_EQ(covered, wanted);
}

// What no layout has together, for the reason that the loader gives. All else is covered.
std::set<Pair> Contradictions() {
  std::set<Pair> pairs = {{kTensorRanks, 0, kSequence, 1}};  // nothing to cut
  for (int pipeline = 0; pipeline < static_cast<int>(std::size(kPipelineKinds)); ++pipeline) {
    // Two stages with the same pieces share out all they hold, and no more than ZERO_1 does.
    if (kPipelineKinds[pipeline].order != PieceOrder::kBothEnds) continue;
    for (int data = 2; data < 6; ++data) pairs.insert({kPipelineKind, pipeline, kDataKind, data});
  }
  for (const int cut : {1, 2}) {
    pairs.insert({kExpertRanks, 0, kExpertTensorRanks, cut});  // dense models
    pairs.insert({kExpertRanks, 0, kDispatcher, cut});
    pairs.insert({kExpertTensorRanks, cut, kDispatcher, 2});  // DeepEP cuts no experts
  }
  return pairs;
}

TEST(LayoutGrid, CoversEveryPairThatIsNotAContradiction) {
  const PairwiseSpace space = GridSpace();
  std::set<Pair> covered, wanted = AllPairs(space);
  for (const PairwiseRow& row : CoverPairs(space)) AddPairs(row, &covered);
  for (const Pair& pair : Contradictions()) wanted.erase(pair);
  EXPECT_EQ(covered, wanted);
}

std::vector<sim::Rank> RanksOf(const sim::Program& program, sim::CommunicationId c) {
  std::vector<sim::Rank> ranks;
  for (const sim::TaskId seat : program.seats_of(c)) ranks.push_back(program.rank_of(seat));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// What all members of a group of n send for a collective of this size, as its kind counts size.
std::int64_t Moved(std::string_view kind, std::int64_t n, std::int64_t size) {
  if (kind == "all-reduce") return 2 * (n - 1) * size;
  if (kind == "all-to-all by node" || kind == "ring shift") return n * size;
  return (n - 1) * size;  // of a send too: one of two
}

GroupBytes BytesOfGroups(const sim::Program& program) {
  GroupBytes bytes;
  for (std::size_t i = 0; i < program.communications.size(); ++i) {
    const sim::CommunicationId c(i);
    const sim::Traffic& traffic = program.traffics[program.communications[i].traffic.pos()];
    std::vector<sim::Rank> ranks = RanksOf(program, c);
    const std::int64_t moved =
        Moved(program.names[traffic.name], static_cast<std::int64_t>(ranks.size()), traffic.size.count());
    bytes[{program.row(program.seats_of(c)[0]).task_class, std::move(ranks)}] += moved;
  }
  return bytes;
}

// Links carry what groups move: each device sends its share of its groups' bytes, and gets as
// much; what enters a switch or NIC leaves it. To a byte a link, as LinkBytesOf rounds.
void ExpectLinksCarry(const Scenario& scenario, const RunResult& run, const GroupBytes& groups) {
  std::vector<double> sent(scenario.fabric.vertices.size(), 0.0);
  for (const auto& [key, moved] : groups) {
    for (const sim::Rank rank : key.second) {
      sent[scenario.fabric.devices[rank.pos()].pos()] +=
          static_cast<double>(moved) / static_cast<double>(key.second.size());
    }
  }
  const sim::LinkBytes bytes = sim::LinkBytesOf(run.steps.program, run.timeline, {});
  std::vector<double> in(sent.size(), 0.0), out(sent.size(), 0.0);
  std::vector<double> links(sent.size(), 0.0);
  for (std::size_t l = 0; l < scenario.fabric.links.size(); ++l) {
    const topologies::Link& link = scenario.fabric.links[l];
    out[link.from.pos()] += static_cast<double>(bytes.total[l].count());
    in[link.to.pos()] += static_cast<double>(bytes.total[l].count());
    links[link.from.pos()] += 1;
    links[link.to.pos()] += 1;
  }
  for (std::size_t v = 0; v < sent.size(); ++v) {
    EXPECT_NEAR(in[v], out[v], links[v]) << scenario.fabric.vertices[v].name;
    if (scenario.fabric.vertices[v].kind != topologies::VertexKind::kDevice) continue;
    EXPECT_NEAR(out[v], sent[v], links[v]) << scenario.fabric.vertices[v].name;
  }
}

TEST(LayoutGrid, EveryRowMovesTheBytesOfTheClosedFormsAndAccountsForItsStep) {
  for (const PairwiseRow& row : CoverPairs(GridSpace())) {
    const GridLayout at = GridLayoutOf(row);
    const Sets sets = SetsOf(at);
    SCOPED_TRACE(testing::PrintToString(sets));
    Loading loading = Load(sets);
    ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    Scenario& scenario = *loading.scenario;
    // Closed forms are those of rings, and the other protocols send more than the bytes themselves.
    ASSERT_FALSE(sim::SetVariable("NCCL_ALGO=Ring", &scenario.device.nccl.environment));
    for (hardware::CollectiveTiming& timing : scenario.device.collective_timing) {
      timing.wire_numerator = timing.wire_denominator = 1;
    }
    const RunResult run = scenarios::Run(scenario, {.fold = false}).value();
    const GroupBytes wanted = GroupVolumes(at, scenario.layout).All();
    EXPECT_EQ(BytesOfGroups(run.steps.program), wanted);
    ExpectLinksCarry(scenario, run, wanted);
    EXPECT_TRUE(run.report.steady);
    for (const StageReport& stage : run.report.stages) {
      sim::Duration sum;
      for (const TimePart& part : stage.breakdown) sum += part.time;
      EXPECT_EQ(sum, run.report.step_time);
    }
    if (testing::Test::HasFailure()) break;
  }
}

// All that is reported, but for what it took.
std::string TextOf(Report report) {
  report.events = 0;
  report.ranks_played = 0;
  return ReportJson(report);
}

TEST(LayoutGrid, EveryRowIsTheSameWithOneRankOfEachKind) {
  int folded = 0;
  for (const PairwiseRow& row : CoverPairs(GridSpace())) {
    const Sets sets = SetsOf(GridLayoutOf(row));
    SCOPED_TRACE(testing::PrintToString(sets));
    const Loading loading = Load(sets);
    ASSERT_TRUE(loading.scenario);
    const Report some = scenarios::Run(*loading.scenario).value().report;
    const Report all = scenarios::Run(*loading.scenario, {.fold = false}).value().report;
    folded += some.ranks_played < all.ranks_played ? 1 : 0;
    EXPECT_EQ(TextOf(some), TextOf(all));
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(folded, 20);
}

}  // namespace
}  // namespace scenarios
