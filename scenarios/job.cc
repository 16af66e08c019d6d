#include "scenarios/job.h"

#include <algorithm>

#include "scenarios/fold.h"

namespace scenarios {

Membership Join(const Job& job, const std::vector<sim::Rank>& ranks, sim::Rank rank) {
  const std::vector<sim::Rank>& group = job.fold == nullptr ? ranks : job.fold->GroupFor(ranks);
  const auto at = std::find_if(group.begin(), group.end(), [&](sim::Rank member) {
    return job.fold == nullptr ? member == rank : job.fold->acting[member.pos()] == rank;
  });
  CHECK(at != group.end());
  const Membership membership{job.communicators->Group(group),
                              static_cast<std::uint32_t>(at - group.begin())};
  if (job.joined != nullptr) job.joined->push_back(membership.group);
  return membership;
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
