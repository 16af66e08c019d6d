#include "tools/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

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

ProgressLine::ProgressLine(std::ostream& err, Style style)
    : err_(err), style_(style), began_(Clock::now()), last_(began_) {}

ProgressLine::~ProgressLine() {
  if (shown_ && style_ == Style::kInPlace) err_ << kWipe << std::flush;
}

void ProgressLine::Show(const scenarios::RunProgress& progress) {
  if (style_ == Style::kNone) return;
  const Clock::time_point now = Clock::now();
  if (progress.phase != phase_) {
    phase_ = progress.phase;
    began_ = now;
  }
  if (now - last_ < kBetweenLines) return;
  last_ = now;
  shown_ = true;
  const std::string text = ProgressText(progress, std::chrono::duration<double>(now - began_).count());
  if (style_ == Style::kInPlace) {
    err_ << kWipe << text << std::flush;
  } else {
    err_ << text << std::endl;
  }
}

}  // namespace tools
