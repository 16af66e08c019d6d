#include "scenarios/job.h"

#include <algorithm>

namespace scenarios {

Membership Join(const Job& job, const std::vector<sim::Rank>& ranks, sim::Rank rank) {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  CHECK(at != ranks.end());
  return {job.communicators->Group(ranks), static_cast<std::uint32_t>(at - ranks.begin())};
}

sim::TaskId Issue(const Job& job, const Membership& group, const Collective& collective,
                  sim::StreamKind stream, sim::Label label, RankTape* tape) {
  return job.communicators->Issue(group.group, group.member, collective, tape->stream(stream), label,
                                  tape->last());
}

sim::TaskId IssueAtEnd(const Job& job, const Membership& group, const Collective& collective,
                       sim::StreamKind stream, sim::Label label, RankTape* tape) {
  return job.communicators->Issue(group.group, group.member, collective, tape->stream(stream), label,
                                  tape->last(), tape->waits());
}

}  // namespace scenarios
