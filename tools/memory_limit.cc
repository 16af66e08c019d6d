#include "tools/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace tools {

double MemoryForARun() {
  constexpr double kPart = 0.8;  // the rest of the machine lives too
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    memory = std::min(memory, static_cast<double>(limit.rlim_cur));
  }
  return kPart * memory;
}

}  // namespace tools
