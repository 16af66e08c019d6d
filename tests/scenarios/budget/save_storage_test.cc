#include "scenarios/budget/save_storage.h"

#include <gtest/gtest.h>

#include "scenarios/checkpoint_forms.h"

namespace scenarios {
namespace {

// E19: 14 bytes a parameter; 12 without the narrow weights, 10 without the master copy.
TEST(Saves, HaveWeightsMasterAndMomentsAndNoGradients) {
  const models::TrainingState s = models::AdamWStateOf(1000);
  EXPECT_EQ(SaveBytes(s), sim::Bytes(14'000));
  EXPECT_EQ(SaveBytes(s, {.weights = false}), sim::Bytes(12'000));
  EXPECT_EQ(SaveBytes(s, {.master = false}), sim::Bytes(10'000));
}

// E18: 419 in 54 days of 16,384 devices: one in 3.1 hours, 50,700 device-hours each.
TEST(Failures, ComeAsOftenAsThereAreDevices) {
  EXPECT_NEAR(kDeviceHoursBetweenFailures, 50'700, 30);
  EXPECT_NEAR(HoursBetweenFailures(kDeviceHoursBetweenFailures, 16'384), 54.0 * 24 / 419, 1e-9);
}

// Where saves are cheap and failures rare, 1 - Goodput is the waste of checkpoint_forms.h: c/t + t/2M.
TEST(Goodput, IsWhatTheWasteLeavesToFirstOrder) {
  const double interval = YoungInterval(60, 1e6);
  const double good = Goodput({.interval_s = interval, .stall_s = 60, .failure_s = 1e6});
  EXPECT_NEAR(1 - good, WasteOf(60, interval, 1e6), 1e-4);
  // Young's interval loses least.
  EXPECT_GT(good, Goodput({.interval_s = interval / 2, .stall_s = 60, .failure_s = 1e6}));
  EXPECT_GT(good, Goodput({.interval_s = interval * 2, .stall_s = 60, .failure_s = 1e6}));
}

TEST(Goodput, IsNothingWhereRestartsTakeLongerThanFailuresLeave) {
  EXPECT_EQ(Goodput({.interval_s = 100, .stall_s = 0, .failure_s = 1000, .restart_s = 2000}), 0);
}

}  // namespace
}  // namespace scenarios
