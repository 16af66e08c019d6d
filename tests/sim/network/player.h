// Player: starts flows at given times, and writes down what the network does.

#ifndef TESTS_SIM_NETWORK_PLAYER_H_
#define TESTS_SIM_NETWORK_PLAYER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/network/flow_network.h"

namespace sim {

inline Time At(Duration since_start) { return Time::Start() + since_start; }
inline Use On(std::size_t link, std::uint32_t weight = 1) { return {LinkId(link), weight}; }

class Player final : public Actor {
 public:
  explicit Player(std::vector<ByteRate> link_capacities, std::uint32_t weight_denominator = 1)
      : capacities(std::move(link_capacities)),
        denominator(weight_denominator),
        network(simulator, capacities, weight_denominator) {
    network.LogRatesTo(&log);
  }

  // Returns the flow's token: 0, 1, 2, ... REQUIRES: the simulator is not running
  std::uint32_t Add(Duration start, std::vector<Use> uses, Volume volume, std::uint32_t share = 1,
                    ByteRate limit = {}) {
    const auto token = static_cast<std::uint32_t>(flows.size());
    uses_.push_back(std::move(uses));
    flows.push_back({volume, uses_.back(), share, limit});
    ids.push_back(FlowId::None());
    starts.push_back(At(start));
    ends.push_back(Time::Never());
    simulator.WakeAt(At(start), Phase::kStart, *this, kStarts + token);
    return token;
  }
  std::uint32_t Add(Duration start, std::vector<Use> uses, Bytes bytes, std::uint32_t share = 1,
                    ByteRate limit = {}) {
    return Add(start, std::move(uses), Volume::Of(bytes), share, limit);
  }

  void Wake(Time now, std::uint32_t token) override {
    if (token == kObserves) {
      observed_ = Time::Never();
      if (observe) observe(now);
      return;
    }
    CHECK(!starting_);  // nobody is woken inside Start()
    if (token >= kStarts) {
      starting_ = true;
      ids[token - kStarts] = network.Start(flows[token - kStarts], *this, token - kStarts);
      starting_ = false;
    } else {
      CHECK(ends[token] == Time::Never());  // a flow ends once
      ends[token] = now;
      ids[token] = FlowId::None();
      order.push_back(token);
      if (when_ended) when_ended(now, token);
    }
    if (observe && observed_ != now) simulator.WakeAt(observed_ = now, Phase::kObserve, *this, kObserves);
  }

  ByteRate rate(std::uint32_t token) const { return network.rate(ids[token]); }

  std::vector<ByteRate> capacities;
  std::uint32_t denominator;
  Simulator simulator;
  FlowNetwork network;
  std::vector<FlowSpec> flows;  // this and what follows: by token
  std::vector<FlowId> ids;      // none = not running
  std::vector<Time> starts, ends;
  std::vector<std::uint32_t> order;  // tokens as they ended
  std::vector<RateChange> log;
  std::function<void(Time now)> observe;  // after each instant in which a flow started or ended
  std::function<void(Time now, std::uint32_t token)> when_ended;  // in the wakeup for an end

 private:
  static constexpr std::uint32_t kStarts = 1u << 30, kObserves = 1u << 31;
  std::deque<std::vector<Use>> uses_;  // stays in place
  Time observed_ = Time::Never();
  bool starting_ = false;
};

}  // namespace sim

#endif  // TESTS_SIM_NETWORK_PLAYER_H_
