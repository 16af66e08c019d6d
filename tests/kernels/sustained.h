// Products of random numbers that ran for long (sustained.csv) beside what the fits give at the clocks of
// short benchmarks: their ratio is a device's `random_data_derate`.

#ifndef TESTS_KERNELS_SUSTAINED_H_
#define TESTS_KERNELS_SUSTAINED_H_

#include <string>
#include <vector>

#include "sim/base/kernel.h"

namespace kernels {

struct SustainedProduct {
  std::string device, source;
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  sim::GemmShape shape;
  double tflops = 0;  // measured
  double ratio = 0;   // of measured over modelled rates, without the derate
};

// In the order of the table.
std::vector<SustainedProduct> SustainedProducts();

// The section of docs/kernels.md.
std::string SustainedTable(const std::vector<SustainedProduct>& all);

}  // namespace kernels

#endif  // TESTS_KERNELS_SUSTAINED_H_
