// Questions of users that other tools answered wrongly, and the test that holds each
// answer: areas FLOPs, memory, activations, caches, inference, checkpoints, data, ZeRO, recomputation,
// experts, pipelines, collectives, topologies and input.

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
    {"HB-016", "flops", "TrainingTime, AThousandDevicesWith1e18FlopsInTenSecondsDo100TeraflopsEach"},
    {"HB-018", "flops", "TrainingTime, UseIsOfTheDensePeak"},
    {"HB-019", "flops", "Flops, SixPerParameterAndTokenWithAttentionIsTheReadmesCount"},
    {"HB-022", "flops", "Flops, AttentionUsesTheHeadWidth"},
    {"HB-023", "flops", "LatentAttention, HasTwoWidthsOfHead"},
    {"HB-024", "flops", "Flops, LayersWithAWindowAreChargedForTheWindowOnly"},
    {"HB-025", "flops", "Flops, TyingTheTableChangesNothing"},
    {"HB-026", "flops", "ExpertFlops, CountTheExpertsThatATokenVisits"},
    {"HB-028", "flops", "Kernels, AMultiplyAddIsTwoFlops"},
    {"HB-029", "flops", "Kernels, AMultiplyAddIsTwoFlops"},
    {"HB-030", "flops", "Elementwise, TheFirstLayerNeedsNoGradientOfItsInput"},
    {"HB-031", "flops", "TrainingTime, UseDoesNotFallWithTheRanksAtOneRateEach"},
    {"HB-038", "memory", "StaticMemory, IsEighteenBytesAndTheOptimizersTwelveAreCut"},
    {"HB-041", "memory", "StaticMemory, OfExpertsIsCutOverTheRanksThatHoldTheSameExperts"},
    {"HB-044", "memory", "Activations, OfTheHeadHoldTheWholeVocabulary"},
    {"HB-045", "memory", "NoSync, KeepsUnshardedGradients"},
    {"HB-047", "memory", "StaticMemory, OfTheOptimizerIsTwelveBytesAParameterNotSixTimesAll"},
    {"HB-050", "activation", "Activations, ThirtyFourSbhAlreadyIsInBytes"},
    {"HB-051", "activation", "Activations, TensorParallelismAloneLeavesTenSbhOnEveryRank"},
    {"HB-052", "activation", "ExpertsBlock, KeepsACopyOfEveryTokenForEachExpertItVisits"},
    {"HB-053", "activation", "PipelineSchedule, HoldsAsManyMicroBatchesInFlightAsTheClosedFormsSay"},
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
    {"HB-086", "collective", "CollectiveRow, HasTheBusBandwidthOfItsKind"},
    {"HB-090", "collective", "RingLatency, GrowsWithTheRanksSoThatMediumSizesGetSlower"},
    {"HB-093", "collective", "AllGather, SendsSevenEighthsOfItsOutputWithEightRanks"},
    {"HB-094", "collective", "ReduceScatter, OfGradientsInFourBytesMovesTwiceTheGatherOfParametersInTwo"},
    {"HB-095", "collective", "LargeMessages, TakeTwiceTheTimeForTwiceTheBytes"},
    {"HB-096", "collective", "DirectAllReduceOnASwitch, IsNoFasterThanTheRing"},
    {"HB-098", "collective", "AllReduce, DependsOnWhatConnectsItsMembers"},
    {"HB-101", "collective", "DataParallelAllReduce, CostsWhatItsPlacementSays"},
    {"HB-104", "collective", "CollectiveCommand, ReportsADeadlockAndNoTime"},
    {"HB-106", "collective", "PlaySizes, OfOneRankTakesNoTimeAndHasNoBandwidth"},
    {"HB-107", "collective", "GradientReduction, IsExposedByItsTailAfterTheLastGradient"},
    {"HB-108", "topology", "TensorGroup, BeyondANodeIsAsSlowAsTheNics"},
    {"HB-109", "topology", "RingOfNvlinks, IsTheBestThatThereIs"},
    {"HB-111", "topology", "NodeRoute, HalfOfTheDestinationsOfTwoNodesAreRemote"},
    {"HB-114", "topology", "CollectiveCommand, WantsAnAlgorithmForEachDimension"},
    {"HB-116", "topology", "UnequalNodes, DoNotHang"},
    {"HB-120", "topology", "LoadScenario, TakesTensorGroupsOf24WhereTheyDivideTheHeads"},
    {"HB-121", "moe", "ExpertLayout, RefusesExpertsAndHeadsThatDoNotDivideInOneRun"},
    {"HB-122", "moe", "ExpertLayout, CountsRanksWithExpertTensorNotTensor"},
    {"HB-124", "moe", "ExpertLayout, RefusesMoreExpertGroupsThanRanks"},
    {"HB-125", "moe", "ExpertCapacity, RoundsUpOnceAndNeverPassesTheNumberOfTokens"},
    {"HB-126", "moe", "ExpertLayout, RefusesWhatCannotBe"},
    {"HB-131", "moe", "ExpertSteps, FollowTheMostLoadedExpertRank"},
    {"HB-134", "checkpoint", "CheckpointPlan, ASaveIs14BytesAParameterWhateverTheDataRanks"},
    {"HB-137", "checkpoint", "Checkpoint, SyncBlocksForCopyAndWriteAndAsyncForTheCopyOnly"},
    {"HB-138", "checkpoint", "YoungInterval, Of60SecondsAndThreeHoursIs1138Seconds"},
    {"HB-140", "checkpoint", "CheckpointReport, AnIntervalShorterThanTheSaveIsWarnedAboutWithBothFigures"},
    {"HB-141", "data", "Steps, FollowFromEpochsAndTokens"},
    {"HB-143", "data", "Epochs, AreTheSamplesWantedOverThoseOfOne"},
    {"HB-145", "data", "Packing, LengthensARunAndNoStep"},
    {"HB-146", "data", "ConsumedSamples, GrowByTheGlobalBatchAStep"},
    {"HB-150", "inference", "Serving, ABatchReadsTheWeightsOnce"},
    {"HB-154", "inference", "KvBudget, IsAPartOfTheWholeMemoryLessWhatIsHeld"},
    {"HB-155", "inference", "CopiesOn, LeaveNoDeviceUnseenAndTakeNoneThatIsNotThere"},
    {"HB-156", "inference", "Serving, ARequestGetsATokenAStepAndTheBatchAsManyAsItHas"},
    {"HB-158", "inference", "Serving, AVocabularyThatDoesNotDivideIsPadded"},
    {"HB-159", "inference", "Serving, TwoDevicesAreSlowerThanOneWhereReductionsAre"},
    {"HB-161", "kvcache", "KvCache, HoldsKeyHeadsNotQueryHeads"},
    {"HB-164", "kvcache", "KvCache, NarrowVectorIsWholeOnEveryRank"},
    {"HB-167", "kvcache", "KvPool, FreeBytesAreDividedByATokensBytesOnce"},
    {"HB-168", "kvcache", "KvCache, HeadsAreSharedByRanks"},
    {"HB-170", "kvcache", "KvCache, LayersWithAWindowKeepNoMoreThanIt"},
    {"HB-172", "kvcache", "KvPool, TokensBlocksAndConcurrencyAreOneFigure"},
    {"HB-174", "kvcache", "ReusedTokens, AreWholeBlocksAndLeaveOneToCompute"},
    {"HB-175", "kvcache", "CommonBlock, IsTheLeastCommonMultipleOfTheGroups"},
    {"HB-177", "kvcache", "KvPool, IsSharedByAllRequests"},
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
      {"flops", 12},     {"memory", 5},    {"activation", 4},  {"kvcache", 9},   {"inference", 6},
      {"checkpoint", 4}, {"data", 4},      {"zero", 4},        {"recompute", 3}, {"moe", 6},
      {"pipeline", 7},   {"cli-input", 9}, {"collective", 11}, {"topology", 6}};
  EXPECT_EQ(areas, wanted);
}

}  // namespace
