#include "tests/kernels/experts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hardware/device_cost_model.h"
#include "proto/text_reader.h"
#include "scenarios/published/csv.h"
#include "tests/kernels/products.h"
#include "tests/pages/page.h"

namespace kernels {
namespace {

double SecondsOf(const hardware::DeviceCostModel& model, const sim::GemmShape& shape, bool weights,
                 bool one_by_one) {
  sim::Kernel kernel{.name = "product", .kind = sim::KernelKind::kGemm, .gemm = shape};
  const std::int64_t result = weights ? 8 : 2;  // gradients of weights are added to FP32
  kernel.bytes = sim::Bytes(shape.batch * (2 * (shape.m + shape.n) * shape.k + result * shape.m * shape.n));
  kernel.one_by_one = one_by_one;
  return model.TimeOf(kernel).alone.seconds();
}

void AddRow(const std::vector<std::string>& cells, std::vector<ExpertsProduct>* products) {
  const hardware::DeviceCostModel model(ReadDevice(cells[0]));
  const auto number = [&](std::size_t i) { return std::int64_t{std::stoll(cells[i])}; };
  const std::int64_t experts = number(1), rows = number(2), out = number(3), in = number(4);
  const sim::GemmShape shapes[] = {
      {rows, out, in, experts}, {rows, in, out, experts}, {out, in, rows, experts}};
  const char* const passes[] = {"forward", "data gradient", "weight gradient"};
  for (std::size_t i = 0; i < 3; ++i) {
    const double flops = 2.0 * static_cast<double>(experts * rows) * static_cast<double>(out * in);
    products->push_back({.shape = pages::Count(experts) + " x " + pages::Count(rows) + " x " +
                                  pages::Count(out) + " x " + pages::Count(in),
                         .pass = passes[i],
                         .measured_s = flops / (1e12 * std::stod(cells[5 + i])),
                         .together_s = SecondsOf(model, shapes[i], i == 2, false),
                         .one_by_one_s = SecondsOf(model, shapes[i], i == 2, true)});
  }
}

}  // namespace

std::vector<ExpertsProduct> ExpertsProducts() {
  proto::Diagnostics diagnostics;
  std::string text;
  std::vector<ExpertsProduct> products;
  if (proto::ReadFile(std::string(ORRERY_SOURCE_DIR) + "/tests/kernels/experts.csv", &text, &diagnostics)) {
    const auto table = scenarios::ReadCsv("tests/kernels/experts.csv", text, &diagnostics);
    for (const scenarios::CsvRow& row : table ? table->rows : std::vector<scenarios::CsvRow>()) {
      AddRow(row.cells, &products);
    }
  }
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return products;
}

std::string ExpertsTable(const std::vector<ExpertsProduct>& all) {
  const auto off = [](double seconds, double measured) {
    const double part = seconds / measured - 1;
    return (part < 0 ? "-" : "+") + pages::Percent(std::abs(part));
  };
  std::string table = pages::TableHead(
      {"experts x rows x outputs x inputs", "pass", "measured, us", "one kernel for all", "one for each"});
  for (const ExpertsProduct& p : all) {
    table += pages::TableLine({p.shape, p.pass, pages::Number(p.measured_s * 1e6),
                               off(p.together_s, p.measured_s), off(p.one_by_one_s, p.measured_s)});
  }
  return table;
}

}  // namespace kernels
