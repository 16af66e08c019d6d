#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "scenarios/output/report_text.h"

namespace tools {
namespace {

constexpr std::chrono::milliseconds kBetweenLines{500};
constexpr const char* kWipe = "\r\x1b[K";  // to the line's start, and clear it

// "12 s", "3 min 5 s"
std::string LeftText(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 60) return std::to_string(whole) + " s";
  return scenarios::CountText(whole / 60) + " min " + std::to_string(whole % 60) + " s";
}

}  // namespace

std::string ProgressText(const scenarios::RunProgress& progress, double elapsed_s) {
  const bool build = progress.phase == scenarios::RunProgress::Phase::kBuild;
  const double part =
      progress.of == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.of);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.1f %%", 100 * part);
  std::string text = std::string(build ? "building: " : "simulating: ") + percent + " of " +
                     scenarios::CountText(static_cast<std::int64_t>(progress.of)) +
                     (build ? " ranks" : " tasks");
  if (part > 0) text += ", " + LeftText(elapsed_s * (1 - part) / part) + " left";
  return text;
}

std::string ProgressText(const PointProgress& progress, double elapsed_s) {
  const auto count = [](std::size_t n) { return scenarios::CountText(static_cast<std::int64_t>(n)); };
  std::string text = count(progress.done) + " of " + count(progress.of) + " points";
  const std::size_t own = progress.done - progress.before;
  if (own == 0) return text;
  const double each_s = elapsed_s / static_cast<double>(own);
  return text + ", " + LeftText(each_s * static_cast<double>(progress.of - progress.done)) + " left";
}

ProgressLine::ProgressLine(std::ostream& err, Style style)
    : err_(err), style_(style), began_(Clock::now()), last_(began_) {}

ProgressLine::~ProgressLine() {
  if (shown_ && style_ == Style::kInPlace) err_ << kWipe << std::flush;
}

ProgressLine::Style ProgressLine::StyleOf(const Arguments& arguments, const std::ostream& err) {
  if (arguments.has("quiet")) return Style::kNone;
  if (&err == &std::cerr && isatty(STDERR_FILENO) != 0) return Style::kInPlace;
  return arguments.has("progress") ? Style::kLines : Style::kNone;
}

bool ProgressLine::IsDue() {
  const Clock::time_point now = Clock::now();
  if (now - last_ < kBetweenLines) return false;
  last_ = now;
  return true;
}

double ProgressLine::elapsed_s() const { return std::chrono::duration<double>(last_ - began_).count(); }

void ProgressLine::Print(const std::string& text) {
  shown_ = true;
  if (style_ == Style::kInPlace) {
    err_ << kWipe << text << std::flush;
  } else {
    err_ << text << std::endl;
  }
}

void ProgressLine::Show(const scenarios::RunProgress& progress) {
  if (style_ == Style::kNone) return;
  if (progress.phase != phase_) {
    phase_ = progress.phase;
    began_ = Clock::now();
  }
  if (IsDue()) Print(ProgressText(progress, elapsed_s()));
}

void ProgressLine::Show(const PointProgress& progress) {
  if (style_ != Style::kNone && IsDue()) Print(ProgressText(progress, elapsed_s()));
}

}  // namespace tools
