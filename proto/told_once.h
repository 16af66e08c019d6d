// Mistakes of lines, the same one of many lines once.

#ifndef PROTO_TOLD_ONCE_H_
#define PROTO_TOLD_ONCE_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "proto/text_reader.h"

namespace proto {

class ToldOnce {
 public:
  // `kind` is what lines have in common; `what` is told of the first one.
  void Add(const std::string& place, std::string kind, const std::string& what) {
    const auto same = std::find_if(mistakes_.begin(), mistakes_.end(),
                                   [&](const Mistake& mistake) { return mistake.kind == kind; });
    if (same != mistakes_.end()) {
      ++same->more;
    } else {
      mistakes_.push_back({std::move(kind), place, what});
    }
  }
  bool empty() const { return mistakes_.empty(); }

  void Tell(Diagnostics* diagnostics) const {
    for (const Mistake& m : mistakes_) {
      const std::string more = m.more == 0   ? ""
                               : m.more == 1 ? " (and 1 more line)"
                                             : " (and " + std::to_string(m.more) + " more lines)";
      diagnostics->Error(m.place, m.what + more);
    }
  }

 private:
  struct Mistake {
    std::string kind, place, what;
    std::size_t more = 0;
  };
  std::vector<Mistake> mistakes_;  // in the order of their first lines
};

}  // namespace proto

#endif  // PROTO_TOLD_ONCE_H_
