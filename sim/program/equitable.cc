#include "sim/program/equitable.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "sim/base/digest.h"

namespace sim {
namespace {

using Colours = std::vector<std::uint64_t>;

// What is the same in every round.
std::uint64_t ColourOf(const TrafficDescription& traffic) {
  Digest digest;
  digest.Add(static_cast<std::uint64_t>(traffic.latency.ps()))
      .Add(static_cast<std::uint64_t>(traffic.size.count()));
  digest.Add(static_cast<std::uint64_t>(traffic.taken.sms))
      .Add(static_cast<std::uint64_t>(traffic.taken.memory));
  for (const char c : traffic.name) digest.Add(static_cast<unsigned char>(c));
  for (const FlowDescription& flow : traffic.flows) {
    const Wide volume = flow.volume.femto_bytes();
    digest.Add(static_cast<std::uint64_t>(volume)).Add(static_cast<std::uint64_t>(volume >> 64));
    digest.Add(flow.share).Add(flow.weight_denominator).Add(static_cast<std::uint64_t>(flow.limit.milli()));
  }
  return digest.value();
}

std::uint64_t Pair(std::uint64_t a, std::uint64_t b) { return Mix(Mix(a) ^ (b * 0x9e3779b97f4a7c15ULL)); }

class Refinement {
 public:
  Refinement(Colours colour_of_rank, std::span<const JointTraffic> traffics,
             std::span<const ByteRate> capacity)
      : traffics_(traffics), rank_(std::move(colour_of_rank)) {
    for (const ByteRate rate : capacity) link_.push_back(static_cast<std::uint64_t>(rate.milli()));
    for (const JointTraffic& joint : traffics) traffic_.push_back(ColourOf(joint.traffic));
  }

  EquitablePartition Run() {
    std::size_t classes = 0;
    for (std::size_t now = Count(); now != classes; now = Count()) {
      classes = now;
      Refine();
    }
    EquitablePartition partition;
    for (const std::size_t rank : LowestOf(rank_)) partition.rank.emplace_back(rank);
    for (const std::size_t link : LowestOf(link_)) partition.link.emplace_back(link);
    for (const std::size_t traffic : LowestOf(traffic_))
      partition.traffic.push_back(static_cast<std::uint32_t>(traffic));
    return partition;
  }

 private:
  // Sums, so that the order of neighbours does not matter.
  void Refine() {
    for (std::size_t t = 0; t < traffics_.size(); ++t) {
      std::uint64_t members = 0, flow_number = 0;
      for (const JointTraffic::Member& member : traffics_[t].members)
        members += Pair(rank_[member.rank.pos()], member.role);
      Digest digest;
      digest.Add(traffic_[t]).Add(members);
      for (const FlowDescription& flow : traffics_[t].traffic.flows) {
        std::uint64_t uses = ++flow_number;
        if (!traffics_[t].apart) {
          for (const Use& use : flow.uses) uses += Pair(link_[use.link.pos()], use.weight);
        }
        digest.Add(uses);
      }
      traffic_[t] = digest.value();
    }
    Colours ranks(rank_.size()), links(link_.size());
    for (std::size_t t = 0; t < traffics_.size(); ++t) {
      for (const JointTraffic::Member& member : traffics_[t].members)
        ranks[member.rank.pos()] += Pair(traffic_[t], member.role);
      if (traffics_[t].apart) continue;
      std::uint64_t flow_colour = traffic_[t];
      for (const FlowDescription& flow : traffics_[t].traffic.flows) {
        flow_colour = Mix(flow_colour + 1);
        for (const Use& use : flow.uses) links[use.link.pos()] += Pair(flow_colour, use.weight);
      }
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) rank_[r] = Pair(rank_[r], ranks[r]);
    for (std::size_t l = 0; l < links.size(); ++l) link_[l] = Pair(link_[l], links[l]);
  }

  static std::size_t Distinct(Colours colours) {
    std::sort(colours.begin(), colours.end());
    return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
  }
  std::size_t Count() const { return Distinct(rank_) + Distinct(traffic_) + Distinct(link_); }

  static std::vector<std::size_t> LowestOf(const Colours& colours) {
    std::unordered_map<std::uint64_t, std::size_t> first;
    std::vector<std::size_t> lowest;
    lowest.reserve(colours.size());
    for (const std::uint64_t colour : colours)
      lowest.push_back(first.try_emplace(colour, lowest.size()).first->second);
    return lowest;
  }

  std::span<const JointTraffic> traffics_;
  Colours rank_, traffic_, link_;
};

}  // namespace

EquitablePartition PartitionOf(std::vector<std::uint64_t> colour_of_rank,
                               std::span<const JointTraffic> traffics, std::span<const ByteRate> capacity) {
  return Refinement(std::move(colour_of_rank), traffics, capacity).Run();
}

namespace {

TrafficDescription OnCopies(TrafficDescription traffic, std::size_t links) {
  for (FlowDescription& flow : traffic.flows) {
    for (Use& use : flow.uses) use.link = LinkId(use.link.pos() + links);
  }
  return traffic;
}

}  // namespace

std::optional<std::vector<TrafficDescription>> MergedTraffics(const EquitablePartition& partition,
                                                              std::span<const JointTraffic> traffics) {
  std::vector<TrafficDescription> merged(traffics.size());
  std::vector<std::vector<std::map<LinkId, std::uint64_t>>> weight(traffics.size());  // by flow
  for (std::size_t t = 0; t < traffics.size(); ++t) {
    const TrafficDescription& traffic = traffics[t].traffic;
    const std::uint32_t lowest = partition.traffic[t];
    weight[lowest].resize(traffic.flows.size());
    if (lowest == t) {
      merged[t] = traffic;
      for (FlowDescription& flow : merged[t].flows) flow.uses.clear();
    }
    if (traffics[t].apart) {
      merged[t] = OnCopies(traffic, partition.link.size());
      continue;
    }
    for (std::size_t f = 0; f < traffic.flows.size(); ++f) {
      for (const Use& use : traffic.flows[f].uses) {
        if (partition.link[use.link.pos()] == use.link) weight[lowest][f][use.link] += use.weight;
      }
    }
  }
  for (std::size_t t = 0; t < traffics.size(); ++t) {
    for (std::size_t f = 0; f < weight[t].size(); ++f) {
      for (const auto& [link, sum] : weight[t][f]) {
        if (sum > UINT32_MAX) return std::nullopt;
        merged[t].flows[f].uses.push_back({link, static_cast<std::uint32_t>(sum)});
      }
    }
  }
  return merged;
}

}  // namespace sim
