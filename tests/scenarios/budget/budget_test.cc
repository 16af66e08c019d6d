#include "scenarios/budget/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_reader.h"
#include "models/catalogue.h"
#include "models/model_reader.h"
#include "models/parameters.h"

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

// FP32 has 16 bytes a parameter too: weights that are their own master copy, 4 of gradients, 8 of moments.
TEST(Budget, OfFp32HasNoMasterCopy) {
  BudgetRequest request = Of("llama_7b");
  request.devices = 8;
  const Budget bf16 = Make(request);
  request.format = sim::NumberFormat::kFp32;
  const Budget fp32 = Make(request);
  const auto of = [](const Budget& b, const char* line) { return b.line("memory of a device", line).value; };
  EXPECT_EQ(of(fp32, "master weights"), 0);
  EXPECT_EQ(of(fp32, "weights"), 2 * of(bf16, "weights"));
  EXPECT_EQ(of(fp32, "gradients"), of(bf16, "gradients"));
  EXPECT_GT(of(fp32, "activations"), 1.9 * of(bf16, "activations"));
  EXPECT_EQ(fp32.line("checkpoints", "one save").value, 12 * 6'738'415'616.0);
  EXPECT_EQ(fp32.line("serving", "prefill").value, bf16.line("serving", "prefill").value);
  request = Of("llama_7b", "v100_32_sxm");
  request.format = sim::NumberFormat::kBf16;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre(HasSubstr("format: BF16 needs compute capability 8.0")));
}

// Exercise 27.4: 700 tokens in pages of 16 reserve 704; as many requests fit as of 704 tokens without pages.
TEST(Budget, OfPagesHoldsWholeOnesOfARequest) {
  BudgetRequest request = Of("llama3_8b");
  request.context = 700;
  request.page = 16;
  const Budget paged = Make(request);
  EXPECT_EQ(paged.line("serving", "tokens reserved a request").value, 704);
  EXPECT_NEAR(paged.line("serving", "of them empty").value, 100 * 4.0 / 704, 1e-9);
  EXPECT_NEAR(paged.line("serving", "spared by paging").value, 100 * (1 - 704.0 / 8192), 1e-9);
  request.page.reset();
  request.context = 704;
  EXPECT_EQ(paged.line("serving", "requests at once").value,
            Make(request).line("serving", "requests at once").value);
}

// Of 8 experts over 8 groups a device holds one: its state is that of the rest and an eighth of the experts'.
TEST(Budget, OfSpreadExpertsHoldsItsPart) {
  BudgetRequest request = Of("mixtral_8x7b");
  request.devices = 64;
  request.zero_stage = 0;
  const double all = Make(request).line("memory of a device", "weights").value;
  request.expert = 8;
  const Budget spread = Make(request);
  const double experts = spread.line("parameters", "experts").value;
  EXPECT_EQ(spread.line("memory of a device", "weights").value, all - 2 * experts * 7 / 8);
  EXPECT_GT(spread.line("sent by a device in a step", "experts").value, 0);
}

// Four ranks share a sequence: a quarter of its activations, and the same state over as many copies.
TEST(Budget, OfARingKeepsItsPartOfASequence) {
  BudgetRequest request = Of("llama3_8b");
  request.devices = 64;
  const Budget whole = Make(request);
  request.context_ranks = 4;
  const Budget ring = Make(request);
  const auto of = [](const Budget& b, const char* line) { return b.line("memory of a device", line).value; };
  EXPECT_EQ(of(ring, "activations") * 4, of(whole, "activations"));
  EXPECT_EQ(of(ring, "optimizer"), of(whole, "optimizer"));
  EXPECT_GT(of(ring, "keys of other ranks"), 0);
}

TEST(Budget, RefusesRingsAndExpertsThatAreNone) {
  BudgetRequest request = Of("llama3_8b");
  request.devices = 8;
  request.context_ranks = 3;
  request.expert = 2;
  EXPECT_THAT(
      MakeBudget(request).errors,
      ElementsAre(HasSubstr("context_ranks: 3 of two parts each do not share 4,096 tokens; a multiple of 6"),
                  HasSubstr("expert: \"llama3_8b\" has no routed experts")));
  request = Of("mixtral_8x7b");
  request.devices = 12;
  request.expert = 8;
  EXPECT_THAT(
      MakeBudget(request).errors,
      ElementsAre("expert: 8 groups do not divide the data x context ranks, 12; a divisor is wanted"));
  request = Of("gemma2_27b");
  request.sequence_length = 8192;
  request.context_ranks = 2;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre(HasSubstr("context_ranks: windows and relative positions")));
}

TEST(Budget, RefusesStagesThatAreNotTheModels) {
  BudgetRequest request = Of("llama_7b");
  request.pipeline = 2;
  request.stage_layers = {16, 15};
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("stage_layers: 2 stages of 31 layers; pipeline 2 and 32 layers are wanted"));
  request = Of("llama_7b");
  request.tensor = 8;
  request.sequence_length = 1001;
  request.sequence_parallel = true;
  EXPECT_THAT(
      MakeBudget(request).errors,
      ElementsAre("sequence_parallel: tensor 8 does not divide a sequence of 1,001; no is wanted, or a "
                  "multiple"));
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

// 4e9 tokens of DeepSeek-V3's logits are 7.6e18 FLOPs, which 63 bits hold; twice as many are not looked at.
TEST(Budget, HasNoCaseBeyondWhatIsCounted) {
  BudgetRequest request = Of("deepseek_v3");
  request.micro_batch = 1'000'000;
  const Budget budget = Make(request);
  for (const BudgetLine& line : budget.lines) EXPECT_NE(line.section, "case: stress");
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

}  // namespace
}  // namespace scenarios
