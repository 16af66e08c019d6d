#include "scenarios/scale/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

std::vector<std::string> Lines(const std::vector<InputChange>& changes) {
  std::vector<std::string> lines;
  for (const InputChange& change : changes) {
    lines.push_back(change.key + ": " + change.before + " -> " + change.after);
  }
  return lines;
}

TEST(ChangesBetween, NamesThePartOfAFigureThatChanged) {
  const std::vector<InputValue> before = {
      {"hardware.gemm[0]", "formats: BF16 formats: FP16 tiles { fixed_us: 2.4 norm: 1 } fitted { m: 1 }"},
      {"hardware.node", "name: \"a  b\" devices: 8"},
      {"hardware.node.nic", "bandwidth_gb_per_s_each_way: 50 efficiency: 0.96 latency_ns: 600"},
      {"model.layers", "32"}};
  const std::vector<InputValue> after = {
      {"hardware.gemm[0]", "formats: BF16 formats: FP8 tiles { fixed_us: 3 } fitted { m: 1 }"},
      {"hardware.node", "name: \"a c\" devices: 8"},
      {"hardware.node.nic", "bandwidth_gb_per_s_each_way: 50 efficiency: 0.96 latency_ns: 6000"},
      {"model.layers", "40"},
      {"training.recompute", "FULL"}};
  EXPECT_THAT(Lines(ChangesBetween(before, after)),
              testing::ElementsAre(
                  "hardware.gemm[0].formats[1]: FP16 -> FP8", "hardware.gemm[0].tiles.fixed_us: 2.4 -> 3",
                  "hardware.gemm[0].tiles.norm: 1 -> ", "hardware.node.name: \"a  b\" -> \"a c\"",
                  "hardware.node.nic.latency_ns: 600 -> 6000", "model.layers: 32 -> 40",
                  "training.recompute:  -> FULL"));
  EXPECT_TRUE(ChangesBetween(before, before).empty());
}

// Values that are no lists of fields are compared as they are, however they are broken.
TEST(ChangesBetween, TakesOtherTextsWhole) {
  for (const char* odd : {"}", "a:", "a { b: 1", "plain words", "\"", "a: \"open"}) {
    const auto changes = ChangesBetween({{"key", odd}}, {{"key", "a: 1"}});
    ASSERT_FALSE(changes.empty()) << odd;
    EXPECT_EQ(changes.front().key.substr(0, 3), "key");
  }
}

}  // namespace
}  // namespace scenarios
