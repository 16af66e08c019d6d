// Questions of users that other tools answered wrongly, and the test that holds each
// answer: areas ZeRO, recomputation, experts, pipelines and input.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace {

struct OpenCase {
  const char* id;
  const char* area;
  const char* test;
};

// Some have more tests; the one here has the whole case, or its answer to the user.
constexpr OpenCase kCases[] = {
    {"HB-057", "recompute", "Flops, SelectiveRecomputationAddsFourBLs2hToGpt3"},
    {"HB-059", "recompute", "Activations, FlashAttentionLeavesSelectiveRecomputationNothingToDrop"},
    {"HB-061", "recompute", "StepBuilder, FullRecomputationCostsAThirdAtTheMost"},
    {"HB-063", "zero", "Sharding, StatesAreCutByStage"},
    {"HB-065", "zero", "ZeRO3, OnlyTheStatesFallWithTheRanks"},
    {"HB-066", "zero", "Sharding, OfASmallModelGainsLittle"},
    {"HB-069", "zero", "StaticMemory, PadsASharesLastPart"},
    {"HB-070", "pipeline", "PipelineSchedule, GPipeAndOneForwardOneBackwardTakeTheSameTimeAndDifferInMemory"},
    {"HB-072", "pipeline", "Interleaved, ShrinksTheBubbleByTheNumberOfChunks"},
    {"HB-075", "pipeline", "SplitLayers, RefusesVirtualStagesThatDoNotDivideAStage"},
    {"HB-079", "pipeline", "SplitLayers, TakesUnevenEnds"},
    {"HB-081", "pipeline", "ScheduleTable, OfTheDualPipeReadmeIsWhatPlayingTheOrdersGives"},
    {"HB-082", "pipeline", "Bubble, GrowsWithTheMicroBatchAtAFixedGlobalBatch"},
    {"HB-083", "pipeline", "Bubble, OfFiveStagesIsBelowAFifthFromSeventeenMicroBatchesOn"},
    {"HB-121", "moe", "ExpertLayout, RefusesExpertsAndHeadsThatDoNotDivideInOneRun"},
    {"HB-122", "moe", "ExpertLayout, CountsRanksWithExpertTensorNotTensor"},
    {"HB-124", "moe", "ExpertLayout, RefusesMoreExpertGroupsThanRanks"},
    {"HB-125", "moe", "ExpertCapacity, RoundsUpOnceAndNeverPassesTheNumberOfTokens"},
    {"HB-126", "moe", "ExpertLayout, RefusesWhatCannotBe"},
    {"HB-131", "moe", "ExpertSteps, FollowTheMostLoadedExpertRank"},
    {"HB-203", "cli-input", "LoadScenario, RefusesBatchesThatDoNotMultiply"},
    {"HB-206", "cli-input", "SequenceFactor, IsTheLeastCommonMultipleOfTwoCpAndCpTp"},
    {"HB-207", "cli-input", "RefuseTokens, LeavesNoTokenAndNoRankOut"},
    {"HB-208", "cli-input", "RefuseUlysses, NeedsHeadsAndKeyValueHeadsToDivide"},
    {"HB-210", "cli-input", "DataRanks, AreWhatIsLeftOfTheDevices"},
    {"HB-211", "cli-input", "DeviceNames, AreExactOrListedAliases"},
    {"HB-213", "cli-input", "Formats, Bf16NeedsCapability80"},
    {"HB-214", "cli-input", "Check, ReportsEveryMistakeOnStderrAndExitsWith2"},
    {"HB-218", "cli-input", "LoadScenario, RefusesTheGlobalBatchOf1472Devices"},
};

// What stands between a test's name and the end of its body, with the comment above it.
std::map<std::string, std::string> TestsByName() {
  std::map<std::string, std::string> tests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORRERY_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    std::string line, comment, name;
    while (std::getline(file, line)) {
      if (line.starts_with("//")) {
        comment += line + '\n';
        name.clear();
        continue;
      }
      if (const std::size_t open = line.find('('); line.starts_with("TEST") && open != std::string::npos) {
        name = line.substr(open + 1, line.find(')') - open - 1);
        tests[name] = comment;
      }
      comment.clear();
      if (!name.empty()) tests[name] += line + '\n';
    }
  }
  return tests;
}

TEST(OpenCases, EachHasATestThatNamesIt) {
  const std::map<std::string, std::string> tests = TestsByName();
  std::map<std::string, int> areas;
  std::set<std::string> seen;
  for (const OpenCase& c : kCases) {
    EXPECT_TRUE(seen.insert(c.id).second) << c.id;
    ++areas[c.area];
    const auto at = tests.find(c.test);
    ASSERT_NE(at, tests.end()) << c.id << ": there is no test " << c.test;
    EXPECT_NE(at->second.find(c.id), std::string::npos) << c.test << " does not name " << c.id;
  }
  const std::map<std::string, int> wanted = {
      {"zero", 4}, {"recompute", 3}, {"moe", 6}, {"pipeline", 7}, {"cli-input", 9}};
  EXPECT_EQ(areas, wanted);
}

}  // namespace
