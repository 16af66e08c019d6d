// Progress of a run, on standard error: what part is done and how long the rest
// may take, about twice a second. Only here is the machine's clock read, and
// nothing of it goes into a result.

#ifndef TOOLS_PROGRESS_H_
#define TOOLS_PROGRESS_H_

#include <chrono>
#include <iosfwd>
#include <string>

#include "scenarios/run.h"
#include "tools/command_line.h"

namespace tools {

// "simulating: 43.2 % of 150,562,816 tasks, 12 s left"; `elapsed_s` is since
// the phase began. Without "left" while nothing is done yet.
std::string ProgressText(const scenarios::RunProgress& progress, double elapsed_s);

// How far a sweep is. `before`: of `done`, points that were done when it began.
struct PointProgress {
  std::size_t done = 0, of = 0, before = 0;
};

// "123 of 500 points, 3 min 5 s left", likewise.
std::string ProgressText(const PointProgress& progress, double elapsed_s);

class ProgressLine {
 public:
  enum class Style {
    kNone,
    kInPlace,  // a terminal: each line replaces the one before, the last one is wiped
    kLines,    // anything else
  };
  ProgressLine(std::ostream& err, Style style);
  // In place on a terminal; else in lines where --progress asks for them; none with --quiet.
  static Style StyleOf(const Arguments& arguments, const std::ostream& err);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Prints, unless it did so less than half a second ago.
  void Show(const scenarios::RunProgress& progress);
  void Show(const PointProgress& progress);

 private:
  // Whether it is time for another line; takes that time.
  bool IsDue();
  double elapsed_s() const;
  void Print(const std::string& text);

  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  const Style style_;
  bool shown_ = false;
  scenarios::RunProgress::Phase phase_ = scenarios::RunProgress::Phase::kBuild;
  Clock::time_point began_, last_;
};

}  // namespace tools

#endif  // TOOLS_PROGRESS_H_
