// Progress of a run, on standard error: what part is done and how long the rest
// may take, about twice a second. Only here is the machine's clock read, and
// nothing of it goes into a result.

#ifndef TOOLS_PROGRESS_H_
#define TOOLS_PROGRESS_H_

#include <chrono>
#include <iosfwd>
#include <string>

#include "scenarios/run.h"

namespace tools {

// "simulating: 43.2 % of 150,562,816 tasks, 12 s left"; `elapsed_s` is since
// the phase began. Without "left" while nothing is done yet.
std::string ProgressText(const scenarios::RunProgress& progress, double elapsed_s);

class ProgressLine {
 public:
  enum class Style {
    kNone,
    kInPlace,  // a terminal: each line replaces the one before, the last one is wiped
    kLines,    // anything else
  };
  ProgressLine(std::ostream& err, Style style);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Prints, unless it did so less than half a second ago.
  void Show(const scenarios::RunProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  const Style style_;
  bool shown_ = false;
  scenarios::RunProgress::Phase phase_ = scenarios::RunProgress::Phase::kBuild;
  Clock::time_point began_, last_;
};

}  // namespace tools

#endif  // TOOLS_PROGRESS_H_
