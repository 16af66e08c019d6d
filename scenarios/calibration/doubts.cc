#include "scenarios/calibration/doubts.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "hardware/device_cost_model.h"
#include "proto/told_once.h"
#include "scenarios/calibration/gemm_text.h"
#include "scenarios/calibration/text_parts.h"

namespace scenarios {
namespace {

std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

struct Bound {
  double seconds = 0;  // no product is faster
  std::string of;
};

// The one that is hardest to pass.
Bound BoundOf(const hardware::Device& device, const MeasuredGemm& row) {
  const sim::GemmShape& shape = row.shape;
  const double peak = device.peak_flops_per_s[static_cast<std::size_t>(row.format)];
  const double flops =
      2 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  // What the kernel before left in L2 does not come from memory.
  const double bytes =
      hardware::WorkOfProduct(shape, row.format).bytes() - static_cast<double>(device.l2.count());
  const double rate = device.memory_rate.bytes_per_second();
  const Bound bounds[] = {
      {flops / peak,
       "the device's peak of " + Rounded(peak * 1e-12) + " TFLOP/s in " + hardware::ToText(row.format)},
      {bytes / rate, "its memory of " + Rounded(rate * 1e-9) + " GB/s"},
      {device.minimum_kernel_s, "its shortest kernel of " + Rounded(device.minimum_kernel_s * 1e6) + " us"}};
  return *std::max_element(std::begin(bounds), std::end(bounds),
                           [](const Bound& a, const Bound& b) { return a.seconds < b.seconds; });
}

// Of "measured over what the device's figures give".
void AddUnitDoubt(std::vector<double> ratios, const std::string& what, std::vector<std::string>* doubts) {
  if (ratios.empty()) return;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  if (*middle<kAnotherUnit&& * middle> 1 / kAnotherUnit) return;
  doubts->push_back(what + "half of the rows take " + Rounded(*middle) +
                    " times what the device's figures give, or " + (*middle > 1 ? "more" : "less") +
                    "; are they in microseconds?");
}

void AddErrorDoubt(const ErrorsOfRows& fitted, const ErrorsOfRows& held_out, const std::string& what,
                   std::vector<std::string>* doubts) {
  const bool seen = held_out.rows == 0;
  const double mean = seen ? fitted.mape : held_out.mape;
  if (!(mean > kHopelessError)) return;
  doubts->push_back(what + "fits are " + PerCent(mean, false) + " % off on the mean" +
                    (seen ? "" : " where they have not seen a row"));
}

}  // namespace

void RefuseTooFast(const hardware::Device& device, const std::vector<MeasuredGemm>& rows,
                   proto::Diagnostics* diagnostics) {
  proto::ToldOnce mistakes;
  for (const MeasuredGemm& row : rows) {
    const double peak = device.peak_flops_per_s[static_cast<std::size_t>(row.format)];
    if (!IsOfDevice(device, row.device) || !(peak > 0)) continue;
    const Bound bound = BoundOf(device, row);
    if (row.seconds * kTooFast >= bound.seconds) continue;
    mistakes.Add(row.place() + ": us", "",
                 Rounded(row.seconds * 1e6) + "; " + Rounded(bound.seconds / row.seconds) +
                     " times as fast as " + bound.of + ": is it in microseconds?");
  }
  mistakes.Tell(diagnostics);
}

void RefuseTooFast(const Calibration& calibration, proto::Diagnostics* diagnostics) {
  proto::ToldOnce mistakes;
  for (const CalibratedRow& row : calibration.rows) {
    if (row.row.seconds * kTooFast >= row.point.links_s) continue;
    mistakes.Add(
        row.row.place(), "",
        Rounded(row.row.seconds * 1e6) + " us; " + Rounded(row.point.links_s / row.row.seconds) +
            " times as fast as the links of the node: are times in microseconds, bus bandwidths in GB/s?");
  }
  mistakes.Tell(diagnostics);
}

std::vector<std::string> DoubtsOf(const GemmCalibration& calibration) {
  std::vector<std::string> doubts;
  for (const FormatFit& fit : calibration.formats) {
    const std::string in = std::string("in ") + hardware::ToText(fit.format) + ", ";
    std::vector<double> ratios;
    for (const CalibratedGemm& row : fit.rows) {
      if (row.shipped_s > 0) ratios.push_back(row.row.seconds / row.shipped_s);
    }
    AddUnitDoubt(std::move(ratios), in, &doubts);
    if (!fit.enough()) continue;
    AddErrorDoubt(GemmErrors(fit.rows, kGemmRegions[0], &CalibratedGemm::fitted_s),
                  GemmErrors(fit.rows, kGemmRegions[0], &CalibratedGemm::held_out_s), in, &doubts);
    std::size_t moved = 0, at_bound = 0;
    std::string names;
    for (const GemmFigure& figure : GemmFigures()) {
      if (!fit.moves(figure)) continue;
      ++moved;
      if (!IsAtBound(figure, fit.fitted)) continue;
      ++at_bound;
      names += (names.empty() ? "" : ", ") + std::string(figure.key);
    }
    if (2 * at_bound <= moved) continue;
    doubts.push_back(in + std::to_string(at_bound) + " of " + std::to_string(moved) +
                     " figures are at the ends of their ranges: " + names);
  }
  return doubts;
}

std::vector<std::string> DoubtsOf(const Calibration& calibration) {
  std::vector<std::string> doubts;
  std::vector<double> ratios, fitted, held_out;
  for (const CalibratedRow& row : calibration.rows) {
    ratios.push_back(row.row.seconds / row.shipped_s);
    fitted.push_back(row.fitted_s / row.row.seconds - 1);
    if (row.held_out_s > 0) held_out.push_back(row.held_out_s / row.row.seconds - 1);
  }
  AddUnitDoubt(std::move(ratios), "", &doubts);
  AddErrorDoubt(ErrorsOfAll(std::move(fitted)), ErrorsOfAll(std::move(held_out)), "", &doubts);
  return doubts;
}

}  // namespace scenarios
