// Work on several threads.

#ifndef SCENARIOS_SCALE_SIDE_BY_SIDE_H_
#define SCENARIOS_SCALE_SIDE_BY_SIDE_H_

#include <cstddef>
#include <functional>

namespace scenarios {

// `work` for each number below n, on up to so many threads; in order where it is one.
void SideBySide(std::size_t n, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace scenarios

#endif  // SCENARIOS_SCALE_SIDE_BY_SIDE_H_
