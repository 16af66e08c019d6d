#include "scenarios/fold.h"

#include <algorithm>
#include <set>

#include "scenarios/job_builder.h"
#include "scenarios/offload.h"
#include "scenarios/rank_builder.h"
#include "sim/analysis/intervals.h"
#include "sim/base/digest.h"
#include "sim/program/equitable.h"

namespace scenarios {
namespace {

bool IsFolded(const Scenario& scenario) {
  constexpr std::int64_t kMostInGroups = 2'000'000'000;  // 100,000 ranks in groups of 3,125: 10 s
  const std::int64_t ranks = scenario.layout.ranks();
  return ranks > 1 && ranks <= kMostInGroups / scenario.layout.copies() &&
         scenario.fidelity == Fidelity::kFlow && !scenario.checkpoint && !UsesHosts(scenario);
}

// Which of a rank's groups are one and the same: by group, the first that it is.
std::vector<std::uint32_t> RolesOf(const std::vector<GroupId>& joined) {
  std::vector<std::uint32_t> roles;
  for (const GroupId group : joined) {
    roles.push_back(
        static_cast<std::uint32_t>(std::find(joined.begin(), joined.end(), group) - joined.begin()));
  }
  return roles;
}

class Folder {
 public:
  Folder(const Scenario& scenario, const std::vector<StagePlan>& stages, bool apart,
         const std::function<bool()>& go_on)
      : scenario_(scenario),
        layout_(scenario.layout),
        apart_(apart),
        go_on_(go_on),
        builder_(scenario, stages, nullptr, &joining_) {}

  std::optional<Fold> Find() {
    if (!JoinGroups()) return std::nullopt;
    WriteOneOfEach();
    if (!ListCollectives()) return std::nullopt;
    ListSends();
    for (sim::JointTraffic& joint : traffics_) joint.apart = apart_ && IsKeptApart(joint);
    const auto partition = sim::PartitionOf(colours_, traffics_, CapacitiesOf(scenario_.fabric));
    Fold fold{.acting = partition.rank, .plays_for = {}, .carrying = partition.link};
    fold.apart =
        std::any_of(traffics_.begin(), traffics_.end(), [](const auto& joint) { return joint.apart; });
    if (2 * fold.acting_ranks() > layout_.ranks()) return std::nullopt;
    auto merged = sim::MergedTraffics(partition, traffics_);
    if (!merged) return std::nullopt;
    fold.plays_for.assign(fold.acting.size(), 0);
    for (const sim::Rank rank : fold.acting) ++fold.plays_for[rank.pos()];
    if (!AddGroups(partition, *merged, &fold)) return std::nullopt;
    AddSends(partition, *merged, &fold);
    return fold;
  }

 private:
  // A loss, a norm of gradients.
  bool IsKeptApart(const sim::JointTraffic& joint) const {
    constexpr sim::Bytes kMost(1024);
    return joint.members.size() == static_cast<std::size_t>(layout_.ranks()) && joint.traffic.size <= kMost;
  }

  // What a rank's tasks depend on, beside whom it meets.
  std::uint64_t ColourOf(sim::Rank rank, const std::vector<GroupId>& joined) const {
    sim::Digest digest;
    digest.Add(static_cast<std::uint64_t>(layout_.Coordinate(rank, Dimension::kPipeline)));
    digest.Add(static_cast<std::uint64_t>(layout_.Coordinate(rank, Dimension::kContext)));
    if (!scenario_.experts.loads.empty()) digest.Add(static_cast<std::uint64_t>(layout_.ExpertOf(rank)));
    for (const std::uint32_t role : RolesOf(joined)) digest.Add(role);
    for (const GroupId group : joined) digest.Add(builder_.communicators().size(group));
    return digest.value();
  }

  bool Stops(sim::Rank rank) const { return rank.value() % 256 == 0 && go_on_ && !go_on_(); }

  bool JoinGroups() {
    for (const sim::Rank rank : layout_.AllRanks()) {
      if (Stops(rank)) return false;
      joining_ = {builder_.job().world};
      RankBuilder(builder_.job(), rank);
      colours_.push_back(ColourOf(rank, joining_));
      joined_.push_back(joining_);
      example_.push_back(first_of_.try_emplace(colours_.back(), rank).first->second);
    }
    return true;
  }

  void WriteOneOfEach() {
    for (const sim::Rank rank : layout_.AllRanks()) {
      if (example_[rank.pos()] != rank) continue;
      RankBuilder(builder_.job(), rank).Build();
      builder_.DropRank();
    }
  }

  // A group moves what the groups move that its members' examples have in the same roles.
  bool ListCollectives() {
    const Communicators& communicators = builder_.communicators();
    std::vector<std::vector<Collective>> issued;  // by group; none but of examples
    for (const sim::Rank rank : layout_.AllRanks()) {
      if (Stops(rank)) return false;
      const std::vector<GroupId>& mine = joined_[rank.pos()];
      const std::vector<GroupId>& example = joined_[example_[rank.pos()].pos()];
      const std::vector<std::uint32_t> roles = RolesOf(mine);
      for (std::uint32_t role = 0; role < mine.size(); ++role) {
        if (roles[role] != role) continue;
        const GroupId group = mine[role];
        if (group.pos() >= of_group_.size()) of_group_.resize(group.pos() + 1);
        if (example[role].pos() >= issued.size()) issued.resize(example[role].pos() + 1);
        std::vector<Collective>& moves = issued[example[role].pos()];
        if (moves.empty()) moves = communicators.IssuedIn(example[role]);
        for (const Collective& collective : moves) Seat(group, collective, {rank, role});
      }
    }
    return true;
  }

  void Seat(GroupId group, const Collective& collective, sim::JointTraffic::Member member) {
    const Communicators& communicators = builder_.communicators();
    const auto next = static_cast<std::uint32_t>(traffics_.size());
    const auto [at, is_new] = of_group_[group.pos()].try_emplace(communicators.KeyOf(collective), next);
    if (is_new) traffics_.push_back({communicators.Lower(group, collective), {}});
    traffics_[at->second].members.push_back(member);
  }

  // The ranks of a column send as those of their examples do.
  void ListSends() {
    const std::vector<PointToPoint> sent = builder_.communicators().Sent();
    for (const sim::Rank rank : layout_.AllRanks()) {
      const sim::Rank example = example_[rank.pos()];
      const std::vector<sim::Rank> column = layout_.Group(rank, Dimension::kPipeline);
      for (const PointToPoint& send : sent) {
        if (send.from != example && send.to != example) continue;
        const sim::Rank other = send.from == example ? send.to : send.from;
        const sim::Rank partner =
            column[static_cast<std::size_t>(layout_.Coordinate(other, Dimension::kPipeline))];
        const bool sends = send.from == example;
        const PointToPoint mine{sends ? rank : partner, sends ? partner : rank, send.size};
        const auto next = static_cast<std::uint32_t>(traffics_.size());
        const auto [at, is_new] = send_.try_emplace(mine, next);
        if (is_new) traffics_.push_back({builder_.communicators().Lower(mine), {}});
        traffics_[at->second].members.push_back({rank, sends ? kSender : kReceiver});
      }
    }
  }

  // For each group that an acting rank joins, the first one that moves the same. Fails where that would be
  // the same one for two groups of a rank.
  bool AddGroups(const sim::EquitablePartition& partition, std::vector<sim::TrafficDescription>& merged,
                 Fold* fold) const {
    const Communicators& communicators = builder_.communicators();
    std::map<std::vector<std::pair<CollectiveKey, std::uint32_t>>, GroupId> first;
    std::vector<GroupId> stands_for(of_group_.size());
    for (std::size_t g = 0; g < of_group_.size(); ++g) {
      std::vector<std::pair<CollectiveKey, std::uint32_t>> moves;
      for (const auto& [key, traffic] : of_group_[g]) moves.emplace_back(key, partition.traffic[traffic]);
      stands_for[g] = moves.empty() ? GroupId(g) : first.try_emplace(moves, GroupId(g)).first->second;
      if (stands_for[g] != GroupId(g)) continue;
      for (const auto& [key, traffic] : moves)
        fold->collectives[{communicators.ranks(GroupId(g)), key}] = merged[traffic];
    }
    for (const sim::Rank rank : layout_.AllRanks()) {
      if (!fold->Acts(rank)) continue;
      std::map<GroupId, GroupId> taken;  // by what stands for it
      for (const GroupId group : joined_[rank.pos()]) {
        const GroupId other = stands_for[group.pos()];
        if (taken.try_emplace(other, group).first->second != group) return false;
        fold->groups[communicators.ranks(group)] = communicators.ranks(other);
      }
    }
    return true;
  }

  void AddSends(const sim::EquitablePartition& partition, const std::vector<sim::TrafficDescription>& merged,
                Fold* fold) const {
    std::map<std::uint32_t, PointToPoint> first;  // by traffic
    for (const auto& [send, traffic] : send_) {
      if (partition.traffic[traffic] == traffic) first[traffic] = send;
    }
    for (const auto& [send, traffic] : send_) {
      const std::uint32_t lowest = partition.traffic[traffic];
      if (fold->Acts(send.from) || fold->Acts(send.to)) fold->send_for[send] = first.at(lowest);
      if (lowest == traffic) fold->sends[send] = merged[traffic];
    }
  }

  static constexpr std::uint32_t kSender = UINT32_MAX, kReceiver = UINT32_MAX - 1;

  const Scenario& scenario_;
  const Layout& layout_;
  const bool apart_;
  const std::function<bool()>& go_on_;
  std::vector<GroupId> joining_;
  JobBuilder builder_;
  std::vector<std::uint64_t> colours_;           // by rank
  std::map<std::uint64_t, sim::Rank> first_of_;  // by colour
  std::vector<sim::Rank> example_;               // by rank: the first of its colour
  std::vector<std::vector<GroupId>> joined_;     // by rank, in order; the first is all ranks
  std::vector<sim::JointTraffic> traffics_;
  std::vector<std::map<CollectiveKey, std::uint32_t>> of_group_;  // traffics
  std::map<PointToPoint, std::uint32_t> send_;                    // likewise
};

}  // namespace

std::int64_t Fold::acting_ranks() const {
  std::int64_t ranks = 0;
  for (std::size_t r = 0; r < acting.size(); ++r) ranks += Acts(sim::Rank(r)) ? 1 : 0;
  return ranks;
}

std::optional<Fold> FoldOf(const Scenario& scenario, const std::vector<StagePlan>& stages, bool apart,
                           const std::function<bool()>& go_on) {
  if (!IsFolded(scenario)) return std::nullopt;
  return Folder(scenario, stages, apart, go_on).Find();
}

bool MovedApart(const Fold& fold, const sim::Program& program, const sim::Timeline& timeline) {
  if (!fold.apart) return true;
  const auto on_copies = [&](const sim::Traffic& traffic) {
    const std::uint32_t first_use = program.flows[traffic.first_flow].first_use;
    return program.flows[traffic.first_flow].uses > 0 &&
           program.uses[first_use].link.pos() >= fold.carrying.size();
  };
  std::vector<sim::Interval> apart, others;
  for (std::size_t c = 0; c < program.communications.size(); ++c) {
    const sim::Traffic& traffic = program.traffics[program.communications[c].traffic.pos()];
    if (traffic.flows == 0) continue;
    const sim::TaskId seat = program.seats_of(sim::CommunicationId(c)).front();
    const sim::Interval moving{timeline.begin[c] + traffic.latency, timeline.end[seat.pos()]};
    (on_copies(traffic) ? apart : others).push_back(moving);
  }
  std::sort(apart.begin(), apart.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  const auto meet = [](const sim::Interval& a, const sim::Interval& b) {
    return a.from < b.to && b.from < a.to;
  };
  for (std::size_t i = 1; i < apart.size(); ++i) {
    if (meet(apart[i - 1], apart[i])) return false;
  }
  return std::none_of(others.begin(), others.end(), [&](const sim::Interval& other) {
    auto at = std::upper_bound(apart.begin(), apart.end(), other.from,
                               [](sim::Time from, const sim::Interval& a) { return from < a.to; });
    return at != apart.end() && meet(*at, other);
  });
}

}  // namespace scenarios
