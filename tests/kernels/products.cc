#include "tests/kernels/products.h"

#include <gtest/gtest.h>

#include <utility>

#include "hardware/device_reader.h"
#include "proto/text_reader.h"

namespace kernels {
namespace {

const std::vector<scenarios::MeasuredGemm>& Table() {
  static const std::vector<scenarios::MeasuredGemm> rows = [] {
    proto::Diagnostics diagnostics;
    std::string text;
    std::vector<scenarios::MeasuredGemm> read;
    const std::string file = std::string(ORRERY_SOURCE_DIR) + "/tests/kernels/gemm_measured.csv";
    if (proto::ReadFile(file, &text, &diagnostics)) {
      const auto table = scenarios::ReadCsv("tests/kernels/gemm_measured.csv", text, &diagnostics);
      if (table) read = scenarios::ReadMeasuredGemms(*table, {}, &diagnostics);
    }
    for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
    return read;
  }();
  return rows;
}

}  // namespace

hardware::Device ReadDevice(const std::string& name) {
  proto::Diagnostics diagnostics;
  auto device = hardware::ReadDevice(name, {}, "", &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return device.value_or(hardware::Device());
}

std::vector<scenarios::MeasuredGemm> RowsOf(const std::string& device) {
  std::vector<scenarios::MeasuredGemm> rows;
  for (const scenarios::MeasuredGemm& row : Table()) {
    if (row.device == device) rows.push_back(row);
  }
  return rows;
}

std::vector<Products> Compare() {
  std::vector<Products> all;
  for (const char* name : {"a100_80_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "gb200_nvl72", "l40s"}) {
    Products products{.device = ReadDevice(name), .calibration = {}};
    products.calibration = scenarios::ShippedGemms(products.device, RowsOf(name));
    scenarios::HoldOutGroups(products.device, &products.calibration);
    all.push_back(std::move(products));
  }
  return all;
}

}  // namespace kernels
