#include "sim/analysis/link_load.h"

namespace sim {
namespace {

constexpr Wide kFemto = 1'000'000'000'000'000;

// n * numerator / denominator, rounded down, without overflow: n < 2^96,
// numerator and denominator < 2^63, and the result fits.
constexpr Wide Scale(Wide n, Wide numerator, Wide denominator) {
  return n / denominator * numerator + n % denominator * numerator / denominator;
}

// What `times` communications of a traffic carry in `part` of their `whole` time.
void AddFlows(const Program& program, const Traffic& traffic, Wide part, Wide whole, Wide times,
              std::vector<Wide>& carried) {
  for (std::uint32_t f = 0; f < traffic.flows; ++f) {
    const TrafficFlow& flow = program.flows[traffic.first_flow + f];
    const Wide progress =
        part == whole ? flow.volume.femto_bytes() : Scale(flow.volume.femto_bytes(), part, whole);
    for (std::uint32_t u = 0; u < flow.uses; ++u) {
      const Use& use = program.uses[flow.first_use + u];
      carried[use.link.pos()] += times * Scale(progress, use.weight, program.weight_denominator);
    }
  }
}

std::vector<Bytes> WholeBytes(const std::vector<Wide>& femto) {
  std::vector<Bytes> bytes;
  bytes.reserve(femto.size());
  for (const Wide n : femto) bytes.emplace_back(static_cast<std::int64_t>((n + kFemto / 2) / kFemto));
  return bytes;
}

// The interval in which a communication's flows move. One end for all seats.
Interval MovingTime(const Program& program, const Timeline& timeline, CommunicationId c,
                    const Traffic& traffic) {
  const TaskId seat = program.seats_of(c).front();
  return {timeline.begin[c.pos()] + traffic.latency, timeline.end[seat.pos()]};
}

}  // namespace

LinkBytes LinkBytesOf(const Program& program, const Timeline& timeline, Interval window) {
  std::vector<Wide> total(program.link_capacity.size()), inside(program.link_capacity.size());
  // Most communications are wholly inside or outside: those are counted, and their bytes added up at the end.
  std::vector<std::uint32_t> all(program.traffics.size()), whole(program.traffics.size());
  for (std::size_t i = 0; i < program.communications.size(); ++i) {
    const CommunicationId c(i);
    if (program.seats_of(c).empty()) continue;
    const std::size_t t = program.communications[i].traffic.pos();
    const Traffic& traffic = program.traffics[t];
    ++all[t];
    const Interval moving = MovingTime(program, timeline, c, traffic);
    const Duration part = Clip(moving, window).length();
    if (part <= Duration()) continue;
    if (part == moving.length()) {
      ++whole[t];
    } else {
      AddFlows(program, traffic, part.ps(), moving.length().ps(), 1, inside);
    }
  }
  for (std::size_t t = 0; t < program.traffics.size(); ++t) {
    AddFlows(program, program.traffics[t], 1, 1, all[t], total);
    if (whole[t] > 0) AddFlows(program, program.traffics[t], 1, 1, whole[t], inside);
  }
  return {WholeBytes(total), WholeBytes(inside)};
}

double Utilisation(Bytes bytes, ByteRate capacity, Duration window) {
  if (window <= Duration()) return 0;
  return static_cast<double>(bytes.count()) / (capacity.bytes_per_second() * window.seconds());
}

std::vector<std::vector<LoadChange>> LoadsOverTime(const Program& program, const Timeline& timeline,
                                                   std::span<const std::uint32_t> set_of_link,
                                                   std::size_t sets) {
  CHECK(set_of_link.size() == program.link_capacity.size());
  std::vector<Wide> links(sets, 0), load(sets, 0);  // load: 10^-3 B/s times the weight denominator
  for (const std::uint32_t set : set_of_link) {
    if (set != kNoSet) ++links[set];
  }
  std::vector<ByteRate> rate(timeline.flow_of.size());
  std::vector<std::vector<LoadChange>> changes(sets);
  std::vector<std::uint32_t> touched;
  for (std::size_t i = 0; i < timeline.rates.size(); ++i) {
    const RateChange& change = timeline.rates[i];
    const TrafficFlow& flow = program.flows[timeline.flow_of[change.token].flow];
    const Wide step = change.rate.milli() - rate[change.token].milli();
    rate[change.token] = change.rate;
    for (std::uint32_t u = 0; u < flow.uses; ++u) {
      const Use& use = program.uses[flow.first_use + u];
      const std::uint32_t set = set_of_link[use.link.pos()];
      if (set == kNoSet) continue;
      load[set] += step * use.weight;
      touched.push_back(set);
    }
    // Only the last state of an instant was ever real.
    if (i + 1 < timeline.rates.size() && timeline.rates[i + 1].when == change.when) continue;
    for (const std::uint32_t set : touched) {
      const Wide milli = load[set] / (links[set] * program.weight_denominator);
      const LoadChange next = {change.when, ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(milli))};
      std::vector<LoadChange>& curve = changes[set];
      if (next.mean != (curve.empty() ? ByteRate() : curve.back().mean)) curve.push_back(next);
    }
    touched.clear();
  }
  return changes;
}

}  // namespace sim
