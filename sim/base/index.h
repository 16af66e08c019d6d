// Index<Tag>: a position in a table. Positions in different tables do not mix.

#ifndef SIM_BASE_INDEX_H_
#define SIM_BASE_INDEX_H_

#include <compare>
#include <cstddef>
#include <cstdint>

namespace sim {

// Half the size of a pointer, the same in every run, and sorts the same.
template <class Tag>
class Index {
 public:
  constexpr Index() = default;
  explicit constexpr Index(std::uint32_t n) : n_(n) {}
  explicit constexpr Index(std::size_t n) : n_(static_cast<std::uint32_t>(n)) {}
  explicit constexpr Index(int n) : n_(static_cast<std::uint32_t>(n)) {}
  static constexpr Index None() { return Index(UINT32_MAX); }
  constexpr std::uint32_t value() const { return n_; }
  constexpr std::size_t pos() const { return n_; }
  constexpr bool valid() const { return n_ != UINT32_MAX; }
  constexpr auto operator<=>(const Index&) const = default;

 private:
  std::uint32_t n_ = UINT32_MAX;
};

using Rank = Index<struct RankTag>;    // one device of the job, in the layout's order
using LinkId = Index<struct LinkTag>;  // one direction of one thing with a rate
using FlowId = Index<struct FlowTag>;  // one flow of a FlowNetwork
using StreamId = Index<struct StreamTag>;
using TaskId = Index<struct TaskTag>;

}  // namespace sim

#endif  // SIM_BASE_INDEX_H_
