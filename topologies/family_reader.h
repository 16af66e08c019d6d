// The parts of a topology file: its fields with their ranges, and the families
// that are more than a list. For topology_reader.cc.

#ifndef TOPOLOGIES_FAMILY_READER_H_
#define TOPOLOGIES_FAMILY_READER_H_

#include <cstdint>
#include <string>

#include "proto/text_reader.h"
#include "topologies/topology.h"

// As the generated header calls them.
namespace orrery::config {
class Topology_DragonflyPlus;
class Topology_FatTree;
class Topology_Fault;
class Topology_RailOptimised;
class Topology_SingleSwitch;
class Topology_Torus;
}  // namespace orrery::config

namespace topologies {

std::string Printed(double value);
std::string Printed(std::int64_t value);

// The value of a field, checked. Where it is missing or out of range that is
// reported and `high` taken, so that reading can go on without another error.
class Fields {
 public:
  explicit Fields(proto::Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  template <class T>
  T Within(const proto::Field& at, bool has, T value, T low, T high) {
    if (!has) {
      Missing(at, "give " + Printed(low) + " to " + Printed(high));
    } else if (!(value >= low && value <= high)) {
      diagnostics_->Error(at.place(),
                          Printed(value) + " is not within " + Printed(low) + " and " + Printed(high));
    } else {
      return value;
    }
    return high;
  }
  sim::ByteRate Gigabits(const proto::Field& at, bool has, double value) {
    return sim::ByteRate::GigabytesPerSecond(Within(at, has, value, 8 * kSlowestGb, 8 * kFastestGb) / 8);
  }
  // Too slow is left to FaultsOf, which names both ends.
  sim::ByteRate Gigabytes(const proto::Field& at, bool has, double value) {
    return sim::ByteRate::GigabytesPerSecond(Within(at, has, value, 0.0, kFastestGb));
  }
  sim::Duration Nanoseconds(const proto::Field& at, bool has, double value) {
    return sim::Duration::FromSeconds(Within(at, has, value, 0.0, 1e9) * 1e-9);
  }
  std::string Text(const proto::Field& at, bool has, const std::string& value) {
    if (!has) {
      Missing(at, "give it a text");
    } else if (value.empty()) {
      diagnostics_->Error(at.place(), "is empty");
    }
    return value;
  }
  // A value that was there but refused has been reported by the parser.
  void Missing(const proto::Field& at, const std::string& wanted) {
    if (!at.given()) diagnostics_->Error(at.place(), "missing; " + wanted);
  }
  void Error(const proto::Field& at, const std::string& what) { diagnostics_->Error(at.place(), what); }

 private:
  static constexpr double kSlowestGb = 1e-6, kFastestGb = 9e6;  // 1 kB/s; what ByteRate holds
  proto::Diagnostics* diagnostics_;
};

inline constexpr std::int64_t kMostPorts = 65'536;

RailOptimisedSpec ReadRails(const orrery::config::Topology_RailOptimised& file, const proto::Field& at,
                            Fields& fields);
SingleSwitchSpec ReadSwitch(const orrery::config::Topology_SingleSwitch& file, const proto::Field& at,
                            Fields& fields);
FatTreeSpec ReadFatTree(const orrery::config::Topology_FatTree& file, const proto::Field& at, Fields& fields);
TorusSpec ReadTorus(const orrery::config::Topology_Torus& file, const proto::Field& at, Fields& fields);
DragonflyPlusSpec ReadDragonflyPlus(const orrery::config::Topology_DragonflyPlus& file,
                                    const proto::Field& at, Fields& fields);
LinkFault ReadFault(const orrery::config::Topology_Fault& file, const proto::Field& at, Fields& fields);

}  // namespace topologies

#endif  // TOPOLOGIES_FAMILY_READER_H_
