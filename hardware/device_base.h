// What a device's file leaves out and takes from the device that it is derived
// from; the rules are in proto/hardware.proto. Used by device_reader.cc alone.

#ifndef HARDWARE_DEVICE_BASE_H_
#define HARDWARE_DEVICE_BASE_H_

#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// Puts into `own` what it does not give, from `base`, a whole device. Reports
// groups that change figures and do not say their own basis and source; returns
// whether there are none.
bool TakeFromBase(const orrery::config::Hardware& base, const proto::Field& root,
                  orrery::config::Hardware* own, proto::Diagnostics* diagnostics);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_BASE_H_
