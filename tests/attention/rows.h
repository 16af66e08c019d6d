// Measured attention kernels beside the model's times: as devices' files have it, and by fits that never saw
// a row's heads or its lengths.

#ifndef TESTS_ATTENTION_ROWS_H_
#define TESTS_ATTENTION_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/calibration/attention_fit.h"

namespace attention {

inline constexpr double kLong = 100e-6;  // seconds: below, starts are most of a kernel

struct Row {
  std::int64_t heads = 0, kv_heads = 0, tokens = 0, batch = 0;
  double seconds = 0;
};

// All rows of a device, an implementation and a width of heads.
struct Group {
  std::string device, implementation;
  std::int64_t head_dim = 0;
  std::vector<Row> rows;
  const hardware::AttentionModel* shipped = nullptr;  // null: the device has no such figures
  hardware::AttentionModel fitted;                    // to all rows, as the file should have it
  std::vector<double> shipped_s, fitted_s;            // by row; the first empty without `shipped`
  std::vector<double> other_heads_s;  // by a fit without any row of its query and key heads, and some more
  std::vector<double>
      other_lengths_s;  // the same of its batch and tokens; both empty where all rows share it
};

// The form with less in it.
struct Variant {
  std::string name;
  bool cache = true, query = true, overhead = true, tail = true;
};
std::vector<Variant> Variants();  // the first is the whole form

// Times of all rows, by a fit of the variant to them.
std::vector<double> TimesOf(const Group& group, const Variant& variant);

// In the order of the table. Rows of FlashAttention 4 are not compared.
const std::vector<Group>& Groups();

scenarios::AttentionPoint PointOf(const Group& group, const Row& row);

// Points of the curves in the FlashAttention-3 paper: 16,384 tokens in all, 2,048 dimensions of heads.
struct Curve {
  std::string implementation;
  std::int64_t head_dim = 0;
  bool backward = false, causal = false;
  std::vector<std::int64_t> tokens;
  std::vector<double> tflops;  // causal counts half, backward 2.5 times
};
const std::vector<Curve>& Curves();

scenarios::AttentionPoint PointOf(const Curve& curve, std::size_t i);

// By the catalogue's H100, in the curve's TFLOP/s.
double ModelledTflops(const Curve& curve, std::size_t i);

}  // namespace attention

#endif  // TESTS_ATTENTION_ROWS_H_
