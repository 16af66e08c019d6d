// FlowNetwork: flows that start, share links max-min fairly, and end.
//
// At every instant the rates x satisfy  sum(weight * x) <= capacity  on every
// link and are max-min fair in x / share. Changes mark links dirty; rates are
// solved again once per instant, in Phase::kShare, and only for the flows that
// a change reaches. All arithmetic is whole; a link never carries more than
// its rate; what stays unused on a link is less than the sum of the weights of
// its flows, in 10^-3 B/s.

#ifndef SIM_NETWORK_FLOW_NETWORK_H_
#define SIM_NETWORK_FLOW_NETWORK_H_

#include <cstdint>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/network/flow.h"

namespace sim {

// A flow's progress rate from `when` on (until its next change; zero at its end).
struct RateChange {
  Time when;
  std::uint32_t token = 0;  // the owner's word for the flow
  ByteRate rate;
};

class FlowNetwork final : public Actor {
 public:
  // `capacities[l]` is what link l carries at most. Weights count in units of
  // 1 / weight_denominator. REQUIRES: every capacity > 0, weight_denominator >= 1
  FlowNetwork(Simulator& simulator, std::vector<ByteRate> capacities, std::uint32_t weight_denominator);

  // Room for this many flows at one time, with so many uses in all, so that
  // nothing allocates while the clock runs.
  void Reserve(std::size_t flows, std::size_t uses);

  // Starts a flow now. When all of it is through, `owner` is woken with
  // `token` in Phase::kFinish, and the id may be given to another flow.
  // A flow of volume zero, or without links and limit, ends at this instant.
  // REQUIRES: owner outlives the flow
  FlowId Start(const FlowSpec& spec, Actor& owner, std::uint32_t token);

  // The rate of a running flow, as of the last Phase::kShare.
  ByteRate rate(FlowId flow) const;

  // Every change of a rate is appended to `log` from now on; null = none.
  void LogRatesTo(std::vector<RateChange>* log) { log_ = log; }

  void Wake(Time now, std::uint32_t token) override;

 private:
  std::vector<RateChange>* log_ = nullptr;
};

}  // namespace sim

#endif  // SIM_NETWORK_FLOW_NETWORK_H_
