// Budgets of fine-tuning adapters beside frozen weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "scenarios/budget/bill.h"
#include "scenarios/budget/budget.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// LLaMA-7B on one device, or as many.
BudgetRequest Lora(std::int64_t rank, std::int64_t devices = 1) {
  proto::Diagnostics diagnostics;
  BudgetRequest r{.model = models::ReadModel("llama_7b", {}, "", &diagnostics).value(),
                  .device = hardware::ReadDevice("h800_sxm", {}, "", &diagnostics).value()};
  r.devices = devices;
  r.lora_rank = rank;
  return r;
}

Budget Make(const BudgetRequest& request) {
  const BudgetResult result = MakeBudget(request);
  EXPECT_THAT(result.errors, ElementsAre());
  return result.budget.value();
}

// Rank 16 on every matrix of LLaMA-7B: 32 x 16 x (4 (4,096 + 4,096) + 3 (4,096 + 11,008)) = 39,976,960.
constexpr double kAdapters = 39'976'960, kParameters = 6'738'415'616,
                 kMatrices = 32.0 * (4 * 4096 * 4096 + 3 * 4096 * 11008);

// 27.5: frozen weights have two bytes and nothing else; adapters two of weights, four of gradients, four of a
// master copy, eight of moments. A save has adapters alone, fourteen bytes each.
TEST(AdapterBudget, HoldsStateOfAdaptersAlone) {
  const Budget b = Make(Lora(16));
  EXPECT_EQ(b.line("parameters", "adapters").value, kAdapters);
  const auto of = [&](const char* line) { return b.line("memory of a device", line).value; };
  EXPECT_EQ(of("weights"), 2 * kParameters + 2 * kAdapters);
  EXPECT_EQ(of("gradients"), 4 * kAdapters);
  EXPECT_EQ(of("master weights"), 4 * kAdapters);
  EXPECT_EQ(of("optimizer"), 8 * kAdapters);
  EXPECT_EQ(of("gathered"), 0);
  EXPECT_EQ(b.line("checkpoints", "one save").value, 14 * kAdapters);
  std::vector<std::string> errors;
  EXPECT_EQ(static_cast<double>(BillRequestOf(Lora(16), {}, &errors)->save.count()), 14 * kAdapters);
}

// NF4 with double quantisation: 4 bits, 8 of 64 weights, 32 of 256 x 64 (Dettmers et al. 2023, section 3);
// tables and norms stay in 16. A layer is widened while it runs.
TEST(AdapterBudget, OfFourBitsHoldsTheirScalesToo) {
  BudgetRequest request = Lora(16);
  request.base_bits = 4;
  const Budget b = Make(request);
  EXPECT_NEAR(
      b.line("memory of a device", "weights").value,
      kMatrices * (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8 + 2 * (kParameters - kMatrices) + 2 * kAdapters, 1);
  EXPECT_NEAR(b.line("memory of a device", "gathered").value, 2 * kMatrices / 32, 1e5);
}

// Gradients of inputs pass every matrix and gradients of weights are of adapters: two thirds of the products,
// and attention whole.
TEST(AdapterBudget, ComputesNoGradientsOfFrozenWeights) {
  const Budget b = Make(Lora(16));
  const auto of = [&](const char* line) { return b.line("FLOPs of a token", line).value; };
  EXPECT_NEAR(
      of("forward and backward"),
      2 * (of("forward, linear") + of("forward, logits")) + 3 * of("forward, attention") + 6 * kAdapters, 1);
}

// Seven eighths of the adapters' gradients move, four bytes each, and of weights under ZeRO-1 the adapters'
// two; under ZeRO-3 the frozen ones are gathered for each pass as well.
TEST(AdapterBudget, SendsAdaptersGradientsAlone) {
  BudgetRequest request = Lora(16, 8);
  const auto sent = [&](const char* line) {
    return Make(request).line("sent by a device in a step", line).value;
  };
  EXPECT_DOUBLE_EQ(sent("gradients reduced"), 7.0 / 8 * 4 * kAdapters);
  EXPECT_DOUBLE_EQ(sent("weights gathered"), 7.0 / 8 * 2 * kAdapters);
  request.zero_stage = 3;
  const double passes = 2 * static_cast<double>(8192 / 4 / 8);  // 2,048 sequences of 2,048 tokens on eight
  EXPECT_NEAR(sent("weights gathered") / (passes * 7 / 8 * 2 * (kParameters + kAdapters)), 1, 1e-9);
}

TEST(AdapterBudget, RefusesWhatItDoesNotCount) {
  BudgetRequest request = Lora(16);
  request.optimizer = models::OptimizerKind::kMuon;
  request.format = sim::NumberFormat::kFp32;
  EXPECT_THAT(MakeBudget(request).errors,
              ElementsAre("optimizer: muon of adapters is not budgeted; adamw is wanted",
                          "format: FP32 beside frozen weights is not budgeted; bf16 or fp16 is wanted"));
  request = Lora(16);
  request.lora_rank.reset();
  request.base_bits = 4;
  EXPECT_THAT(MakeBudget(request).errors, ElementsAre(HasSubstr("lora_rank: is not given")));
}

}  // namespace
}  // namespace scenarios
