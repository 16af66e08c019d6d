#include "scenarios/collective_run/link_shares.h"

#include <algorithm>
#include <map>
#include <utility>

namespace scenarios {

std::vector<LoadedLink> LoadedLinks(const PlayedJobs& played) {
  const sim::Program& program = played.program;
  const sim::Time end = sim::Time::Start() + played.finish;
  // How many times each job's traffic ran until the end; the last time in part.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> times;  // by job and traffic
  for (std::size_t i = 0; i < program.communications.size(); ++i) {
    const sim::CommunicationId c(i);
    const sim::TrafficId traffic = program.communications[i].traffic;
    const sim::Time first = played.timeline.begin[i] + program.traffics[traffic.pos()].latency;
    const sim::Time last = played.timeline.end[program.seats_of(c).front().pos()];
    if (first >= end || last == first) continue;
    times[{played.job[i], traffic.value()}] +=
        last <= end ? 1.0 : (end - first).seconds() / (last - first).seconds();
  }
  std::map<sim::LinkId, LoadedLink> loaded;
  for (const auto& [key, runs] : times) {
    const sim::Traffic& traffic = program.traffics[key.second];
    for (std::uint32_t f = 0; f < traffic.flows; ++f) {
      const sim::TrafficFlow& flow = program.flows[traffic.first_flow + f];
      for (std::uint32_t u = 0; u < flow.uses; ++u) {
        const sim::Use& use = program.uses[flow.first_use + u];
        const double bytes = runs * (flow.volume.bytes() * use.weight / program.weight_denominator);
        LoadedLink& link = loaded[use.link];
        link.link = use.link;
        link.bytes += bytes;
        if (link.shares.empty() || link.shares.back().job != key.first) link.shares.push_back({key.first});
        link.shares.back().bytes += bytes;
      }
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
