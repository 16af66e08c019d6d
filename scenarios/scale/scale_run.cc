#include "scenarios/scale/scale_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "scenarios/scale/best_layout.h"
#include "scenarios/scale/inputs.h"
#include "scenarios/scale/side_by_side.h"
#include "scenarios/verdict/resized.h"

namespace scenarios {
namespace {

std::string LayoutText(const Scenario& s) {
  std::string text = "tensor " + std::to_string(s.layout.tensor);
  if (s.layout.context > 1) text += " x context " + std::to_string(s.layout.context);
  text += " x pipeline " + std::to_string(s.layout.pipeline);
  if (s.layout.virtual_stages > 1) text += " (" + std::to_string(s.layout.virtual_stages) + " virtual)";
  text += " x data " + std::to_string(s.layout.data);
  if (s.layout.expert > 1) text += ", expert " + std::to_string(s.layout.expert);
  return text + ", micro-batch " + std::to_string(s.batch.micro);
}

void Fill(const Scenario& scenario, const Report& report, ScaleRow* row) {
  row->layout = LayoutText(scenario);
  row->digest = report.digest;
  row->step_time = report.step_time;
  row->tokens_per_s = report.tokens_per_s;
  row->mfu = report.mfu;
  row->breakdown = report.breakdown;
  const double step = report.step_time.seconds();
  for (const TimePart& part : report.breakdown) {
    if (IsExposed(part.name)) row->exposed += part.time.seconds() / step;
    if (part.name == "bubble") row->bubble += part.time.seconds() / step;
  }
  row->usd_per_trillion_tokens = report.cost_usd_per_trillion_tokens;
  row->fits = report.fits;
  row->inputs = InputsOf(scenario, report);
}

// One row, within so many parts of the memory.
ScaleRow Row(const Scenario& s, const ScaleRequest& request, std::int64_t devices, const Reload& reload,
             const PlayPart& play, const std::function<bool()>& stopped, std::size_t parts) {
  ScaleRow row{.devices = devices, .batch = s.batch.global};
  const auto refuse = [&](const sim::Error& error) {
    row.refused = error.message;
    return row;
  };
  if (stopped()) return refuse({"interrupted"});
  if (request.scaling == Scaling::kWeak) {
    const auto grown = GrownBatch(s, s.batch.global, devices);
    if (!grown.ok()) return refuse(grown.error());
    row.batch = grown.value();
  }
  if (request.layouts == LayoutRule::kBest) {
    const auto best = BestLayout(
        s, devices, row.batch, reload, [&](const Scenario& one) { return play(one, parts); }, stopped);
    if (!best.ok()) return refuse(best.error());
    Fill(best.value().scenario, best.value().report, &row);
    row.layout += " (" + std::to_string(best.value().fit) + " fit, " + std::to_string(best.value().played) +
                  " played" +
                  (best.value().left > 0 ? ", " + std::to_string(best.value().left) + " left)" : ")");
    return row;
  }
  const auto job = Resized(s, devices, row.batch, {}, reload);
  if (!job.ok()) return refuse(job.error());
  const auto report = play(job.value(), parts);
  if (!report.ok()) return refuse(report.error());
  Fill(job.value(), report.value(), &row);
  return row;
}

}  // namespace

const char* ToText(LayoutRule rule) { return rule == LayoutRule::kFixed ? "fixed" : "best"; }

bool IsExposed(const std::string& part) {
  constexpr std::array<const char*, 7> kParts = {"data",   "embedding", "gradient norm", "tensor",
                                                 "expert", "context",   "pipeline"};
  return std::find(kParts.begin(), kParts.end(), part) != kParts.end();
}

std::vector<ScaleRow> RunScale(const Scenario& scenario, const ScaleRequest& request, const Reload& reload,
                               const PlayPart& play, const ScaleEffort& effort) {
  const auto stopped = [&] { return effort.stopped && effort.stopped(); };
  const std::size_t n = request.devices.size();
  const std::size_t parts = std::max<std::size_t>(std::min(effort.threads, n), 1);
  std::vector<ScaleRow> rows(n);
  // The largest first: they take longest.
  SideBySide(n, effort.threads, [&](std::size_t i) {
    rows[n - 1 - i] = Row(scenario, request, request.devices[n - 1 - i], reload, play, stopped, parts);
  });
  for (ScaleRow& row : rows) {
    if (parts > 1 && !row.simulated() && !stopped())
      row = Row(scenario, request, row.devices, reload, play, stopped, 1);
  }
  const auto per_device = [](const ScaleRow& row) {
    return row.tokens_per_s / static_cast<double>(row.devices);
  };
  const auto first = std::find_if(rows.begin(), rows.end(), [](const ScaleRow& r) { return r.simulated(); });
  for (ScaleRow& row : rows) {
    if (row.simulated()) row.efficiency = per_device(row) / per_device(*first);
  }
  return rows;
}

Curve CurveOf(const std::vector<ScaleRow>& rows, Scaling scaling) {
  Curve curve{.scaling = scaling, .measured = false};
  for (const ScaleRow& row : rows) {
    if (!row.simulated()) continue;
    if (curve.points.empty()) curve.first_mfu = row.mfu;
    curve.points.push_back({row.devices, row.step_time.seconds()});
  }
  return curve;
}

}  // namespace scenarios
