#include "scenarios/budget/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_cost_model.h"
#include "hardware/device_reader.h"
#include "models/catalogue.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "scenarios/budget/scenario_request.h"
#include "scenarios/loader.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BudgetRequest Of(const std::string& model, const char* device = "h800_sxm") {
  proto::Diagnostics diagnostics;
  return {.model = models::ReadModel(model, {}, "", &diagnostics).value(),
          .device = hardware::ReadDevice(device, {}, "", &diagnostics).value()};
}

Budget Make(const BudgetRequest& request) {
  const BudgetResult result = MakeBudget(request);
  EXPECT_EQ(result.errors, std::vector<std::string>());
  return result.budget.value();
}

// `overrides` as in `--set`: "layout.tensor=4".
Scenario Load(const char* name, const std::vector<std::string>& overrides = {}) {
  proto::Diagnostics diagnostics;
  std::vector<proto::Override> set;
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    set.push_back({.path = one.substr(0, equals), .value = one.substr(equals + 1)});
  }
  const std::optional<Scenario> scenario = LoadScenario(name, set, &diagnostics);
  EXPECT_THAT(diagnostics.errors(), ElementsAre()) << name;
  return scenario.value();
}

TEST(Budget, OfEveryModelHasItsExactParameters) {
  for (const proto::CatalogueFile& entry : models::Catalogue()) {
    SCOPED_TRACE(entry.name);
    const BudgetRequest request = Of(std::string(entry.name));
    const models::ModelParameters p = models::ParametersOf(request.model);
    const Budget budget = Make(request);
    EXPECT_EQ(budget.line("parameters", "total").exact, p.total());
    EXPECT_EQ(budget.line("parameters", "active").exact, p.active());
    std::int64_t parts = 0;
    for (const char* part :
         {"attention", "feed-forward", "experts", "routers", "norms", "vocabulary", "positions"}) {
      parts += budget.line("parameters", part).exact.value();
    }
    EXPECT_EQ(parts, p.total());
    EXPECT_GT(budget.line("time and cost", "time").value, 0);
  }
}

// (27.16), all parts at once.
TEST(Budget, PartsOfADeviceAddUp) {
  BudgetRequest request = Of("llama3_70b");
  request.tensor = 8;
  request.pipeline = 4;
  request.devices = 64;
  const Budget budget = Make(request);
  std::int64_t sum = 0;
  for (const BudgetLine& line : budget.lines) {
    const bool whole = line.name == "total" || line.name == "usable" || line.name == "largest micro-batch";
    if (line.section == "memory of a device" && !whole) sum += line.exact.value();
  }
  EXPECT_EQ(sum, budget.line("memory of a device", "total").exact);
}

// What the simulator holds of the same job: its state part by part, and all of it within the
// vocabulary's padding and the units that FSDP keeps whole.
TEST(Budget, OfAScenarioHoldsWhatTheSimulatorDoes) {
  struct Case {
    const char* name;
    std::vector<std::string> overrides;
  };
  const Case cases[] = {{"llama_7b_256xh800", {}},
                        {"llama_70b_64xh800_a", {}},
                        {"llama_70b_64xh800_a", {"training.optimizer_sharding=ZERO_2"}},
                        {"llama_70b_64xh800_a", {"training.optimizer_sharding=ZERO_3"}},
                        {"megatron_22b_8xa100_full", {}},
                        {"sc21_gpt_1_7b_32xa100", {}},
                        {"mpt_7b_8xa100", {}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name + testing::PrintToString(c.overrides));
    const Scenario scenario = Load(c.name, c.overrides);
    const sim::Result<BudgetRequest> request = RequestOf(scenario);
    ASSERT_TRUE(request.ok()) << request.error().message;
    const Budget budget = Make(request.value());
    const auto stages = PlanStages(scenario, hardware::DeviceCostModel(scenario.device));
    const StageMemory memory = LargestStageMemory(scenario, stages);
    const auto part = [&](const char* wanted) {
      for (const BytePart& p : memory.parts) {
        if (p.name == wanted) return static_cast<double>(p.bytes.count());
      }
      return 0.0;
    };
    const auto mine = [&](const char* line) { return budget.line("memory of a device", line).value; };
    EXPECT_NEAR(mine("weights") / part("weights"), 1, 0.01);
    EXPECT_NEAR(mine("gradients") / part("gradients"), 1, 0.01);
    EXPECT_NEAR(mine("master weights") / part("master_weights"), 1, 0.01);
    EXPECT_NEAR(mine("optimizer") / part("moments"), 1, 0.01);
    EXPECT_NEAR(mine("total") / static_cast<double>(memory.total.count()), 1, 0.15);
    if (part("gathered") > 0 && scenario.layout.pipeline > 1) {
      EXPECT_NEAR(mine("gathered") / part("gathered"), 1, 0.01);
    }
  }
}

// 17.5.3 and 17.5.9: LLaMA-7B, 2e12 tokens, 256 H800 at 0.38 of 989.5: 9.7 days by 6PD, and by what it
// computes as many times longer as there are FLOPs more; 2 USD an hour of each.
TEST(Budget, OfTheTextbooksRunTakesItsDays) {
  BudgetRequest request = Of("llama_7b");
  request.tokens = 2e12;
  request.devices = 256;
  request.utilisation = 0.38;
  const Budget budget = Make(request);
  const double six_pd = budget.line("FLOPs of the run", "6PD").value;
  EXPECT_NEAR(six_pd, 8.086e22, 1e19);
  const double more = budget.line("FLOPs of the run", "model FLOPs").value / six_pd;
  const double days = budget.line("time and cost", "time").value;
  EXPECT_NEAR(days / more, 9.7, 0.05);
  EXPECT_NEAR(budget.line("time and cost", "cost").value, 256 * 24 * days * 2, 1);
}

// A deadline gives devices that keep it, in whole groups and nodes; half the time takes twice as many.
TEST(Budget, OfADeadlineHasTheDevicesThatKeepIt) {
  BudgetRequest request = Of("llama3_70b");
  request.tokens = 2e12;
  request.tensor = 8;
  request.pipeline = 4;
  request.days = 30;
  const Budget month = Make(request);
  EXPECT_LE(month.line("time and cost", "time").value, 30);
  EXPECT_EQ(*month.line("time and cost", "devices").exact % 32, 0);
  EXPECT_LE(month.line("where conclusions change", "utilisation that the deadline needs").value, 0.4);
  request.days = 15;
  EXPECT_NEAR(
      Make(request).line("time and cost", "devices").value / month.line("time and cost", "devices").value, 2,
      0.1);
}

// E11: DeepSeek-V2 over 64 devices by ZeRO-1 alone does not fit; by ZeRO-3 its state does.
TEST(Budget, SaysWhatDoesNotFit) {
  BudgetRequest request = Of("deepseek_v2");
  request.devices = 64;
  request.zero_stage = 1;
  EXPECT_FALSE(Make(request).fits);
  request = Of("llama3_8b", "h200_sxm");
  request.devices = 8;
  EXPECT_TRUE(Make(request).fits);
}

// Algorithm 27.1 and 27.8: each case has one thing different. Three quarters of the utilisation take a third
// longer; longer sequences have more attention and leave the state as it is.
TEST(Budget, HasCasesWithOneThingDifferentEach) {
  BudgetRequest request = Of("llama3_8b");
  request.days = 30;
  const Budget budget = Make(request);
  const auto of = [&](const char* name, const char* line) {
    return budget.line(std::string("case: ") + name, line).value;
  };
  EXPECT_EQ(of("base", "time"), budget.line("time and cost", "time").value);
  EXPECT_NEAR(of("conservative", "time") / of("base", "time"), 4.0 / 3, 1e-12);
  EXPECT_EQ(of("conservative", "memory of a device"), of("base", "memory of a device"));
  // 12 L d S FLOPs a token of attention more.
  EXPECT_NEAR(of("stress", "time") / of("base", "time"),
              1 + 12.0 * 32 * 4096 * 4096 / budget.line("FLOPs of a token", "forward and backward").value,
              1e-12);
  EXPECT_GT(of("stress", "memory of a device"), of("base", "memory of a device"));
  // At the utilisation that the deadline needs the run takes the deadline.
  request.devices = static_cast<std::int64_t>(budget.line("time and cost", "devices").value);
  request.days.reset();
  request.utilisation = budget.line("where conclusions change", "utilisation that the deadline needs").value;
  EXPECT_NEAR(Make(request).line("time and cost", "time").value, 30, 1e-9);
}

// 27.8: spares add devices, maintenance time, safety takes memory, and none of them anything else.
TEST(Budget, KeepsMarginsApartByPurpose) {
  BudgetRequest request = Of("llama3_8b");
  request.devices = 64;
  request.spares = 0;
  const Budget none = Make(request);
  request.spares = 0.1;
  request.maintenance = 0.05;
  request.safety = 0.2;
  const Budget all = Make(request);
  const auto pair = [&](const char* section, const char* line) {
    return std::pair(none.line(section, line).value, all.line(section, line).value);
  };
  EXPECT_EQ(pair("time and cost", "devices with spares"), std::pair(64.0, 72.0));  // 70.4
  const auto [plain, longer] = pair("time and cost", "time with maintenance");
  EXPECT_DOUBLE_EQ(longer, plain / 0.95);
  const auto [memory, less] = pair("memory of a device", "usable");
  EXPECT_NEAR(less / memory, 0.8, 1e-9);
  for (const char* same : {"devices", "time", "cost"}) {
    EXPECT_EQ(none.line("time and cost", same).value, all.line("time and cost", same).value) << same;
  }
  EXPECT_EQ(none.line("memory of a device", "total").value, all.line("memory of a device", "total").value);
}

// Every choice is listed, with who made it.
TEST(Budget, NamesEveryAssumption) {
  BudgetRequest request = Of("llama_7b");
  request.utilisation = 0.38;
  int given = 0;
  for (const Assumption& a : Make(request).assumptions) {
    EXPECT_NE(a.value, "") << a.name;
    EXPECT_NE(a.source, "") << a.name;
    given += a.source == "given" ? 1 : 0;
  }
  EXPECT_EQ(given, 1);
}

TEST(Budget, RefusesWhatContradictsItself) {
  BudgetRequest request = Of("llama_7b");
  request.tensor = 12;
  request.pipeline = 40;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre(HasSubstr("tensor: 12 does not divide the 32 query heads"),
                          "pipeline: 40 stages are more than the 32 layers; as many or fewer are wanted"));
  request = Of("llama_7b");
  request.devices = 12;
  request.tensor = 8;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("devices: 12 is no multiple of tensor 8 x pipeline 1 = 8; 16 is"));
  request = Of("llama_7b");
  request.devices = 8;
  request.days = 3;
  EXPECT_THAT(MakeBudget(request).errors, ElementsAre(HasSubstr("days: 3 is given beside devices")));
  request = Of("llama_7b");
  request.devices = 6;
  request.global_batch = 100;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("batch: 100 sequences are no multiple of data 6 x micro-batch 1 = 6; 102 is"));
  request = Of("llama_7b");
  request.micro_batch = 1'000'000;
  request.sequence_length = 16'777'216;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre(HasSubstr("sequence: 16,777,216 x micro-batch 1,000,000")));
  request = Of("llama_7b");
  request.model.hidden = request.model.heads = request.model.kv_heads = 8;
  request.model.head_dim = 10'000'000;
  request.model.layers = 10'000;
  request.context = 16'777'216;
  request.tokens = 1;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre(HasSubstr("context: 16,777,216 tokens of a request keep")));
  request = Of("gpt2");
  request.sequence_length = 2048;
  EXPECT_THAT(MakeBudget(request).errors, ElementsAre(HasSubstr("sequence: 2,048 is longer than the 1,024")));
}

// Divisors of 32 heads; of 12 with 4 keys, those that divide 4 or are a multiple of it.
TEST(Budget, NamesTheTensorGroupsThatWouldDo) {
  BudgetRequest request = Of("llama_7b");
  request.tensor = 6;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("tensor: 6 does not divide the 32 query heads, 32 key heads and feed-forward of "
                          "\"llama_7b\"; 1, 2, 4, 8, 16 and 32 do"));
  request.model.heads = 12;
  request.model.kv_heads = 4;
  request.model.ffn = 3072;
  EXPECT_THAT(MakeBudget(request).errors, ElementsAre(HasSubstr("; 1, 2, 4 and 12 do")));
  request.model.ffn = 3073;
  EXPECT_THAT(MakeBudget(request).errors, ElementsAre(HasSubstr("; 1 does")));
  request = Of("mixtral_8x7b");
  request.tensor = 32;
  request.model.experts.ffn = 24;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("tensor: 32 does not divide the experts' width 24; 1, 2, 4 and 8 do"));
}

TEST(RequestOf, RefusesWhatABudgetDoesNotCount) {
  EXPECT_EQ(RequestOf(Load("llama3_8b_8xh100")).error().message,
            "llama3_8b_8xh100: layout.context: 2 is not budgeted; `orrery check` and `orrery run` count it");
  EXPECT_FALSE(RequestOf(Load("mixtral_8x7b_64xh100")).ok());
}

// Each of what a scenario may have besides, in one line.
TEST(RequestOf, RefusesWhatAScenarioHasBeyondABudget) {
  struct Case {
    const char* scenario;
    std::vector<std::string> overrides;
    const char* what;
  };
  const Case cases[] = {
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=EVERY", "training.recompute_layers=2"},
       "training.recompute_method: EVERY"},
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=BLOCK", "training.recompute_layers=1"},
       "training.recompute_method: BLOCK"},
      {"llama_70b_64xh800_a",
       {"training.recompute=FULL", "training.recompute_method=UNIFORM", "training.recompute_layers=2"},
       "training.recompute_layers: 2 together"},
      {"llama_70b_64xh800_a", {"training.recompute=OPERATIONS"}, "training.recompute: OPERATIONS"},
      {"llama_70b_64xh800_a",
       {"training.recompute=SELECTIVE", "training.recompute_modules=[CORE_ATTENTION, MLP]"},
       "training.recompute_modules other than CORE_ATTENTION"},
      {"llama_70b_64xh800_a",
       {"training.recompute=SELECTIVE", "training.recompute_modules=[LAYERNORM]"},
       "training.recompute_modules other than CORE_ATTENTION"},
      {"llama_7b_256xh800", {"training.offload.optimizer=0.5"}, "training.offload"},
      {"llama_7b_256xh800",
       {"training.optimizer_sharding=ZERO_3", "training.offload.optimizer=1",
        "training.offload.parameters=true"},
       "training.offload"},
      {"llama_70b_64xh800_a",
       {"pipeline.schedule=SEQ1F1B", "pipeline.sequence_parts=4", "training.recompute=NONE"},
       "pipeline.sequence_parts: 4"},
      {"llama_70b_64xh800_a", {"pipeline.schedule=GPIPE"}, "pipeline.schedule: gpipe"},
      {"llama_7b_256xh800", {"training.sharding.no_sync=true"}, "training.sharding.no_sync: true"},
      {"llama_7b_256xh800",
       {"training.sharding.reshard_after_forward=false"},
       "training.sharding.reshard_after_forward: false"},
      {"llama_70b_64xh800_a", {"model.prediction_modules=1", "training.mtp=true"}, "training.mtp"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const sim::Result<BudgetRequest> request = RequestOf(Load(c.scenario, c.overrides));
    ASSERT_FALSE(request.ok());
    EXPECT_EQ(request.error().message, std::string(c.scenario) + ": " + c.what +
                                           " is not budgeted; `orrery check` and `orrery run` count it");
  }
}

}  // namespace
}  // namespace scenarios
