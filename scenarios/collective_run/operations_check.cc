#include "scenarios/collective_run/operations_check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scenarios/collective_run/rank_list.h"

namespace scenarios {
namespace {

constexpr std::size_t kMostLines = 8;  // of one kind; what follows from one mistake is long

class Checker {
 public:
  explicit Checker(const OperationList& list) : list_(list) {}

  OperationsCheck Check() && {
    Meet();
    Compare();
    Run();
    Complain();
    return std::move(check_);
  }

 private:
  using Queue = std::vector<std::uint32_t>;  // operations of one rank's stream

  const Operation& At(std::uint32_t operation) const { return list_.operations[operation]; }
  std::uint32_t MeetingOf(std::uint32_t operation) const { return check_.meeting_of_operation[operation]; }

  void Meet() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> issued;    // by group and rank
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> meetings;  // by group and turn
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> queues;    // by rank and stream
    for (std::uint32_t i = 0; i < list_.operations.size(); ++i) {
      const Operation& operation = At(i);
      const std::uint32_t turn = issued[{operation.group, operation.rank}]++;
      const auto [meeting, is_new] =
          meetings.try_emplace({operation.group, turn}, static_cast<std::uint32_t>(check_.meetings.size()));
      if (is_new) check_.meetings.push_back({operation.group, turn, {}});
      check_.meetings[meeting->second].members.push_back(i);
      check_.meeting_of_operation.push_back(meeting->second);
      index_of_rank_.push_back(issued_by_rank_[operation.rank]++);
      const auto [queue, new_queue] =
          queues.try_emplace({operation.rank, operation.stream}, static_cast<std::uint32_t>(queues_.size()));
      if (new_queue) queues_.emplace_back();
      queues_[queue->second].push_back(i);
      queue_of_.push_back(queue->second);
      place_.push_back(static_cast<std::uint32_t>(queues_[queue->second].size()) - 1);
    }
    head_.assign(queues_.size(), 0);
  }

  std::string Where(std::uint32_t operation) const {
    return list_.file + ':' + std::to_string(At(operation).line) + ": ";
  }
  std::string Issues(std::uint32_t operation) const {
    const Operation& o = At(operation);
    return "rank " + std::to_string(o.rank) + " issues " + NameOf(o) +
           (o.test->has_root ? " from root " + std::to_string(list_.groups[o.group][o.root]) : "") +
           " (line " + std::to_string(o.line) + ')';
  }

  void Compare() {
    std::vector<bool> reported(list_.groups.size());
    for (const Meeting& meeting : check_.meetings) {
      if (reported[meeting.group]) continue;
      const Operation& first = At(meeting.members[0]);
      for (const std::uint32_t member : meeting.members) {
        const Operation& other = At(member);
        if (other.test->kind == first.test->kind && other.size == first.size && other.root == first.root)
          continue;
        reported[meeting.group] = true;
        disagreeing_.push_back(Where(member) + "deadlock: operation " + std::to_string(meeting.turn) +
                               " of group " + RankListText(list_.groups[meeting.group]) + ": " +
                               Issues(meeting.members[0]) + ", " + Issues(member) +
                               "; all members must issue the same");
      }
    }
  }

  bool HeadsItsStream(std::uint32_t operation) const {
    return place_[operation] == head_[queue_of_[operation]];
  }
  bool IsOver(std::uint32_t operation) const { return place_[operation] < head_[queue_of_[operation]]; }

  // A stream has come to its next operation; its meeting is over once it is the last to come.
  void Arrive(std::uint32_t queue, std::vector<std::uint32_t>* complete) {
    if (head_[queue] == queues_[queue].size()) return;
    const std::uint32_t meeting = MeetingOf(queues_[queue][head_[queue]]);
    if (++arrived_[meeting] == list_.groups[check_.meetings[meeting].group].size())
      complete->push_back(meeting);
  }

  void Run() {
    std::vector<std::uint32_t> complete;
    arrived_.assign(check_.meetings.size(), 0);
    for (std::uint32_t queue = 0; queue < queues_.size(); ++queue) Arrive(queue, &complete);
    for (std::size_t i = 0; i < complete.size(); ++i) {
      for (const std::uint32_t member : check_.meetings[complete[i]].members) {
        ++head_[queue_of_[member]];
        Arrive(queue_of_[member], &complete);
      }
    }
  }

  // Two orders of the same ranks are two groups; who meant one is told.
  std::string InAnotherOrder(std::uint32_t group, std::uint32_t rank) const {
    for (const Operation& other : list_.operations) {
      const std::vector<std::uint32_t>&a = list_.groups[group], &b = list_.groups[other.group];
      if (other.rank != rank || other.group == group || a.size() != b.size()) continue;
      if (!std::is_permutation(a.begin(), a.end(), b.begin())) continue;
      return "; its line " + std::to_string(other.line) + " has group " + RankListText(b) +
             ", which is another group: the same ranks in another order";
    }
    return "";
  }

  // "which is in its operation 0, all_gather of 8 bytes of group 0-1 (line 3)".
  std::string WhereIs(const Meeting& meeting, std::uint32_t rank) const {
    const auto own = std::find_if(meeting.members.begin(), meeting.members.end(),
                                  [&](std::uint32_t member) { return At(member).rank == rank; });
    if (own == meeting.members.end()) return ", which never issues it" + InAnotherOrder(meeting.group, rank);
    const std::uint32_t queue = queue_of_[*own];
    const std::uint32_t at = queues_[queue][head_[queue]];
    return ", which waits in its operation " + std::to_string(index_of_rank_[at]) + ", " + NameOf(At(at)) +
           " of group " + RankListText(list_.groups[At(at).group]) + " (line " + std::to_string(At(at).line) +
           ')';
  }

  // One line a meeting that some have come to and others do not.
  void Complain() {
    std::vector<std::string> waiting;
    for (const Meeting& meeting : check_.meetings) {
      std::vector<std::uint32_t> here, away = list_.groups[meeting.group];
      std::sort(away.begin(), away.end());
      for (const std::uint32_t member : meeting.members) {
        if (HeadsItsStream(member)) here.push_back(At(member).rank);
      }
      if (here.empty() || IsOver(meeting.members[0])) continue;
      std::sort(here.begin(), here.end());
      std::vector<std::uint32_t> missing;
      std::set_difference(away.begin(), away.end(), here.begin(), here.end(), std::back_inserter(missing));
      if (missing.empty()) continue;
      const std::uint32_t first = *std::find_if(meeting.members.begin(), meeting.members.end(),
                                                [&](std::uint32_t member) { return HeadsItsStream(member); });
      std::string line = Where(first) + "deadlock: rank" + (here.size() > 1 ? "s " : " ") +
                         RankListText(here) + (here.size() > 1 ? " wait" : " waits") + " in operation " +
                         std::to_string(meeting.turn) + " of group " +
                         RankListText(list_.groups[meeting.group]) + ", " + NameOf(At(first)) +
                         ", for rank " + std::to_string(missing[0]) + WhereIs(meeting, missing[0]);
      if (missing.size() > 1) line += ", and " + std::to_string(missing.size() - 1) + " more";
      waiting.push_back(std::move(line));
    }
    for (std::vector<std::string>* lines : {&disagreeing_, &waiting}) {
      const std::size_t all = lines->size();
      lines->resize(std::min(all, kMostLines));
      if (all > kMostLines) {
        lines->push_back(list_.file + ": " + std::to_string(all - kMostLines) + " more of that kind");
      }
      check_.deadlocks.insert(check_.deadlocks.end(), lines->begin(), lines->end());
    }
  }

  const OperationList& list_;
  OperationsCheck check_;
  std::vector<std::string> disagreeing_;
  std::map<std::uint32_t, std::uint32_t> issued_by_rank_;
  std::vector<Queue> queues_;
  std::vector<std::uint32_t> head_;           // by queue: its first operation that is not over
  std::vector<std::uint32_t> arrived_;        // by meeting: members that head their streams with it
  std::vector<std::uint32_t> index_of_rank_;  // by operation: its number among its rank's
  std::vector<std::uint32_t> queue_of_, place_;
};

}  // namespace

OperationsCheck CheckOperations(const OperationList& list) { return Checker(list).Check(); }

std::string NameOf(const Operation& operation) {
  return std::string(operation.test->name) + " of " + std::to_string(operation.size.count()) + " bytes";
}

}  // namespace scenarios
