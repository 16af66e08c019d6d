// Measured matrix products beside modelled ones, and docs/kernels.md to what comes of them.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "scenarios/calibration/gemm_text.h"
#include "tests/kernels/experts.h"
#include "tests/kernels/products.h"
#include "tests/kernels/sustained.h"
#include "tests/pages/page.h"

namespace kernels {
namespace {

using scenarios::CalibratedGemm;

const std::vector<Products>& All() {
  static const std::vector<Products> all = Compare();
  return all;
}

double HeldOut(const scenarios::FormatFit& fit, std::size_t region) {
  return scenarios::GemmErrors(fit.rows, scenarios::kGemmRegions[region], &CalibratedGemm::held_out_s).mape;
}

TEST(Kernels, PageIsWhatTheTableAndTheModelsGive) {
  const std::string page = Document(All());
  if (page == pages::Kept("kernels.md")) return;
  ADD_FAILURE() << "docs/kernels.md is not up to date; the new one is "
                << pages::WriteNew("kernels.md", page);
}

// Shapes whose n and k no fit has seen: all, and m, n, k >= 1024. L40S found some weights in L2 and some not;
// 4-bit weights are for serving.
TEST(Kernels, ShapesThatNoFitHasSeenAreWithinAFewPerCent) {
  std::size_t formats = 0;
  for (const Products& products : All()) {
    const std::string& device = products.device.name;
    const bool blackwell = device == "b200_sxm" || device == "gb200_nvl72";
    for (const scenarios::FormatFit& fit : products.calibration.formats) {
      ++formats;
      const bool bf16 = fit.format == sim::NumberFormat::kBf16;
      const bool weights = fit.format == sim::NumberFormat::kInt4Weights;
      const std::string name = device + ' ' + hardware::ToText(fit.format);
      EXPECT_LE(HeldOut(fit, 0), device == "l40s" ? 0.17 : weights ? 0.10 : 0.08) << name;
      EXPECT_LE(HeldOut(fit, 1), device == "l40s" ? 0.11 : bf16 && !blackwell ? 0.04 : 0.08) << name;
    }
  }
  EXPECT_EQ(formats, 21u);
}

// What the files have is what the rows give today: fitted again, the mean error stays, up to half a per cent.
TEST(Kernels, FiguresOfTheFilesAreTheFittedOnes) {
  const hardware::Device device = ReadDevice("h200_sxm");
  const auto fitted = scenarios::CalibrateGemms(device, RowsOf("h200_sxm"));
  ASSERT_TRUE(fitted.ok());
  for (const scenarios::FormatFit& fit : fitted.value().formats) {
    const scenarios::GemmRegion& everything = scenarios::kGemmRegions[0];
    EXPECT_NEAR(scenarios::GemmErrors(fit.rows, everything, &CalibratedGemm::shipped_s).mape,
                scenarios::GemmErrors(fit.rows, everything, &CalibratedGemm::fitted_s).mape, 0.005)
        << hardware::ToText(fit.format);
  }
}

// Each device's file has two digits of what its products say: the mean of each format's, H100's and H200's
// together, since one board with one limit of power has both.
TEST(Kernels, DeratesAreWhatLongRunsOfRandomNumbersLose) {
  std::map<std::string, std::map<sim::NumberFormat, std::vector<double>>> ratios;
  for (const SustainedProduct& product : SustainedProducts()) {
    const std::string device = product.device == "h200_sxm" ? "h100_sxm" : product.device;
    ratios[device][product.format].push_back(product.ratio);
  }
  EXPECT_EQ(ratios.size(), 5u);
  for (const auto& [device, formats] : ratios) {
    double mean = 0;
    for (const auto& [format, some] : formats) {
      double sum = 0;
      for (const double ratio : some) sum += ratio;
      mean += sum / static_cast<double>(some.size()) / static_cast<double>(formats.size());
    }
    EXPECT_NEAR(ReadDevice(device).random_data_derate, mean, 0.01) << device;
  }
  EXPECT_EQ(ReadDevice("h200_sxm").random_data_derate, ReadDevice("h100_sxm").random_data_derate);
}

// Nothing is fitted to these: of forwards and gradients of data, a kernel for each expert is off by a tenth
// on average, one for all by a sixth; of gradients of weights both are too fast, the second by more.
TEST(Kernels, ExpertsOfTransformerEngineRunOneByOne) {
  double one_by_one = 0, together = 0;
  const std::vector<ExpertsProduct> all = ExpertsProducts();
  ASSERT_EQ(all.size(), 36u);
  for (const ExpertsProduct& p : all) {
    EXPECT_GE(p.one_by_one_s, 0.93 * p.together_s) << p.shape << ' ' << p.pass;
    if (p.pass == "weight gradient") {
      EXPECT_LT(p.one_by_one_s, p.measured_s) << p.shape;
      continue;
    }
    one_by_one += std::abs(p.one_by_one_s / p.measured_s - 1) / 24;
    together += std::abs(p.together_s / p.measured_s - 1) / 24;
  }
  EXPECT_LT(one_by_one, 0.10);
  EXPECT_GT(together, 0.12);
}

// Between which shapes a file says that its figures were fitted, the rows lie.
TEST(Kernels, RangesOfTheFilesAreThoseOfTheRows) {
  using Extents = std::array<std::int64_t, 3>;
  for (const char* name : {"a100_80_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "gb200_nvl72", "l40s"}) {
    std::map<sim::NumberFormat, std::pair<Extents, Extents>> ranges;
    for (const scenarios::MeasuredGemm& row : RowsOf(name)) {
      const Extents at = {row.shape.m, row.shape.n, row.shape.k};
      auto& [from, to] = ranges.try_emplace(row.format, at, at).first->second;
      for (std::size_t i = 0; i < 3; ++i) {
        from[i] = std::min(from[i], at[i]);
        to[i] = std::max(to[i], at[i]);
      }
    }
    const hardware::Device device = ReadDevice(name);
    ASSERT_GE(ranges.size(), 3u);
    for (const auto& [format, range] : ranges) {
      const hardware::GemmModel& model = device.gemm[static_cast<std::size_t>(format)];
      const Extents from = {model.fitted_from.m, model.fitted_from.n, model.fitted_from.k};
      const Extents to = {model.fitted_to.m, model.fitted_to.n, model.fitted_to.k};
      EXPECT_EQ(from, range.first) << name << ' ' << hardware::ToText(format);
      EXPECT_EQ(to, range.second) << name << ' ' << hardware::ToText(format);
    }
  }
}

}  // namespace
}  // namespace kernels
