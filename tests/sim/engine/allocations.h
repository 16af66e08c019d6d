// Counts what is allocated: operator new is replaced in programs that link
// allocations.cc.

#ifndef TESTS_SIM_ENGINE_ALLOCATIONS_H_
#define TESTS_SIM_ENGINE_ALLOCATIONS_H_

#include <cstdint>

namespace sim {

// Calls of operator new so far.
std::uint64_t Allocations();

}  // namespace sim

#endif  // TESTS_SIM_ENGINE_ALLOCATIONS_H_
