// FinishHeap: which flow ends next. A binary heap that knows where each flow
// is, so that an end can be moved when a rate changes.

#ifndef SIM_NETWORK_FINISH_HEAP_H_
#define SIM_NETWORK_FINISH_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace sim {

// Sorted by time, then by `order` (no two alike). Flows are small numbers.
class FinishHeap {
 public:
  struct Entry {
    Time when;
    std::uint64_t order = 0;
    std::uint32_t flow = 0;

    bool Before(const Entry& other) const {
      return when != other.when ? when < other.when : order < other.order;
    }
  };

  void Reserve(std::size_t flows) {
    heap_.reserve(flows);
    place_.reserve(flows);
  }
  bool empty() const { return heap_.empty(); }
  const Entry& top() const { return heap_.front(); }

  // Adds the flow, or moves it if it is there.
  void Set(const Entry& entry) {
    if (entry.flow >= place_.size()) place_.resize(entry.flow + std::size_t{1}, kAbsent);
    std::size_t at = place_[entry.flow];
    if (at == kAbsent) {
      at = heap_.size();
      heap_.push_back(entry);
    }
    if (!Raise(at, entry)) Lower(at, entry);
  }

  // Removes the top. REQUIRES: !empty()
  void Pop() {
    CHECK(!empty());
    place_[heap_.front().flow] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) Lower(0, last);
  }

 private:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  void Put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.flow] = static_cast<std::uint32_t>(at);
  }

  // Puts `entry` at `at` or above it. Returns whether that is above.
  bool Raise(std::size_t at, const Entry& entry) {
    const std::size_t from = at;
    while (at > 0 && entry.Before(heap_[(at - 1) / 2])) {
      Put(at, heap_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    Put(at, entry);
    return at != from;
  }

  // Puts `entry` at `at` or below it.
  void Lower(std::size_t at, const Entry& entry) {
    while (true) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].Before(heap_[child])) ++child;
      if (!heap_[child].Before(entry)) break;
      Put(at, heap_[child]);
      at = child;
    }
    Put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // by flow: where it is in heap_
};

}  // namespace sim

#endif  // SIM_NETWORK_FINISH_HEAP_H_
