// Communication against computation, and the network that a job needs.
//
// Source: textbook, 17.6.3, 17.6.9, 17.6.10, 17.9.3; Greenberg et al. and NVIDIA's DGX SuperPOD
// reference architecture for leaf and spine of equal switches.

#ifndef SCENARIOS_BUDGET_NETWORK_SIZING_H_
#define SCENARIOS_BUDGET_NETWORK_SIZING_H_

#include <cstdint>

namespace scenarios {

// R: computation over communication that could run beside it. Accumulation is in the computation,
// `micro_batches` of it for one reduction, and in nothing else (erratum A8).
constexpr double ComputeOverCommunication(double micro_batch_s, std::int64_t micro_batches,
                                          double communication_s) {
  return micro_batch_s * static_cast<double>(micro_batches) / communication_s;
}

// The part of a step that communication takes when nothing hides it.
constexpr double CommunicationShare(double compute_s, double communication_s) {
  return communication_s / (compute_s + communication_s);
}

// Strong scaling: devices at which a fixed reduction takes as long as each one's part of the work,
// which takes one device `one_device_s`. More devices gain little.
constexpr double CriticalDevices(double one_device_s, double communication_s) {
  return one_device_s / communication_s;
}

// Efficiency of n devices against one when work is shared out and communication stays.
constexpr double ParallelEfficiency(double one_device_s, double communication_s, std::int64_t n) {
  return one_device_s / (one_device_s + static_cast<double>(n) * communication_s);
}

// Bytes a second that a device must send to have `sent` bytes gone in a step.
constexpr double RateNeeded(double sent, double step_s) { return sent / step_s; }

// Whole rails of `rail` bytes a second for that rate. REQUIRES: rail > 0
std::int64_t RailsNeeded(double rate, double rail);

// A rail-optimised network of one kind of switch: every node has a NIC on each rail, every rail is
// a network of its own. Up to `ports` nodes a rail is one switch; beyond, leaves of which half the ports go
// down and spines that take the other half, without blocking; beyond ports^2 / 2 nodes three levels.
struct RailNetwork {
  std::int64_t nodes = 0, rails = 0, ports = 0;
  int levels = 1;
  std::int64_t leaves = 0, spines = 0, cores = 0;  // of all rails together
  std::int64_t cables = 0;                         // between switches
  double injected_bytes_per_s = 0;                 // by all NICs, one way
  double bisection_bytes_per_s = 0;                // between two halves of the nodes, one way
  std::int64_t switches() const { return leaves + spines + cores; }
};
// REQUIRES: nodes > 0, rails > 0, ports an even number > 2; nodes <= ports^3 / 4
RailNetwork SizeRails(std::int64_t nodes, std::int64_t rails, std::int64_t ports, double nic_bytes_per_s);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_NETWORK_SIZING_H_
