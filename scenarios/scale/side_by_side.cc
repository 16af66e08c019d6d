#include "scenarios/scale/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace scenarios {

void SideBySide(std::size_t n, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < n; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < std::min(threads, n); ++t) others.emplace_back(run);
  run();
}

}  // namespace scenarios
