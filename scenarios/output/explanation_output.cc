#include "scenarios/output/explanation_output.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using ExplainJson = nlohmann::ordered_json;
using sim::Duration;

[[gnu::format(printf, 1, 2)]] std::string PrintedLine(const char* format, ...) {
  std::array<char, 512> line;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  return line.data();
}

double PercentOf(Duration part, Duration whole) { return 100 * part.seconds() / whole.seconds(); }

std::string CauseTable(const Explanation& e) {
  const Duration step = e.report.step_time;
  std::string text =
      PrintedLine("\nCritical path of a step, %s pieces, by cause\n", CountText(e.pieces).c_str());
  for (const PathCause& cause : e.causes) {
    text += PrintedLine("  %-56s %12s %6.1f %% %10s\n", cause.name.c_str(), TimeText(cause.time).c_str(),
                        PercentOf(cause.time, step), CountText(cause.pieces).c_str());
  }
  return text + PrintedLine("  %-56s %12s\n", "together", TimeText(step).c_str());
}

// Bubbles are on no path: who has most of them.
std::string BubbleLine(const Explanation& e) {
  const StageReport* most = nullptr;
  Duration bubble;
  for (const StageReport& stage : e.report.stages) {
    for (const TimePart& part : stage.breakdown) {
      if (part.name != std::string_view("bubble") || part.time <= bubble) continue;
      bubble = part.time;
      most = &stage;
    }
  }
  if (most == nullptr) return "  no rank waits for another stage\n";
  return PrintedLine("  waits are on no path: stage %lld waits longest for others, %s, %.1f %% of the step\n",
                     static_cast<long long>(most->stage), TimeText(bubble).c_str(),
                     PercentOf(bubble, e.report.step_time));
}

std::string LongestTable(const Explanation& e) {
  std::string text = PrintedLine("\nIts longest pieces\n  %-36s %-14s %6s %8s %12s %12s\n", "", "for",
                                 "stage", "rank", "from", "takes");
  for (const LongPiece& piece : e.longest) {
    text += PrintedLine("  %-36s %-14s %6lld %8u %12s %12s\n", piece.name.c_str(), piece.purpose.c_str(),
                        static_cast<long long>(piece.stage), piece.rank, TimeText(piece.since).c_str(),
                        TimeText(piece.time).c_str());
  }
  return text;
}

std::string OrNone(const std::optional<Duration>& time) { return time ? TimeText(*time) : "-"; }

// The stages of one purpose together: the tightest stage's figures.
std::string SlackTable(const Explanation& e) {
  std::string text = "\nSlack: how much longer tasks could take, each by itself, before the step grows\n";
  text += PrintedLine("  %-16s %10s %14s %10s   %13s %6s   %13s\n", "for", "tasks", "without slack",
                      "unlimited", "least of rest", "stage", "median");
  std::map<std::string, std::vector<const SlackRow*>> by_purpose;
  std::vector<std::string> order;
  for (const SlackRow& row : e.slack) {
    if (by_purpose[row.purpose].empty()) order.push_back(row.purpose);
    by_purpose[row.purpose].push_back(&row);
  }
  for (const std::string& purpose : order) {
    SlackRow all{.purpose = purpose, .least = {}, .median = {}};
    for (const SlackRow* row : by_purpose[purpose]) {
      all.tasks += row->tasks;
      all.tight += row->tight;
      all.unlimited += row->unlimited;
      if (row->median && (!all.median || *row->median < *all.median)) all.median = row->median;
      if (!row->least || (all.least && *row->least >= *all.least)) continue;
      all.least = row->least;
      all.stage = row->stage;
    }
    text += PrintedLine("  %-16s %10s %14s %10s   %13s %6s   %13s\n", purpose.c_str(),
                        CountText(all.tasks).c_str(), CountText(all.tight).c_str(),
                        CountText(all.unlimited).c_str(), OrNone(all.least).c_str(),
                        all.least ? std::to_string(all.stage).c_str() : "-", OrNone(all.median).c_str());
  }
  return text + "  medians are of the stage that has the lowest; --json has all stages\n";
}

std::string Change(double slope_s, Duration step) {
  const double more = 0.01 * slope_s;
  const auto ps = static_cast<std::int64_t>(more * 1e12);
  const std::string time = TimeText(Duration::Picoseconds(ps < 0 ? -ps : ps));
  return PrintedLine("%12s %+8.4f %%", ((ps < 0 ? "-" : "+") + time).c_str(), 100 * more / step.seconds());
}

std::string SensitivityTable(const Explanation& e) {
  const Duration step = e.report.step_time;
  std::string text = "\nWhat the step changes by with 1 % more of\n";
  text += PrintedLine("  %-26s %23s", "", "by the path");
  text +=
      e.check ? PrintedLine("   %23s\n", PrintedLine("played with %+g %%", 100 * *e.check).c_str()) : "\n";
  for (const Sensitivity& row : e.sensitivities) {
    text += PrintedLine("  %-26s %s", ToText(row.parameter), Change(row.slope_s, step).c_str());
    if (row.checked) {
      text += "   " + Change(row.checked->slope_s, step) + (row.checked->same_path ? "" : "  another path");
    } else if (!row.unchecked.empty()) {
      text += "   " + row.unchecked;
    }
    text += "\n";
  }
  return text;
}

std::string BoundTable(const Explanation& e) {
  std::string text = "\nA step takes at least\n";
  for (const StepBound& bound : e.bounds) {
    text += PrintedLine("  %-56s %12s  %6.1f %% of it\n", bound.name.c_str(), TimeText(bound.time).c_str(),
                        PercentOf(bound.time, e.report.step_time));
  }
  return text;
}

ExplainJson Seconds(const std::optional<Duration>& time) {
  return time ? ExplainJson(time->seconds()) : ExplainJson(nullptr);
}

ExplainJson SensitivityJson(const Sensitivity& row) {
  ExplainJson json = {{"parameter", IdOf(row.parameter)}, {"slope_s", row.slope_s}, {"check", nullptr}};
  if (row.checked) json["check"] = {{"slope_s", row.checked->slope_s}, {"same_path", row.checked->same_path}};
  json["unchecked"] = row.unchecked;
  return json;
}

ExplainJson PieceJson(const LongPiece& piece) {
  return {{"name", piece.name},
          {"for", piece.purpose},
          {"rank", piece.rank},
          {"stage", piece.stage},
          {"since_s", piece.since.seconds()},
          {"time_s", piece.time.seconds()}};
}

ExplainJson SlackJson(const SlackRow& row) {
  return {{"for", row.purpose},
          {"stage", row.stage},
          {"tasks", row.tasks},
          {"without_slack", row.tight},
          {"unlimited", row.unlimited},
          {"least_s", Seconds(row.least)},
          {"median_s", Seconds(row.median)}};
}

}  // namespace

std::string ExplanationText(const Explanation& e) {
  std::string heading = e.report.scenario;
  for (const std::string& set : e.report.overrides) heading += " " + set;
  return heading + "\n  step time   " + TimeText(e.report.step_time) +
         (e.report.steady ? "\n" : "   (not steady: more steps would tell)\n") + CauseTable(e) +
         BubbleLine(e) + LongestTable(e) + SlackTable(e) + SensitivityTable(e) + BoundTable(e);
}

std::string ExplanationJson(const Explanation& e) {
  ExplainJson json = {{"schema_version", 1},
                      {"scenario", e.report.scenario},
                      {"overrides", e.report.overrides},
                      {"digest", e.report.digest},
                      {"step_time_ps", e.report.step_time.ps()},
                      {"steady", e.report.steady},
                      {"path_pieces", e.pieces}};
  json["causes"] = ExplainJson::array();
  for (const PathCause& cause : e.causes) {
    json["causes"].push_back(
        {{"id", cause.id}, {"text", cause.name}, {"time_ps", cause.time.ps()}, {"pieces", cause.pieces}});
  }
  json["longest"] = ExplainJson::array();
  for (const LongPiece& piece : e.longest) json["longest"].push_back(PieceJson(piece));
  json["slack"] = ExplainJson::array();
  for (const SlackRow& row : e.slack) json["slack"].push_back(SlackJson(row));
  json["checked_with"] = e.check ? ExplainJson(1 + *e.check) : ExplainJson(nullptr);
  json["sensitivities"] = ExplainJson::array();
  for (const Sensitivity& row : e.sensitivities) json["sensitivities"].push_back(SensitivityJson(row));
  json["bounds"] = ExplainJson::array();
  for (const StepBound& bound : e.bounds) {
    json["bounds"].push_back({{"id", bound.id}, {"text", bound.name}, {"time_s", bound.time.seconds()}});
  }
  return json.dump(2, ' ', false, ExplainJson::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
