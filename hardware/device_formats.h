// Number formats in a device's file: checked. For device_check.cc.

#ifndef HARDWARE_DEVICE_FORMATS_H_
#define HARDWARE_DEVICE_FORMATS_H_

#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// Every peak has one GEMM model and the other way round.
void CheckFormats(const orrery::config::Hardware& message, const proto::Field& root,
                  proto::Diagnostics* diagnostics);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_FORMATS_H_
