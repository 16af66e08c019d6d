// Measured matrix products (gemm_measured.csv) beside what Orrery gives for them.

#ifndef TESTS_KERNELS_PRODUCTS_H_
#define TESTS_KERNELS_PRODUCTS_H_

#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/calibration/gemm_fit.h"

namespace kernels {

// A device's formats by its own figures, each row also by a fit without its n and k.
struct Products {
  hardware::Device device;
  scenarios::GemmCalibration calibration;
};

// A device of the catalogue, and its rows of the table.
hardware::Device ReadDevice(const std::string& name);
std::vector<scenarios::MeasuredGemm> RowsOf(const std::string& device);

// Every device of the table, in its order.
std::vector<Products> Compare();

// docs/kernels.md.
std::string Document(const std::vector<Products>& all);

}  // namespace kernels

#endif  // TESTS_KERNELS_PRODUCTS_H_
