// Sixteen rules of thumb, each held to what its sweeps answer, and their page to what the sweeps make of it.
//
// Expected answers are written row by row, 'y' where the row speaks for the rule. Where a rule turns follows
// from what a comment says; the figures themselves stand in docs/rules.md.

#include <gtest/gtest.h>

#include "tests/pages/page.h"
#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

constexpr const char* kPage = "rules.md";

std::string WriteNewPage() { return pages::WriteNew(kPage, Document(AllRules())); }

// What a rule's claims were answered, sweep after sweep, and that the page has its section and its line.
void ExpectAnswers(const Rule& rule, const std::vector<std::string>& answers) {
  SCOPED_TRACE(rule.id);
  std::vector<std::string> found;
  for (const Sweep& sweep : rule.sweeps) {
    for (std::size_t i = 0; i < sweep.claims.size(); ++i) found.push_back(sweep.AnswersTo(i));
  }
  EXPECT_EQ(found, answers);
  if (pages::IsKept(kPage, Line(rule), Section(rule))) return;
  ADD_FAILURE() << "docs/rules.md is not up to date; the new one is " << WriteNewPage();
}

double Cell(const Rule& rule, std::size_t row, std::size_t column) {
  std::string text = rule.sweeps[0].rows[row].cells[column];
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  return std::stod(text);
}

// 1,024 or 2,048 tokens a device are less compute than the reduction of the model takes; a bubble is
// (p - 1) / m of the rest, so it is small once a pipeline has many micro-batches.
TEST(Rules, DataComesFirstUnlessStepsAreShortAndPipelinesOftenBeforeTensors) {
  const Rule rule = DataFirstPipelineLast();
  ExpectAnswers(rule, {"nynyyy", "ynyynn", "nnnynn", "yyyyyy", "nnnnnn", "nnyyyy"});
  EXPECT_EQ(rule.verdict(), Verdict::kWithinBounds);
}

// A ring of 16 sends 15/16 where one of 8 sends 7/8, beside half the compute; so it loses on every device
// whose compute is short beside it: not on an H20 (148 TFLOP/s with an H100's NVLink). One sequence leaves
// 3 of 4 stages of tensor 8 empty, 1 of 2 of tensor 16.
TEST(Rules, TensorGroupsOf8BeatThoseOf16OnFastDevicesInNvlinkOrNot) {
  ExpectAnswers(TensorInsideNvlink(), {"yyyynn", "nnn", "nnn"});
}

// The last backward hides the same part of the same traffic whatever came before it.
TEST(Rules, AccumulationDilutesWhatDataRanksWaitForAndHidesNoneOfIt) {
  const Rule rule = AccumulationFreesData();
  ExpectAnswers(rule, {"nnnyyy", "nnnnn", "nnnnnn"});
  for (std::size_t row = 1; row < 6; ++row) EXPECT_NEAR(Cell(rule, row, 1) / Cell(rule, 0, 1), 1, 0.01);
  // ZeRO-3 gathers in each of twice as many micro-batches.
  for (std::size_t row = 1; row < 6; ++row) EXPECT_NEAR(Cell(rule, row, 5) / Cell(rule, row - 1, 5), 2, 0.01);
}

// 16 ranks on two nodes send half of their tokens' copies over NICs of a fourth of NVLink's rate.
TEST(Rules, ExpertsOverNodesAreSlowerUntilTokensTravelOnceAndBesideCompute) {
  ExpectAnswers(ExpertsInsideANode(), {"yy", "yy", "yy", "nnn", "nnn"});
}

TEST(Rules, AdamTakesEightBytesAParameterOfACopyAndIsLargestUntilShared) {
  const Rule rule = AdamTakesEight();
  ExpectAnswers(rule, {"yyyy", "yyny"});
}

// A forward is a third of a forward and a backward, so recomputing takes 4/3 of the time; less where gathers
// slow products down, of which a longer step has as many.
TEST(Rules, RecomputationPaysWhereNothingElseFitsAndNotBefore) {
  const Rule rule = RecomputationPays();
  ExpectAnswers(rule, {"nn", "yy", "ny", "nny"});
  for (const std::size_t row : {0u, 1u}) EXPECT_NEAR(Cell(rule, row, 3) / Cell(rule, row, 1), 0.8, 0.06);
}

// 16 of a parameter alone, 4 + 12 / 8 under ZeRO-1 on 8, 16 / 8 under ZeRO-3, 2 + 2 without optimizer.
TEST(Rules, SixteenBytesAreTheFloorWhileNothingIsCutOrMovedAway) {
  const Rule rule = SixteenBytesAtLeast();
  ExpectAnswers(rule, {"yynnn", "yyyynn"});
  const double expected[] = {16, 18, 5.5, 2, 4};
  for (std::size_t row = 0; row < 5; ++row) EXPECT_NEAR(Cell(rule, row, 1), expected[row], 0.01);
}

TEST(Rules, SavesThatStartAgainExactlyTake12Or14BytesAParameter) {
  const Rule rule = SavesTakeTen();
  ExpectAnswers(rule, {"nn"});
  EXPECT_EQ(rule.verdict(), Verdict::kRefuted);
  const double expected[] = {14, 12, 10};
  for (std::size_t row = 0; row < 3; ++row) EXPECT_NEAR(Cell(rule, row, 1), expected[row], 0.01);
}

// Utilisation is flat while traffic hides and then falls with every hop of a ring.
TEST(Rules, UtilisationDoesNotFallEvenlyWithEveryTenTimesAsManyDevices) {
  const Rule rule = UtilisationFallsByTens();
  ExpectAnswers(rule, {"nnnnn"});
  EXPECT_EQ(rule.verdict(), Verdict::kRefuted);
  for (std::size_t row = 0; row < 5; ++row) EXPECT_NEAR(Cell(rule, row, 1), Cell(rule, row, 2), 2);
}

TEST(Rules, ExpertsCostNothingOrUpToThirtyPointsOfUtilisation) {
  ExpectAnswers(ExpertsCostUtilisation(), {"nnyyyy", "nnyynn"});
}

// Of short contexts FLOPs a byte are the batch: the ridge is 295 on H800 and 37 on H20. Of 4,096 tokens each
// request reads 1.34 GB beside its 2 x 70.6e9 FLOPs and attention: at most some 150 FLOP a byte.
TEST(Rules, DecodingTurnsFromMemoryToThePeakAtTheRidge) {
  ExpectAnswers(DecodingReadsMemory(), {"yyyynyyyyy", "yynnnyynnn"});
}

// 2 x 80 layers x 128 a head x 2 bytes: 327,680 bytes a token with 8 heads, 141 GB at 430,000 tokens; an
// eighth of them with 64.
TEST(Rules, OneRequestOutgrowsTheWeightsWithoutGroupedHeads) {
  ExpectAnswers(CachesOutgrowWeights(), {"nnyyy", "yyyyn", "yyyyy"});
}

// 141 GB against 35 GB of weights beside 1.34 GB a request of 4,096 tokens: (141 + 1.34 b) / (35 + 1.34 b).
TEST(Rules, FourBitsAreTwoToThreeTimesAsFastForSomeBatchesOnly) {
  const Rule rule = FourBitsForThroughput();
  ExpectAnswers(rule, {"nnynnn"});
  EXPECT_NEAR(Cell(rule, 2, 1), (141 + 1.34 * 32) / (35 + 1.34 * 32), 0.02);
}

// Young's interval lies between the rows where the loss turns: 33 s and 189 s.
TEST(Rules, SavesAreDueBetweenYoungsIntervalAndTheFailuresNotEveryNTimesThem) {
  ExpectAnswers(OneFailureStopsAll(), {"nnn", "n", "nyyyy", "nnnyy"});
}

TEST(Rules, TokenisingStarvesSmallModelsWithOneProcessADevice) {
  ExpectAnswers(TokenisersStarveTraining(), {"yynn", "nnnn"});
}

TEST(Rules, TheNetworkIsFreeByTokensADeviceNotBelow64Devices) {
  ExpectAnswers(NetworksCostBeyond64(), {"nyy", "nnn"});
}

TEST(Rules, RangesOfTable1762AreRefusedWhereThereIsNoLayout) {
  ExpectAnswers(RangesOfLayouts(), {"ynyyyyyn", "nny"});
  const Sets deep = {{"devices", "640"}, {"layout.pipeline", "160"}, {"layout.data", "1"}};
  EXPECT_NE(RefusalOf("llama_70b_64xh800_pp4", deep).find("layout.pipeline: 80 layers"), std::string::npos);
  const Sets uneven = {{"layout.expert", "12"}};
  EXPECT_NE(RefusalOf("qwen3_30b_a3b_16xh100", uneven).find("layout.expert: 12 does not divide"),
            std::string::npos);
}

TEST(Rules, TheTreeOfFigure1726HoldsAtItsEndsAndNotWithShardedState) {
  ExpectAnswers(LayoutsByModelSize(), {"yy", "ny", "nnn", "yy"});
}

// Sections and lines are held above; here that there are no others.
TEST(Rules, TheirPageHasEachOnceAndNothingElse) {
  const std::vector<std::string> parts = pages::Parts(pages::Kept(kPage));
  ASSERT_EQ(parts.size(), 19u) << "the new one is " << WriteNewPage();
  EXPECT_TRUE(parts[0].starts_with(Head()));
  const auto lines = std::count(parts[0].begin() + static_cast<long>(Head().size()), parts[0].end(), '\n');
  EXPECT_EQ(lines, 18);
}

}  // namespace
}  // namespace rules
