// One measured collective as the cost model sees it: a handful of numbers from which its time follows by
// arithmetic, for any figures of the device. They are read off the lowering itself (scenarios/lowering.h) by
// a few probes, so that fits use the model that simulations use.

#ifndef SCENARIOS_CALIBRATION_COLLECTIVE_POINT_H_
#define SCENARIOS_CALIBRATION_COLLECTIVE_POINT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "scenarios/calibration/measured_collective.h"
#include "topologies/fabric.h"

namespace scenarios {

// Figures of one algorithm and protocol that a fit may move; as hardware::CollectiveTiming has them, in s and
// B/s. Zero: the device has no such figure.
enum class Figure : std::uint8_t {
  kBase,
  kStepInside,
  kLimitInside,
  kCopyAllReduce,
  kCopyAllGather,
  kCopyReduceScatter,
  kCopyAllToAll,
  kRamp,
  kRampBytes,
};
inline constexpr std::size_t kFigures = 9;
using Figures = std::array<double, kFigures>;

const char* ToText(Figure figure);  // "base_us": the key in a device's file
double UnitOf(Figure figure);       // of one of that key: 1e-6 for "base_us"

Figures FiguresOf(const hardware::CollectiveTiming& timing);
// `timing` with these figures.
hardware::CollectiveTiming WithFigures(hardware::CollectiveTiming timing, const Figures& figures);

struct CollectivePoint {
  sim::Algorithm algorithm = sim::Algorithm::kRing;
  sim::Protocol protocol = sim::Protocol::kSimple;
  std::optional<Figure> copy;  // the kind's own copy; none where it has none
  double measured_s = 0;
  double weight = 1;     // of its squared residual
  double route_s = 0;    // latency of routes, all steps together
  double steps = 0;      // inside the node
  double links_s = 0;    // what the wires need for the bytes
  double bus_bytes = 0;  // as the device counts them
  double own_bytes = 0;  // that a member copies of its own
  double fill = 0;       // of what moves in loops: this part of the time of its flows
};

// base + steps + ramp + (max(wires, limit) + own copy) (1 + fill), in s.
double TimeOf(const CollectivePoint& point, const Figures& figures);

// A device without figures for sends and receives gets a ring's, so that a fit has where to begin.
hardware::Device WithPointToPoint(hardware::Device device);

// A row of one node; nothing where it spans nodes or NCCL would not do it. `device` has the version of the
// row, its node has so many devices.
std::optional<CollectivePoint> PointOf(const MeasuredCollective& row, const hardware::Device& device);

// The version that a row states, 2.27 where it states none, and the newest known where that is newer.
sim::NcclVersion NcclVersionOf(const MeasuredCollective& row);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_COLLECTIVE_POINT_H_
