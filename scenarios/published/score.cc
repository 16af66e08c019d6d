#include "scenarios/published/score.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace scenarios {
namespace {

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Rank of each value, from 1; equal ones share the mean.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = static_cast<double>(first + last) / 2 + 1;
    first = last + 1;
  }
  return ranks;
}

std::string Percent(double part, bool sign) {
  char text[32];
  std::snprintf(text, sizeof text, sign ? "%+.1f %%" : "%.1f %%", 100 * part);
  return text;
}

struct Group {
  std::int64_t rows = 0, built = 0;
  std::vector<double> errors;
};

std::string GroupLine(const std::string& name, const Group& group) {
  std::string line = "| " + name + " | " + std::to_string(group.rows) + " | " + std::to_string(group.built) +
                     " | " + std::to_string(group.errors.size()) + " |";
  if (group.errors.empty()) return line + " | | | |\n";
  const Errors e = ErrorsOf(group.errors);
  return line + ' ' + Percent(e.mean, false) + " | " + Percent(e.median, false) + " | " +
         Percent(e.p90, false) + " | " + Percent(e.bias, true) + " |\n";
}

// Groups count alike, however many rows they have.
std::string MacroLine(const std::map<std::string, Group>& groups) {
  std::vector<double> means, medians, p90s, biases;
  for (const auto& [name, group] : groups) {
    if (group.errors.empty()) continue;
    const Errors e = ErrorsOf(group.errors);
    means.push_back(e.mean);
    medians.push_back(e.median);
    p90s.push_back(e.p90);
    biases.push_back(e.bias);
  }
  if (means.empty()) return "";
  return "| mean of the " + std::to_string(means.size()) + " lines with rows simulated | | | | " +
         Percent(Mean(means), false) + " | " + Percent(Mean(medians), false) + " | " +
         Percent(Mean(p90s), false) + " | " + Percent(Mean(biases), true) + " |\n";
}

std::string CsvCell(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

}  // namespace

Errors ErrorsOf(std::vector<double> errors) {
  Errors out{.rows = static_cast<std::int64_t>(errors.size())};
  if (errors.empty()) return out;
  out.bias = Mean(errors);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  const std::size_t n = errors.size();
  out.mean = Mean(errors);
  out.median = (errors[(n - 1) / 2] + errors[n / 2]) / 2;
  out.p90 = errors[(9 * n + 9) / 10 - 1];  // ceil(0.9 n), from 1
  return out;
}

std::optional<double> RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 2 || a.size() != b.size()) return std::nullopt;
  const std::vector<double> x = RanksOf(a), y = RanksOf(b);
  const double mean_x = Mean(x), mean_y = Mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

std::vector<Sweep> SweepsOf(const std::vector<StepOutcome>& outcomes, std::size_t least) {
  struct Costs {
    std::vector<double> published, simulated;  // GPU seconds a token
  };
  std::map<std::tuple<std::string, std::string, std::string>, Costs> groups;
  for (const StepOutcome& outcome : outcomes) {
    if (!outcome.simulated()) continue;
    const StepRow& row = outcome.row;
    const double tokens = static_cast<double>(row.global_batch) * static_cast<double>(row.seq_len);
    const double gpus_a_token = static_cast<double>(row.n_gpu) / tokens;
    Costs& costs = groups[{row.source, row.model_name, row.gpu}];
    costs.published.push_back(row.step_time_s * gpus_a_token);
    costs.simulated.push_back(outcome.simulated_s * gpus_a_token);
  }
  std::vector<Sweep> sweeps;
  for (const auto& [key, costs] : groups) {
    if (costs.published.size() < least) continue;
    const auto correlation = RankCorrelation(costs.published, costs.simulated);
    if (!correlation) continue;
    const auto& [source, model, gpu] = key;
    sweeps.push_back({source, model, gpu, static_cast<std::int64_t>(costs.published.size()), *correlation});
  }
  return sweeps;
}

std::string ErrorTable(const std::vector<StepOutcome>& outcomes, const std::string& title,
                       const std::function<std::string(const StepOutcome&)>& group) {
  std::map<std::string, Group> groups;
  Group all;
  for (const StepOutcome& outcome : outcomes) {
    for (Group* into : {&groups[group(outcome)], &all}) {
      ++into->rows;
      into->built += outcome.built() ? 1 : 0;
      if (outcome.simulated()) into->errors.push_back(outcome.error());
    }
  }
  std::string text = "| " + title + " | rows | built | simulated | mean | median | p90 | bias |\n" +
                     "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [name, one] : groups) text += GroupLine(name, one);
  return text + GroupLine("all", all) + MacroLine(groups);
}

std::string SweepTable(const std::vector<Sweep>& sweeps) {
  std::string text = "| source | model | device | rows | rank correlation |\n|---|---|---|---|---|\n";
  for (const Sweep& sweep : sweeps) {
    char correlation[32];
    std::snprintf(correlation, sizeof correlation, "%+.2f", sweep.correlation);
    text += "| " + sweep.source + " | " + sweep.model + " | " + sweep.gpu + " | " +
            std::to_string(sweep.rows) + " | " + correlation + " |\n";
  }
  return text;
}

std::string ReasonTable(const std::vector<StepOutcome>& outcomes, const std::string& title,
                        const std::function<std::vector<std::string>(const StepOutcome&)>& reasons) {
  std::map<std::string, int> counts;
  for (const StepOutcome& outcome : outcomes) {
    for (const std::string& reason : reasons(outcome)) ++counts[reason];
  }
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "| " + title + " | rows |\n|---|---|\n";
  for (const auto& [reason, count] : sorted) text += "| " + reason + " | " + std::to_string(count) + " |\n";
  return text;
}

std::string OutcomesCsv(const std::vector<StepOutcome>& outcomes) {
  std::string text = "id,source,published_s,simulated_s,error_percent,fits,tasks,refused\n";
  for (const StepOutcome& o : outcomes) {
    char line[160];
    // What was not simulated has no figures.
    if (o.simulated()) {
      std::snprintf(line, sizeof line, ",%.6g,%.6g,%.2f,%s,%.0f,", o.row.step_time_s, o.simulated_s,
                    100 * o.error(), o.fits ? "yes" : "no", o.tasks);
    } else {
      std::snprintf(line, sizeof line, ",%.6g,,,,,", o.row.step_time_s);
    }
    std::string reasons = o.too_large ? "too large" : "";
    for (const std::string& reason : o.refused) reasons += (reasons.empty() ? "" : "; ") + reason;
    text += CsvCell(o.row.id) + ',' + CsvCell(o.row.source) + line + CsvCell(reasons) + '\n';
  }
  return text;
}

}  // namespace scenarios
