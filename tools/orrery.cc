// The orrery program: see tools/command_line.h.

#include <csignal>
#include <exception>
#include <iostream>
#include <new>

#include "sim/base/check.h"
#include "tools/command_line.h"
#include "tools/interrupt.h"

int main(int argc, char** argv) {
  tools::HandleInterrupts();
  std::signal(SIGPIPE, SIG_DFL);  // `orrery list | head` ends quietly
  try {
    const int status = tools::Run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
    std::cout.flush();
    if (std::cout) return status;
    std::cerr << "orrery: error: the result could not be written\n";
    return tools::kExitUsage;
  } catch (const std::bad_alloc&) {
    std::cerr << "orrery: error: out of memory; a smaller scenario is wanted\n";
    return tools::kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "orrery: bug: " << error.what() << "; please report it with the command you ran\n";
    return sim::kExitBug;
  }
}
