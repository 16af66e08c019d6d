// Mistakes that once led to floods of messages, or to none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(LoadScenario, ASlipOfSyntaxIsNotFollowedByFieldsThatItHides) {
  const Loading json = Load({}, R"({"name": "small" "model": "llama_7b"})", "small.json");
  EXPECT_EQ(json.errors().size(), 1u) << testing::PrintToString(json.errors());
  std::string many = kScenario;
  for (int i = 0; i < 500; ++i) many += "wombat: 1\n";
  const Loading flooded = Load({}, many);
  EXPECT_EQ(flooded.errors().size(), 101u);
  for (const std::string& error : flooded.errors()) EXPECT_THAT(error, HasSubstr("small.textproto"));
}

TEST(LoadScenario, AnEmptyNameIsNoName) {
  for (const char* field : {"name", "model", "hardware", "topology", "source.title"}) {
    const Loading loading = Load({{field, ""}});
    ASSERT_FALSE(loading.scenario.has_value()) << field;
    EXPECT_THAT(loading.errors(), Contains(HasSubstr(std::string("--set 1: ") + field + ": ")));
  }
  EXPECT_FALSE(Load({{"name", "two words"}}).scenario.has_value());
}

TEST(LoadScenario, AnUnknownModelOrDeviceIsAtItsPlace) {
  EXPECT_THAT(Load({{"model", "llama_7x"}}).errors(),
              Contains(HasSubstr("--set 1: model: no model is called")));
  const std::string text =
      std::string(kScenario).replace(std::string(kScenario).find("h100_sxm"), 8, "h1oo_sxm");
  EXPECT_THAT(Load({}, text).errors(), Contains(HasSubstr("small.textproto:4:1: hardware: unknown device")));
}

TEST(LoadScenario, FusedAttentionNeedsA16BitFormat) {
  EXPECT_THAT(Load({{"training.format", "FP32"}}).errors(),
              Contains(HasSubstr("FLASH2 has no FP32 kernels; UNFUSED, or format BF16 or FP16")));
  EXPECT_TRUE(Load({{"training.format", "FP32"}, {"training.attention", "UNFUSED"}}).scenario.has_value());
}

TEST(LoadScenario, APeakBelowWhatItsKernelsReachIsRefused) {
  EXPECT_THAT(Load({{"hardware.peaks[0].tflops", "300"}}).errors(),
              Contains(HasSubstr("300 is below the 872.298 that its gemm model reaches")));
}

TEST(LoadScenario, NumbersBeyondCountingAreRefused) {
  EXPECT_THAT(Load({{"batch.sequence_length", "16777216"},
                    {"batch.micro", "1000000"},
                    {"batch.global", "1000000000"},
                    {"model.hidden", "1"},
                    {"model.ffn", "4"}})
                  .errors(),
              testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace scenarios
