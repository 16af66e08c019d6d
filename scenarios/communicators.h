// Communicators: the groups of a job, and the communications that their members
// meet in. All members of a group issue the same sequence of collectives (as
// NCCL demands); the k-th of each meets the k-th of the others.

#ifndef SCENARIOS_COMMUNICATORS_H_
#define SCENARIOS_COMMUNICATORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "scenarios/lowering.h"
#include "scenarios/scenario.h"
#include "sim/base/result.h"
#include "sim/program/program_builder.h"

namespace scenarios {

using GroupId = sim::Index<struct GroupTag>;

// One collective as a member sees it: it enters, and it is through when `leave`
// has ended. As a coupled flow both are the same task; transfer by transfer
// the transfers run between them.
struct Collective {
  sim::CollectiveKind kind = sim::CollectiveKind::kAllReduce;
  sim::Bytes size;
  sim::TaskClass task_class = sim::TaskClass::kTensor;
  sim::Bytes inside = {};                 // see sim::CollectiveRequest
  sim::Uneven uneven = sim::Uneven::kNo;  // as the scenario's experts are loaded
  bool homeward = false;                  // of experts' all-to-alls: a combine
  bool copy_engines = false;              // it holds no SMs
};

// The algorithm that the scenario has instead of NCCL's choice: training.tensor_all_reduce.
std::optional<sim::Algorithm> OwnAlgorithmOf(const Scenario& scenario, const Collective& collective,
                                             std::size_t members);

// What collectives of a group have alike that are the same traffic; the last: on the way home, and by copy
// engines.
using CollectiveKey =
    std::tuple<sim::CollectiveKind, sim::Bytes, sim::Bytes, sim::Uneven, sim::TaskClass, bool, bool>;

// From one rank to another.
struct PointToPoint {
  sim::Rank from, to;
  sim::Bytes size;
  auto operator<=>(const PointToPoint&) const = default;
};

struct Fold;

class Communicators {
 public:
  // All must outlive this. With a fold, groups and sends are those that it has, which stand for others too.
  Communicators(const Scenario& scenario, sim::ProgramBuilder* builder, const Fold* fold = nullptr);

  // The same ranks give the same group.
  GroupId Group(const std::vector<sim::Rank>& ranks);
  std::uint32_t size(GroupId group) const;
  // Whether the collective is a task at all.
  bool Moves(GroupId group, const Collective& collective) const;

  // The next collective of `member` (its position in the group) on `stream`,
  // after task `after` (if valid) and all of `also`. Returns the task that ends it. A collective
  // that moves nothing (one member, zero bytes) is no task: returns none.
  // If the member's collective differs from that of the others, it is no task
  // either, and mismatch() says so: the program must not be built.
  sim::TaskId Issue(GroupId group, std::uint32_t member, const Collective& collective, sim::StreamId stream,
                    sim::Label label, sim::TaskId after, std::span<const sim::TaskId> also = {});

  // The first collective in which the members of a group did not agree, with
  // their ranks and what each issued.
  const std::optional<sim::Error>& mismatch() const { return mismatch_; }

  // One side of a send. Both sides name the same `slot`, a number of the caller's below `slots` of Reserve.
  void ReserveSlots(std::size_t slots) { slots_.assign(slots, sim::CommunicationId::None()); }
  sim::TaskId SendOrReceive(std::size_t slot, const PointToPoint& send, sim::StreamId stream,
                            sim::Label label, sim::TaskId after);

  // What has been issued in a group, and sent: one of each traffic, in order of their keys.
  std::vector<Collective> IssuedIn(GroupId group) const;
  std::vector<PointToPoint> Sent() const;
  // By TrafficId: the group of a collective; else empty.
  const std::vector<std::vector<sim::Rank>>& members() const { return members_; }

  const std::vector<sim::Rank>& ranks(GroupId group) const { return groups_[group.pos()].ranks; }
  CollectiveKey KeyOf(const Collective& collective) const;
  // What they put on links, as long as nothing stands for them.
  sim::TrafficDescription Lower(GroupId group, const Collective& collective) const;
  sim::TrafficDescription Lower(const PointToPoint& send) const;

 private:
  // One collective that some members have issued. There are millions of these.
  struct Issued {
    sim::Bytes size;
    sim::CommunicationId enter = {};
    std::uint32_t member = 0;  // the first to issue it
    sim::CollectiveKind kind = sim::CollectiveKind::kAllReduce;
  };
  // What it has besides when it goes transfer by transfer.
  struct IssuedChunks {
    sim::CommunicationId leave = {};
    // The transfers that wait for no other one, only for their sender to enter.
    std::vector<sim::TaskId> first_transfers = {};
    std::vector<std::uint32_t> first_senders = {};
  };
  struct Known {
    sim::TrafficId traffic;
    Collective collective;
  };
  struct GroupState {
    std::vector<sim::Rank> ranks;
    std::vector<std::uint32_t> devices;
    std::vector<Issued> issued;        // by turn
    std::vector<IssuedChunks> chunks;  // by turn; none as coupled flows
    std::vector<std::uint32_t> next;   // by member
    std::map<CollectiveKey, Known> traffic;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, sim::StreamId> channels;  // and edge
    sim::StreamId closing;
  };

  sim::CommunicationId Create(GroupId id, const Collective& collective, sim::StreamKind stream_kind,
                              sim::Label label);
  sim::CommunicationId CreateTransfers(GroupState& group, const Collective& collective,
                                       sim::StreamKind stream_kind, sim::Label label);

  sim::CollectiveRequest RequestOf(const GroupState& group, const Collective& collective) const;
  // DeepEP's, where the scenario has them move such a collective; else nothing, and the device's count.
  std::optional<hardware::CollectiveTiming> OwnTimingOf(const GroupState& group, const Collective& collective,
                                                        const sim::CollectiveRequest& request) const;
  // The device's, or with that timing instead of NCCL's, which must outlive them.
  CollectiveCosts CostsOf(const std::optional<hardware::CollectiveTiming>& own) const;

  void Disagree(const GroupState& group, std::uint32_t turn, std::uint32_t member,
                const Collective& collective);

  const Scenario& scenario_;
  sim::ProgramBuilder* builder_;
  std::vector<GroupState> groups_;
  std::map<std::vector<sim::Rank>, GroupId> group_ids_;
  std::optional<sim::Error> mismatch_;
  std::vector<sim::CommunicationId> slots_;
  std::map<PointToPoint, sim::TrafficId> sends_;
  const Fold* fold_;
  std::vector<std::vector<sim::Rank>> members_;
};

}  // namespace scenarios

#endif  // SCENARIOS_COMMUNICATORS_H_
