// PhaseTimes: how long kernels that follow one another take on the device, and the host to launch them.

#ifndef SCENARIOS_PHASE_TIMES_H_
#define SCENARIOS_PHASE_TIMES_H_

#include <algorithm>

#include "sim/program/program.h"

namespace scenarios {

// The host launches kernels one after another, and the device runs them in that order, so kernel k begins no
// sooner than it is launched. What follows from that for all of them is one condition: with the host at this
// phase at time h and the device at time d, the device ends it at
//
//   max( d, h + lead ) + alone        lead = max over k of ( launches up to k's - kernels before k )
//
// and the host goes on at h + host. Two phases in a row are again one of this form: a (max, +) product.
struct PhaseTimes : sim::WorkTimes {
  sim::Duration host;  // of the CPU, to launch all of them
  sim::Duration lead;  // 0 ... host

  friend PhaseTimes operator+(const PhaseTimes& a, const PhaseTimes& b) {
    PhaseTimes sum;
    static_cast<sim::WorkTimes&>(sum) = static_cast<const sim::WorkTimes&>(a) + b;
    sum.host = a.host + b.host;
    const sim::Duration of_b = a.host + b.lead;
    sum.lead = std::max(a.lead, of_b > a.alone ? of_b - a.alone : sim::Duration());
    return sum;
  }
};

}  // namespace scenarios

#endif  // SCENARIOS_PHASE_TIMES_H_
