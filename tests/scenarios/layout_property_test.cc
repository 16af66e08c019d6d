// What holds of every layout, whatever its extents and its order.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "scenarios/layout.h"

namespace scenarios {
namespace {

constexpr Dimension kEveryDimension[] = {Dimension::kTensor, Dimension::kContext, Dimension::kData,
                                         Dimension::kPipeline};

Layout AnyLayout() {
  Layout layout;
  const auto extent = [] { return *rc::gen::inRange<std::int64_t>(1, 6); };
  layout.tensor = extent();
  layout.context = extent();
  layout.data = extent();
  layout.pipeline = extent();
  for (std::size_t i = kDimensions - 1; i > 0; --i) {
    std::swap(layout.order[i], layout.order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  return layout;
}

RC_GTEST_PROP(Layout, CutsAllRanksIntoGroupsThatDoNotOverlap, ()) {
  const Layout layout = AnyLayout();
  for (const Dimension d : kEveryDimension) {
    std::set<sim::Rank> seen;
    for (std::int64_t r = 0; r < layout.ranks(); ++r) {
      const sim::Rank rank(static_cast<std::uint32_t>(r));
      const std::vector<sim::Rank> group = layout.Group(rank, d);
      RC_ASSERT(static_cast<std::int64_t>(group.size()) == layout.extent(d));
      RC_ASSERT(group[static_cast<std::size_t>(layout.Coordinate(rank, d))] == rank);
      if (layout.Coordinate(rank, d) == 0) seen.insert(group.begin(), group.end());
      RC_ASSERT(layout.Group(group.front(), d) == group);
    }
    RC_ASSERT(static_cast<std::int64_t>(seen.size()) == layout.ranks());
  }
}

RC_GTEST_PROP(Layout, GivesRanksOfOnePipelineOneColumn, ()) {
  const Layout layout = AnyLayout();
  std::set<std::int64_t> columns;
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const sim::Rank rank(static_cast<std::uint32_t>(r));
    const std::int64_t column = layout.ColumnOf(rank);
    RC_ASSERT(column >= 0 && column < layout.ranks() / layout.pipeline);
    for (const sim::Rank other : layout.Group(rank, Dimension::kPipeline)) {
      RC_ASSERT(layout.ColumnOf(other) == column);
    }
    columns.insert(column);
  }
  RC_ASSERT(static_cast<std::int64_t>(columns.size()) == layout.ranks() / layout.pipeline);
}

}  // namespace
}  // namespace scenarios
