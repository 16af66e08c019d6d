#include "scenarios/calibration/fitted_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scenarios/calibration/doubts.h"
#include "scenarios/calibration/text_parts.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;

constexpr std::int64_t kLarge = std::int64_t{1} << 20;  // bytes

std::string WayText(sim::Algorithm algorithm, sim::Protocol protocol) {
  return std::string(sim::ToText(algorithm)) + ' ' + sim::ToText(protocol);
}

double InKey(const Figures& figures, Figure figure) {
  return figures[static_cast<std::size_t>(figure)] / UnitOf(figure);
}

std::string FigureTable(const Calibration& calibration) {
  std::string text = Padded("way", -13) + Padded("points", 8) + "  " + Padded("figure", -34) +
                     Padded("it has", 10) + Padded("fitted", 10) + '\n';
  for (const WayFit& way : calibration.ways) {
    for (std::size_t i = 0; i < kFigures; ++i) {
      const auto figure = static_cast<Figure>(i);
      if (!(way.start[i] > 0)) continue;
      text += Padded(WayText(way.algorithm, way.protocol), -13) + Padded(std::to_string(way.points), 8) +
              "  " + Padded(ToText(figure), -34) + Padded(FigureText(InKey(way.start, figure)), 10) +
              Padded(way.enough() ? FigureText(InKey(way.fitted, figure)) : "too few", 10) + '\n';
    }
  }
  return text;
}

// Errors of rows by one of their times; rows without that time are left out.
ErrorsOfRows ErrorsBy(const std::vector<const CalibratedRow*>& rows, double CalibratedRow::*time) {
  std::vector<double> errors;
  for (const CalibratedRow* row : rows) {
    if (row->*time > 0) errors.push_back(row->*time / row->row.seconds - 1);
  }
  return ErrorsOfAll(std::move(errors));
}

std::string ErrorTable(const Calibration& calibration) {
  std::map<std::string, std::vector<const CalibratedRow*>> groups;
  for (const CalibratedRow& row : calibration.rows) {
    const bool large = row.row.bytes.count() >= kLarge;
    groups[row.row.device + ' ' + row.row.collective + (large ? " from 1M" : " below")].push_back(&row);
  }
  std::string text = Padded("", -46) + Padded("", 6) + Padded("it has, %", 20) + Padded("fitted, %", 20) +
                     Padded("held out, %", 20) + '\n' + Padded("device collective bytes", -46) +
                     Padded("rows", 6);
  for (int i = 0; i < 3; ++i) text += Padded("mean", 8) + Padded("bias", 6) + Padded("p95", 6);
  text += '\n';
  for (const auto& [name, rows] : groups) {
    text += Padded(name, -46) + Padded(std::to_string(rows.size()), 6);
    for (const auto time :
         {&CalibratedRow::shipped_s, &CalibratedRow::fitted_s, &CalibratedRow::held_out_s}) {
      const ErrorsOfRows errors = ErrorsBy(rows, time);
      text += errors.rows == 0
                  ? Padded("-", 20)
                  : Padded(PerCent(errors.mape, false), 8) + Padded(PerCent(errors.bias, true), 6) +
                        Padded(PerCent(errors.p95, false), 6);
    }
    text += '\n';
  }
  return text;
}

const char* AlgorithmKey(sim::Algorithm algorithm) {
  switch (algorithm) {
    case sim::Algorithm::kTree:
      return "TREE";
    case sim::Algorithm::kNvls:
      return "NVLS";
    case sim::Algorithm::kNvlsTree:
      return "NVLS_TREE";
    case sim::Algorithm::kPat:
      return "PAT";
    case sim::Algorithm::kPointToPoint:
      return "P2P";
    case sim::Algorithm::kOneShot:
      return "ONE_SHOT";
    case sim::Algorithm::kTwoShot:
      return "TWO_SHOT";
    default:
      return "RING";
  }
}

const char* ProtocolKey(sim::Protocol protocol) {
  if (protocol == sim::Protocol::kLl) return "LL";
  return protocol == sim::Protocol::kLl128 ? "LL128" : "SIMPLE";
}

// What a fit does not move: steps between nodes, wires, and limits over nodes.
std::string RestOf(const CollectiveTiming& timing) {
  std::string text =
      Line("step_inside_multi_node_us", FigureText(timing.step_inside_multi_node.seconds() * 1e6)) +
      Line("step_between_us", FigureText(timing.step_between.seconds() * 1e6)) +
      Line("wire_numerator", std::to_string(timing.wire_numerator)) +
      Line("wire_denominator", std::to_string(timing.wire_denominator));
  const std::pair<const char*, sim::ByteRate> limits[] = {
      {"limit_two_nodes_gb_per_s", timing.limit_two_nodes},
      {"limit_more_nodes_gb_per_s", timing.limit_more_nodes}};
  for (const auto& [key, limit] : limits) {
    if (limit > sim::ByteRate()) text += Line(key, FigureText(limit.bytes_per_second() * 1e-9));
  }
  return text;
}

// `fit` is null where no row tells of it.
std::string CollectiveText(const CollectiveTiming& timing, const WayFit* fit, const std::string& note,
                           const std::string& derived_from) {
  const bool fitted = fit != nullptr && fit->enough();
  const Figures figures = fitted ? fit->fitted : FiguresOf(timing);
  std::string text = "\ncollectives {\n";
  if (timing.algorithm != sim::Algorithm::kRing) text += Line("algorithm", AlgorithmKey(timing.algorithm));
  text += Line("protocol", ProtocolKey(timing.protocol));
  for (std::size_t i = 0; i < kFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    // Base and steps are always there, if as zero.
    if (!(figures[i] > 0) && figure != Figure::kBase && figure != Figure::kStepInside) continue;
    text += Line(ToText(figure), FigureText(InKey(figures, figure)));
  }
  text += RestOf(timing) + Line("basis", fitted ? "MEASURED" : "DERIVED");
  const std::string title = fitted ? "Measured collectives" : "As " + derived_from;
  const std::string what = fitted ? Counted(fit->points, "row") + " of " + note : "not fitted";
  return text + "  source {\n  " + Line("title", QuotedText(title)) + "  " + Line("note", QuotedText(what)) +
         "  }\n}\n";
}

}  // namespace

std::string CalibrationText(const hardware::Device& first, const Calibration& calibration) {
  std::string text = "Collectives of \"" + first.name + "\": " + Counted(calibration.rows.size(), "row") +
                     "\n\n" + FigureTable(calibration) + '\n' + ErrorTable(calibration);
  for (const std::string& why : calibration.left_out) text += "left out: " + why + '\n';
  for (const std::string& note : calibration.notes) text += "version not known: " + note + '\n';
  for (const std::string& doubt : DoubtsOf(calibration)) text += "doubtful: " + doubt + '\n';
  return text;
}

std::string ResidualsCsv(const Calibration& calibration) {
  std::string text =
      "place,source,gpu,ranks,nccl,collective,bytes,way,measured_us,it_has_us,fitted_us,held_out_us\n";
  for (const CalibratedRow& row : calibration.rows) {
    const MeasuredCollective& from = row.row;
    text += from.place() + ',' + from.source + ',' + from.device + ',' + std::to_string(from.ranks) + ',' +
            from.nccl + ',' + from.collective + ',' + std::to_string(from.bytes.count()) + ',' +
            WayText(row.point.algorithm, row.point.protocol);
    for (const double seconds : {from.seconds, row.shipped_s, row.fitted_s, row.held_out_s}) {
      text += ',' + (seconds > 0 ? FigureText(seconds * 1e6) : "");
    }
    text += '\n';
  }
  return text;
}

std::string FittedDeviceText(const FittedDevice& fitted, const hardware::Device& as_written,
                             const Calibration& calibration) {
  std::string files;
  for (const std::string& file : fitted.files) files += (files.empty() ? "" : ", ") + file;
  std::vector<double> errors, held_out;
  for (const CalibratedRow& row : calibration.rows) {
    errors.push_back(row.fitted_s / row.row.seconds - 1);
    if (row.held_out_s > 0) held_out.push_back(row.held_out_s / row.row.seconds - 1);
  }
  const ErrorsOfRows fit = ErrorsOfAll(std::move(errors)), out = ErrorsOfAll(std::move(held_out));
  const auto errors_text = [](const ErrorsOfRows& of) {
    return "mean error " + PerCent(of.mape, false) + " %, bias " + PerCent(of.bias, true) +
           " %, 95 of 100 within " + PerCent(of.p95, false) + " %";
  };
  std::string text = "# Figures of collectives fitted to " + std::to_string(fit.rows) + " rows of " + files +
                     ".\n# Over these rows: " + errors_text(fit) + ".\n";
  if (out.rows > 0) {
    text += "# Each curve by a fit to the others, " + std::to_string(out.rows) +
            " rows: " + errors_text(out) + ".\n";
  }
  text += "name: " + QuotedText(fitted.name) + "\nderived_from: " + QuotedText(fitted.derived_from) +
          "\nbasis: MEASURED\nsource {\n" + Line("title", QuotedText("Measured collectives")) +
          Line("note", QuotedText(std::to_string(fit.rows) + " rows of " + files)) + "}\n";
  // Those of its file come first; NCCL's own latencies for other algorithms are not repeated.
  const auto given = static_cast<std::size_t>(
      std::count_if(as_written.figures.begin(), as_written.figures.end(),
                    [](const hardware::Figure& figure) { return figure.key.starts_with("collectives"); }));
  const std::vector<CollectiveTiming> timings = WithPointToPoint(as_written).collective_timing;
  for (std::size_t i = 0; i < timings.size(); ++i) {
    const auto way = std::find_if(calibration.ways.begin(), calibration.ways.end(), [&](const WayFit& of) {
      return of.algorithm == timings[i].algorithm && of.protocol == timings[i].protocol;
    });
    const WayFit* fit_of = way == calibration.ways.end() ? nullptr : &*way;
    if (i >= given && (fit_of == nullptr || !fit_of->enough())) continue;
    text += CollectiveText(timings[i], fit_of, files, fitted.derived_from);
  }
  return text;
}

}  // namespace scenarios
