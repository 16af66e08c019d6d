#include "scenarios/explain/bounds.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/scenarios/explain/explaining.h"

namespace scenarios {
namespace {

using sim::Duration;

std::map<std::string, Duration> BoundsById(const Explanation& e) {
  std::map<std::string, Duration> times;
  for (const StepBound& bound : e.bounds) times[bound.id] = bound.time;
  return times;
}

// Bytes alone are rounded to the nearest picosecond, by the network up.
constexpr Duration kRounding = Duration::Nanoseconds(10);

TEST(Bounds, AreNotAboveTheStepNorOutOfOrder) {
  const Sets jobs[] = {
      {},
      {{"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}, {"layout.tensor", "1"}},
      {{"layout.sequence", "true"}, {"training.recompute", "FULL"}},
      {{"training.launches", "EAGER"}, {"layout.pipeline", "1"}},
      {{"hardware", "\"l40s\""}},
  };
  for (const Sets& sets : jobs) {
    SCOPED_TRACE(testing::PrintToString(sets));
    const Explanation e = Explained(FourLayers(sets));
    auto bounds = BoundsById(e);
    for (const auto& [id, time] : bounds) EXPECT_LE(time, e.report.step_time + kRounding) << id;
    EXPECT_LE(bounds["latency"], bounds["transfers"]);
    EXPECT_LE(bounds["transfers"], bounds["unshared"]);
    EXPECT_LE(bounds["compute"], bounds["schedule"]);
    EXPECT_LE(bounds["schedule"], bounds["unshared"]);
    EXPECT_GT(bounds["network"], Duration());
    EXPECT_GT(bounds["latency"], Duration());
  }
}

TEST(Bounds, OfOneDeviceAreItsWork) {
  const Explanation e = Explained(FourLayers(kOneDevice));
  auto bounds = BoundsById(e);
  for (const char* id : {"compute", "schedule", "unshared"}) EXPECT_EQ(bounds[id], e.report.step_time) << id;
  for (const char* id : {"network", "latency", "transfers"}) EXPECT_EQ(bounds[id], Duration()) << id;
}

// Two stages, four equal micro-batches: with communication free 1F1B's bubble is a fifth of the step,
// (p-1)/(m+p-1), and no rank works more than the rest. The ends of the model differ, so about.
TEST(Bounds, OfTheScheduleHaveItsBubble) {
  const Explanation e = Explained(FourLayers({{"batch.global", "8"}, {"model.vocabulary", "512"}}));
  auto bounds = BoundsById(e);
  ASSERT_EQ(e.report.micro_batches, 4);
  EXPECT_NEAR(bounds["compute"].seconds() / bounds["schedule"].seconds(), 0.8, 0.05);
}

}  // namespace
}  // namespace scenarios
