// CHECK(condition): stops the program when our own reasoning was wrong. On in
// release builds too. A user's mistake is never a CHECK; see result.h.

#ifndef SIM_BASE_CHECK_H_
#define SIM_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace sim {

// Exit status of a run that found a bug of ours (EX_SOFTWARE of sysexits.h).
inline constexpr int kExitBug = 70;

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr,
               "orrery: bug: %s:%d: CHECK(%s) does not hold; please report it with the command you ran\n",
               file, line, condition);
  std::_Exit(kExitBug);
}

}  // namespace sim

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::sim::CheckFailed(#condition, __FILE__, __LINE__))

#endif  // SIM_BASE_CHECK_H_
