// Figures of matrix products, from points that a known model made.

#include "scenarios/calibration/gemm_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hardware/device_cost_model.h"
#include "scenarios/calibration/doubts.h"
#include "scenarios/calibration/gemm_text.h"

namespace scenarios {
namespace {

using hardware::GemmModel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Half of an H100 or so.
hardware::Device SomeDevice() {
  hardware::Device device{.name = "some", .sms = 66, .l2 = sim::Bytes(25 << 20)};
  device.memory_rate = sim::ByteRate::GigabytesPerSecond(1500);
  for (double& peak : device.peak_flops_per_s) peak = 500e12;
  device.gemm[static_cast<std::size_t>(sim::NumberFormat::kBf16)] = {.kind = hardware::GemmModelKind::kTiles,
                                                                     .peak_flops_per_s = 500e12,
                                                                     .efficiency = 0.8,
                                                                     .relative_128x128 = 1,
                                                                     .relative_128x64 = 0.9,
                                                                     .prologue_k = 200,
                                                                     .wave_overlap = 0.3,
                                                                     .long_kernel_loss = 0.1,
                                                                     .most_parts = 16,
                                                                     .split_fixed_s = 2e-6,
                                                                     .fixed_s = 3e-6,
                                                                     .l2_sm_bytes_per_s = 150e9,
                                                                     .sm_memory_ratio = 1.5,
                                                                     .memory_efficiency = 0.85,
                                                                     .l2_ratio = 2,
                                                                     .l2_first_part = 0.5,
                                                                     .l2_second_part = 0.1,
                                                                     .norm = 3};
  return device;
}

// Times as that device would have them; in FP8 with a cast of 5 us and 4 bytes a number in front.
std::vector<MeasuredGemm> Rows(const hardware::Device& device, sim::NumberFormat format) {
  GemmModel model = device.gemm[static_cast<std::size_t>(sim::NumberFormat::kBf16)];
  if (format == sim::NumberFormat::kFp8) {
    model.cast_fixed_s = 5e-6;
    model.cast_bytes = 4;
  }
  std::vector<MeasuredGemm> rows;
  for (std::int64_t n = 512; n <= 8192; n *= 2) {
    for (std::int64_t k = 256; k <= 16384; k *= 4) {
      for (std::int64_t m = 1; m <= 16384; m *= 8) {
        MeasuredGemm row{.device = "some", .format = format, .shape = {.m = m, .n = n, .k = k}};
        row.seconds =
            MeasuredSeconds(model, hardware::WorkOfProduct(row.shape, format), hardware::WholeDevice(device));
        rows.push_back(row);
      }
    }
  }
  return rows;
}

double MeanError(const FormatFit& fit, double CalibratedGemm::*time) {
  return GemmErrors(fit.rows, kGemmRegions[0], time).mape;
}

// Nothing but the model's own times: a fit that begins elsewhere tells them again, seen or not.
TEST(GemmFit, TellsTheTimesOfAKnownModelAgain) {
  const hardware::Device device = SomeDevice();
  auto fitted = CalibrateGemms(device, Rows(device, sim::NumberFormat::kBf16));
  ASSERT_TRUE(fitted.ok());
  GemmCalibration calibration = std::move(fitted).value();
  HoldOutGroups(device, &calibration);
  ASSERT_EQ(calibration.formats.size(), 1u);
  const FormatFit& fit = calibration.formats.front();
  EXPECT_EQ(fit.groups, 20u);
  EXPECT_EQ(MeanError(fit, &CalibratedGemm::shipped_s), 0);
  EXPECT_LT(MeanError(fit, &CalibratedGemm::fitted_s), 0.02);
  EXPECT_LT(MeanError(fit, &CalibratedGemm::held_out_s), 0.03);
}

// 4 bytes for each of 16,384 x 16,384 numbers at 1,500 GB/s are 0.72 ms of 5.
TEST(GemmFit, TellsTheCastApartThatAMeasuredOperationIncludes) {
  const hardware::Device device = SomeDevice();
  std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kFp8);
  const auto fitted = CalibrateGemms(device, rows);
  ASSERT_TRUE(fitted.ok());
  const GemmModel& model = fitted.value().formats.front().fitted;
  EXPECT_LT(MeanError(fitted.value().formats.front(), &CalibratedGemm::fitted_s), 0.03);
  EXPECT_NEAR(model.cast_bytes, 4, 1.5);
  // The start of the product is held to BF16's, so the rest of the sum is the cast's.
  EXPECT_DOUBLE_EQ(model.fixed_s, 3e-6);
  EXPECT_NEAR(model.cast_fixed_s, 5e-6, 1.5e-6);
}

TEST(GemmFit, LeavesOutWhatIsOfOthersOrTooFew) {
  const hardware::Device device = SomeDevice();
  std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kBf16);
  rows.push_back({.device = "other", .shape = {.m = 1, .n = 1, .k = 1}, .seconds = 1});
  rows.push_back(
      {.format = sim::NumberFormat::kFp16, .shape = {.m = 1, .n = 1, .k = 1}, .seconds = 1});  // of no name
  EXPECT_THAT(ShippedGemms(device, rows).left_out,
              ElementsAre("1 row in FP16 of which the device has no figures, too few to fit",
                          "1 row of device \"other\""));
  rows.erase(rows.begin(), rows.end() - 2);
  EXPECT_EQ(CalibrateGemms(device, rows).error().message,
            "no rows to compare with \"some\": 1 row in FP16 of which the device has no figures, too few to "
            "fit; 1 row of device \"other\"");
}

// Of 59 rows, and of 60 of nine pairs, the device's own figures are all that there is to compare with.
TEST(GemmFit, ComparesRowsThatAreTooFewToFit) {
  const hardware::Device device = SomeDevice();
  std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kBf16);
  rows.resize(59);
  const GemmCalibration calibration = CalibrateGemms(device, rows).value();
  ASSERT_EQ(calibration.formats.size(), 1u);
  EXPECT_FALSE(calibration.formats[0].enough());
  EXPECT_EQ(MeanError(calibration.formats[0], &CalibratedGemm::shipped_s), 0);
  EXPECT_EQ(calibration.formats[0].rows[0].fitted_s, 0);
  EXPECT_THAT(calibration.notes,
              ElementsAre("in BF16, 59 rows of 12 pairs of n and k are too few to fit; 60 of 10 would do"));
  const std::string text = GemmCalibrationText(device, calibration);
  EXPECT_THAT(text, HasSubstr("BF16          all                59     0.0  +0.0   0.0                   -"));
  EXPECT_THAT(text, testing::Not(HasSubstr("prologue_k")));
}

// The second of each pair takes 1.05 and 1.2 times as long.
TEST(GemmFit, CountsShapesThatAreMeasuredMoreThanOnce) {
  const hardware::Device device = SomeDevice();
  std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kBf16);
  rows.resize(10);
  rows.push_back(rows[0]);
  rows.back().seconds *= 1.05;
  rows.push_back(rows[1]);
  rows.back().seconds *= 1.2;
  EXPECT_THAT(
      CalibrateGemms(device, rows).value().notes,
      testing::Contains("in BF16, 2 shapes measured more than once, 1 of them with times more than 10 % "
                        "apart; every row counts"));
}

// A thousandth of the time of 16,384 x 8,192 x 16,384 at 80 % of 500 TFLOP/s is 800 times the peak.
TEST(GemmFit, RefusesRowsFasterThanTheDeviceCanBe) {
  const hardware::Device device = SomeDevice();
  std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kBf16);
  const auto errors = [&] {
    proto::Diagnostics diagnostics;
    RefuseTooFast(device, rows, &diagnostics);
    return diagnostics.errors();
  };
  EXPECT_THAT(errors(), IsEmpty());
  rows.back().file = "rows.csv";
  rows.back().line = 7;
  rows.back().seconds /= 1000;
  EXPECT_THAT(errors(), ElementsAre(testing::AllOf(
                            testing::StartsWith("rows.csv:7: us: "),
                            HasSubstr(" times as fast as the device's peak of 500 TFLOP/s in BF16: is it in "
                                      "microseconds?"))));
  for (MeasuredGemm& row : rows) row.seconds = 1e-9;
  EXPECT_THAT(errors(), ElementsAre(testing::EndsWith(" more lines)")));
  for (MeasuredGemm& row : rows) row.device = "other";
  EXPECT_THAT(errors(), IsEmpty());
}

// By figures that tell every row: what is measured is so many times as long, so they are off by 1 - 1 /
// factor.
TEST(GemmFit, DoubtsWhatTellsNoRow) {
  const hardware::Device device = SomeDevice();
  const auto calibration = [&](double factor) {
    std::vector<MeasuredGemm> rows = Rows(device, sim::NumberFormat::kBf16);
    for (MeasuredGemm& row : rows) row.seconds *= factor;
    return ShippedGemms(device, rows);
  };
  EXPECT_THAT(DoubtsOf(calibration(1)), IsEmpty());
  EXPECT_THAT(DoubtsOf(calibration(1.5)), IsEmpty());
  EXPECT_THAT(DoubtsOf(calibration(3)), ElementsAre("in BF16, fits are 66.7 % off on the mean"));
  EXPECT_THAT(
      DoubtsOf(calibration(1000)),
      ElementsAre("in BF16, half of the rows take 1000 times what the device's figures give, or more; "
                  "are they in microseconds?",
                  "in BF16, fits are 99.9 % off on the mean"));
  // Five figures where a search for them ends are some, eight of fifteen most.
  GemmCalibration ends = calibration(1);
  const auto figures = GemmFigures();
  const auto put = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ends.formats[0].fitted.*figures[i].member = figures[i].low * figures[i].unit;
    }
  };
  put(5);
  EXPECT_THAT(DoubtsOf(ends), IsEmpty());
  put(8);
  EXPECT_THAT(
      DoubtsOf(ends),
      ElementsAre("in BF16, 8 of 15 figures are at the ends of their ranges: efficiency, relative_128x128, "
                  "relative_128x64, prologue_k, wave_overlap, long_kernel_loss, split_fixed_us, fixed_us"));
}

TEST(GemmFit, FormatsThatHadTheFiguresOfAFittedOneFollowIt) {
  hardware::Device device = SomeDevice();
  const auto bf16 = static_cast<std::size_t>(sim::NumberFormat::kBf16);
  device.gemm[static_cast<std::size_t>(sim::NumberFormat::kFp16)] = device.gemm[bf16];
  device.gemm[static_cast<std::size_t>(sim::NumberFormat::kFp8)] = device.gemm[bf16];
  device.gemm[static_cast<std::size_t>(sim::NumberFormat::kFp8)].efficiency = 0.7;
  const std::string text =
      FittedGemmText({.name = "mine", .derived_from = "some", .files = {"rows.csv"}}, device,
                     ShippedGemms(device, Rows(device, sim::NumberFormat::kBf16)));
  EXPECT_THAT(text, HasSubstr("name: \"mine\"\nderived_from: \"some\"\n"));
  EXPECT_THAT(text, HasSubstr("gemm {\n  formats: BF16\n  formats: FP16\n  tiles {\n    peak_tflops: 500\n"));
  EXPECT_THAT(text,
              HasSubstr("gemm {\n  formats: FP8\n  tiles {\n    peak_tflops: 500\n    efficiency: 0.7\n"));
}

struct ReadGemms {
  std::vector<MeasuredGemm> rows;
  std::vector<std::string> errors;
};

ReadGemms ReadGemmText(const std::string& text,
                       const std::vector<std::pair<std::string, std::string>>& where = {}) {
  proto::Diagnostics diagnostics;
  ReadGemms read;
  if (const auto table = ReadCsv("rows.csv", text, &diagnostics)) {
    read.rows = ReadMeasuredGemms(*table, where, &diagnostics);
  }
  read.errors = diagnostics.errors();
  return read;
}

TEST(MeasuredGemms, AreReadByEitherNameOfTheirFormat) {
  const ReadGemms read =
      ReadGemmText("gemm_dtype,m,n,k,us\nbfloat16,8,16,32,2.5\nNVFP4,1,2,3,4\nsq,1,2,3,4\n", {{"m", "8"}});
  EXPECT_THAT(read.errors, IsEmpty());
  ASSERT_EQ(read.rows.size(), 1u);
  EXPECT_EQ(read.rows[0].format, sim::NumberFormat::kBf16);
  EXPECT_EQ(read.rows[0].shape.n, 16);
  EXPECT_DOUBLE_EQ(read.rows[0].seconds, 2.5e-6);
  EXPECT_EQ(FindFormat("sq"), sim::NumberFormat::kInt8);
}

TEST(MeasuredGemms, AMistakeOfManyLinesIsToldOnceAndHidesNoOther) {
  EXPECT_THAT(
      ReadGemmText("m,n,k,us\n1,2,3,1e300\n1,2,3,1e-300\n1,2\n1.5,2,3,0\n").errors,
      ElementsAre("rows.csv:4: 2 cells; as many as columns, 4, are wanted",
                  "rows.csv:2: us: \"1e300\"; a number from 0.001 to 1e+09 is wanted (and 2 more lines)",
                  "rows.csv:5: m: \"1.5\"; a whole number from 1 to 1099511627776 is wanted"));
}

TEST(MeasuredGemms, EveryMistakeIsToldInOneRun) {
  EXPECT_THAT(ReadGemmText("format,m,n,k,us\nBF17,0,16,3x,2.5\nBF16,1,2,3,nan\n").errors,
              ElementsAre(HasSubstr("rows.csv:2: format: \"BF17\"; a format is wanted: FP32, TF32, BF16"),
                          HasSubstr("rows.csv:2: m: \"0\"; a whole number from 1 to 1099511627776 is wanted"),
                          HasSubstr("rows.csv:2: k: \"3x\""),
                          HasSubstr("rows.csv:3: us: \"nan\"; a number from 0.001 to 1e+09 is wanted")));
  EXPECT_THAT(ReadGemmText("m,n\n1,2\n").errors,
              ElementsAre("rows.csv:1: there is no column \"k\"", "rows.csv:1: there is no column \"us\""));
}

}  // namespace
}  // namespace scenarios
