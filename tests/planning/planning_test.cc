// The textbook's plans beside those of `orrery plan`, and docs/planning.md to what comes of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

constexpr const char* kPage = "planning.md";

void ExpectKept(const Case& one) {
  if (pages::IsKept(kPage, LinesOf(one), SectionOf(one))) return;
  ADD_FAILURE() << "docs/planning.md is not up to date; the new one is "
                << pages::WriteNew(kPage, Document());
}

std::int64_t Devices(const DevicePlan& plan) { return Best(plan).candidate.shape.devices; }
const scenarios::LayoutChoice& Layout(const DevicePlan& plan) { return Best(plan).candidate.layout; }

// Titles of the steps that decide.
std::vector<std::string> Deciding(const DevicePlan& plan) {
  std::vector<std::string> titles;
  for (const scenarios::PlanStep& step : plan.steps) {
    if (step.binds) titles.push_back(step.title);
  }
  return titles;
}

// F17-57: parameters, FLOPs, utilisation, memory's devices, time's devices, layouts, memory, communication,
// storage, money. Without a deadline nothing but memory asks for devices; 10 days need more than that; and
// what they cost is more than 50,000 USD, of which the plan says what would have to give.
TEST(Planning, TheTenStepsOfFigure1757ComeInOrderAndTheRightOneDecides) {
  const Steps found = PlanSteps();
  ExpectKept(ToCase(found));
  const std::vector<std::string> titles = {"parameters",
                                           "FLOPs",
                                           "utilisation",
                                           "devices that hold the state",
                                           "devices that are in time",
                                           "layouts",
                                           "memory",
                                           "communication",
                                           "storage",
                                           "money"};
  for (const DevicePlan* plan : {&found.by_memory, &found.by_time, &found.by_money}) {
    ASSERT_EQ(plan->steps.size(), 10u);
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_EQ(plan->steps[i].title, titles[i]);
      EXPECT_EQ(plan->steps[i].number, static_cast<int>(i) + 1);
    }
  }
  using Titles = std::vector<std::string>;
  EXPECT_EQ(Deciding(found.by_memory), Titles({"devices that hold the state"}));
  EXPECT_EQ(Deciding(found.by_time), Titles({"devices that are in time"}));
  EXPECT_EQ(Deciding(found.by_money), Titles({"devices that are in time", "money"}));
  EXPECT_TRUE(found.by_memory.feasible);
  EXPECT_TRUE(found.by_time.feasible);
  EXPECT_FALSE(found.by_money.feasible);
  ASSERT_EQ(found.by_money.gives.size(), 1u);
  EXPECT_TRUE(found.by_money.gives[0].starts_with("Dear: "));
}

// F17-27: (1) does one device hold it, (2) N of memory, (3) N of time, (4) the larger, in whole groups, (5)
// memory, (6) communication. One H800 holds LLaMA-68M, not LLaMA-7B; 16 x 6.74e9 bytes are 108 GB, in 75 GB a
// device two.
TEST(Planning, TheSixStepsOfFigure1727TakeTheLargerNumberInWholeGroups) {
  PlanRequest small = Wishes("llama_68m", 1e10);
  small.search.plays = 1;
  const DevicePlan one = OnePlanOf(small);
  EXPECT_EQ(one.steps[3].lines.back().exact, 1);
  EXPECT_EQ(Devices(one), 1);

  PlanRequest large = Wishes("llama_7b", 2e12);
  large.search.plays = 1;
  large.days = 10;
  const DevicePlan plan = OnePlanOf(large);
  const std::int64_t memory = *plan.steps[3].lines.back().exact, in_time = *plan.steps[4].lines[0].exact;
  EXPECT_EQ(memory, 2);
  // 6 x 6.738e9 x 2e12 over 10 days x 989.4e12 x the guess of 0.385: 246 devices.
  EXPECT_NEAR(static_cast<double>(in_time), 246, 1);
  EXPECT_EQ(plan.rounds.front().devices, std::max(memory, in_time));
  const scenarios::Candidate& c = Best(plan).candidate;
  EXPECT_EQ(Devices(plan), c.layout.group() * c.shape.data);
  EXPECT_EQ(Devices(plan) % 8, 0);  // whole nodes
  EXPECT_TRUE(c.fits);
  EXPECT_TRUE(plan.steps[6].reasoning.starts_with("Fits"));
  EXPECT_EQ(plan.steps[7].lines[1].name, "over compute");
}

// E1: 16 forwards of 319 ms and their backwards are 15 s at 0.7 of the peak, and a third more with
// recomputation.
TEST(Planning, LlamaOf7BillionTrainsInTenDaysOnFewerThan256AndItsStepIsNot24Milliseconds) {
  const SmallDense found = PlanSmallDense();
  ExpectKept(ToCase(found));
  EXPECT_EQ(Best(found.theirs).candidate.shape.micro_batches, 16);
  EXPECT_GT(StepSeconds(found.theirs), 40 * 16 * 0.024);
  const scenarios::HandTime& hand = Best(found.theirs).candidate.hand;
  EXPECT_LT(hand.data_s, hand.compute_s);
  EXPECT_LT(ShareOf(found.theirs, "data"), 0.1);
  EXPECT_GT(ShareOf(found.theirs, "recomputation"), 0.2);
  EXPECT_NEAR(Expected(found.theirs), 0.345, 0.02);  // a little less than printed
  EXPECT_GT(Days(found.node), 100);                  // right: one node is too slow
  EXPECT_LT(Days(found.fixed), 10);                  // right: 256 are in time
  EXPECT_LT(Days(found.deadline), 10);
  EXPECT_LT(Devices(found.deadline), 256);
  EXPECT_GT(Expected(found.fixed), 0.38);
  EXPECT_EQ(Layout(found.fixed).group(), 1);  // right: data ranks alone
  EXPECT_NE(Layout(found.fixed).recompute, scenarios::Recompute::kFull);
}

TEST(Planning, Of70BillionIn30Days864DevicesAreEnoughButNotWithTensor8OnH800) {
  const LargeDense found = PlanLargeDense();
  ExpectKept(ToCase(found));
  EXPECT_EQ(Best(found.theirs).candidate.shape.micro_batches, 128);
  EXPECT_TRUE(found.free.feasible);
  EXPECT_LT(Devices(found.free), 864);
  EXPECT_LT(Layout(found.free).tensor, 8);
  EXPECT_EQ(Layout(found.free).recompute, scenarios::Recompute::kNone);
  EXPECT_GT(Days(found.theirs), 30);
  EXPECT_GT(ShareOf(found.theirs, "tensor"), 0.25);
  EXPECT_GT(ShareOf(found.theirs, "recomputation"), 0.1);
  EXPECT_EQ(Deciding(found.free), std::vector<std::string>({"devices that are in time"}));
}

// E23, A8: data ranks send for less than the 0.33 s printed, tensor groups for more than 0.86 s.
TEST(Planning, Of70BillionIn60DaysMoneyAndTimeHoldOnFewerThan640) {
  const LargeInBudget found = PlanLargeInBudget();
  ExpectKept(ToCase(found));
  EXPECT_EQ(Best(found.theirs672).candidate.shape.micro_batches, 16);
  const scenarios::HandTime& hand = Best(found.theirs672).candidate.hand;
  EXPECT_LT(hand.data_s, 0.33);
  EXPECT_GT(hand.tensor_s, 0.86);
  EXPECT_GT(ShareOf(found.theirs672, "tensor"), 0.2);
  EXPECT_GT(ShareOf(found.theirs640, "tensor"), 0.2);
  // 18 x 68.98e9 / 16 = 77.6 GB and activations.
  EXPECT_GT(static_cast<double>(Best(found.whole640).candidate.memory.count()), 77.6e9);
  EXPECT_GT(Days(found.theirs640), 60);
  EXPECT_GT(Days(found.theirs672), 60);
  EXPECT_TRUE(found.free.feasible);
  EXPECT_LT(Devices(found.free), 640);
  EXPECT_LT(Usd(found.free), 2e6);
  EXPECT_EQ(Deciding(found.free), std::vector<std::string>({"devices that are in time"}));
}

// E11: 4 (27.8 + 13) of weights and BF16 gradients and 12 x 236 / 64 are 208 GB, and 2 x 41 more with FP32
// ones.
TEST(Planning, DeepSeekV2OnSixtyFourDevicesDoesNotFitAsPrinted) {
  const ManyExperts found = PlanManyExperts();
  ExpectKept(ToCase(found));
  EXPECT_EQ(found.theirs64.best(), nullptr);
  ASSERT_TRUE(found.theirs64.search.nearest_miss);
  EXPECT_GT(static_cast<double>(found.theirs64.search.nearest_miss->memory.count()), 208e9);
  EXPECT_EQ(found.free64.best(), nullptr);
  EXPECT_GT(Days(found.on256), 132);
  EXPECT_GT(Days(found.on1024), 36);
}

TEST(Planning, OneThousandDevicesAreTooFewFor1800BillionAnd64RanksShareNoNode) {
  const LargeExperts found = PlanLargeExperts();
  ExpectKept(ToCase(found));
  EXPECT_TRUE(WarningOfExpertsAndTensors().starts_with(
      "the 64 ranks of expert 8 x expert_tensor 8 do not share one NVLink domain"));
  EXPECT_GT(Days(found.on1024), 365);
  EXPECT_GT(Days(found.on16384), 1.5 * 43);  // wrong: 289e9 active, and less MFU
}

// 989.5 / 148 = 6.7 H20 for an H800 at the same MFU; at 0.8 of 2.0 USD an hour they cost 2.7 times as much.
// E16: 80 x 4,096 x 1,024 x 2 x 2 = 1.342 GB.
TEST(Planning, AnH800TrainsForLessAndAnH20DecodesForLess) {
  const TwoDevices found = PlanTwoDevices();
  ExpectKept(ToCase(found));
  EXPECT_EQ(found.plan.chosen, std::size_t{0});
  EXPECT_GT(Utilisation(found.plan.plans[1]), Utilisation(found.plan.plans[0]));
  const Decoding h800 = DecodingOn(found.plan.plans[0]), h20 = DecodingOn(found.plan.plans[1]);
  EXPECT_DOUBLE_EQ(h800.kv_bytes, 80.0 * 4096 * 1024 * 2 * 2);
  EXPECT_GT(h20.tokens_per_s, h800.tokens_per_s);
  EXPECT_GT(h800.usd / h20.usd, 2.4);
  EXPECT_LT(h800.usd / h20.usd, 3.0);
}

// E18: 16,384 devices fail as many times as often as one.
TEST(Planning, AClusterFailsAsManyTimesAsOftenAsItHasDevices) {
  const Failures found = PlanFailures();
  ExpectKept(ToCase(found));
  EXPECT_FALSE(found.runs.back().plan.outcome()->bill);  // 2,400 hours: every 9 minutes
  for (const Failures::Run& run : found.runs) {
    if (!run.plan.outcome()->bill) continue;
    const scenarios::WallClock& clock = run.plan.outcome()->bill->clock;
    EXPECT_DOUBLE_EQ(clock.failure_s, run.device_hours / 16384 * 3600);
  }
}

TEST(Planning, TheLayoutThatIsBestByHandIsNotTheBestSimulated) {
  const HandOrder found = PlanHandOrder();
  ExpectKept(ToCase(found));
  const scenarios::Candidate& by_hand = found.plan.search.candidates.front();
  const scenarios::Candidate& simulated = Best(found.plan).candidate;
  const scenarios::Played* first = PlayOf(found, by_hand);
  ASSERT_NE(first, nullptr);
  EXPECT_LT(by_hand.hand.step_s(), simulated.hand.step_s());
  EXPECT_GT(first->step_s(), StepSeconds(found.plan));
  EXPECT_EQ(by_hand.layout.pipeline, 1);
  EXPECT_EQ(simulated.layout.pipeline, 2);
  // 1 / (8 x 6) of the work is bubble by hand, of p - 1 = 1, 8 virtual stages and 6 micro-batches; more
  // simulated, since stages wait for transfers too. The reason is not what data ranks wait for, but the same
  // products, which take longer beside the longer reduction.
  EXPECT_NEAR(HandBubble(simulated), 1.0 / 49, 0.002);
  const scenarios::Report& best = Best(found.plan).report;
  EXPECT_GT(PartOf(best, "bubble"), 2.0 / 48);
  EXPECT_LT(PartOf(first->report, "data"), 0.12);
  EXPECT_GT(PartOf(first->report, "compute") * first->step_s(),
            1.1 * PartOf(best, "compute") * StepSeconds(found.plan));
}

// Sections and lines are held above; here that there are no others.
TEST(Planning, ItsPageHasEachOnceAndNothingElse) {
  const std::vector<std::string> parts = pages::Parts(pages::Kept(kPage));
  ASSERT_EQ(parts.size(), 10u) << "the new one is " << pages::WriteNew(kPage, Document());
  EXPECT_TRUE(parts[0].starts_with(Head()));
  const auto lines = std::count(parts[0].begin() + static_cast<long>(Head().size()), parts[0].end(), '\n');
  EXPECT_EQ(lines, 29);
}

}  // namespace
}  // namespace planning
