#include "scenarios/output/comparison_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;
using sim::Duration;

[[gnu::format(printf, 1, 2)]] std::string Printed(const char* format, ...) {
  std::array<char, 512> line;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  return line.data();
}

std::string Signed(Duration time) {
  if (time < Duration()) return "-" + TimeText(Duration() - time);
  return (time > Duration() ? "+" : "") + TimeText(time);
}

double PercentMore(Duration more, Duration of) { return 100 * more.seconds() / of.seconds(); }

// The base first, then the variants with their numbers.
std::vector<std::pair<std::string, const ComparedJob*>> Named(const Comparison& comparison) {
  std::vector<std::pair<std::string, const ComparedJob*>> jobs = {{"base", &comparison.base}};
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    jobs.emplace_back(std::to_string(i + 1), &comparison.variants[i]);
  }
  return jobs;
}

std::string JobTable(const Comparison& comparison) {
  const auto jobs = Named(comparison);
  const bool priced = std::any_of(jobs.begin(), jobs.end(), [](const auto& job) {
    return job.second->played && job.second->played->report.cost_usd_per_step;
  });
  std::string text;
  for (const auto& [name, job] : jobs) text += Printed("%-5s ", name.c_str()) + job->text + "\n";
  text += Printed("\n%-5s %7s %11s %11s %7s %6s %6s %11s", "", "devices", "step", "tokens/s", "TFLOP/s",
                  "MFU", "HFU", "memory");
  text += priced ? Printed(" %9s %11s\n", "$/step", "$/T tokens") : "\n";
  for (const auto& [name, job] : jobs) {
    text += Printed("%-5s ", name.c_str());
    if (!job->played) {
      text += job->refused + "\n";
      continue;
    }
    const Report& r = job->played->report;
    const double saves = job->played->saves_factor();
    text +=
        Printed("%7s %11s %11s %7.1f %5.1f%% %5.1f%% %11s", CountText(r.devices).c_str(),
                TimeText(job->played->step).c_str(), CountText(std::llround(saves * r.tokens_per_s)).c_str(),
                saves * r.tflops_per_device, 100 * saves * r.mfu, 100 * saves * r.hfu,
                BytesText(job->played->largest_stage()).c_str());
    if (r.cost_usd_per_step) {
      text += Printed(" %9.4g %11s", *r.cost_usd_per_step / saves,
                      CountText(std::llround(*r.cost_usd_per_trillion_tokens / saves)).c_str());
    } else if (priced) {
      text += Printed(" %9s %11s", "-", "-");
    }
    text += std::string(r.fits ? "" : "  does not fit") + (r.steady ? "\n" : "  not steady\n");
  }
  return text;
}

// Columns of the second table: parts of a step, some together.
struct Column {
  const char* title;
  std::vector<std::string> ids;
};

std::vector<Column> Columns() {
  return {{"compute", {"products", "attention", "memory_kernels", "other_kernels"}},
          {"slowed", {"slow_down"}},
          {"again", {"recomputation"}},
          {"optim.", {"optimizer"}},
          {"bubble", {"bubble"}},
          {"tensor", {"tensor"}},
          {"context", {"context"}},
          {"expert", {"expert"}},
          {"pipe", {"pipeline"}},
          {"data", {"data", "embedding", "gradient_norm"}},
          {"host", {"host", "offload", "loading"}},
          {"saves", {"checkpoint"}},
          {"other", {"other"}}};
}

double ShareOf(const PlayedJob& played, const Column& column) {
  Duration time;
  for (const StepPart& part : played.parts) {
    if (std::find(column.ids.begin(), column.ids.end(), part.id) != column.ids.end()) time += part.time;
  }
  return time.seconds() / played.step.seconds();
}

std::string PartTable(const Comparison& comparison) {
  std::vector<Column> columns;
  for (Column& column : Columns()) {
    double most = 0;
    for (const auto& [name, job] : Named(comparison)) {
      if (job->played) most = std::max(most, std::abs(ShareOf(*job->played, column)));
    }
    if (most > 0) columns.push_back(std::move(column));
  }
  std::string text =
      "\nOf the step of the rank that idles least, in %; communication and saves as it waits for them\n     ";
  for (const Column& column : columns) text += Printed(" %7s", column.title);
  text += "\n";
  for (const auto& [name, job] : Named(comparison)) {
    if (!job->played) continue;
    text += Printed("%-5s", name.c_str());
    for (const Column& column : columns) text += Printed(" %7.1f", 100 * ShareOf(*job->played, column));
    text += "\n";
  }
  return text;
}

std::string Difference(Duration difference, Duration of) {
  return Printed(" %12s %+6.1f%%\n", Signed(difference).c_str(), PercentMore(difference, of));
}

std::string CauseRow(const std::string& name, Duration base, Duration variant, Duration difference,
                     Duration of) {
  return Printed("  %-52s %11s %11s", name.c_str(), TimeText(base).c_str(), TimeText(variant).c_str()) +
         Difference(difference, of);
}

std::string WorkRow(const std::string& name, Duration difference, Duration of) {
  return Printed("  %-76s", name.c_str()) + Difference(difference, of);
}

std::string WaterfallText(const std::string& number, const PlayedJob& base, const ComparedJob& job) {
  const Waterfall& w = *job.waterfall;
  const PlayedJob& variant = *job.played;
  std::string text = "\n" + number + " against the base: " + TimeText(w.variant) + " instead of " +
                     TimeText(w.base) + " a step, " +
                     Printed("%.1f instead of %.1f TFLOP/s a device\n",
                             variant.saves_factor() * variant.report.tflops_per_device,
                             base.saves_factor() * base.report.tflops_per_device);
  if (base.stage().stage != variant.stage().stage) {
    text +=
        Printed("  (parts are of a rank of stage %lld, in the base of stage %lld: they idle least)\n",
                static_cast<long long>(variant.stage().stage), static_cast<long long>(base.stage().stage));
  }
  Duration work;
  for (const WaterfallPart& part : w.parts) {
    if (!part.work || part.difference == Duration()) continue;
    work += part.difference;
    text += WorkRow(part.name, part.difference, w.base);
  }
  const Duration at_work = w.base + work;
  if (work != Duration()) {
    text += WorkRow("the base with that work: " + TimeText(at_work), work, w.base);
  }
  for (const WaterfallPart& part : w.parts) {
    if (part.work || part.difference == Duration()) continue;
    text += CauseRow(part.name, part.base, part.variant, part.difference, w.base);
  }
  return text + CauseRow("together", at_work, w.variant, w.difference(), w.base);
}

Json OrNull(const std::optional<double>& value, double over) {
  return value.has_value() ? Json(*value / over) : Json(nullptr);
}

Json WaterfallJson(const Waterfall& w) {
  Json json = {{"base_ps", w.base.ps()},
               {"variant_ps", w.variant.ps()},
               {"difference_ps", w.difference().ps()},
               {"work_per_gpu", w.work},
               {"parts", Json::array()}};
  for (const WaterfallPart& part : w.parts) {
    json["parts"].push_back({{"id", part.id},
                             {"text", part.name},
                             {"work", part.work},
                             {"base_ps", part.base.ps()},
                             {"variant_ps", part.variant.ps()},
                             {"difference_ps", part.difference.ps()}});
  }
  return json;
}

Json JobJson(const ComparedJob& job) {
  Json json = {{"job", job.text}, {"refused", job.played ? Json(nullptr) : Json(job.refused)}};
  if (!job.played) return json;
  const Report& r = job.played->report;
  const double saves = job.played->saves_factor();
  json.update({{"scenario", r.scenario},
               {"overrides", r.overrides},
               {"digest", r.digest},
               {"devices", r.devices},
               {"step_time_s", r.step_time.seconds()},
               {"mean_step_time_s", job.played->step.seconds()},
               {"steady", r.steady},
               {"tokens_per_step", job.played->tokens()},
               {"tokens_per_s", saves * r.tokens_per_s},
               {"tflops_per_gpu", saves * r.tflops_per_device},
               {"mfu", saves * r.mfu},
               {"hfu", saves * r.hfu},
               {"memory_largest_stage_bytes", job.played->largest_stage().count()},
               {"fits", r.fits},
               {"cost_usd_per_step", OrNull(r.cost_usd_per_step, saves)},
               {"cost_usd_per_trillion_tokens", OrNull(r.cost_usd_per_trillion_tokens, saves)},
               {"breakdown_rank", r.breakdown_rank},
               {"breakdown_stage", job.played->stage().stage},
               {"parts_ps", Json::object()}});
  for (const StepPart& part : job.played->parts) json["parts_ps"][part.id] = part.time.ps();
  json["waterfall"] = job.waterfall ? WaterfallJson(*job.waterfall) : Json(nullptr);
  return json;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  std::string text = JobTable(comparison) + PartTable(comparison);
  const auto jobs = Named(comparison);
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    if (jobs[i].second->waterfall) {
      text += WaterfallText(jobs[i].first, *comparison.base.played, *jobs[i].second);
    }
  }
  return text;
}

std::string ComparisonJson(const Comparison& comparison) {
  Json json = {{"schema_version", 1}, {"base", JobJson(comparison.base)}, {"variants", Json::array()}};
  for (const ComparedJob& variant : comparison.variants) json["variants"].push_back(JobJson(variant));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
