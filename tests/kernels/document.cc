// docs/kernels.md.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "scenarios/calibration/gemm_text.h"
#include "tests/kernels/experts.h"
#include "tests/kernels/products.h"
#include "tests/kernels/sustained.h"
#include "tests/pages/page.h"

namespace kernels {
namespace {

using scenarios::CalibratedGemm;
using scenarios::ErrorsOfRows;
using scenarios::FormatFit;

std::string Signed(double part) { return (part < 0 ? "-" : "+") + pages::Percent(std::abs(part)); }

using Visit = std::function<void(const std::string& device, const std::string& format, const FormatFit& fit)>;
void ForEach(const std::vector<Products>& all, const Visit& visit) {
  for (const Products& products : all) {
    for (const FormatFit& fit : products.calibration.formats) {
      visit(products.device.name, hardware::ToText(fit.format), fit);
    }
  }
}

std::string ErrorTable(const std::vector<Products>& all, double CalibratedGemm::*time) {
  std::string table = pages::TableHead({"device", "format", "rows", "pairs of n, k", "mean error", "bias",
                                        "p95", "m,n,k >= 1024", "bias", "m <= 64", "bias"});
  ForEach(all, [&](const std::string& device, const std::string& format, const FormatFit& fit) {
    const ErrorsOfRows of[] = {scenarios::GemmErrors(fit.rows, scenarios::kGemmRegions[0], time),
                               scenarios::GemmErrors(fit.rows, scenarios::kGemmRegions[1], time),
                               scenarios::GemmErrors(fit.rows, scenarios::kGemmRegions[2], time)};
    table +=
        pages::TableLine({device, format, pages::Count(static_cast<std::int64_t>(of[0].rows)),
                          pages::Count(static_cast<std::int64_t>(fit.groups)), pages::Percent(of[0].mape),
                          Signed(of[0].bias), pages::Percent(of[0].p95), pages::Percent(of[1].mape),
                          Signed(of[1].bias), pages::Percent(of[2].mape), Signed(of[2].bias)});
  });
  return table;
}

// Regions by rows of the first operand and by the narrower sides of the second.
const char* BandOfM(const sim::GemmShape& s) {
  if (s.m == 1) return "m = 1";
  if (s.m <= 64) return "m 8 to 64";
  if (s.m <= 512) return "m 128 to 512";
  return s.m <= 4096 ? "m 1,024 to 4,096" : "m 8,192 and more";
}
const char* BandOfNk(const sim::GemmShape& s) {
  if (s.n < 1024 && s.k < 1024) return "n, k < 1,024";
  if (s.n < 1024) return "n < 1,024";
  return s.k < 1024 ? "k < 1,024" : "n, k >= 1,024";
}

struct RegionErrors {
  std::string device, format, region;
  ErrorsOfRows errors;
};

std::string WorstRegions(const std::vector<Products>& all, std::size_t most) {
  std::vector<RegionErrors> regions;
  ForEach(all, [&](const std::string& device, const std::string& format, const FormatFit& fit) {
    std::map<std::string, std::vector<double>> errors;
    for (const CalibratedGemm& row : fit.rows) {
      errors[std::string(BandOfM(row.row.shape)) + ", " + BandOfNk(row.row.shape)].push_back(
          row.held_out_s / row.row.seconds - 1);
    }
    for (auto& [region, some] : errors) {
      regions.push_back({device, format, region, scenarios::ErrorsOfAll(std::move(some))});
    }
  });
  std::stable_sort(regions.begin(), regions.end(),
                   [](const auto& a, const auto& b) { return a.errors.mape > b.errors.mape; });
  std::string table = pages::TableHead({"device", "format", "shapes", "rows", "mean error", "bias"});
  std::size_t written = 0;
  for (const RegionErrors& r : regions) {
    if (r.errors.rows < 10 || written == most) continue;
    ++written;
    table += pages::TableLine({r.device, r.format, r.region,
                               pages::Count(static_cast<std::int64_t>(r.errors.rows)),
                               pages::Percent(r.errors.mape), Signed(r.errors.bias)});
  }
  return table;
}

std::string WorstRows(const std::vector<Products>& all, std::size_t most) {
  struct Row {
    std::string device, format;
    const CalibratedGemm* row;
    double off;
  };
  std::vector<Row> rows;
  ForEach(all, [&](const std::string& device, const std::string& format, const FormatFit& fit) {
    for (const CalibratedGemm& row : fit.rows) {
      rows.push_back({device, format, &row, std::abs(std::log(row.held_out_s / row.row.seconds))});
    }
  });
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.off > b.off; });
  std::string table =
      pages::TableHead({"device", "format", "m", "n", "k", "measured, us", "held out, us", "off"});
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const scenarios::MeasuredGemm& from = rows[i].row->row;
    table += pages::TableLine({rows[i].device, rows[i].format, pages::Count(from.shape.m),
                               pages::Count(from.shape.n), pages::Count(from.shape.k),
                               pages::Number(from.seconds * 1e6, 1),
                               pages::Number(rows[i].row->held_out_s * 1e6, 1),
                               Signed(rows[i].row->held_out_s / from.seconds - 1)});
  }
  return table;
}

std::string Method(std::int64_t rows) {
  return pages::Wrapped(
             "`ctest --preset release -R Kernels` makes this page and fails when it is not up to date. "
             "`tests/kernels/gemm_measured.csv` has " +
             pages::Count(rows) +
             " matrix products [m,k] x [k,n] of NVIDIA's "
             "aiconfigurator (github.com/ai-dynamo/aiconfigurator, Apache-2.0): its GEMM collectors of "
             "TensorRT-LLM 1.0.0 on A100 and 1.3.0rc20 elsewhere, each operation in a replayed CUDA graph. "
             "The "
             "form of the model is in `hardware/tile_model.h`, its figures in the devices' files.") +
         "\n" +
         pages::Wrapped(
             "`orrery calibrate gemm tests/kernels/gemm_measured.csv --hardware h100_sxm` fits them again, "
             "format "
             "by format: least squares of the logarithm, in which rows further off than 3 % count by their "
             "distance, from a dozen starts, with k in up to 16 parts or whole, with and without a kernel of "
             "its own "
             "for single rows. Held out: the pairs of n and k, in order, are dealt to five parts; each "
             "part's "
             "rows, with every m, are told by figures fitted to the other four. The operation that was "
             "measured "
             "in FP8, NVFP4 and INT8 "
             "casts the activations first. That cast is two figures of the fit (a start, and bytes a "
             "number), "
             "and in no kernel's time: casts are kernels of their own in a step. The product's own start is "
             "held to BF16's there, since the sum alone is measured.") +
         "\n" +
         pages::Wrapped(
             "The operands are what a loop finds: the activations in L2 where they fit, weights cold but for "
             "a few "
             "MB. They ran for a moment, on data that may draw little power; `random_data_derate` (below) "
             "stays beside the figures for training. Nothing is overlaid with measured "
             "times: every kernel is told by the model.");
}

std::string Why() {
  return pages::Wrapped(
             "L40S, m 8 to 64: TensorRT-LLM's collector found the weights of some n and k in L2 and those of "
             "their "
             "neighbours in memory: 12,288 x 4,096 (101 MB, more than the 96 MB of L2) moved at 1.9 TB/s "
             "where "
             "8,192 x 7,168 moved at 0.7 and the memory has 0.864. No size tells them apart, so a model of "
             "sizes is "
             "between both. With block scales (a kernel that no training recipe uses there) 8,192 rows and "
             "more "
             "take twice as long a row as 4,096 where n and k are 4,096 to 16,384.") +
         "\n" +
         pages::Wrapped(
             "B200 and GB200, BF16 and FP8 with block scales, m,n,k >= 1024: rows between 4,096 and 16,384 "
             "lose "
             "15 to 30 % for some n and k and not for their neighbours: 4,096 x 7,168 by 2,048, 4,096 and "
             "32,768 "
             "rows runs at 1,476, 1,094 and 1,557 TFLOP/s on B200. Both devices, of one library and nearly "
             "one "
             "chip, differ from each other by 5.9 % on average there once their medians are made equal (60 "
             "shapes), "
             "which is what a model of either cannot see. H100 and H200 differ by 2.8 % (90 shapes).") +
         "\n" +
         pages::Wrapped(
             "A100, m 8 to 64 and m = 1: kernels of single rows start 1 to 4 us sooner than others; 8 and 16 "
             "rows of "
             "128 x 1,024 took 7.5 and 5.9 us, 32 took 5.3. With 4-bit weights one row is by another kernel "
             "than "
             "eight.");
}

std::string Sustained() {
  return pages::Wrapped(
             "A step runs for seconds on numbers that are as good as random, and then power sets the clock: "
             "B200's was seen to fall from 1,965 to 1,580 MHz within 5 ms (flashinfer, pull request 2899), "
             "H100's from 1,980 to 1,575 (DeepGEMM, issue 120). `tests/kernels/sustained.csv` has products "
             "of random numbers that ran for long: Azure's AI benchmarking guide after 10,000 to warm up; "
             "SemiAnalysis's five shapes of Llama 70B (2024), less one that memory holds back, of which it "
             "gives the mean alone; FBGEMM's of an H100 limited to 500 W; SimuMax's of B200, those longer "
             "than 400 us, since shorter ones were over before the clock fell.") +
         "\n\n" + SustainedTable(SustainedProducts()) + "\n" +
         pages::Wrapped(
             "A device's derate is the mean over its products of one format, and of its formats, H100 and "
             "H200 together; it multiplies the rate of matrix units and neither memory's nor attention's, "
             "whose measured kernels ran as long as training's do. 500 W leave 0.83 of what 700 W do on "
             "H100, "
             "nearly the root of their ratio, 0.845; so B300 and GB300 have the root of their higher limits "
             "over those of B200 and GB200. The H20, whose few matrix units cannot draw that power, is "
             "assumed to have none; other devices that nobody measured have that of the one they are derived "
             "from.") +
         "\n" +
         pages::Wrapped(
             "SimuMax's figures of kernels are of the machine whose steps are among the published ones "
             "(`docs/validation.md`); its steps were seen before, so those rows are less blind than "
             "others.");
}

std::string Experts() {
  return pages::Wrapped(
             "Transformer Engine's GroupedLinear launches a cuBLAS kernel for each expert, on a few streams "
             "(its pull request 853; issue 1386 says why). `tests/kernels/experts.csv` has such products on "
             "B200, from "
             "SimuMax's `configs/system/b200_bf16_ceperm.json`. `training.expert_products` says which of "
             "both ways a "
             "framework has; presets of Megatron-Core have ONE_BY_ONE. Nothing is fitted to these rows. "
             "Gradients of "
             "weights are added to sums in FP32, which takes longer than the bytes say.") +
         "\n\n" + ExpertsTable(ExpertsProducts());
}

std::string Tried() {
  std::string table =
      pages::TableHead({"change, BF16, held out, all / m,n,k >= 1024", "A100", "H100", "B200", "L40S"});
  table += pages::TableLine({"the form, by another optimiser of the same softened squares", "6.4 / 3.3 %",
                             "3.9 / 2.9 %", "7.4 / 6.6 %", "15.2 / 4.8 %"});
  table += pages::TableLine({"one L2 for both operands, no limit of an SM's cold loads", "7.1 / 5.0 %",
                             "4.6 / 3.1 %", "7.8 / 6.6 %", "15.2 / 5.3 %"});
  table += pages::TableLine({"two parts of L2, no limit of an SM's cold loads, 192-wide tiles", "6.2 / 3.2 %",
                             "4.6 / 3.1 %", "9.2 / 6.3 %", "14.9 / 5.1 %"});
  table += pages::TableLine(
      {"operands read again for each wave", "6.4 / 3.3 %", "4.0 / 3.1 %", "7.4 / 6.6 %", "15.4 / 4.8 %"});
  table += pages::TableLine({"clocks that do not fall in long kernels", "6.7 / 4.3 %", "4.1 / 3.4 %",
                             "7.3 / 6.6 %", "15.9 / 8.3 %"});
  table += pages::TableLine({"no kernel of its own for single rows", "6.7 / 3.6 %", "", "", "15.4 / 4.7 %"});
  return table + "\n" +
         pages::Wrapped(
             "Without gain, too: a library that errs (tiles weighted by their time to the power of -8 or "
             "-20), "
             "a shortest time for a step of k, a price for each part of a split, a latency of memory beside "
             "the start of the kernel.");
}

}  // namespace

std::string Document(const std::vector<Products>& all) {
  std::int64_t rows = 0;
  ForEach(all, [&](const std::string&, const std::string&, const FormatFit& fit) {
    rows += static_cast<std::int64_t>(fit.rows.size());
  });
  std::string page = "# Kernels beside measurements\n\n" + Method(rows);
  page += "\n## Shapes that no fit has seen\n\n" + ErrorTable(all, &CalibratedGemm::held_out_s);
  page += "\n## By the figures of the devices' files\n\n" + ErrorTable(all, &CalibratedGemm::fitted_s);
  page += "\n## The worst regions\n\nHeld out, regions of ten rows and more:\n\n" + WorstRegions(all, 20);
  page += "\n" + Why();
  page += "\n## The worst rows\n\n" + WorstRows(all, 20);
  page += "\n## Random numbers, for long\n\n" + Sustained();
  page += "\n## Products of experts\n\n" + Experts();
  page += "\n## What was tried\n\n" + Tried();
  return page;
}

}  // namespace kernels
