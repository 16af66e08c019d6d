#include "sim/analysis/intervals.h"

#include <algorithm>

namespace sim {

Intervals SetOf(std::vector<Interval> list) {
  std::erase_if(list, [](const Interval& i) { return i.empty(); });
  std::sort(list.begin(), list.end(), [](const Interval& a, const Interval& b) { return a.from < b.from; });
  Intervals set;
  for (const Interval& next : list) {
    if (!set.empty() && next.from <= set.back().to) {
      set.back().to = std::max(set.back().to, next.to);
    } else {
      set.push_back(next);
    }
  }
  return set;
}

Intervals Union(const Intervals& a, const Intervals& b) {
  std::vector<Interval> list = a;
  list.insert(list.end(), b.begin(), b.end());
  return SetOf(std::move(list));
}

Intervals Intersection(const Intervals& a, const Intervals& b) {
  Intervals both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval common = Clip(a[i], b[j]);
    if (!common.empty()) both.push_back(common);
    // The one that ends first meets nothing further on.
    (a[i].to < b[j].to ? i : j) += 1;
  }
  return both;
}

Intervals Difference(const Intervals& a, const Intervals& b) {
  Intervals rest;
  std::size_t j = 0;
  for (const Interval& whole : a) {
    Time from = whole.from;
    while (j < b.size() && b[j].to <= from) ++j;
    // b[k] may reach into the next interval of a, so j itself stays behind.
    for (std::size_t k = j; k < b.size() && b[k].from < whole.to; ++k) {
      if (from < b[k].from) rest.push_back({from, b[k].from});
      from = std::max(from, b[k].to);
    }
    if (from < whole.to) rest.push_back({from, whole.to});
  }
  return rest;
}

Duration Length(const Intervals& set) {
  Duration sum;
  for (const Interval& i : set) sum += i.length();
  return sum;
}

Overlap OverlapOf(const Intervals& compute, const Intervals& communication, Interval window) {
  const Intervals all = SetOf({window});
  const Intervals busy = Intersection(compute, all), moving = Intersection(communication, all);
  return {.compute = Length(busy),
          .communication = Length(moving),
          .overlap = Length(Intersection(busy, moving)),
          .exposed = Length(Difference(moving, busy)),
          .idle = Length(Difference(all, Union(busy, moving)))};
}

}  // namespace sim
