#include "scenarios/sweep/ranking.h"

#include <algorithm>

namespace scenarios {
namespace {

bool OnFront(const Merit& merit, const std::vector<Ranked>& all) {
  return std::none_of(all.begin(), all.end(), [&](const Ranked& r) { return Dominates(r.merit, merit); });
}

}  // namespace

CostUnit CostUnitOf(const std::vector<Row>& rows) {
  const bool all = std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return !row.devices || row.usd_per_device_hour;  // what does not load has neither
  });
  return all ? CostUnit::kDollars : CostUnit::kDeviceSeconds;
}

std::optional<Merit> Ruler::Of(const Row& row, sim::Duration step) const {
  // Multiplied as whole numbers, so that what costs the same is the same.
  const double device_s = sim::Number(static_cast<sim::Wide>(*row.devices) * step.ps()) * 1e-12;
  const std::optional<double>& price = row.usd_per_device_hour;
  const double usd = price ? device_s * *price / 3600 : 0;
  Merit merit{.step_s = step.seconds(),
              .memory_bytes = sim::Number(row.memory->count()),
              .cost = unit == CostUnit::kDollars ? usd : device_s};
  if (metric != Metric::kStepTime && !price) return std::nullopt;
  merit.by_metric = metric == Metric::kStepTime ? merit.step_s
                    : metric == Metric::kCost   ? usd
                                                : usd / sim::Number(row.tokens());
  return merit;
}

bool Dominates(const Merit& a, const Merit& b) {
  const bool as_good = a.step_s <= b.step_s && a.memory_bytes <= b.memory_bytes && a.cost <= b.cost;
  return as_good && (a.step_s < b.step_s || a.memory_bytes < b.memory_bytes || a.cost < b.cost);
}

void Skipper::Add(const Row& played) {
  if (played.status != RowStatus::kOk) return;
  const std::optional<Merit> merit = ruler_.Of(played, *played.step_time);
  if (!merit) return;
  best_ = std::min(best_.value_or(merit->by_metric), merit->by_metric);
  for (const Merit& other : front_) {
    if (Dominates(other, *merit)) return;
  }
  std::erase_if(front_, [&](const Merit& other) { return Dominates(*merit, other); });
  front_.push_back(*merit);
}

bool Skipper::Skips(const Row& looked_at) const {
  const std::optional<Merit> most = ruler_.Of(looked_at, *looked_at.least_step_time);
  if (!most || !best_ || most->by_metric <= *best_) return false;
  if (!wanted_.front) return true;
  return std::any_of(front_.begin(), front_.end(), [&](const Merit& m) { return Dominates(m, *most); });
}

std::vector<Ranked> RankingOf(const std::vector<Row>& rows, Metric metric) {
  const Ruler ruler{metric, CostUnitOf(rows)};
  std::vector<Ranked> ranking;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != RowStatus::kOk) continue;
    const std::optional<Merit> merit = ruler.Of(rows[i], *rows[i].step_time);
    if (merit) ranking.push_back({.row = i, .merit = *merit});
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const Ranked& a, const Ranked& b) { return a.merit.by_metric < b.merit.by_metric; });
  for (Ranked& one : ranking) one.on_front = OnFront(one.merit, ranking);
  return ranking;
}

}  // namespace scenarios
