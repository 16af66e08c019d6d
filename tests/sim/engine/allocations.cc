#include "tests/sim/engine/allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::uint64_t allocations = 0;
}  // namespace

namespace sim {
std::uint64_t Allocations() { return allocations; }
}  // namespace sim

void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  std::abort();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
