// How much memory a run may take on this machine.

#ifndef TOOLS_MEMORY_LIMIT_H_
#define TOOLS_MEMORY_LIMIT_H_

namespace tools {

// Bytes: most of what this machine has, and what this process may take.
double MemoryForARun();

}  // namespace tools

#endif  // TOOLS_MEMORY_LIMIT_H_
