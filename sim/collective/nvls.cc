// NVLS: the NVLink switch adds up what all members of a domain hold, and copies out what one of them has.
//
// Member i owns slice i of the buffer. To reduce, it reads its slice through the switch, which reads the
// slice from all members; to share, it writes the slice once and the switch writes it to all. So of a buffer
// of S bytes a port carries, each way, S + S/n for all-reduce; S one way and S/n the other for all-gather
// and reduce-scatter. A ring carries 2(n-1)/n S: less than NVLS for two members, as much for three.
//
// Data goes in loops of a chunk a slice. The first loop must come up before anything goes down, and the
// last one goes down when nothing is left to come up: that is the fill, about a loop. The same warps read and
// write, so a port has one connection each way, however many owners are behind it.
//
// Source: NCCL, src/device/all_reduce.h, all_gather.h, reduce_scatter.h (NVLS parts), src/transport/nvls.cc;
// Klenk et al., "An in-network architecture for accelerating shared-memory multiprocessor collectives", ISCA
// 2020.

#include <algorithm>
#include <map>
#include <utility>

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

// A member's edges, to the switch and from it.
constexpr std::uint32_t kUpEdge = 0, kDownEdge = 1;

bool Reduces(CollectiveKind kind) { return kind != CollectiveKind::kAllGather; }
bool Shares(CollectiveKind kind) { return kind != CollectiveKind::kReduceScatter; }

// Transfers of all loops. An edge takes turns between loops: a slice of the next loop comes up before the
// sums of this one are written, and those go down before the last slice of the loop before, so that no port
// waits for an owner that has yet to get its sum.
class NvlsWriter {
 public:
  NvlsWriter(const CollectiveRequest& request, Bytes chunk)
      : request_(request),
        members_(request.group.size()),
        loops_(LoopsOf(request.size, chunk, members_)),
        up_(members_),
        at_owner_(members_),
        written_(members_) {}

  std::vector<Transfer> Write() && {
    if (Reduces(request_.kind)) ReadSlices(0, 0, members_);
    for (std::uint32_t loop = 0; loop < loops_; ++loop) {
      if (loop > 0) CopyOut(loop - 1, 0, Slices(loop - 1) - 1);
      if (Reduces(request_.kind)) GiveToOwners(loop);
      if (loop > 0) CopyOut(loop - 1, Slices(loop - 1) - 1, members_);
      const bool next = Reduces(request_.kind) && loop + 1 < loops_;
      if (next) ReadSlices(loop + 1, 0, 1);
      if (Shares(request_.kind)) WriteSlices(loop);
      if (next) ReadSlices(loop + 1, 1, members_);
    }
    CopyOut(loops_ - 1, 0, members_);
    return std::move(transfers_);
  }

 private:
  using Ids = std::vector<std::uint32_t>;  // of transfers

  Bytes Slice(std::uint32_t loop, std::uint32_t owner) const {
    return PartSize(PartSize(request_.size, loops_, loop), members_, owner);
  }
  // How many slices of a loop have a byte: the first so many.
  std::uint32_t Slices(std::uint32_t loop) const {
    return static_cast<std::uint32_t>(
        std::min<std::int64_t>(members_, PartSize(request_.size, loops_, loop).count()));
  }

  // The switch reads slices from all members, from owner `first` to before owner `end`.
  void ReadSlices(std::uint32_t loop, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t owner = first; owner < std::min(end, Slices(loop)); ++owner) {
      up_[owner].clear();
      for (std::uint32_t member = 0; member < members_; ++member) {
        up_[owner].push_back(Add(member, kNvSwitch, loop, owner, owner == 0 ? read_ : Ids(), true));
      }
      if (owner + 1 == Slices(loop)) read_ = up_[owner];
    }
  }
  // All owners read at once, so that their sums are there when the last slice is.
  void GiveToOwners(std::uint32_t loop) {
    const std::uint32_t slices = Slices(loop);
    for (std::uint32_t owner = 0; owner < slices; ++owner) {
      std::vector<std::uint32_t> after = up_[owner];
      if (owner + 1 < slices) after.insert(after.end(), up_[slices - 1].begin(), up_[slices - 1].end());
      at_owner_[owner] = Add(kNvSwitch, owner, loop, owner, std::move(after), false);
    }
  }
  void WriteSlices(std::uint32_t loop) {
    for (std::uint32_t owner = 0; owner < Slices(loop); ++owner) {
      std::vector<std::uint32_t> after;
      if (Reduces(request_.kind)) after.push_back(at_owner_[owner]);
      written_[owner] = Add(owner, kNvSwitch, loop, owner, std::move(after), false);
    }
  }
  // To every member; its own copy comes down too.
  void CopyOut(std::uint32_t loop, std::uint32_t first, std::uint32_t end) {
    if (!Shares(request_.kind)) return;
    for (std::uint32_t owner = first; owner < std::min(end, Slices(loop)); ++owner) {
      Ids copied;
      for (std::uint32_t member = 0; member < members_; ++member) {
        Ids after = owner == 0 ? copied_ : Ids();
        after.push_back(written_[owner]);
        copied.push_back(Add(kNvSwitch, member, loop, owner, std::move(after), false));
      }
      if (owner + 1 == Slices(loop)) copied_ = std::move(copied);
    }
  }

  std::uint32_t Add(std::uint32_t from, std::uint32_t to, std::uint32_t loop, std::uint32_t owner,
                    std::vector<std::uint32_t> after, bool reduces) {
    const auto [last, is_new] = last_on_edge_.try_emplace({from, to}, 0);
    if (!is_new) after.push_back(last->second);
    last->second = static_cast<std::uint32_t>(transfers_.size());
    transfers_.push_back({from, to, Slice(loop, owner), std::move(after), loop * members_ + owner, reduces});
    return last->second;
  }

  const CollectiveRequest& request_;
  std::uint32_t members_, loops_;
  std::vector<Transfer> transfers_;
  // Of the loop that comes up, and of the one that goes down: by owner.
  std::vector<Ids> up_;
  Ids at_owner_, written_;
  Ids read_, copied_;  // the last slice of the loop before, by member
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> last_on_edge_;
};

}  // namespace

CollectivePlan PlanNvls(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  const bool reduces = Reduces(request.kind), shares = Shares(request.kind);
  // In n-ths of the buffer.
  const std::uint32_t up = (reduces ? n : 0) + (shares ? 1 : 0);
  const std::uint32_t down = (reduces ? 1 : 0) + (shares ? n : 0);
  const std::uint32_t most = std::max(up, down);
  CoupledFlow flow{.size = request.size,
                   .numerator = most,
                   .denominator = n,
                   .weight_denominator = most,
                   .edges = {},
                   .chunks_a_loop = n};
  for (std::uint32_t member = 0; member < n; ++member) {
    flow.edges.push_back({member, kNvSwitch, up});
    flow.edges.push_back({kNvSwitch, member, down});
  }
  // Moments: what each owner has, all slices at the switch, all written to it; a loop begins and ends.
  const std::uint32_t read = n, written = n + 1, begin = n + 2, end = n + 3;
  const auto add = [&](std::uint32_t member, std::uint32_t way, std::uint32_t from, std::uint32_t to,
                       std::uint32_t part) {
    flow.path.push_back({2 * member + way, from, to, 1, part});
  };
  for (std::uint32_t member = 0; member < n && reduces; ++member) add(member, kUpEdge, begin, read, 1);
  for (std::uint32_t member = 0; member < n && reduces; ++member) add(member, kDownEdge, read, member, n);
  for (std::uint32_t member = 0; member < n && shares; ++member) add(member, kUpEdge, member, written, n);
  for (std::uint32_t member = 0; member < n && shares; ++member) add(member, kDownEdge, written, end, 1);
  CollectivePlan plan{.flows = {}, .steps_inside = 1};
  plan.flows.push_back(std::move(flow));
  return plan;
}

std::vector<Transfer> ExpandNvls(const CollectiveRequest& request, Bytes chunk) {
  return NvlsWriter(request, chunk).Write();
}

}  // namespace sim
