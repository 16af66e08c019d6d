#include "scenarios/explain/traffic_bound.h"

#include <algorithm>
#include <map>
#include <span>

namespace scenarios {
namespace {

std::span<const sim::Use> UsesOf(const sim::Program& program, const sim::TrafficFlow& flow) {
  return std::span(program.uses).subspan(flow.first_use, flow.uses);
}

// How long a link is busy with `femto_bytes` of progress of one weight, in seconds.
double Busy(const sim::Program& program, double bytes, const sim::Use& use) {
  return bytes * use.weight / program.weight_denominator /
         program.link_capacity[use.link.pos()].bytes_per_second();
}

TrafficBound BoundOf(const sim::Program& program, const sim::Traffic& traffic) {
  TrafficBound bound;
  double longest = 0;
  std::map<sim::LinkId, double> busy;  // of all flows
  for (std::uint32_t f = 0; f < traffic.flows; ++f) {
    const sim::TrafficFlow& flow = program.flows[traffic.first_flow + f];
    const double bytes = flow.volume.bytes();
    for (const sim::Use& use : UsesOf(program, flow)) {
      const double seconds = busy[use.link] += Busy(program, bytes, use);
      if (seconds <= longest) continue;
      longest = seconds;
      bound.link = use.link;
      bound.limited = false;
    }
    if (flow.limit == sim::ByteRate()) continue;
    const double seconds = bytes / flow.limit.bytes_per_second();
    // A limit that is as fast as the links is no other bound.
    if (seconds <= longest * (1 + 1e-9)) continue;
    longest = seconds;
    bound.link = NarrowestLink(program, flow);
    bound.limited = true;
  }
  bound.transfer = sim::Duration::FromSeconds(std::min(longest, 8e6));
  return bound;
}

}  // namespace

std::optional<sim::LinkId> NarrowestLink(const sim::Program& program, const sim::TrafficFlow& flow) {
  std::optional<sim::LinkId> narrowest;
  double longest = 0;
  for (const sim::Use& use : UsesOf(program, flow)) {
    const double seconds = Busy(program, 1, use);
    if (seconds <= longest) continue;
    longest = seconds;
    narrowest = use.link;
  }
  return narrowest;
}

std::vector<TrafficBound> BoundsOfTraffics(const sim::Program& program) {
  std::vector<TrafficBound> bounds;
  bounds.reserve(program.traffics.size());
  for (const sim::Traffic& traffic : program.traffics) bounds.push_back(BoundOf(program, traffic));
  return bounds;
}

}  // namespace scenarios
