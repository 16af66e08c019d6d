#include "hardware/device_products.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "hardware/device_fields.h"
#include "proto/hardware.pb.h"
#include "sim/base/check.h"

namespace hardware {

using orrery::config::Hardware;

std::size_t PositionOf(int format) {
  switch (format) {
    case Hardware::FP32:
      return static_cast<std::size_t>(sim::NumberFormat::kFp32);
    case Hardware::TF32:
      return static_cast<std::size_t>(sim::NumberFormat::kTf32);
    case Hardware::BF16:
      return static_cast<std::size_t>(sim::NumberFormat::kBf16);
    case Hardware::FP16:
      return static_cast<std::size_t>(sim::NumberFormat::kFp16);
    case Hardware::FP8:
      return static_cast<std::size_t>(sim::NumberFormat::kFp8);
    case Hardware::FP8_BLOCK:
      return static_cast<std::size_t>(sim::NumberFormat::kFp8Block);
    case Hardware::MXFP8:
      return static_cast<std::size_t>(sim::NumberFormat::kMxFp8);
    case Hardware::NVFP4:
      return static_cast<std::size_t>(sim::NumberFormat::kNvFp4);
    case Hardware::INT8:
      return static_cast<std::size_t>(sim::NumberFormat::kInt8);
    case Hardware::INT8_WEIGHTS:
      return static_cast<std::size_t>(sim::NumberFormat::kInt8Weights);
    case Hardware::INT4_WEIGHTS:
      return static_cast<std::size_t>(sim::NumberFormat::kInt4Weights);
    default:
      CHECK(false);
  }
  return 0;
}

namespace {

void CheckRange(const Hardware::Gemm& gemm, const proto::Field& place, proto::Diagnostics* diagnostics) {
  if (gemm.has_fitted_from() != gemm.has_fitted_to()) {
    const bool from = gemm.has_fitted_from();
    diagnostics->Error(
        place.At(from ? "fitted_to" : "fitted_from").place(),
        std::string("missing; wanted because ") + (from ? "fitted_from" : "fitted_to") + " is given");
    return;
  }
  const Hardware::Extents &from = gemm.fitted_from(), &to = gemm.fitted_to();
  for (const auto& [name, least, most] :
       {std::tuple("m", from.m(), to.m()), {"n", from.n(), to.n()}, {"k", from.k(), to.k()}}) {
    const proto::Field field = place.At("fitted_to").At(name);
    if (most >= least || HasErrorAt(field, *diagnostics)) continue;
    diagnostics->Error(field.place(),
                       std::to_string(most) + " is below fitted_from's " + std::to_string(least));
  }
}

std::array<std::int64_t, 4> OrderOf(const MeasuredProduct& product) {
  return {static_cast<std::int64_t>(product.format), product.m, product.n, product.k};
}

}  // namespace

void CheckProducts(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  std::set<int> modelled;
  for (int i = 0; i < message.gemm_size(); ++i) {
    modelled.insert(message.gemm(i).formats().begin(), message.gemm(i).formats().end());
    CheckRange(message.gemm(i), root.At("gemm", i), diagnostics);
  }
  std::set<std::tuple<int, int, int, int>> seen;
  for (int i = 0; i < message.measured_gemm_size(); ++i) {
    const Hardware::MeasuredGemm& measured = message.measured_gemm(i);
    const proto::Field place = root.At("measured_gemm", i);
    for (int j = 0; j < measured.formats_size(); ++j) {
      const int format = measured.formats(j);
      const std::string name = Hardware::Format_Name(static_cast<Hardware::Format>(format));
      if (modelled.count(format) == 0) {
        diagnostics->Error(place.At("formats", j).place(), name + " has measured products and no gemm model");
      }
      for (int p = 0; p < measured.points_size(); ++p) {
        const Hardware::MeasuredGemm::Point& point = measured.points(p);
        if (seen.insert({format, point.m(), point.n(), point.k()}).second) continue;
        diagnostics->Error(place.At("points", p).place(), name + " of " + std::to_string(point.m()) + " x " +
                                                              std::to_string(point.n()) + " x " +
                                                              std::to_string(point.k()) + " is given twice");
      }
    }
  }
}

void ConvertProducts(const Hardware& message, Device* device) {
  const auto range = [](const Hardware::Extents& extents) {
    return GemmModel::Range{extents.m(), extents.n(), extents.k()};
  };
  for (int i = 0; i < message.gemm_size(); ++i) {
    for (const int format : message.gemm(i).formats()) {
      GemmModel& model = device->gemm[PositionOf(format)];
      model.fitted_from = range(message.gemm(i).fitted_from());
      model.fitted_to = range(message.gemm(i).fitted_to());
      model.place = i;
    }
  }
  for (int i = 0; i < message.measured_gemm_size(); ++i) {
    for (const int format : message.measured_gemm(i).formats()) {
      for (const Hardware::MeasuredGemm::Point& point : message.measured_gemm(i).points()) {
        device->measured_products.push_back({.format = static_cast<sim::NumberFormat>(PositionOf(format)),
                                             .m = point.m(),
                                             .n = point.n(),
                                             .k = point.k(),
                                             .seconds = point.us() * 1e-6,
                                             .place = i});
      }
    }
  }
  std::sort(device->measured_products.begin(), device->measured_products.end(),
            [](const MeasuredProduct& a, const MeasuredProduct& b) { return OrderOf(a) < OrderOf(b); });
}

}  // namespace hardware
