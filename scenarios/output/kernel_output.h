// Tables of single kernels and of rooflines as text, JSON and CSV.

#ifndef SCENARIOS_OUTPUT_KERNEL_OUTPUT_H_
#define SCENARIOS_OUTPUT_KERNEL_OUTPUT_H_

#include <string>
#include <vector>

#include "scenarios/kernel_run/kernel_table.h"
#include "scenarios/kernel_run/roofline_table.h"

namespace scenarios {

// What the rows have in common.
struct KernelHead {
  std::string hardware;
  bool constant_data = false;  // products without the power derate of random numbers
  bool accumulates = false;    // products add to FP32 sums
  bool beside = false;         // a column of times beside communication
  double derate = 1;           // Device::random_data_derate
  sim::Duration eager_launch;  // what the host takes for one kernel of an eager step
};

// Rows are of one kind: products, attention or kernels bound by memory. At most 110 columns.
std::string KernelText(const std::vector<KernelRow>& rows, const KernelHead& head);
std::string KernelJson(const std::vector<KernelRow>& rows, const KernelHead& head);
std::string KernelCsv(const std::vector<KernelRow>& rows, const KernelHead& head);

std::string RooflineText(const RooflineTable& table, const KernelHead& head);
std::string RooflineJson(const RooflineTable& table, const KernelHead& head);
// A line a roof: kind,name,figure,value,unit,basis,source.
std::string RooflineCsv(const RooflineTable& table);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_KERNEL_OUTPUT_H_
