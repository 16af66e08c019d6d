#include "scenarios/calibration/gemm_text.h"

#include <algorithm>
#include <utility>

#include "scenarios/calibration/doubts.h"
#include "scenarios/calibration/text_parts.h"

namespace scenarios {
namespace {

using hardware::GemmModel;
using hardware::GemmModelKind;
using sim::NumberFormat;

std::string ErrorsLine(const std::string& format, const FormatFit& fit, const GemmRegion& region) {
  std::string text = Padded(format, -14) + Padded(region.name, -15);
  const auto rows = std::count_if(fit.rows.begin(), fit.rows.end(),
                                  [&](const CalibratedGemm& row) { return region.has(row.row.shape); });
  text += Padded(std::to_string(rows), 6);
  for (const auto time :
       {&CalibratedGemm::shipped_s, &CalibratedGemm::fitted_s, &CalibratedGemm::held_out_s}) {
    const ErrorsOfRows errors = GemmErrors(fit.rows, region, time);
    text += errors.rows == 0
                ? Padded("-", 20)
                : Padded(PerCent(errors.mape, false), 8) + Padded(PerCent(errors.bias, true), 6) +
                      Padded(PerCent(errors.p95, false), 6);
  }
  return text + '\n';
}

double InKeyUnit(const GemmModel& model, const GemmFigure& figure) {
  return model.*figure.member / figure.unit;
}

// Optional figures that a model does without are not written.
bool IsWritten(const GemmFigure& figure, const GemmModel& model) {
  const bool optional = figure.member == &GemmModel::row_k_s || figure.member == &GemmModel::cast_fixed_s ||
                        figure.member == &GemmModel::cast_bytes;
  return !optional || model.*figure.member > 0;
}

std::string FiguresBeside(const GemmCalibration& calibration) {
  std::string text =
      Padded("format", -14) + Padded("figure", -22) + Padded("it has", 10) + Padded("fitted", 10) + '\n';
  for (const FormatFit& fit : calibration.formats) {
    if (!fit.enough()) continue;
    const bool has = fit.shipped.kind == GemmModelKind::kTiles;
    const std::string format = Padded(hardware::ToText(fit.format), -14);
    for (const GemmFigure& figure : GemmFigures()) {
      if (!IsWritten(figure, fit.fitted) && !(has && IsWritten(figure, fit.shipped))) continue;
      text += format + Padded(figure.key, -22) +
              Padded(has ? FigureText(InKeyUnit(fit.shipped, figure)) : "-", 10) +
              Padded(FigureText(InKeyUnit(fit.fitted, figure)), 10) +
              (fit.moves(figure) && IsAtBound(figure, fit.fitted) ? "  end of its range" : "") + '\n';
    }
    text += format + Padded("most_parts", -22) +
            Padded(has ? std::to_string(fit.shipped.most_parts) : "-", 10) +
            Padded(std::to_string(fit.fitted.most_parts), 10) + '\n';
  }
  return text;
}

std::string TilesText(const GemmModel& model) {
  std::string text = "  tiles {\n  " + Line("peak_tflops", FigureText(model.peak_flops_per_s * 1e-12));
  for (const GemmFigure& figure : GemmFigures()) {
    if (IsWritten(figure, model)) text += "  " + Line(figure.key, FigureText(InKeyUnit(model, figure)));
  }
  return text + "  " + Line("most_parts", std::to_string(model.most_parts)) + "  }\n";
}

std::string RooflineText(const GemmModel& model) {
  return "  roofline { efficiency: " + FigureText(model.efficiency) +
         "  memory_efficiency: " + FigureText(model.memory_efficiency) +
         "  fixed_us: " + FigureText(model.fixed_s * 1e6) + " }\n";
}

std::string ExtentsText(const GemmModel::Range& range) {
  return "{ m: " + std::to_string(range.m) + "  n: " + std::to_string(range.n) +
         "  k: " + std::to_string(range.k) + " }";
}

std::string GemmText(const std::vector<NumberFormat>& formats, const GemmModel& model,
                     const std::string& basis, const std::string& title, const std::string& note) {
  std::string text = "\ngemm {\n";
  for (const NumberFormat format : formats) text += Line("formats", hardware::ToText(format));
  text += model.kind == GemmModelKind::kTiles ? TilesText(model) : RooflineText(model);
  if (model.fitted_to.m > 0) {
    text += "  fitted_from " + ExtentsText(model.fitted_from) + "\n  fitted_to " +
            ExtentsText(model.fitted_to) + '\n';
  }
  return text + Line("basis", basis) + "  source {\n  " + Line("title", QuotedText(title)) + "  " +
         Line("note", QuotedText(note)) + "  }\n}\n";
}

bool SameFigures(const GemmModel& a, const GemmModel& b) {
  if (a.kind != b.kind || a.peak_flops_per_s != b.peak_flops_per_s) return false;
  const auto figures = GemmFigures();
  return std::all_of(figures.begin(), figures.end(),
                     [&](const GemmFigure& figure) { return a.*figure.member == b.*figure.member; });
}

std::string ErrorsText(const ErrorsOfRows& of) {
  return "mean error " + PerCent(of.mape, false) + " %, bias " + PerCent(of.bias, true) +
         " %, 95 of 100 within " + PerCent(of.p95, false) + " %";
}

std::string FitNote(const FormatFit& fit, const std::string& files) {
  std::string note = std::to_string(fit.rows.size()) + " rows of " + files + ", " +
                     std::to_string(fit.groups) + " pairs of n and k; " +
                     ErrorsText(GemmErrors(fit.rows, kGemmRegions[0], &CalibratedGemm::fitted_s));
  const ErrorsOfRows out = GemmErrors(fit.rows, kGemmRegions[0], &CalibratedGemm::held_out_s);
  if (out.rows > 0) note += "; held out " + PerCent(out.mape, false) + " %";
  if (fit.fitted.cast_fixed_s > 0) {
    note += "; the measured operation includes a cast of the first operand, told apart in the last figures";
  }
  return note;
}

}  // namespace

ErrorsOfRows GemmErrors(const std::vector<CalibratedGemm>& rows, const GemmRegion& region,
                        double CalibratedGemm::*time) {
  std::vector<double> errors;
  for (const CalibratedGemm& row : rows) {
    if (row.*time > 0 && region.has(row.row.shape)) errors.push_back(row.*time / row.row.seconds - 1);
  }
  return ErrorsOfAll(std::move(errors));
}

std::string GemmCalibrationText(const hardware::Device& device, const GemmCalibration& calibration) {
  std::string text = "Matrix products of \"" + device.name + "\"\n\n" + Padded("", -35) +
                     Padded("it has, %", 20) + Padded("fitted, %", 20) + Padded("held out, %", 20) + '\n' +
                     Padded("format", -14) + Padded("shapes", -15) + Padded("rows", 6);
  for (int i = 0; i < 3; ++i) text += Padded("mean", 8) + Padded("bias", 6) + Padded("p95", 6);
  text += '\n';
  for (const FormatFit& fit : calibration.formats) {
    for (const GemmRegion& region : kGemmRegions) {
      text += ErrorsLine(hardware::ToText(fit.format), fit, region);
    }
  }
  const bool fitted = std::any_of(calibration.formats.begin(), calibration.formats.end(),
                                  [](const FormatFit& fit) { return fit.enough(); });
  text += '\n' + (fitted ? FiguresBeside(calibration) : "");
  for (const std::string& why : calibration.left_out) text += "left out: " + why + '\n';
  for (const std::string& note : calibration.notes) text += "note: " + note + '\n';
  for (const std::string& doubt : DoubtsOf(calibration)) text += "doubtful: " + doubt + '\n';
  return text;
}

std::string GemmResidualsCsv(const GemmCalibration& calibration) {
  std::string text = "place,format,m,n,k,measured_us,it_has_us,fitted_us,held_out_us\n";
  for (const FormatFit& fit : calibration.formats) {
    for (const CalibratedGemm& row : fit.rows) {
      const sim::GemmShape& shape = row.row.shape;
      text += row.row.place() + ',' + hardware::ToText(fit.format) + ',' + std::to_string(shape.m) + ',' +
              std::to_string(shape.n) + ',' + std::to_string(shape.k);
      for (const double seconds : {row.row.seconds, row.shipped_s, row.fitted_s, row.held_out_s}) {
        text += ',' + (seconds > 0 ? FigureText(seconds * 1e6) : "");
      }
      text += '\n';
    }
  }
  return text;
}

std::string FittedGemmText(const FittedDevice& fitted, const hardware::Device& device,
                           const GemmCalibration& calibration) {
  std::string files;
  for (const std::string& file : fitted.files) files += (files.empty() ? "" : ", ") + file;
  std::size_t rows = 0;
  std::vector<const FormatFit*> fits;
  for (const FormatFit& fit : calibration.formats) {
    if (fit.enough()) fits.push_back(&fit);
  }
  for (const FormatFit* fit : fits) rows += fit->rows.size();
  std::string text = "# Figures of matrix products fitted to " + std::to_string(rows) + " rows of " + files +
                     ".\nname: " + QuotedText(fitted.name) +
                     "\nderived_from: " + QuotedText(fitted.derived_from) + "\nbasis: MEASURED\nsource {\n" +
                     Line("title", QuotedText("Measured matrix products")) +
                     Line("note", QuotedText(std::to_string(rows) + " rows of " + files)) + "}\n";
  std::vector<bool> done(hardware::kNumberFormats);
  for (const FormatFit* fit : fits) done[static_cast<std::size_t>(fit->format)] = true;
  for (const FormatFit* of : fits) {
    const FormatFit& fit = *of;
    std::vector<NumberFormat> formats = {fit.format};
    for (std::size_t i = 0; i < hardware::kNumberFormats; ++i) {
      if (done[i] || fit.shipped.kind != GemmModelKind::kTiles || !SameFigures(fit.shipped, device.gemm[i])) {
        continue;
      }
      formats.push_back(static_cast<NumberFormat>(i));
      done[i] = true;
    }
    text += GemmText(formats, fit.fitted, "MEASURED", "Measured matrix products", FitNote(fit, files));
  }
  for (std::size_t i = 0; i < hardware::kNumberFormats; ++i) {
    if (done[i] || device.gemm[i].kind == GemmModelKind::kNone) continue;
    text += GemmText({static_cast<NumberFormat>(i)}, device.gemm[i], "DERIVED", "As " + fitted.derived_from,
                     "not fitted");
  }
  return text;
}

}  // namespace scenarios
