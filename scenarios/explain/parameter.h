// Parameters: figures of the device and its network that a step's time can depend on, and jobs with one of
// them a little larger.

#ifndef SCENARIOS_EXPLAIN_PARAMETER_H_
#define SCENARIOS_EXPLAIN_PARAMETER_H_

#include <cstdint>
#include <vector>

#include "hardware/device.h"
#include "scenarios/scenario.h"
#include "sim/program/program.h"

namespace scenarios {

enum class Parameter : std::uint8_t {
  // Of the device: figures of the cost model.
  kTensorRate,   // peaks of matrix products and attention; measured products stay
  kMemoryRate,   // of the device's memory, of which communication takes as large a part as before
  kKernelStart,  // what every kernel takes beside its work: fixed parts, the shortest kernel
  kLaunch,       // what the host takes to launch one
  // Of the network: links of a kind, and what collectives can move over them at most.
  kNvlinkRate,
  kPcieRate,  // and through hosts
  kNicRate,
  kSwitchRate,  // all links behind NICs
  kOtherRate,   // host memory and storage
  kLatency,     // of a communication, before its bytes move: launches, hops, switches
};
inline constexpr int kParameters = 10;
const char* IdOf(Parameter parameter);    // "tensor_rate"; stable
const char* ToText(Parameter parameter);  // "tensor rate"

constexpr bool IsOfDevice(Parameter p) { return p <= Parameter::kLaunch; }
constexpr bool IsOfLinks(Parameter p) { return p >= Parameter::kNvlinkRate && p <= Parameter::kOtherRate; }

// Which rate is a link's.
Parameter RateOf(topologies::Tier tier);

// A device with the parameter so many times what it is. REQUIRES: IsOfDevice(parameter), factor > 0
hardware::Device WithParameter(hardware::Device device, Parameter parameter, double factor);

// The tables of a program that say how long communications take.
struct NetworkTables {
  std::vector<sim::Traffic> traffics;
  std::vector<sim::TrafficFlow> flows;
  std::vector<sim::ByteRate> link_capacity;
};
// A flow's own limit is what kernels reach of its narrowest link, and grows with that.
// REQUIRES: !IsOfDevice(parameter), factor > 0; the program is of a job on this fabric
NetworkTables WithParameter(const sim::Program& program, const topologies::Fabric& fabric,
                            Parameter parameter, double factor);

}  // namespace scenarios

#endif  // SCENARIOS_EXPLAIN_PARAMETER_H_
