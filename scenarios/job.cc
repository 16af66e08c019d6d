#include "scenarios/job.h"

#include <algorithm>

namespace scenarios {

Membership Join(const Job& job, const std::vector<sim::Rank>& ranks, sim::Rank rank) {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  CHECK(at != ranks.end());
  return {job.communicators->Group(ranks), static_cast<std::uint32_t>(at - ranks.begin())};
}

sim::TaskId IssueAfter(const Job& job, const Membership& group, const Collective& collective,
                       sim::StreamId stream, sim::Label label, sim::TaskId after,
                       std::vector<sim::TaskId> also, RankTape* tape) {
  if (!job.communicators->Moves(group.group, collective)) return sim::TaskId::None();
  const std::vector<sim::TaskId> launch =
      tape->LaunchCommunication(label, /*further=*/collective.copy_engines);
  also.insert(also.end(), launch.begin(), launch.end());
  const sim::TaskId task =
      job.communicators->Issue(group.group, group.member, collective, stream, label, after, also);
  tape->Communicate(task);
  return task;
}

sim::TaskId Issue(const Job& job, const Membership& group, const Collective& collective,
                  sim::StreamKind stream, sim::Label label, RankTape* tape) {
  return IssueAfter(job, group, collective, tape->stream(stream), label, tape->last(), {}, tape);
}

sim::TaskId IssueAtEnd(const Job& job, const Membership& group, const Collective& collective,
                       sim::StreamKind stream, sim::Label label, RankTape* tape) {
  return IssueAfter(job, group, collective, tape->stream(stream), label, tape->last(), tape->waits(), tape);
}

}  // namespace scenarios
