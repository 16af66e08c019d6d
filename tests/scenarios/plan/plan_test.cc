// Plans, from what is wanted to what would have to give.

#include "scenarios/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/parameters.h"
#include "scenarios/plan/plan_parts.h"
#include "tests/scenarios/plan/small_jobs.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Four layers of LLaMA-7B on H800 at $2, for 2e11 tokens.
PlanRequest Small() {
  PlanRequest r{.model = ModelOf("llama_7b", 4), .model_name = "llama_7b"};
  r.devices = {{DeviceOf("h800_sxm"), "h800_sxm", 2.0, "given"}};
  r.tokens = 2e11;
  r.sequence_length = 2048;
  r.global_batch = 512;
  r.search = {.plays = 3, .whole = 0, .slice = 8};
  return r;
}

const DevicePlan& Only(const PlanResult& result) {
  EXPECT_TRUE(result.plan.has_value()) << testing::PrintToString(result.errors);
  return result.plan->plans.front();
}

TEST(Plan, HasTheTextbooksTenSteps) {
  PlanRequest r = Small();
  r.days = 5;
  const PlanResult result = MakePlan(r);
  std::vector<std::string> titles;
  for (const PlanStep& step : Only(result).steps) titles.push_back(step.title);
  EXPECT_THAT(titles, ElementsAre("parameters", "FLOPs", "utilisation", "devices that hold the state",
                                  "devices that are in time", "layouts", "memory", "communication", "storage",
                                  "money"));
  for (std::size_t i = 0; i < titles.size(); ++i) {
    EXPECT_EQ(Only(result).steps[i].number, static_cast<int>(i) + 1);
    EXPECT_FALSE(Only(result).steps[i].lines.empty()) << titles[i];
  }
}

// 17.5.10, step 4: the larger of both numbers. A short deadline needs more devices than memory does, a long
// one fewer: 16 bytes of each parameter of 16 layers of LLaMA-2-70B, in 5 GB less than a device has.
TEST(Plan, SaysWhetherMemoryOrTheDeadlineDecides) {
  PlanRequest r = Small();
  r.days = 2;
  const PlanResult hurried = MakePlan(r);
  EXPECT_FALSE(Only(hurried).steps[3].binds);
  EXPECT_TRUE(Only(hurried).steps[4].binds);
  r = Small();
  r.model = ModelOf("llama2_70b", 16);
  r.model_name = "llama2_70b";
  r.tokens = 1e9;
  r.days = 1000;
  r.global_batch = 16;
  r.limits = {.tensor = 2, .micro = 1};
  r.search.plays = 1;
  const PlanResult idle = MakePlan(r);
  EXPECT_TRUE(Only(idle).steps[3].binds);
  const double room = static_cast<double>(r.devices[0].device.usable_memory.count()) - 5e9;
  const double state = 16 * static_cast<double>(models::ParametersOf(r.model).total());
  EXPECT_EQ(*Only(idle).steps[3].lines.back().exact, static_cast<std::int64_t>(std::ceil(state / room)));
  EXPECT_FALSE(Only(idle).steps[4].binds);
}

// The deadline holds on what is chosen, and half as many devices would be late.
TEST(Plan, TakesTheFewestDevicesThatAreInTime) {
  PlanRequest r = Small();
  r.days = 0.5;
  const PlanResult result = MakePlan(r);
  const DevicePlan& plan = Only(result);
  ASSERT_TRUE(plan.feasible);
  EXPECT_LE(plan.outcome()->days, 0.5);
  PlanRequest fewer = r;
  fewer.device_count = plan.best()->candidate.shape.devices / 2;
  const PlanResult late = MakePlan(fewer);
  EXPECT_FALSE(Only(late).feasible);
  EXPECT_GT(Only(late).outcome()->days, 0.5);
  EXPECT_FALSE(late.plan->chosen.has_value());
}

TEST(Plan, SaysWhatWouldHaveToGiveWhenItIsLate) {
  PlanRequest r = Small();
  r.days = 0.5;
  r.most_devices = 8;
  const PlanResult result = MakePlan(r);
  EXPECT_FALSE(Only(result).feasible);
  ASSERT_EQ(Only(result).gives.size(), 1u);
  EXPECT_THAT(Only(result).gives[0], HasSubstr("of 0.5 on 8 devices; more than"));
  EXPECT_EQ(Only(result).best()->candidate.shape.devices, 8);
}

// What is wanted as it would do then does: so many tokens, or the price.
TEST(Plan, SaysWhatTheMoneyWouldPayFor) {
  PlanRequest r = Small();
  r.device_count = 16;
  const double usd = *Only(MakePlan(r)).outcome()->usd;
  r.budget_usd = usd / 2;
  const PlanResult dear = MakePlan(r);
  EXPECT_FALSE(Only(dear).feasible);
  EXPECT_THAT(Only(dear).gives.front(), HasSubstr("1e+11 tokens, or 1 USD an hour of a device, would do."));
  EXPECT_TRUE(Only(dear).steps.back().binds);
  r.budget_usd = usd * 1.01;
  EXPECT_TRUE(Only(MakePlan(r)).feasible);
}

// 16 P of LLaMA-2-70B are 1,104 GB; two devices have 170.
TEST(Plan, SaysHowMuchTooLittleMemoryThereIs) {
  PlanRequest r = Small();
  r.model = ModelOf("llama2_70b");
  r.model_name = "llama2_70b";
  r.device_count = 2;
  const PlanResult result = MakePlan(r);
  const DevicePlan& plan = Only(result);
  EXPECT_FALSE(plan.feasible);
  EXPECT_EQ(plan.best(), nullptr);
  ASSERT_EQ(plan.gives.size(), 1u);
  EXPECT_THAT(plan.gives[0], HasSubstr("Nothing fits on 2 devices: the nearest, "));
  EXPECT_TRUE(plan.steps[3].binds);
}

// Of two devices that hold the wishes the cheaper one is chosen, though the other comes first.
TEST(Plan, ChoosesTheCheapestDevice) {
  PlanRequest r = Small();
  r.device_count = 8;
  r.devices.push_back({DeviceOf("h100_sxm"), "h100_sxm", 1.0, "given"});
  const PlanResult result = MakePlan(r);
  ASSERT_TRUE(result.plan.has_value());
  EXPECT_EQ(result.plan->chosen, 1u);
  EXPECT_GT(*result.plan->plans[0].outcome()->usd, *result.plan->plans[1].outcome()->usd);
  r.devices.push_back(r.devices.front());
  EXPECT_THAT(MakePlan(r).errors, ElementsAre("--device: h800_sxm is given twice; once is wanted"));
}

// A price that nobody knows is not nothing.
TEST(Plan, ChoosesADeviceWithAPriceBeforeOneWithout) {
  PlanRequest r = Small();
  r.device_count = 8;
  r.devices.insert(r.devices.begin(), {DeviceOf("h100_sxm"), "h100_sxm", {}, ""});
  EXPECT_EQ(MakePlan(r).plan->chosen, 1u);
}

// Devices that fail faster than they start again never end the run.
TEST(Plan, DoesNotHoldWhereFailuresLeaveNoTime) {
  PlanRequest r = Small();
  r.device_count = 8;
  r.bill.device_hours = 1;
  const PlanResult result = MakePlan(r);
  EXPECT_FALSE(Only(result).feasible);
  EXPECT_FALSE(result.plan->chosen.has_value());
  EXPECT_THAT(Only(result).gives[0], HasSubstr("8 fail every 450 s"));  // 3,600 s / 8
}

// Simulated steps are shorter than real ones by 1 / 1.16; without that, and without failures to speak of on
// 8 devices, days are as much less.
TEST(Plan, RealStepsTakeLonger) {
  PlanRequest r = Small();
  r.device_count = 8;
  const double days = Only(MakePlan(r)).outcome()->days;
  r.longer = 0;
  const PlanResult exact = MakePlan(r);
  EXPECT_NEAR(days / Only(exact).outcome()->days, 1 + kLongerThanSimulated, 0.002);
  const PlanOutcome& outcome = *Only(exact).outcome();
  const double steps_s = 2e11 / (512 * 2048) * Only(exact).best()->step_s();
  EXPECT_NEAR(outcome.days * 86400 / steps_s, 1, 0.002);
  // 6 P D over what 8 devices could do in that time; P 1,071,648,768 of four layers and both ends.
  EXPECT_NEAR(outcome.utilisation, 6 * 1'071'648'768. * 2e11 / (8 * 989.4e12 * steps_s), 1e-3);
}

// Textbook, 17.9.4, step 3: 40 to 50 % in a node, 35 to 42 % beyond, 30 to 35 % with experts, and 3 to 5
// points less above 1,000 devices.
TEST(Plan, BeginsWithTheTextbooksUtilisation) {
  const models::Model dense = ModelOf("llama_7b"), experts = ModelOf("mixtral_8x7b");
  EXPECT_DOUBLE_EQ(GuessedUtilisation(dense, 8, 8), 0.45);
  EXPECT_DOUBLE_EQ(GuessedUtilisation(dense, 16, 8), 0.385);
  EXPECT_DOUBLE_EQ(GuessedUtilisation(dense, 2000, 8), 0.345);
  EXPECT_DOUBLE_EQ(GuessedUtilisation(experts, 64, 8), 0.325);
}

TEST(Plan, RefusesWhatContradictsItself) {
  PlanRequest r = Small();
  r.devices = {{DeviceOf("v100_32_sxm"), "v100_32_sxm", {}, ""}};
  r.budget_usd = 1e6;
  r.limits.tensor = 3;
  const PlanResult result = MakePlan(r);
  EXPECT_FALSE(result.plan.has_value());
  EXPECT_THAT(
      result.errors,
      ElementsAre(
          HasSubstr("BF16 needs compute capability 8.0"),
          HasSubstr("--with tensor: 3 is in no layout of \"llama_7b\" on v100_32_sxm; 1, 2, 4 and 8 do"),
          HasSubstr("no price of \"v100_32_sxm\" is known")));
}

// Each by itself, with what would do: 32 layers, and no experts.
TEST(Plan, NamesChoicesThatNoLayoutHas) {
  PlanRequest r = Small();
  r.model = ModelOf("llama_7b");
  r.device_count = 8;
  r.limits = {.pipeline = 1000, .virtual_stages = 7, .expert = 8, .expert_tensor = 4};
  EXPECT_THAT(
      MakePlan(r).errors,
      ElementsAre(HasSubstr("--with pipeline: 1,000 is in no layout of \"llama_7b\" on h800_sxm; 1, 2, 4, "
                            "8, 16, 17 and 32 do"),
                  HasSubstr("--with virtual: 7"),
                  HasSubstr("--with expert: 8 is in no layout of "
                            "\"llama_7b\" on h800_sxm; 1 does"),
                  HasSubstr("--with expert-tensor: 4")));
  r.limits = {.pipeline = 1, .virtual_stages = 4};
  EXPECT_THAT(MakePlan(r).errors, ElementsAre(HasSubstr("has all that is wanted")));
  r.limits = {.micro = 513};
  EXPECT_THAT(MakePlan(r).errors,
              ElementsAre(HasSubstr("--with micro: 513 sequences are more than the batch of 512")));
}

// A batch that is given is kept: on 24 devices tensor 2 x pipeline 4 leaves 3 data ranks, which 512 sequences
// do not suit. One that is not may grow.
TEST(Plan, KeepsABatchThatIsGiven) {
  PlanRequest r = Small();
  r.device_count = 24;
  r.limits = {.tensor = 2, .pipeline = 4, .virtual_stages = 1, .micro = 1};
  const PlanResult kept = MakePlan(r);
  EXPECT_EQ(Only(kept).best(), nullptr);
  EXPECT_THAT(Only(kept).gives[0], HasSubstr("the batch of 512 sequences"));
  r.global_batch.reset();
  EXPECT_EQ(Only(MakePlan(r)).best()->candidate.shape.global_batch, 2049);  // 4M tokens are 2,048 sequences
}

// More devices are tried where memory is too little, not where a network does not reach.
TEST(Plan, DoesNotGrowBeyondItsNetwork) {
  PlanRequest r = Small();
  r.days = 0.02;
  r.topology = "single_node";
  const PlanResult result = MakePlan(r);
  EXPECT_FALSE(Only(result).feasible);
  EXPECT_LE(Only(result).rounds.size(), 2u);
  EXPECT_THAT(Only(result).gives[0], HasSubstr("\"single_node\" is a single node"));
}

// Layouts of too many tasks are refused before they are played, and what the reader refuses is told as it is.
TEST(Plan, RefusesToPlayForHours) {
  PlanRequest r = Small();
  r.device_count = 1;
  r.search.play_tasks = 1000;
  const PlanResult result = MakePlan(r);
  EXPECT_EQ(Only(result).best(), nullptr);
  EXPECT_GT(Only(result).search.not_playable, 0);
  EXPECT_THAT(Only(result).gives[0], HasSubstr("a smaller batch or more devices would do"));
  r.global_batch = 50'000'000;
  EXPECT_THAT(
      Only(MakePlan(r)).gives[0],
      testing::StartsWith("No layout for 1 devices was simulated: pipeline.schedule: 50000000 pieces"));
}

// The scenario that comes with a plan is the one that was played.
TEST(Plan, WritesTheScenarioThatItChose) {
  PlanRequest r = Small();
  r.device_count = 16;
  const PlanResult result = MakePlan(r);
  const Candidate& c = Only(result).best()->candidate;
  EXPECT_THAT(Only(result).scenario_text, HasSubstr("devices: " + std::to_string(c.shape.devices)));
  EXPECT_THAT(Only(result).scenario_text, HasSubstr("tensor: " + std::to_string(c.layout.tensor)));
}

}  // namespace
}  // namespace scenarios
