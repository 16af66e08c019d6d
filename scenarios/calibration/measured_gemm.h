// Measured matrix products, from a table.

#ifndef SCENARIOS_CALIBRATION_MEASURED_GEMM_H_
#define SCENARIOS_CALIBRATION_MEASURED_GEMM_H_

#include <string>
#include <utility>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/published/csv.h"
#include "sim/base/kernel.h"

namespace scenarios {

struct MeasuredGemm {
  std::string file;
  int line = 0;
  std::string device;  // as written; empty where the table has no such column
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  bool says_format = true;  // false: the table has no such column, so it is BF16
  sim::GemmShape shape;     // one product
  double seconds = 0;       // > 0, finite

  std::string place() const { return file + ":" + std::to_string(line); }
};

// Columns m, n, k and us; gpu and format (or gemm_dtype) may be there, else every row is of the device that
// is asked for, in BF16. Formats are named as in hardware.proto or as by aiconfigurator: "bfloat16", "fp8",
// "fp8_block", "nvfp4", "sq" (INT8), "int8_wo", "int4_wo". `where` keeps rows with these values in these
// columns. A mistake is an error at its line; the same one of many lines is told once, at the first, with how
// many more there are.
std::vector<MeasuredGemm> ReadMeasuredGemms(const CsvTable& table,
                                            const std::vector<std::pair<std::string, std::string>>& where,
                                            proto::Diagnostics* diagnostics);

// By either name; nothing for others.
std::optional<sim::NumberFormat> FindFormat(std::string_view name);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_MEASURED_GEMM_H_
