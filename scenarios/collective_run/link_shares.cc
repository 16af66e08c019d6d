#include "scenarios/collective_run/link_shares.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/check.h"

namespace scenarios {
namespace {

constexpr double kFemto = 1e-15;

// Bytes of progress until the jobs ended, by job and by Program::flows.
std::map<std::pair<std::uint32_t, std::uint32_t>, double> ProgressOf(const PlayedJobs& played) {
  const sim::Program& program = played.program;
  const sim::Time end = sim::Time::Start() + played.finish;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> progress;
  std::vector<bool> is_whole(program.communications.size());
  for (std::size_t i = 0; i < program.communications.size(); ++i) {
    const sim::Time last = played.timeline.end[program.seats_of(sim::CommunicationId(i)).front().pos()];
    is_whole[i] = last <= end;
    CHECK(is_whole[i] || !played.timeline.flow_of.empty());
    const sim::Traffic& traffic = program.traffics[program.communications[i].traffic.pos()];
    for (std::uint32_t f = traffic.first_flow; is_whole[i] && f < traffic.first_flow + traffic.flows; ++f) {
      progress[{played.job[i], f}] += program.flows[f].volume.bytes();
    }
  }
  // The others as far as they came: each rate until the next one.
  std::vector<sim::RateChange> rate(played.timeline.flow_of.size());
  const auto advance = [&](std::uint32_t token, sim::Time until) {
    const sim::Timeline::FlowInstance& instance = played.timeline.flow_of[token];
    const sim::Time from = rate[token].when;
    if (is_whole[instance.communication.pos()] || until <= from) return;
    const sim::Wide femto = sim::Wide{rate[token].rate.milli()} * (until - from).ps();
    progress[{played.job[instance.communication.pos()], instance.flow}] +=
        static_cast<double>(femto) * kFemto;
  };
  for (const sim::RateChange& change : played.timeline.rates) {
    if (change.when >= end) break;
    advance(change.token, change.when);
    rate[change.token] = change;
  }
  for (std::uint32_t token = 0; token < rate.size(); ++token) advance(token, end);
  return progress;
}

}  // namespace

std::vector<LoadedLink> LoadedLinks(const PlayedJobs& played) {
  const sim::Program& program = played.program;
  std::map<sim::LinkId, LoadedLink> loaded;
  for (const auto& [key, progress] : ProgressOf(played)) {
    const sim::TrafficFlow& flow = program.flows[key.second];
    for (std::uint32_t u = 0; u < flow.uses; ++u) {
      const sim::Use& use = program.uses[flow.first_use + u];
      const double bytes = progress * use.weight / program.weight_denominator;
      LoadedLink& link = loaded[use.link];
      link.link = use.link;
      link.bytes += bytes;
      if (link.shares.empty() || link.shares.back().job != key.first) link.shares.push_back({key.first});
      link.shares.back().bytes += bytes;
    }
  }
  std::vector<LoadedLink> links;
  for (auto& [id, link] : loaded) {
    const double most = program.link_capacity[id.pos()].bytes_per_second() * played.finish.seconds();
    link.utilisation = most > 0 ? link.bytes / most : 0;
    links.push_back(std::move(link));
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const LoadedLink& a, const LoadedLink& b) { return a.utilisation > b.utilisation; });
  return links;
}

}  // namespace scenarios
