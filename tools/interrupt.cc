#include "tools/interrupt.h"

#include <csignal>
#include <cstdlib>

#include "tools/command_line.h"

namespace tools {
namespace {

// All that a signal handler may touch.
volatile std::sig_atomic_t watching = 0;
volatile std::sig_atomic_t seen = 0;

extern "C" void OnInterrupt(int) {
  if (watching == 0 || seen != 0) std::_Exit(kExitInterrupted);
  seen = 1;
}

}  // namespace

void HandleInterrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, OnInterrupt);
}

InterruptWatch::InterruptWatch() {
  seen = 0;
  watching = 1;
}

InterruptWatch::~InterruptWatch() { watching = 0; }

bool InterruptWatch::interrupted() const { return seen != 0; }

}  // namespace tools
