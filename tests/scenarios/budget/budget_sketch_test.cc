#include "scenarios/budget/budget_sketch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/parameters.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BudgetRequest On(const char* device) {
  proto::Diagnostics diagnostics;
  return {.device = hardware::ReadDevice(device, {}, "", &diagnostics).value()};
}

// LLaMA-7B lies between the ends of what is known of it by layers and width, in every figure; with all its
// shapes both ends are the model.
TEST(SketchBudget, HasTheModelBetweenItsEnds) {
  proto::Diagnostics diagnostics;
  BudgetRequest request = On("h800_sxm");
  request.model = models::ReadModel("llama_7b", {}, "", &diagnostics).value();
  request.tokens = 2e12;
  request.devices = 256;
  request.utilisation = 0.38;
  const Budget exact = MakeBudget(request).budget.value();
  const auto between = [&](const models::Sketch& sketch, double slack) {
    const Budget b = MakeSketchBudget(sketch, request).budget.value();
    const auto check = [&](const char* mine, const char* section, const char* line) {
      const double value = exact.line(section, line).value;
      EXPECT_LE(b.line("least", mine).value, value * (1 + slack)) << mine;
      EXPECT_GE(b.line("most", mine).value, value * (1 - slack)) << mine;
    };
    check("parameters", "parameters", "total");
    check("active", "parameters", "active");
    check("6PD", "FLOPs of the run", "6PD");
    check("one save", "checkpoints", "one save");
    return b;
  };
  const Budget wide = between({.layers = 32, .hidden = 4096}, 0);
  EXPECT_GT(wide.line("most", "6PD").value, 1.5 * wide.line("least", "6PD").value);
  const Budget known = between({.layers = 32,
                                .hidden = 4096,
                                .ffn = 11008,
                                .kv_heads = 32,
                                .vocabulary = 32000,
                                .gated = true,
                                .tied = false},
                               0);
  for (const char* line : {"parameters", "6PD", "training state", "devices", "time", "cost"}) {
    EXPECT_EQ(known.line("least", line).value, known.line("most", line).value) << line;
  }
  // 17.5.3: 9.7 days by 6PD at 0.38.
  EXPECT_NEAR(known.line("most", "time").value, 9.7, 0.05);
}

// A deadline takes as many devices as are in time, a long one as many as hold the state: 18 bytes of 6.74e9
// parameters are 121.3 GB, two devices of 80.
TEST(SketchBudget, HasDevicesForTheDeadlineAndForTheState) {
  BudgetRequest request = On("h800_sxm");
  request.tokens = 2e12;
  request.days = 10;
  const models::Sketch sketch{.layers = 32, .hidden = 4096};
  const Budget b = MakeSketchBudget(sketch, request).budget.value();
  for (const char* end : {"least", "most"}) {
    EXPECT_LE(b.line(end, "time").value, 10) << end;
    EXPECT_EQ(*b.line(end, "devices").exact % 8, 0) << end;
  }
  request.days = 1e5;
  const models::Sketch known{
      .layers = 32, .hidden = 4096, .ffn = 11008, .kv_heads = 32, .vocabulary = 32000, .tied = false};
  EXPECT_EQ(MakeSketchBudget(known, request).budget->line("least", "devices").value, 2);
  request.days.reset();
  request.devices = 1;
  EXPECT_FALSE(MakeSketchBudget(known, request).budget->fits);
}

TEST(SketchBudget, IsRefusedWithEveryReason) {
  BudgetRequest request = On("h800_sxm");
  request.days = 3;
  request.devices = 8;
  EXPECT_THAT(MakeSketchBudget({.layers = 32, .hidden = 4100, .experts = 8}, request).errors,
              ElementsAre("sketch: hidden 4,100 is no multiple of 128, the width of a head; 4,224 is",
                          HasSubstr("sketch: experts 8 and per-token 0; both are wanted"),
                          HasSubstr("days: 3 is given beside devices")));
  EXPECT_THAT(MakeSketchBudget({.layers = 32}, On("h20")).errors,
              ElementsAre(HasSubstr("layers and hidden are")));
  EXPECT_THAT(MakeSketchBudget({.layers = 32, .hidden = 4096, .kv_heads = 5}, On("h20")).errors,
              ElementsAre("sketch: kv-heads 5 do not divide the 32 heads of 128"));
}

}  // namespace
}  // namespace scenarios
