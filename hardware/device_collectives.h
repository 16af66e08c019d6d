// The collectives of a device's file: checked, and converted. For device_check.cc and device_convert.cc.

#ifndef HARDWARE_DEVICE_COLLECTIVES_H_
#define HARDWARE_DEVICE_COLLECTIVES_H_

#include "hardware/device.h"
#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// What is wrong between fields; each by itself has been looked at.
void CheckCollectives(const orrery::config::Hardware& message, const proto::Field& root,
                      proto::Diagnostics* diagnostics);

// Fills `collective_timing`: what the file gives, and NCCL's own latencies for algorithms that it does
// not give. REQUIRES: `device->nccl` is filled
void ConvertCollectives(const orrery::config::Hardware& message, Device* device);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_COLLECTIVES_H_
