// What a recipe for linear layers needs, and what it does not go with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Sets With(Sets more, const std::string& recipe = "FP8_TENSOR_CURRENT") {
  more.emplace_back("training.matmul.recipe", recipe);
  return more;
}

TEST(Recipes, AreRead) {
  const Loading loading = Load(With({{"training.matmul.first_layers_bf16", "1"},
                                     {"training.matmul.last_layers_bf16", "2"},
                                     {"training.matmul.fp8_param_gather", "true"}}));
  ASSERT_THAT(loading.errors(), IsEmpty());
  const Scenario& s = *loading.scenario;
  EXPECT_EQ(s.training.matmul.recipe, models::Recipe::kTensorCurrent);
  EXPECT_TRUE(s.training.matmul.parameter_gather);
  // LLaMA-7B has 32 layers: 0, 30 and 31 stay in BF16.
  for (std::int64_t layer = 0; layer < 32; ++layer) {
    const bool wide = layer < 1 || layer >= 30;
    EXPECT_EQ(ExecutionOf(s, layer).matmul.recipe == models::Recipe::kNone, wide) << layer;
  }
}

TEST(Recipes, NeedADeviceThatHasTheirFormat) {
  EXPECT_THAT(
      Load(With({{"hardware", "a100_80_sxm"}, {"topology", "rail_optimised_hdr"}})).errors(),
      ElementsAre(AllOf(HasSubstr("training.matmul.recipe: FP8 products: FP8 needs compute capability "
                                  "8.9 or more, and \"a100_80_sxm\" has 8.0"),
                        HasSubstr("\"a100_80_sxm\" has BF16, FP16, TF32, FP32"))));
  EXPECT_THAT(Load(With({}, "MXFP8")).errors(),
              ElementsAre(AllOf(HasSubstr("MXFP8 needs compute capability 10.0"),
                                HasSubstr("\"h100_sxm\" has BF16, FP16, TF32, FP32, FP8, FP8_BLOCK"))));
  EXPECT_THAT(Load(With({}, "FP8_BLOCK")).errors(), IsEmpty());
}

TEST(Recipes, SayWhatTheyDoNotGoWith) {
  EXPECT_THAT(
      Load(With({{"training.format", "FP32"}, {"training.attention", "UNFUSED"}})).errors(),
      ElementsAre(HasSubstr("training.matmul.recipe: with training.format FP32; BF16 or FP16 is wanted")));
  EXPECT_THAT(
      Load(With({{"training.matmul.fp8_param_gather", "true"}, {"training.matmul.cast_each_gather", "true"}}))
          .errors(),
      ElementsAre(HasSubstr("training.matmul.cast_each_gather: true needs fp8_param_gather true and "
                            "optimizer_sharding ZERO_3")));
  EXPECT_THAT(
      Load(With({{"training.recompute", "SELECTIVE"}, {"training.recompute_modules", "LAYERNORM"}})).errors(),
      ElementsAre(HasSubstr("is not simulated with recompute_modules LAYERNORM or NONLINEARITY")));
  EXPECT_THAT(
      Load(With({{"training.optimizer_sharding", "NONE"}, {"training.matmul.fp8_param_gather", "true"}}))
          .errors(),
      ElementsAre(HasSubstr("training.matmul.fp8_param_gather: nothing is gathered with NONE")));
  EXPECT_THAT(Load(With({{"training.matmul.first_layers_bf16", "33"}})).errors(),
              ElementsAre(HasSubstr("training.matmul.first_layers_bf16: 33 is out of range")));
  EXPECT_THAT(Load({{"training.matmul.fp8_param_gather", "true"}}).errors(),
              ElementsAre(HasSubstr("training.matmul.recipe: missing; one of FP8_TENSOR_DELAYED")));
  EXPECT_THAT(Load({{"training.format", "FP8"}}).errors(),
              ElementsAre(HasSubstr("format BF16 and a recipe in matmul are wanted")));
}

}  // namespace
}  // namespace scenarios
