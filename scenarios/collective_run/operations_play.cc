#include "scenarios/collective_run/operations_play.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/program/program_builder.h"

namespace scenarios {
namespace {

// A program has fewer than 2^16 names; with more meetings than this they are called by their kinds.
constexpr std::size_t kMostNames = 50'000;

CollectiveJob JobOf(const OperationList& list, const Meeting& meeting) {
  const Operation& operation = list.operations[meeting.members[0]];
  const NcclTest* test = operation.test == &kReceive ? &kSend : operation.test;  // one name for a message
  return {test, operation.size, list.groups[meeting.group], operation.root};
}

}  // namespace

sim::Result<PlayedOperations> PlayOperations(const Cluster& cluster, const OperationList& list,
                                             const OperationsCheck& check,
                                             const std::function<bool()>& go_on) {
  CHECK(check.deadlocks.empty());
  sim::ProgramBuilder builder(cluster.ranks(), CapacitiesOf(cluster.fabric));
  struct Sent {
    sim::TrafficId traffic;
    std::optional<CollectiveWay> way;
  };
  std::map<std::tuple<const NcclTest*, sim::Bytes, std::uint32_t, std::uint32_t>, Sent> traffics;
  std::vector<sim::CommunicationId> communications;
  std::vector<std::uint16_t> names;
  PlayedOperations played;
  for (const Meeting& meeting : check.meetings) {
    CollectiveJob job = JobOf(list, meeting);
    const std::string place =
        list.file + ':' + std::to_string(list.operations[meeting.members[0]].line) + ": ";
    if (const auto why = WhyNotLower(cluster, job)) return sim::Error{place + why->message};
    if (const auto why = WhyNotNccl(cluster, job)) return sim::Error{place + why->message};
    const auto [sent, is_new] = traffics.try_emplace({job.test, job.size, meeting.group, job.root});
    if (is_new) {
      const WayAndTraffic lowered = LowerJobByWay(cluster, job);
      sent->second = {builder.AddTraffic(lowered.traffic), lowered.way};
    }
    communications.push_back(builder.AddCommunication(sent->second.traffic));
    const bool few = check.meetings.size() <= kMostNames;
    names.push_back(builder.Name(few ? ToText(job) : job.test->name));
    PlayedOperation& operation = played.operations.emplace_back();
    operation.job = std::move(job);
    operation.way = sent->second.way;
    operation.turn = meeting.turn;
    operation.line = list.operations[meeting.members[0]].line;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::StreamId> streams;  // by rank and stream
  std::vector<sim::TaskId> seats;
  for (std::size_t i = 0; i < list.operations.size(); ++i) {
    const Operation& operation = list.operations[i];
    const auto [stream, is_new] = streams.try_emplace({operation.rank, operation.stream});
    if (is_new) stream->second = builder.AddStream(sim::Rank(operation.rank), sim::StreamKind::kData);
    const std::uint32_t meeting = check.meeting_of_operation[i];
    seats.push_back(builder.Seat(stream->second, communications[meeting], sim::TaskClass::kData,
                                 {.name = names[meeting]}));
  }
  sim::Result<sim::Program> program = std::move(builder).Build();
  if (!program.ok()) return program.error();
  sim::SimulateOptions options;
  if (go_on) options.go_on = [&](const sim::SimulationProgress&) { return go_on(); };
  sim::Result<sim::Timeline> result = sim::Simulate(program.value(), options);
  if (!result.ok()) return result.error();
  const sim::Timeline& timeline = result.value();
  played.stopped = timeline.stopped;
  if (played.stopped) return played;
  std::map<std::uint32_t, GroupBound> bounds;
  for (std::size_t m = 0; m < check.meetings.size(); ++m) {
    PlayedOperation& operation = played.operations[m];
    operation.arrived = sim::Time::Never();
    for (const std::uint32_t member : check.meetings[m].members) {
      operation.arrived = std::min(operation.arrived, timeline.start[seats[member].pos()]);
      operation.end = timeline.end[seats[member].pos()];
    }
    operation.begin = timeline.begin[communications[m].pos()];
    const std::uint32_t group = check.meetings[m].group;
    operation.bound = bounds.try_emplace(group, cluster.fabric, list.groups[group], SwitchesAdd(cluster))
                          .first->second.Of(operation.job);
  }
  std::stable_sort(played.operations.begin(), played.operations.end(),
                   [](const PlayedOperation& a, const PlayedOperation& b) { return a.begin < b.begin; });
  played.program = std::move(program).value();
  played.timeline = std::move(result).value();
  return played;
}

}  // namespace scenarios
