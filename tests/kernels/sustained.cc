#include "tests/kernels/sustained.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "hardware/device_cost_model.h"
#include "proto/text_reader.h"
#include "scenarios/published/csv.h"
#include "tests/kernels/products.h"
#include "tests/pages/page.h"

namespace kernels {
namespace {

double ModelledTflops(const SustainedProduct& product) {
  const hardware::Device device = ReadDevice(product.device);
  const hardware::DeviceCostModel model(device, {.random_data = false});
  const sim::GemmShape& s = product.shape;
  const double seconds =
      model.TimeOf({.name = "product", .kind = sim::KernelKind::kGemm, .format = product.format, .gemm = s})
          .alone.seconds();
  return 2e-12 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) / seconds;
}

SustainedProduct ProductOf(const std::vector<std::string>& cells) {
  EXPECT_TRUE(cells[1] == "BF16" || cells[1] == "FP8") << cells[1];
  SustainedProduct product{
      .device = cells[0],
      .source = cells[6],
      .format = cells[1] == "FP8" ? sim::NumberFormat::kFp8 : sim::NumberFormat::kBf16,
      .shape = {.m = std::stoll(cells[2]), .n = std::stoll(cells[3]), .k = std::stoll(cells[4])},
      .tflops = std::stod(cells[5])};
  product.ratio = product.tflops / ModelledTflops(product);
  return product;
}

}  // namespace

std::vector<SustainedProduct> SustainedProducts() {
  proto::Diagnostics diagnostics;
  std::string text;
  std::vector<SustainedProduct> products;
  if (proto::ReadFile(std::string(ORRERY_SOURCE_DIR) + "/tests/kernels/sustained.csv", &text, &diagnostics)) {
    const auto table = scenarios::ReadCsv("tests/kernels/sustained.csv", text, &diagnostics);
    for (const scenarios::CsvRow& row : table ? table->rows : std::vector<scenarios::CsvRow>()) {
      products.push_back(ProductOf(row.cells));
    }
  }
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return products;
}

std::string SustainedTable(const std::vector<SustainedProduct>& all) {
  std::string table = pages::TableHead({"device", "format", "source", "products", "measured over modelled",
                                        "least", "most", "the device's derate"});
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    double sum = 0, least = all[begin].ratio, most = least;
    for (; end < all.size() && all[end].device == all[begin].device && all[end].format == all[begin].format &&
           all[end].source == all[begin].source;
         ++end) {
      sum += all[end].ratio;
      least = std::min(least, all[end].ratio);
      most = std::max(most, all[end].ratio);
    }
    const auto count = static_cast<std::int64_t>(end - begin);
    table += pages::TableLine({all[begin].device, hardware::ToText(all[begin].format), all[begin].source,
                               pages::Count(count), pages::Number(sum / static_cast<double>(count), 3),
                               pages::Number(least, 3), pages::Number(most, 3),
                               pages::Number(ReadDevice(all[begin].device).random_data_derate, 2)});
    begin = end;
  }
  return table;
}

}  // namespace kernels
