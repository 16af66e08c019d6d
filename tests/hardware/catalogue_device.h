// What the tests of this folder share: catalogue devices and kernels.

#ifndef TESTS_HARDWARE_CATALOGUE_DEVICE_H_
#define TESTS_HARDWARE_CATALOGUE_DEVICE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "hardware/device_reader.h"
#include "sim/base/kernel.h"

namespace hardware {

// A device that must be readable.
inline Device ReadOrFail(const std::string& name, const std::vector<proto::Override>& overrides = {}) {
  proto::Diagnostics diagnostics;
  std::optional<Device> device = ReadDevice(name, overrides, "", &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return device.value_or(Device());
}

inline sim::Kernel Gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  sim::Kernel kernel;
  kernel.name = "gemm";
  kernel.kind = sim::KernelKind::kGemm;
  kernel.gemm = {.m = m, .n = n, .k = k, .batch = batch};
  return kernel;
}

inline sim::Kernel MemoryKernel(std::int64_t bytes,
                                sim::MemoryClass memory_class = sim::MemoryClass::kElementwise) {
  sim::Kernel kernel;
  kernel.name = "memory";
  kernel.memory_class = memory_class;
  kernel.bytes = sim::Bytes(bytes);
  return kernel;
}

// The rows of a carried table, without comments and heading.
inline std::vector<std::vector<std::string>> ReadTable(const std::string& file) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/tests/hardware/data/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::vector<std::vector<std::string>> rows;
  bool heading = true;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (heading) {
      heading = false;
      continue;
    }
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace hardware

#endif  // TESTS_HARDWARE_CATALOGUE_DEVICE_H_
