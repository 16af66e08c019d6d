// The oracle for chunk expansions: moves the data and says what arrived where.

#ifndef TESTS_SIM_COLLECTIVE_REPLAY_H_
#define TESTS_SIM_COLLECTIVE_REPLAY_H_

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collective/collective.h"

namespace sim {

// Of one piece on one member: whose contributions its copy contains.
using Contributions = std::bitset<64>;

struct Replayed {
  std::string error;  // empty = every transfer found what it sends, and nothing was added twice
  std::map<std::pair<std::uint32_t, std::uint32_t>, Contributions> held;  // by (member, piece)
  std::map<std::uint32_t, Bytes> size;                                    // by piece
};

// `start.held` says what members hold at the start. A transfer may rely only on
// what is in its `after`: the copy that it sends, and the one that it adds to,
// must be there from the start or have come by a transfer named there.
inline Replayed Replay(const std::vector<Transfer>& transfers, Replayed start) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> written_by;
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    const Transfer& t = transfers[i];
    const std::string at = "transfer " + std::to_string(i) + ": ";
    for (const std::uint32_t before : t.after) {
      if (before >= i) return {at + "waits for a later one", {}, {}};
    }
    if (t.size <= Bytes(0)) return {at + "sends nothing", {}, {}};
    const auto [known, is_new] = start.size.try_emplace(t.piece, t.size);
    if (!is_new && known->second != t.size) return {at + "the piece changes its size", {}, {}};

    const auto sent = start.held.find({t.from, t.piece});
    if (sent == start.held.end()) return {at + "sends what it does not have", {}, {}};
    const auto waits_for_copy_of = [&](std::uint32_t member) {
      const auto writer = written_by.find({member, t.piece});
      return writer == written_by.end() ||
             std::find(t.after.begin(), t.after.end(), writer->second) != t.after.end();
    };
    if (!waits_for_copy_of(t.from)) return {at + "does not wait for what it sends", {}, {}};
    if (t.reduces && !waits_for_copy_of(t.to)) return {at + "does not wait for what it adds to", {}, {}};
    Contributions& own = start.held[{t.to, t.piece}];
    if (t.reduces && (own & sent->second).any()) return {at + "adds something twice", {}, {}};
    own = t.reduces ? own | sent->second : sent->second;
    written_by[{t.to, t.piece}] = i;
  }
  return start;
}

// When all is over if every edge is a link of its own with a rate of one byte
// a tick, and a transfer takes a tick a byte.
inline std::int64_t TicksOnOwnLinks(const std::vector<Transfer>& transfers) {
  std::vector<std::int64_t> end(transfers.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    std::int64_t start = 0;
    for (const std::uint32_t before : transfers[i].after) start = std::max(start, end[before]);
    end[i] = start + transfers[i].size.count();
    last = std::max(last, end[i]);
  }
  return last;
}

}  // namespace sim

#endif  // TESTS_SIM_COLLECTIVE_REPLAY_H_
