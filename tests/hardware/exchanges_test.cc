// DeepEP's kernels in devices' files: what the catalogue has, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_reader.h"

namespace hardware {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// exchanges[0] and [1] are NORMAL's dispatch and combine, [2] and [3] LOW_LATENCY's.
std::vector<std::string> ErrorsWith(const std::vector<std::pair<std::string, std::string>>& sets) {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : sets) {
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value});
  }
  proto::Diagnostics diagnostics;
  ReadDevice("h100_sxm", overrides, "", &diagnostics, "test");
  return diagnostics.errors();
}

TEST(Exchanges, OfADeviceDerivedFromAnotherAreItsOwnOrTheOthers) {
  proto::Diagnostics diagnostics;
  const auto h100 = ReadDevice("h100_sxm", {}, "", &diagnostics),
             h800 = ReadDevice("h800_sxm", {}, "", &diagnostics),
             h200 = ReadDevice("h200_sxm", {}, "", &diagnostics),
             a100 = ReadDevice("a100_80_sxm", {}, "", &diagnostics);
  ASSERT_TRUE(h100 && h800 && h200 && a100);
  const auto inside = [](const Device& device) {
    return FindExchange(device, Exchange::Kernels::kNormal, true)->inside;
  };
  EXPECT_EQ(inside(*h200), inside(*h100));
  EXPECT_LT(inside(*h800), inside(*h100));
  EXPECT_EQ(FindExchange(*h800, Exchange::Kernels::kV2, false), nullptr);
  EXPECT_NE(FindExchange(*h100, Exchange::Kernels::kV2, false), nullptr);
  EXPECT_TRUE(a100->exchanges.empty());
}

TEST(Exchanges, AreRefusedWithTheirPlace) {
  EXPECT_THAT(ErrorsWith({{"exchanges[0].sm_gb_per_s", "-1"}}),
              ElementsAre(HasSubstr("exchanges[0].sm_gb_per_s: -1 is out of range")));
  EXPECT_THAT(
      ErrorsWith({{"exchanges[2].sm_gb_per_s", "8"}, {"exchanges[3].ramp_us", "8"}}),
      UnorderedElementsAre(HasSubstr("exchanges[2].sm_gb_per_s: LOW_LATENCY has none"),
                           HasSubstr("exchanges[3].ramp_mb: missing; ramp_us and ramp_mb go together"),
                           HasSubstr("exchanges[3].ramp_us: LOW_LATENCY has none")));
  EXPECT_THAT(ErrorsWith({{"exchanges[1].operation", "DISPATCH"}}),
              UnorderedElementsAre(HasSubstr("exchanges[1].operation: DISPATCH is given twice for NORMAL"),
                                   HasSubstr("NORMAL without the other operation"),
                                   HasSubstr("NORMAL without the other operation")));
}

}  // namespace
}  // namespace hardware
