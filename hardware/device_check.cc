// CheckDevice: first every field by itself (device_fields.h), then the fields against each other.

#include <algorithm>
#include <cstdio>

#include "hardware/device_attention.h"
#include "hardware/device_collectives.h"
#include "hardware/device_exchanges.h"
#include "hardware/device_fields.h"
#include "hardware/device_formats.h"
#include "hardware/device_message.h"
#include "hardware/device_products.h"
#include "proto/hardware.pb.h"

namespace hardware {

namespace {

using orrery::config::Hardware;

void CheckAtMost(double part, double whole, const char* part_name, const char* whole_name,
                 const proto::Field& place, proto::Diagnostics* diagnostics) {
  if (part <= whole || HasErrorAt(place.At(part_name), *diagnostics)) return;
  diagnostics->Error(place.At(part_name).place(),
                     NumberText(part) + " is more than " + whole_name + ", " + NumberText(whole));
}

// A peak below what the kernels reach would make a utilization above 1.
void CheckPeaks(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  for (int i = 0; i < message.peaks_size(); ++i) {
    for (const Hardware::Gemm& gemm : message.gemm()) {
      const auto& formats = gemm.formats();
      if (!gemm.has_tiles() ||
          std::find(formats.begin(), formats.end(), message.peaks(i).format()) == formats.end()) {
        continue;
      }
      const double reached = gemm.tiles().peak_tflops() * gemm.tiles().efficiency();
      if (message.peaks(i).tflops() >= reached) continue;
      diagnostics->Error(root.At("peaks", i).At("tflops").place(),
                         NumberText(message.peaks(i).tflops()) + " is below the " + NumberText(reached) +
                             " that its gemm model reaches; change gemm.tiles.peak_tflops too");
    }
  }
}

void CheckNode(const Hardware::Node& node, const proto::Field& place, proto::Diagnostics* diagnostics) {
  if (node.nics() > 0 && !node.has_nic()) {
    diagnostics->Error(place.At("nic").place(),
                       "missing; wanted because nics is " + std::to_string(node.nics()));
  }
  if (node.has_between_sockets() && !node.has_host_bridge()) {
    diagnostics->Error(place.At("host_bridge").place(), "missing; wanted because between_sockets is given");
  }
  if (node.has_host_bridge() && node.has_nvlink()) {
    diagnostics->Error(place.At("host_bridge").place(), "only without nvlink, over which devices send else");
  }
}

// Which of the file's groups had a field refused when it was read. Such a field reads as 0, and is not
// held against others.
class Refused {
 public:
  explicit Refused(const proto::Diagnostics& diagnostics) : errors_(diagnostics.errors()) {}

  // An error is "place: group.field: what" or "place: group[0].field: what".
  bool operator()(const std::string& group) const {
    return std::any_of(errors_.begin(), errors_.end(), [&](const std::string& error) {
      for (const char* next : {".", "[", ":"}) {
        if (error.find(": " + group + next) != std::string::npos) return true;
      }
      return false;
    });
  }

 private:
  std::vector<std::string> errors_;
};

}  // namespace

bool CheckDevice(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  const Refused refused(*diagnostics);
  CheckFields(message, root, diagnostics);
  if (!refused("peaks") && !refused("gemm")) {
    CheckFormats(message, root, diagnostics);
    CheckPeaks(message, root, diagnostics);
    if (!refused("measured_gemm")) CheckProducts(message, root, diagnostics);
  }
  if (!refused("collectives")) CheckCollectives(message, root, diagnostics);
  if (!refused("exchanges")) CheckExchanges(message, root, diagnostics);
  if (!refused("attention") && !refused("paged_attention")) CheckAttention(message, root, diagnostics);
  const proto::Field capacity = root.At("memory").At("capacity_gib");
  if (message.has_memory() && !refused("memory") && !HasErrorAt(capacity, *diagnostics)) {
    CheckAtMost(message.memory().usable_gib(), message.memory().capacity_gib(), "usable_gib", "capacity_gib",
                root.At("memory"), diagnostics);
  }
  if (message.has_interference() && message.has_sms() && !refused("interference") &&
      !HasErrorAt(root.At("sms"), *diagnostics)) {
    CheckAtMost(message.interference().communication_sms(), message.sms() - 1, "communication_sms", "sms - 1",
                root.At("interference"), diagnostics);
  }
  if (message.has_node() && !refused("node")) CheckNode(message.node(), root.At("node"), diagnostics);
  return diagnostics->errors().size() == before;
}

}  // namespace hardware
