// The fields of a device's file, each by itself: given where it has to be, and in its range. For
// device_check.cc.

#ifndef HARDWARE_DEVICE_FIELDS_H_
#define HARDWARE_DEVICE_FIELDS_H_

#include <string>

#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

void CheckFields(const orrery::config::Hardware& message, const proto::Field& root,
                 proto::Diagnostics* diagnostics);

// As messages have it: "0.125".
std::string NumberText(double value);

// Whether something has been said of this field itself.
bool HasErrorAt(const proto::Field& at, const proto::Diagnostics& diagnostics);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_FIELDS_H_
