// Ctrl-C, and the signals of `kill` and of a terminal that closes: work that
// takes long watches for them and stops in good order; without a watch, and the
// second time, the program ends at once.

#ifndef TOOLS_INTERRUPT_H_
#define TOOLS_INTERRUPT_H_

namespace tools {

// From here on SIGINT, SIGTERM and SIGHUP are handled as above.
void HandleInterrupts();

// One at a time. While it lives, the first signal is only remembered.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;
};

}  // namespace tools

#endif  // TOOLS_INTERRUPT_H_
