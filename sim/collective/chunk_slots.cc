#include "sim/collective/chunk_slots.h"

#include <deque>
#include <map>
#include <tuple>

namespace sim {
namespace {

using Edge = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

Edge EdgeOf(const Transfer& transfer) {
  return {transfer.from, transfer.to, transfer.channel, transfer.lane};
}

// By transfer: which later ones pass on what it brought, one behind the other in `all`.
struct Users {
  std::vector<std::uint32_t> first;  // in `all`; one more than there are transfers
  std::vector<std::uint32_t> all;
};

Users UsersOf(const std::vector<Transfer>& transfers) {
  const auto for_each = [&](const auto& use) {
    for (std::uint32_t i = 0; i < transfers.size(); ++i) {
      for (const std::uint32_t earlier : transfers[i].after) {
        if (EdgeOf(transfers[earlier]) != EdgeOf(transfers[i])) use(earlier, i);
      }
    }
  };
  Users users{std::vector<std::uint32_t>(transfers.size() + 1, 0), {}};
  for_each([&](std::uint32_t earlier, std::uint32_t) { ++users.first[earlier + 1]; });
  for (std::size_t i = 0; i < transfers.size(); ++i) users.first[i + 1] += users.first[i];
  users.all.resize(users.first.back());
  std::vector<std::uint32_t> next(users.first.begin(), users.first.end() - 1);
  for_each([&](std::uint32_t earlier, std::uint32_t user) { users.all[next[earlier]++] = user; });
  return users;
}

// What of an edge is in its receiver's buffer, in order.
struct Buffer {
  struct Chunk {
    std::uint32_t transfer, number;
  };
  std::deque<Chunk> chunks;
  std::uint32_t sent = 0;
};

}  // namespace

void BoundBySlots(std::uint32_t slots, std::uint32_t chunks_a_loop, std::vector<Transfer>* transfers) {
  const Users users = UsersOf(*transfers);
  std::map<Edge, Buffer> buffers;
  for (std::uint32_t i = 0; i < transfers->size(); ++i) {
    Transfer& transfer = (*transfers)[i];
    Buffer& buffer = buffers[EdgeOf(transfer)];
    const std::uint32_t sent = buffer.sent++;
    const std::uint32_t number = chunks_a_loop > 1 ? transfer.piece / chunks_a_loop : sent;
    while (!buffer.chunks.empty() && buffer.chunks.front().number + slots <= number) {
      const std::uint32_t old = buffer.chunks.front().transfer;
      for (std::uint32_t at = users.first[old]; at < users.first[old + 1]; ++at) {
        if (users.all[at] < i) transfer.after.push_back(users.all[at]);
      }
      buffer.chunks.pop_front();
    }
    buffer.chunks.push_back({i, number});
  }
}

}  // namespace sim
