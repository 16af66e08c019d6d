// Products of experts as Transformer Engine's GroupedLinear runs them (experts.csv), beside both ways that
// Orrery has for them: one kernel for all experts, and one for each.

#ifndef TESTS_KERNELS_EXPERTS_H_
#define TESTS_KERNELS_EXPERTS_H_

#include <string>
#include <vector>

namespace kernels {

struct ExpertsProduct {
  std::string shape, pass;  // "40 x 616 x 3,072 x 5,120", "forward"
  double measured_s = 0, together_s = 0, one_by_one_s = 0;
};

// In the order of the table: forward, gradients of data and of weights of each row.
std::vector<ExpertsProduct> ExpertsProducts();

// The section of docs/kernels.md.
std::string ExpertsTable(const std::vector<ExpertsProduct>& all);

}  // namespace kernels

#endif  // TESTS_KERNELS_EXPERTS_H_
